//! Times and durations: RFC 3339 and Go's durations in JSON, numbers on the wire.

use serde_json::Value;

use crate::error::ProtoError;

/// Go's zero time, the first second of year 1, which is null in JSON.
const ZERO: i64 = -62_135_596_800;
/// The years that RFC 3339 can write, as seconds: 0000 to 9999.
const YEARS: std::ops::Range<i64> = -62_167_219_200..253_402_300_800;
const DAY: i64 = 86_400;

/// A time in whole seconds.
pub(crate) fn seconds_to_json(seconds: i64) -> Result<Value, ProtoError> {
    if seconds == ZERO {
        return Ok(Value::Null);
    }
    Ok(Value::from(date_and_time(seconds)? + "Z"))
}

/// A time in microseconds, given as seconds and nanoseconds.
pub(crate) fn micros_to_json(seconds: i64, nanos: i32) -> Result<Value, ProtoError> {
    let micros = nanos / 1000;
    if (seconds, micros) == (ZERO, 0) {
        return Ok(Value::Null);
    }
    // Whole seconds, of either sign, may hide in the fraction.
    let seconds = seconds.checked_add(i64::from(micros.div_euclid(1_000_000))).ok_or(ProtoError::TimeOutOfRange)?;
    Ok(Value::from(format!("{}.{:06}Z", date_and_time(seconds)?, micros.rem_euclid(1_000_000))))
}

fn date_and_time(seconds: i64) -> Result<String, ProtoError> {
    if !YEARS.contains(&seconds) {
        return Err(ProtoError::TimeOutOfRange);
    }
    let (year, month, day) = date_of_day(seconds.div_euclid(DAY));
    let time = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    Ok(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

/// Reads RFC 3339 as seconds and nanoseconds; inner none for Go's zero time.
pub(crate) fn parse(text: &str) -> Option<Option<(i64, i32)>> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (hour, rest) = number(rest.strip_prefix('T')?, 2)?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (nanos, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest)?,
        None => (0, rest),
    };
    let offset = match rest {
        "Z" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let (hours, rest) = number(rest.strip_prefix(['+', '-'])?, 2)?;
            let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
            (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))?
        }
    };
    let days = day_of_date(year, month, day);
    let exists = (1..=12).contains(&month) && date_of_day(days) == (year, month, day);
    if !exists || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days * DAY + hour * 3600 + minute * 60 + second - offset;
    Some((seconds != ZERO || nanos != 0).then_some((seconds, nanos)))
}

/// A number of exactly so many digits, and what follows.
fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let all_digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((all_digits.then(|| number.parse().ok())??, rest))
}

/// The digits behind a point as nanoseconds, and what follows.
fn fraction(text: &str) -> Option<(i32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
    let (digits, rest) = text.split_at_checked(end)?;
    let nanos = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    Some((nanos.fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0')), rest))
}

// The two below count years from March, so that the leap day is the last of its year, in cycles of 400 years.

/// The date of a day, counted from 1970-01-01.
fn date_of_day(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let cycle = day.div_euclid(146_097);
    let day_of_cycle = day.rem_euclid(146_097);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (cycle * 400 + year_of_cycle + i64::from(month <= 2), month, day_of_month)
}

/// The day of a date, counted from 1970-01-01.
fn day_of_date(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_cycle = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    year.div_euclid(400) * 146_097 + day_of_cycle - 719_468
}

/// A duration in nanoseconds as Go writes it: `1h0m0.5s`.
pub(crate) fn duration_text(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let (unit, name): (u64, &str) = match size {
        0 => return "0s".to_owned(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let width = unit.ilog10() as usize;
    let fraction = format!("{:0width$}", size % unit);
    let fraction = if width == 0 { "" } else { fraction.trim_end_matches('0') };
    let point = if fraction.is_empty() { "" } else { "." };
    let whole = size / unit;
    if name != "s" || whole < 60 {
        return format!("{sign}{whole}{point}{fraction}{name}");
    }
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    let hours = if hours > 0 { format!("{hours}h") } else { String::new() };
    format!("{sign}{hours}{minutes}m{seconds}{point}{fraction}s")
}

/// Reads a duration as Go writes it, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Some(0);
    }
    let mut rest = unsigned;
    let mut nanos: i128 = 0;
    loop {
        let number_ends = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(number_ends)?;
        let unit_ends = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_ends)?;
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || whole.len() > 19 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        nanos = nanos.checked_add(whole * unit)?;
        let mut digit_unit = unit;
        for digit in fraction.chars() {
            digit_unit /= 10;
            nanos = nanos.checked_add(i128::from(digit.to_digit(10)?) * digit_unit)?;
        }
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    i64::try_from(if text.starts_with('-') { -nanos } else { nanos }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (-62_135_596_799, "0001-01-01T00:00:01Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ];
        for (seconds, text) in table {
            assert_eq!(seconds_to_json(seconds), Ok(Value::from(text)));
            assert_eq!(parse(text), Some(Some((seconds, 0))));
        }
        assert_eq!(seconds_to_json(ZERO), Ok(Value::Null));
        assert_eq!(parse("0001-01-01T00:00:00Z"), Some(None));
        assert_eq!(parse("2023-11-14T23:13:20.5+01:00"), Some(Some((1_700_000_000, 500_000_000))));
        assert_eq!(parse("1969-12-31T23:59:59.25Z"), Some(Some((-1, 250_000_000))));
        for malformed in ["yesterday", "2023-02-29T00:00:00Z", "2023-13-01T00:00:00Z", "2023-01-01T24:00:00Z", "é"] {
            assert_eq!(parse(malformed), None, "{malformed}");
        }
        assert_eq!(seconds_to_json(i64::MAX), Err(ProtoError::TimeOutOfRange));
        assert_eq!(seconds_to_json(i64::MIN), Err(ProtoError::TimeOutOfRange));
    }

    #[test]
    fn microseconds_always_have_six_digits() {
        assert_eq!(micros_to_json(1_700_000_000, 1_999), Ok(Value::from("2023-11-14T22:13:20.000001Z")));
        assert_eq!(micros_to_json(1_700_000_000, 0), Ok(Value::from("2023-11-14T22:13:20.000000Z")));
        assert_eq!(micros_to_json(ZERO, 999), Ok(Value::Null));
        assert_eq!(micros_to_json(i64::MAX, i32::MAX), Err(ProtoError::TimeOutOfRange));
    }

    #[test]
    fn durations_are_written_as_in_go() {
        let table = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (60_000_000_000, "1m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (-5_400_500_000_000, "-1h30m0.5s"),
            (i64::MAX, "2562047h47m16.854775807s"),
        ];
        for (nanos, text) in table {
            assert_eq!(duration_text(nanos), text);
            assert_eq!(parse_duration(text), Some(nanos));
        }
        for malformed in ["", "5", "1x", ".s", "-", "h", "99999999999999999999h"] {
            assert_eq!(parse_duration(malformed), None, "{malformed}");
        }
    }
}
