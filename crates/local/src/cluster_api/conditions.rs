//! Conditions that remember since when they hold.

use capi::{Condition, ConditionStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Something holds, or does not for this reason.
pub(crate) fn judged(type_: &str, holds: bool, reason: &str, message: impl Into<String>) -> Condition {
    let told = |text: String| (!holds && !text.is_empty()).then_some(text);
    Condition {
        type_: type_.to_owned(),
        status: if holds { ConditionStatus::True } else { ConditionStatus::False },
        severity: told("Info".to_owned()),
        last_transition_time: None,
        reason: told(reason.to_owned()),
        message: told(message.into()),
    }
}

/// Conditions with their times: one whose status is as before keeps its own. Those that nobody judged now are dropped.
pub(crate) fn since(before: &[Condition], judged: Vec<Condition>, now: Timestamp) -> Vec<Condition> {
    let timed = |condition: Condition| {
        let known = before.iter().find(|known| known.type_ == condition.type_ && known.status == condition.status);
        let time = known.and_then(|known| known.last_transition_time.clone()).or(Some(Time(now)));
        Condition { last_transition_time: time, ..condition }
    };
    judged.into_iter().map(timed).collect()
}

/// Since when a condition holds.
pub(crate) fn holds_since(conditions: &[Condition], type_: &str) -> Option<Timestamp> {
    let found = conditions.iter().find(|known| known.type_ == type_ && known.status == ConditionStatus::True)?;
    found.last_transition_time.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_with_the_status_alone() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let first = since(&[], vec![judged("Ready", false, "Waiting", "soon")], at(10));
        let same = since(&first, vec![judged("Ready", false, "Slow", "later")], at(20));
        assert_eq!(same[0].last_transition_time, Some(Time(at(10))));
        assert_eq!(same[0].reason.as_deref(), Some("Slow"));
        let turned = since(&same, vec![judged("Ready", true, "", "")], at(30));
        assert_eq!(holds_since(&turned, "Ready"), Some(at(30)));
        assert_eq!((turned[0].reason.as_deref(), turned[0].severity.as_deref()), (None, None));
    }
}
