//! Benchmarks of the core beside its peers: what is run, and one subject's run of it.
//!
//! `main.rs` leads the runs and tells their figures; `counts.rs` is the same run with an allocator
//! that counts, which would lie about times. The page `README.md` says what is measured and how.

#![expect(clippy::print_stdout, reason = "a worker answers on standard output")]
#![expect(clippy::disallowed_methods, reason = "it reads recordings and writes programs")]

pub mod program;

pub mod peers;

pub mod worker;

pub mod trace;

pub mod cases;
