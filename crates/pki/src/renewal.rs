//! When to renew a certificate.

use jiff::{SignedDuration, Timestamp};

/// The moment to renew: two thirds into the validity, which leaves a third of it to repair a failing renewal.
pub fn renew_at(not_before: Timestamp, not_after: Timestamp) -> Timestamp {
    let lifetime = not_after.duration_since(not_before).max(SignedDuration::ZERO);
    not_before.saturating_add(lifetime / 3 * 2).unwrap_or(not_after)
}

/// Whether the moment to renew has come.
pub fn is_due(not_before: Timestamp, not_after: Timestamp, now: Timestamp) -> bool {
    now >= renew_at(not_before, not_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thirds_of_the_lifetime() {
        for (from, to, expected) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z", "2026-01-01T02:00:00Z"),
            ("2026-01-01T00:00:00Z", "2026-12-27T00:00:00Z", "2026-08-29T00:00:00Z"),
            // A validity that ends before it begins is due at once.
            ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ] {
            let (from, to, expected): (Timestamp, Timestamp, Timestamp) =
                (from.parse().unwrap(), to.parse().unwrap(), expected.parse().unwrap());
            assert_eq!(renew_at(from, to), expected);
            assert!(is_due(from, to, expected));
            assert!(!is_due(from, to, expected - SignedDuration::from_secs(1)));
        }
    }
}
