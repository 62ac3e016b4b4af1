//! The store's promises, through its public door, on a disk that can lose power.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on is a test that fails")]

#[path = "store/damage.rs"]
mod damage;
#[path = "store/everyday.rs"]
mod everyday;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/golden.rs"]
mod golden;
#[path = "store/kill.rs"]
mod kill;
#[path = "store/model.rs"]
mod model;
#[path = "store/power.rs"]
mod power;
#[path = "store/scene.rs"]
mod scene;
