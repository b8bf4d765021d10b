//! How long pods stay on a node that drives them away.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, Taint};

use crate::workloads::placement::{NO_EXECUTE, tolerates};

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    LeavesAt(Timestamp),
    Leaves,
}

/// What the taints of a node mean for a pod there.
pub(super) fn fate(pod: &Pod, taints: &[Taint], now: Timestamp) -> Fate {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let mut earliest: Option<Timestamp> = None;
    for taint in taints.iter().filter(|taint| taint.effect == NO_EXECUTE) {
        let mut tolerating = tolerations.iter().filter(|toleration| tolerates(toleration, taint)).peekable();
        if tolerating.peek().is_none() {
            return Fate::Leaves;
        }
        // The shortest time given counts; none given is forever.
        if let Some(seconds) = tolerating.filter_map(|toleration| toleration.toleration_seconds).min() {
            let since = taint.time_added.as_ref().map_or(now, |time| time.0);
            let at = since.checked_add(SignedDuration::from_secs(seconds.max(0))).unwrap_or(Timestamp::MAX);
            earliest = Some(earliest.map_or(at, |known| known.min(at)));
        }
    }
    match earliest {
        None => Fate::Stays,
        Some(at) if at <= now => Fate::Leaves,
        Some(at) => Fate::LeavesAt(at),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_leave_when_they_tolerate_it_no_longer() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect, "timeAdded": at(100).to_string()});
        let forever = json!({"key": "a", "operator": "Exists"});
        let a_while = json!({"key": "a", "operator": "Exists", "tolerationSeconds": 300});
        let shorter = json!({"key": "b", "operator": "Exists", "tolerationSeconds": 30});
        for (taints, tolerations, now, expected) in [
            (json!([]), json!([]), 200, Fate::Stays),
            (json!([taint("a", "NoSchedule")]), json!([]), 200, Fate::Stays),
            (json!([taint("a", NO_EXECUTE)]), json!([]), 200, Fate::Leaves),
            (json!([taint("a", NO_EXECUTE)]), json!([forever]), 9000, Fate::Stays),
            (json!([taint("a", NO_EXECUTE)]), json!([a_while]), 200, Fate::LeavesAt(at(400))),
            (json!([taint("a", NO_EXECUTE)]), json!([a_while]), 400, Fate::Leaves),
            (json!([taint("a", NO_EXECUTE), taint("b", NO_EXECUTE)]), json!([a_while]), 200, Fate::Leaves),
            (
                json!([taint("a", NO_EXECUTE), taint("b", NO_EXECUTE)]),
                json!([a_while, shorter]),
                110,
                Fate::LeavesAt(at(130)),
            ),
        ] {
            let pod: Pod =
                serde_json::from_value(json!({"spec": {"containers": [], "tolerations": tolerations}})).unwrap();
            let parsed: Vec<Taint> = serde_json::from_value(taints.clone()).unwrap();
            assert_eq!(fate(&pod, &parsed, at(now)), expected, "{taints} {tolerations}");
        }
    }
}
