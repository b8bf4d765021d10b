//! The time.

use jiff::Timestamp;
use runtime::Clock;

/// The time to the second: all that Kubernetes timestamps carry, so that what is told compares equal when read back.
pub(crate) fn now(clock: &Clock) -> Timestamp {
    let now = clock();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
