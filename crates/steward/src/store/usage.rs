//! What tenants keep, as last measured.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use runtime::{Key, Queue};

use super::Usage;

/// Measured usages by UID. The controller of stores measures, that of tenants reports. Clones share them.
#[derive(Clone, Default)]
pub struct Usages {
    measured: Arc<Mutex<HashMap<String, (Usage, Timestamp)>>>,
    tenants: Queue,
}

impl Usages {
    /// The queue of the controller that reports them.
    pub fn queue(&self) -> &Queue {
        &self.tenants
    }

    /// What was measured last.
    pub fn of(&self, uid: &str) -> Option<(Usage, Timestamp)> {
        self.measured.lock().get(uid).copied()
    }

    /// Takes a measurement in. A change that nobody would notice is dropped, so that a tenant at rest stays at rest.
    pub fn measured(&self, tenant: Key, uid: &str, usage: Usage, now: Timestamp) {
        let mut measured = self.measured.lock();
        if measured.get(uid).is_some_and(|(before, _)| !is_notable(*before, usage)) {
            return;
        }
        measured.insert(uid.to_owned(), (usage, now));
        drop(measured);
        self.tenants.add(tenant);
    }

    /// Forgets all but these.
    pub fn keep(&self, uids: &[String]) {
        self.measured.lock().retain(|uid, _| uids.contains(uid));
    }
}

/// Whether somebody would want to know: a tenth more or less, and at least 64 KiB.
fn is_notable(before: Usage, after: Usage) -> bool {
    let difference = (after.bytes - before.bytes).abs();
    difference >= 64 * 1024 && difference * 10 >= before.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_changes_are_no_news() {
        let of = |bytes| Usage { keys: 1, bytes };
        for (before, after, expected) in [
            (100_000, 100_000, false),
            (100_000, 150_000, false),
            (100_000, 200_000, true),
            (10_000_000, 10_500_000, false),
            (10_000_000, 11_000_000, true),
            (10_000_000, 5_000_000, true),
        ] {
            assert_eq!(is_notable(of(before), of(after)), expected, "{before} {after}");
        }
    }
}
