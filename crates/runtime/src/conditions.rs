//! Conditions and blockers that remember since when they hold.

use butler_api::shared::{Blocker, Condition, ConditionStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// What one text of a status has at most, in bytes; more is refused by the API.
const LONGEST: usize = 4096;
/// How many facts a blocker has at most.
const MOST_EVIDENCE: usize = 32;
/// What stands where something was left out.
const LEFT_OUT: &str = " […] ";

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
        message: Some(bounded(verdict.message)),
    };
    verdicts.into_iter().map(condition).collect()
}

/// Blockers with the time since when: those of a reason that was there before keep theirs.
pub fn blockers_since(before: &[Blocker], blockers: Vec<Blocker>, now: Timestamp) -> Vec<Blocker> {
    let since = |blocker: &Blocker| {
        let known = before.iter().find(|known| known.reason == blocker.reason);
        known.and_then(|known| known.since.clone()).or_else(|| Some(to_the_second(now)))
    };
    let dated = |blocker: Blocker| Blocker {
        since: since(&blocker),
        message: bounded(blocker.message),
        evidence: most_of(blocker.evidence),
        remedy: blocker.remedy.map(bounded),
        ..blocker
    };
    blockers.into_iter().map(dated).collect()
}

/// A text that fits: its beginning, and its end, where the cause mostly stands.
pub fn bounded(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let end = LONGEST / 4;
    let head = text.floor_char_boundary(LONGEST - end - LEFT_OUT.len());
    let tail = text.ceil_char_boundary(text.len() - end);
    format!("{}{LEFT_OUT}{}", &text[..head], &text[tail..])
}

fn most_of(evidence: Vec<String>) -> Vec<String> {
    if evidence.len() <= MOST_EVIDENCE {
        return evidence.into_iter().map(bounded).collect();
    }
    let more = format!("and {} more", evidence.len() - (MOST_EVIDENCE - 1));
    evidence.into_iter().take(MOST_EVIDENCE - 1).map(bounded).chain([more]).collect()
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

    #[test]
    fn what_is_told_fits_into_a_status() {
        let long = format!("begun {}ends", "ä".repeat(5000));
        let blocker = |message: &str, evidence: usize| Blocker {
            reason: "R".into(),
            message: message.into(),
            evidence: (0..evidence).map(|number| number.to_string()).collect(),
            owner: None,
            remedy: Some(message.into()),
            since: None,
        };
        let at = Timestamp::from_second(1).unwrap();
        let told = blockers_since(&[], vec![blocker(&long, 40), blocker("short", 32)], at);
        for text in [&told[0].message, told[0].remedy.as_ref().unwrap()] {
            assert!(text.len() <= LONGEST && text.starts_with("begun ä") && text.ends_with("äends"), "{text}");
        }
        assert_eq!((told[0].evidence.len(), told[0].evidence[31].as_str()), (32, "and 9 more"));
        assert_eq!((told[1].evidence.len(), told[1].message.as_str()), (32, "short"));
        // What was cut is not cut again: a status at rest stays as it is.
        assert_eq!(blockers_since(&told, told.clone(), at), told);
        let told = conditions_since(&[], vec![Verdict::fails("Ready", "R", long)], None, at);
        assert!(told[0].message.as_ref().unwrap().len() <= LONGEST);
    }
}
