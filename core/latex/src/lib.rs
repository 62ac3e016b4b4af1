//! How TeX is run and understood.
//!
//! Source goes in, pages, problems and places come out. Paths inside this crate are relative to
//! the paper's folder, with `/` between their parts, as the paper's tree spells them; lines count
//! from 1 and are those of the moment of the build.

mod problem;

pub mod synctex;

pub use problem::{Place, Problem, Severity};
