//! Durations as Go writes them.

use crate::template::print::quote;

const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds of a text such as `-1h30m`.
pub(super) fn parse(text: &str) -> Result<i128, String> {
    let invalid = || format!("time: invalid duration {}", quote(text.as_bytes()));
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if number.is_empty() || number == "." {
            return Err(invalid());
        }
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text.as_bytes())));
        }
        let unknown =
            || format!("time: unknown unit {} in duration {}", quote(unit.as_bytes()), quote(text.as_bytes()));
        let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale).ok_or_else(unknown)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let fraction: String = fraction.chars().take(15).collect();
        let power = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| invalid())? };
        let nanoseconds = whole.checked_mul(scale).and_then(|whole| whole.checked_add(part * scale / power));
        total = nanoseconds.and_then(|nanoseconds| total.checked_add(nanoseconds)).ok_or_else(invalid)?;
        rest = after;
    }
    if total > i128::from(i64::MAX) { Err(invalid()) } else { Ok(sign * total) }
}

/// `1h2m3.5s`
pub(super) fn show(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let left = nanoseconds.unsigned_abs();
    if left == 0 {
        return "0s".to_owned();
    }
    if left < 1_000_000_000 {
        let (unit, scale) = match left {
            ..1_000 => ("ns", 1),
            1_000..1_000_000 => ("µs", 1_000),
            _ => ("ms", 1_000_000),
        };
        return format!("{sign}{}{unit}", decimal(left, scale));
    }
    let (minutes, rest) = (left / 60_000_000_000, left % 60_000_000_000);
    let seconds = decimal(rest, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(number: u128, scale: u128) -> String {
    let fraction = number % scale;
    if fraction == 0 {
        return (number / scale).to_string();
    }
    let width = scale.to_string().len() - 1;
    let digits = format!("{fraction:0width$}");
    format!("{}.{}", number / scale, digits.trim_end_matches('0'))
}

/// The largest unit alone.
pub(super) fn rounded(nanoseconds: i128) -> String {
    let magnitude = nanoseconds.unsigned_abs();
    let second = 1_000_000_000_u128;
    let units = [
        (365 * 24 * 3600 * second, "y"),
        (30 * 24 * 3600 * second, "mo"),
        (24 * 3600 * second, "d"),
        (3600 * second, "h"),
        (60 * second, "m"),
        (second, "s"),
    ];
    let largest = units.iter().find(|(size, _)| magnitude > *size);
    largest.map_or_else(|| "0s".to_owned(), |(size, unit)| format!("{}{unit}", magnitude / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, shown) in
            [("1h30m", "1h30m0s"), ("-1.5h", "-1h30m0s"), ("90s", "1m30s"), ("1500us", "1.5ms"), ("0", "0s")]
        {
            assert_eq!(show(parse(text).unwrap()), shown);
        }
        assert!(parse("1").is_err() && parse("").is_err() && parse("1x").is_err());
        assert_eq!(rounded(parse("2h3m").unwrap()), "2h");
    }
}
