//! Durations as Go writes and reads them: `1h30m`, `250ms`.

use std::fmt::Write as _;

/// Reads a Go duration; nanoseconds.
pub fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let whole_len = rest.bytes().take_while(u8::is_ascii_digit).count();
        let whole = rest.get(..whole_len)?;
        rest = rest.get(whole_len..)?;
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let len = after.bytes().take_while(u8::is_ascii_digit).count();
            fraction = after.get(..len)?;
            rest = after.get(len..)?;
        }
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_len = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = nanos_of(rest.get(..unit_len)?)?;
        rest = rest.get(unit_len..)?;
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        let mut scale = unit;
        for digit in fraction.bytes() {
            scale /= 10;
            total += i128::from(digit - b'0') * scale;
        }
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn nanos_of(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Prints nanoseconds as Go does.
pub fn format(nanos: i64) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    if nanos < 0 {
        out.push('-');
    }
    let left = nanos.unsigned_abs();
    if left < 1_000_000_000 {
        let (unit, name) = match left {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        write_decimal(&mut out, left, unit);
        out.push_str(name);
        return out;
    }
    let minutes = left / 60_000_000_000;
    if minutes >= 60 {
        let _ = write!(out, "{}h", minutes / 60);
    }
    if minutes > 0 {
        let _ = write!(out, "{}m", minutes % 60);
    }
    write_decimal(&mut out, left % 60_000_000_000, 1_000_000_000);
    out.push('s');
    out
}

fn write_decimal(out: &mut String, value: u64, unit: u64) {
    let _ = write!(out, "{}", value / unit);
    let mut fraction = value % unit;
    let mut scale = unit;
    if fraction > 0 {
        out.push('.');
        while fraction > 0 {
            scale /= 10;
            let _ = write!(out, "{}", fraction / scale);
            fraction %= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_go_there_and_back() {
        let cases = [
            ("1h30m", 5_400_000_000_000, "1h30m0s"),
            ("-1.5s", -1_500_000_000, "-1.5s"),
            ("250ms", 250_000_000, "250ms"),
            ("0", 0, "0s"),
            ("1us", 1_000, "1µs"),
            ("90s", 90_000_000_000, "1m30s"),
        ];
        for (text, nanos, printed) in cases {
            assert_eq!(parse(text), Some(nanos), "{text}");
            assert_eq!(format(nanos), printed, "{text}");
        }
        for bad in ["", "1", "h", "1x", "1.s.", "9999999999999h"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
