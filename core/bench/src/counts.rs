//! A worker that counts its allocations: for `bench`, which starts it.

use std::alloc::System;
use std::path::Path;

use anyhow::{Context as _, Result};
use bench::worker::{self, Counters, Counting};
use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: PeakMemAlloc<&StatsAlloc<System>> = PeakMemAlloc::new(&INSTRUMENTED_SYSTEM);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().context("subject, program and patience in milliseconds");
    let (subject, program, patience_ms) = (next()?, next()?, next()?.parse()?);
    let counting = Counting { reset: || HEAP.reset_peak_memory(), read };
    worker::serve(&subject, Path::new(&program), patience_ms, Some(counting))
}

fn read() -> Counters {
    let stats = INSTRUMENTED_SYSTEM.stats();
    Counters {
        allocations: (stats.allocations + stats.reallocations) as u64,
        allocated_bytes: stats.bytes_allocated as u64,
        freed_bytes: stats.bytes_deallocated as u64,
        peak_bytes: HEAP.get_peak_memory() as u64,
    }
}
