//! How TeX is run and understood.
//!
//! Source goes in, pages, problems and places come out. Paths inside this crate are relative to
//! the paper's folder, with `/` between their parts, as the paper's tree spells them; lines count
//! from 1 and are those of the moment of the build.

mod problem;

pub mod synctex;

mod process;

mod engine;

mod regular;

pub mod root;

pub mod folder;

mod sandbox;

mod output;

mod progress;

mod recorder;

mod build;

pub use build::{Built, Cannot, Failure, Order, Outcome, Pages, Trust, build, clean};
pub use engine::{Engine, Missing, Program, System, Toolchain};
pub use output::OutputError;
pub use problem::{Place, Problem, Severity};
pub use process::{Cancel, Limit, Limits};
pub use progress::{Progress, Ran};
pub use sandbox::Sandbox;
