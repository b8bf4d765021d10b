//! Durations as Go writes them, `1h30m`, `1.5s`, `300ms`, and as ages, `3m20s`, `5d`.

use std::fmt;

/// Why a text is no duration; the wording is Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text has the wrong form.
    #[error("time: invalid duration {0:?}")]
    Invalid(String),
    /// A number stands without a unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// The unit is none of ns, us, ms, s, m, h.
    #[error("time: unknown unit {0:?} in duration {1:?}")]
    UnknownUnit(String, String),
}

/// A span of time in nanoseconds, printed as Go prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub i64);

const SECOND: u64 = 1_000_000_000;

impl GoDuration {
    /// Reads a duration.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            if number.is_empty() || number.bytes().filter(|b| *b == b'.').count() > 1 || number == "." {
                return Err(invalid());
            }
            let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
            let (unit, after) = after.split_at(end);
            let scale = match unit {
                "" => return Err(DurationError::MissingUnit(text.to_owned())),
                "ns" => 1,
                "us" | "µs" | "μs" => 1_000,
                "ms" => 1_000_000,
                "s" => SECOND,
                "m" => 60 * SECOND,
                "h" => 3600 * SECOND,
                other => return Err(DurationError::UnknownUnit(other.to_owned(), text.to_owned())),
            };
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
            total = total.saturating_add(whole.saturating_mul(i128::from(scale)));
            let mut step = i128::from(scale);
            for digit in fraction.bytes() {
                step /= 10;
                total = total.saturating_add(step * i128::from(digit - b'0'));
            }
            rest = after;
        }
        let total = if text.starts_with('-') { -total } else { total };
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if nanos < SECOND {
            let (unit, scale) = match nanos {
                0..1_000 => ("ns", 1),
                1_000..1_000_000 => ("µs", 1_000),
                _ => ("ms", 1_000_000),
            };
            return write!(f, "{}{unit}", fraction(nanos, scale));
        }
        let (hours, minutes) = (nanos / (3600 * SECOND), nanos / (60 * SECOND) % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write!(f, "{}s", fraction(nanos % (60 * SECOND), SECOND))
    }
}

/// `number / scale` with as many decimals as it needs.
fn fraction(number: u64, scale: u64) -> String {
    let (whole, rest) = (number / scale, number % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// A duration as Kubernetes prints ages: two figures at most, coarser the longer it is.
pub fn human(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{small_unit}"),
    };
    match () {
        // Clocks of two machines may differ a little; more than that is no age.
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, 'd', hours % 24, 'h'),
        () if days < 730 => format!("{days}d"),
        () if days < 2920 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_as_in_go() {
        for (given, printed) in [
            ("1h30m", "1h30m0s"),
            ("90s", "1m30s"),
            ("1.5s", "1.5s"),
            ("300ms", "300ms"),
            ("0", "0s"),
            ("-1m", "-1m0s"),
            ("1500us", "1.5ms"),
            ("24h", "24h0m0s"),
            ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
            ("1.00000000000000000000000000000000000000000000009s", "1s"),
            ("", "time: invalid duration \"\""),
            ("5", "time: missing unit in duration \"5\""),
            ("5d", "time: unknown unit \"d\" in duration \"5d\""),
            ("x", "time: invalid duration \"x\""),
            ("999999999999h", "time: invalid duration \"999999999999h\""),
        ] {
            let read = GoDuration::parse(given).map_or_else(|e| e.to_string(), |d| d.to_string());
            assert_eq!(read, printed, "{given}");
        }
    }

    #[test]
    fn durations_grow_coarser() {
        let (minute, hour, day, year) = (60, 3600, 86_400, 365 * 86_400);
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (2 * minute + 5, "2m5s"),
            (10 * minute, "10m"),
            (179 * minute + 59, "179m"),
            (3 * hour, "3h"),
            (7 * hour + 59 * minute, "7h59m"),
            (8 * hour + 59 * minute, "8h"),
            (47 * hour, "47h"),
            (48 * hour, "2d"),
            (7 * day + 23 * hour, "7d23h"),
            (8 * day, "8d"),
            (729 * day, "729d"),
            (2 * year, "2y"),
            (2 * year + 9 * day, "2y9d"),
            (8 * year + 9 * day, "8y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
