//! The one place of this crate that asks the time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Returns the wall time in milliseconds since 1970, for people's eyes.
#[expect(clippy::disallowed_methods, reason = "the rim: from here on time is passed in")]
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the running time, for deadlines.
#[expect(clippy::disallowed_methods, reason = "the rim: from here on time is passed in")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
