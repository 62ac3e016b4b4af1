//! The cli program.

fn main() {}
