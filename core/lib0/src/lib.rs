//! How Yjs writes numbers, strings, values and columns: the encoding library `lib0` (npm, 0.2), to the byte.
//!
//! Pure: bytes in, values out. Reading never panics and never reserves memory by an announced count; every error
//! names the byte at which it arose. Order of reading: [`read`] and [`write`](mod@write) have the primitive forms,
//! [`any`] the self-describing values, [`json`] the same values as JavaScript's JSON, [`columns`] the run-length
//! columns of the second update format.

pub mod read;

pub mod utf16;

pub mod write;

pub mod any;

pub mod json;

pub mod columns;

pub use any::Any;
pub use read::{ReadError, Reader};
pub use write::{Sink, write_var_bytes, write_var_i64, write_var_str, write_var_u64};
