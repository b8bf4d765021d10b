//! Whether a plain text would be read as something other than a text.

/// Whether a text must be quoted to stay one.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return true };
    match first {
        'y' | 'Y' | 'n' | 'N' | 't' | 'T' | 'f' | 'F' | 'o' | 'O' | '~' => is_word(text),
        '.' => is_word(text) || is_float(text),
        '+' | '-' | '0'..='9' => is_word(text) || is_timestamp(text) || is_number(text) || is_base60(text),
        _ => false,
    }
}

fn is_word(text: &str) -> bool {
    // In small letters, with a capital, or in capitals.
    let is_cased = || {
        let rest = text.as_bytes().get(1..).unwrap_or_default();
        let begins_small = text.starts_with(|c: char| c.is_ascii_lowercase());
        rest.iter().all(u8::is_ascii_lowercase) || (!begins_small && rest.iter().all(u8::is_ascii_uppercase))
    };
    let cased = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word)) && is_cased();
    let infinity = text.strip_prefix(['+', '-']).unwrap_or(text);
    cased(&["y", "yes", "true", "on", "n", "no", "false", "off", "null"])
        || matches!(text, "~" | ".nan" | ".NaN" | ".NAN")
        || matches!(infinity, ".inf" | ".Inf" | ".INF")
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let digits = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let lower = digits.to_ascii_lowercase();
    let prefixed = |prefix: &str, radix| {
        lower.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    };
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
        || prefixed("0x", 16)
        || prefixed("0o", 8)
        || prefixed("0b", 2)
        || is_float(&plain)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// Numbers of hours, minutes and seconds, which YAML 1.1 took for one number.
fn is_base60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (first, rest) = match text.split_once(':') {
        Some(parts) => parts,
        None => return false,
    };
    let (rest, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let part = |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    first.starts_with(|c: char| c.is_ascii_digit()) && digits(first) && digits(fraction) && rest.split(':').all(part)
}

/// A date, with or without a time.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes.iter().take(4).all(u8::is_ascii_digit) || bytes.get(4) != Some(&b'-') {
        return false;
    }
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    };
    let number = |text: &str, most: u32| {
        (1..=2).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && text.parse::<u32>().is_ok_and(|number| number <= most)
    };
    let mut parts = date.split('-').skip(1);
    let is_date = parts.next().is_some_and(|month| number(month, 12) && !month.trim_start_matches('0').is_empty())
        && parts.next().is_some_and(|day| number(day, 31) && !day.trim_start_matches('0').is_empty())
        && parts.next().is_none();
    let is_time = |time: &str, needs_zone: bool| {
        let end = time.find(['Z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(end);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let parts: Vec<&str> = clock.split(':').collect();
        let zone_is_fine = match zone {
            "" => !needs_zone,
            "Z" => needs_zone,
            zone => needs_zone && zone.len() == 6,
        };
        zone_is_fine
            && !fraction.is_empty()
            && fraction.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(parts.as_slice(), [hour, minute, second]
                if number(hour, 23) && number(minute, 59) && number(second, 59))
    };
    let has_letter = text.contains(['T', 't']);
    is_date && time.is_none_or(|time| is_time(time, has_letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_as_something_else_is_ambiguous() {
        for text in [
            "",
            "yes",
            "N",
            "~",
            "Null",
            ".5",
            "1.",
            "+1",
            "0x1F",
            "1_000",
            "2026-01-01",
            "1:20",
            "190:20:30",
            "08",
            "12e03",
            ".inf",
            "-.INF",
            ".NaN",
            "2026-01-01T10:00:00Z",
            "2026-1-2 3:4:5",
        ] {
            assert!(is_ambiguous(text), "{text}");
        }
        for text in ["=", "<<", "1e", "0.0.1", "1 2", "1.2.3", "nope", "null ", "yEs", "-", "2026-13-01", "1:90", "v1"]
        {
            assert!(!is_ambiguous(text), "{text}");
        }
    }
}
