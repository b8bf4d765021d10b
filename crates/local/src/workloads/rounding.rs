//! Numbers that users give as a count or as a percentage.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Which way a percentage is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Up,
    Down,
}

/// The count that a number or percentage of `total` means.
pub(crate) fn resolve(value: &IntOrString, total: i32, round: Round) -> i32 {
    match value {
        IntOrString::Int(count) => *count,
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<i64>().ok()).unwrap_or(0);
            let hundredths = i64::from(total) * percent;
            let count = match round {
                Round::Up => hundredths.div_euclid(100) + i64::from(hundredths.rem_euclid(100) > 0),
                Round::Down => hundredths.div_euclid(100),
            };
            i32::try_from(count).unwrap_or(i32::MAX)
        }
    }
}

/// How long until a moment: what a pass waits for.
pub(crate) fn until(at: jiff::Timestamp, now: jiff::Timestamp) -> std::time::Duration {
    std::time::Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

/// None instead of zero, as Kubernetes leaves out zero counters.
pub(crate) fn counted(count: usize) -> Option<i32> {
    i32::try_from(count).ok().filter(|count| *count != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_as_asked() {
        let text = |text: &str| IntOrString::String(text.into());
        for (value, total, up, down) in [
            (IntOrString::Int(3), 10, 3, 3),
            (text("25%"), 10, 3, 2),
            (text("25%"), 4, 1, 1),
            (text("0%"), 4, 0, 0),
            (text("100%"), 7, 7, 7),
            (text("1%"), 1, 1, 0),
        ] {
            assert_eq!(
                (resolve(&value, total, Round::Up), resolve(&value, total, Round::Down)),
                (up, down),
                "{value:?}"
            );
        }
    }
}
