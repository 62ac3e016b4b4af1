//! What documents promise, through the doors that callers use.

#[path = "promises/recorded.rs"]
mod recorded;
#[path = "promises/vectors.rs"]
mod vectors;
