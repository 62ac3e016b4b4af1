//! The store's promises, through its public door, on a disk that can lose power.

#[path = "store/damage.rs"]
mod damage;
#[path = "store/everyday.rs"]
mod everyday;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/power.rs"]
mod power;
#[path = "store/scene.rs"]
mod scene;
