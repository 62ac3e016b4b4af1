//! One target under libFuzzer: `QUIRE_FUZZ` names it. `cargo xtask fuzz` builds this with the flags that make it see
//! where it has been. With `QUIRE_FUZZ_SEEDS` it writes the first inputs of all targets into that folder instead.
//!
//! Everything of ours is allocated here with a bound: an input that wants more than its size warrants ends the run as
//! a crash does.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro can write what it saw into a file")]

use std::alloc::System;
use std::sync::LazyLock;

use cap::Cap;
use fuzz::Target;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that any input of at most 2 KiB may take beyond what is in use before it. A lawful update in the second
/// format may be a million structs.
const BOUND: usize = 192 << 20;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("QUIRE_FUZZ").unwrap_or_default();
    fuzz::named(&name).unwrap_or_else(|| panic!("QUIRE_FUZZ: no target {name:?}"))
});

/// Before libFuzzer has begun.
fn first() {
    if let Some(folder) = std::env::var_os("QUIRE_FUZZ_SEEDS") {
        fuzz::seeds::write(folder.as_ref()).expect("the first inputs can be written");
        std::process::exit(0);
    }
}

libfuzzer_sys::fuzz_target!(init: first(), |bytes: &[u8]| {
    let target = *TARGET;
    MEMORY.set_limit(MEMORY.allocated() + BOUND).expect("there is room for the bound");
    (target.run)(bytes);
    MEMORY.set_limit(usize::MAX).expect("no bound");
});
