//! Conditions and blockers that remember since when they hold.

use butler_api::shared::{Blocker, Condition, ConditionStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// What a planner says of one aspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What is judged.
    pub aspect: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one CamelCase word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

impl Verdict {
    /// The aspect holds.
    pub fn holds(aspect: &'static str, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { aspect, status: ConditionStatus::True, reason: reason.into(), message: message.into() }
    }

    /// The aspect does not hold.
    pub fn fails(aspect: &'static str, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { aspect, status: ConditionStatus::False, reason: reason.into(), message: message.into() }
    }

    /// Nobody can tell now.
    pub fn unknown(aspect: &'static str, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { aspect, status: ConditionStatus::Unknown, reason: reason.into(), message: message.into() }
    }
}

/// Verdicts as conditions. One whose status is as before keeps the time of its last change.
pub fn conditions_since(
    before: &[Condition],
    verdicts: Vec<Verdict>,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let since = |verdict: &Verdict| {
        let known = before.iter().find(|known| known.type_ == verdict.aspect && known.status == verdict.status);
        known.and_then(|known| known.last_transition_time.clone()).or_else(|| Some(to_the_second(now)))
    };
    let condition = |verdict: Verdict| Condition {
        last_transition_time: since(&verdict),
        type_: verdict.aspect.to_owned(),
        status: verdict.status,
        observed_generation: generation,
        reason: Some(verdict.reason),
        message: Some(verdict.message),
    };
    verdicts.into_iter().map(condition).collect()
}

/// Blockers with the time since when: those of a reason that was there before keep theirs.
pub fn blockers_since(before: &[Blocker], blockers: Vec<Blocker>, now: Timestamp) -> Vec<Blocker> {
    let since = |blocker: &Blocker| {
        let known = before.iter().find(|known| known.reason == blocker.reason);
        known.and_then(|known| known.since.clone()).or_else(|| Some(to_the_second(now)))
    };
    blockers.into_iter().map(|blocker| Blocker { since: since(&blocker), ..blocker }).collect()
}

fn to_the_second(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_with_the_status_alone() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let first = conditions_since(&[], vec![Verdict::fails("Ready", "Starting", "soon")], Some(1), at(10));
        let same = conditions_since(&first, vec![Verdict::fails("Ready", "Slow", "later")], Some(2), at(20));
        let turned = conditions_since(&same, vec![Verdict::holds("Ready", "Up", "yes")], Some(2), at(30));
        let times = [&first, &same, &turned].map(|list| list[0].last_transition_time.clone().unwrap().0.as_second());
        assert_eq!(times, [10, 10, 30]);
        assert_eq!(same[0].reason.as_deref(), Some("Slow"));
        assert_eq!(same[0].observed_generation, Some(2));
    }
}
