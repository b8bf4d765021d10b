//! The string formats kube-apiserver checks in custom resources. Formats it does not know mean nothing, and those new
//! in a release (`k8s-short-name` in 1.34) are not checked before the next.

use std::net::Ipv6Addr;

/// Whether `value` has the `format`; none if the format is not one that is checked.
pub fn check(format: &str, value: &str) -> Option<bool> {
    let normal: String = format.chars().filter(|c| *c != '-').collect();
    Some(match normal.as_str() {
        "bsonobjectid" => value.len() == 24 && is_hex(value),
        "uri" => is_request_uri(value),
        "email" => is_email(value),
        "hostname" => is_hostname(value),
        "ipv4" => value.contains('.') && parse_ip_sloppy(value),
        "ipv6" => value.contains(':') && value.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr_sloppy(value),
        "mac" => is_mac(value),
        "uuid" => is_uuid(value, None),
        "uuid3" => is_uuid(value, Some('3')),
        "uuid4" => is_uuid(value, Some('4')),
        "uuid5" => is_uuid(value, Some('5')),
        "isbn" => is_isbn10(value) || is_isbn13(value),
        "isbn10" => is_isbn10(value),
        "isbn13" => is_isbn13(value),
        "creditcard" => is_credit_card(value),
        "ssn" => is_ssn(value),
        "hexcolor" => is_hex_color(value),
        "rgbcolor" => is_rgb_color(value),
        "byte" => is_base64(value),
        "password" => true,
        "date" => is_date(value),
        "duration" => is_duration(value),
        "datetime" => is_date_time(value),
        _ => return None,
    })
}

/// Whether the format is one that is checked.
pub fn is_known(format: &str) -> bool {
    check(format, "").is_some()
}

fn is_hex(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_hexdigit())
}

fn all_digits(value: &str, len: usize) -> bool {
    value.len() == len && value.bytes().all(|b| b.is_ascii_digit())
}

/// An absolute URI or an absolute path.
fn is_request_uri(value: &str) -> bool {
    if value.is_empty() || value.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if value == "*" {
        return true;
    }
    let scheme_end = value.find(':').filter(|&end| {
        let scheme = value.get(..end).unwrap_or_default();
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    let (has_scheme, rest) = match scheme_end {
        Some(end) => (true, value.get(end + 1..).unwrap_or_default()),
        None => (false, value),
    };
    if !rest.starts_with('/') {
        // `mailto:x` is opaque, which is fine with a scheme; anything else is relative.
        return has_scheme;
    }
    let path = rest.split('?').next().unwrap_or_default();
    let authority = path.strip_prefix("//").map(|after| after.split('/').next().unwrap_or_default());
    let escapes_fine = |text: &str| text.match_indices('%').all(|(at, _)| text.get(at + 1..at + 3).is_some_and(is_hex));
    escapes_fine(path)
        && authority.is_none_or(|host| !host.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '|', '}']))
}

/// An address as `local@domain`, bare or as `Name <local@domain>`.
fn is_email(value: &str) -> bool {
    let value = value.trim();
    let address = match value.strip_suffix('>') {
        Some(with_name) => match with_name.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => value,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
    let dot_atom =
        |text: &str| !text.is_empty() && text.split('.').all(|part| !part.is_empty() && part.chars().all(atom));
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || dot_atom(local)) && (literal || dot_atom(domain))
}

fn is_hostname(value: &str) -> bool {
    if value.is_empty() || value.len() > 255 || value.split('.').any(|part| part.len() > 63) {
        return false;
    }
    let letter = |c: char| c.is_alphanumeric() && !c.is_ascii_digit() || !c.is_ascii();
    let inner = |c: char| c.is_ascii_digit() || letter(c);
    let labels: Vec<&str> = value.split('.').collect();
    let label_fine =
        |label: &str| label.starts_with(inner) && label.ends_with(inner) && label.chars().all(|c| inner(c) || c == '-');
    match labels.as_slice() {
        [only] => label_fine(only) && !only.contains("--"),
        [rest @ .., top] => {
            rest.iter().all(|label| label_fine(label)) && top.chars().count() >= 2 && top.chars().all(letter)
        }
        [] => false,
    }
}

/// Like the standard parser, but with leading zeros allowed, as old Go had it.
fn parse_ip_sloppy(value: &str) -> bool {
    if value.contains(':') {
        return value.parse::<Ipv6Addr>().is_ok();
    }
    let parts: Vec<&str> = value.split('.').collect();
    parts.len() == 4
        && parts.iter().all(|part| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.trim_start_matches('0').len() <= 3
                && part.trim_start_matches('0').parse::<u16>().unwrap_or(0) <= 255
        })
}

fn is_cidr_sloppy(value: &str) -> bool {
    let Some((address, bits)) = value.split_once('/') else { return false };
    let limit = if address.contains(':') { 128 } else { 32 };
    parse_ip_sloppy(address)
        && !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= limit)
}

fn is_mac(value: &str) -> bool {
    let groups = |separator: char, width: usize, counts: &[usize]| {
        let parts: Vec<&str> = value.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| part.len() == width && is_hex(part))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn is_uuid(value: &str, version: Option<char>) -> bool {
    let mut rest = value;
    for (i, len) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some(group) = rest.get(..len).filter(|group| is_hex(group)) else { return false };
        let lead = group.chars().next().map(|c| c.to_ascii_lowercase());
        let fits = match (i, version) {
            (2, Some(version)) => lead == Some(version),
            (3, Some('4' | '5')) => matches!(lead, Some('8' | '9' | 'a' | 'b')),
            _ => true,
        };
        if !fits {
            return false;
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    rest.is_empty()
}

fn isbn_digits(value: &str) -> Vec<u32> {
    value
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .map(|c| c.to_digit(10).unwrap_or(if c == 'X' { 10 } else { 99 }))
        .collect()
}

fn is_isbn10(value: &str) -> bool {
    let digits = isbn_digits(value);
    digits.len() == 10
        && digits.iter().enumerate().all(|(i, d)| *d < 10 || (i == 9 && *d == 10))
        && digits.iter().zip(1..).map(|(d, weight)| d * weight).sum::<u32>() % 11 == 0
}

fn is_isbn13(value: &str) -> bool {
    let digits = isbn_digits(value);
    digits.len() == 13
        && digits.iter().all(|d| *d < 10)
        && digits.iter().enumerate().map(|(i, d)| if i % 2 == 0 { *d } else { d * 3 }).sum::<u32>() % 10 == 0
}

fn is_credit_card(value: &str) -> bool {
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| digits.starts_with(prefix));
    let known = match digits.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let sum: u32 = digits
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(i, d)| if i % 2 == 0 { d } else { d * 2 / 10 + d * 2 % 10 })
        .sum();
    known && sum.is_multiple_of(10)
}

fn is_ssn(value: &str) -> bool {
    value.len() == 11
        && [(0, 3), (4, 6), (7, 11)].iter().all(|&(a, b)| value.get(a..b).is_some_and(|part| all_digits(part, b - a)))
        && [3, 6].iter().all(|&at| matches!(value.as_bytes().get(at), Some(b'-' | b' ')))
}

fn is_hex_color(value: &str) -> bool {
    let digits = value.strip_prefix('#').unwrap_or(value);
    matches!(digits.len(), 3 | 6) && is_hex(digits)
}

fn is_rgb_color(value: &str) -> bool {
    let Some(inside) = value.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    parts.len() == 3
        && parts.iter().all(|part| {
            (part.len() == 1 || !part.starts_with('0'))
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u16>().is_ok_and(|n| n <= 255)
        })
}

fn is_base64(value: &str) -> bool {
    if value.is_empty() || !value.len().is_multiple_of(4) {
        return false;
    }
    let body = value.strip_suffix("==").or_else(|| value.strip_suffix('=')).unwrap_or(value);
    body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

fn is_date(value: &str) -> bool {
    let (Some(year), Some(month), Some(day)) = (value.get(..4), value.get(5..7), value.get(8..)) else { return false };
    let bytes = value.as_bytes();
    if value.len() != 10 || bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return false;
    }
    if !(all_digits(year, 4) && all_digits(month, 2) && all_digits(day, 2)) {
        return false;
    }
    let (year, month, day) = (year.parse().unwrap_or(0), month.parse().unwrap_or(0), day.parse().unwrap_or(0));
    jiff::civil::Date::new(year, month, day).is_ok()
}

fn is_date_time(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut halves = lower.split('t');
    let (Some(date), Some(time)) = (halves.next(), halves.next()) else { return false };
    let (Some(h), Some(m), Some(s)) = (time.get(..2), time.get(3..5), time.get(6..8)) else { return false };
    let bytes = time.as_bytes();
    let clock = [(h, "23"), (m, "59"), (s, "59")].iter().all(|(part, limit)| all_digits(part, 2) && part <= limit)
        && bytes.get(2) == Some(&b':')
        && bytes.get(5) == Some(&b':');
    let mut zone = time.get(8..).unwrap_or_default();
    if let Some(fraction) = zone.get(1..)
        && fraction.starts_with(|c: char| c.is_ascii_digit())
        && !zone.starts_with(['+', '-'])
    {
        zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let zone_fine = zone == "z"
        || (zone.len() == 6
            && zone.starts_with(['+', '-'])
            && zone.get(1..3).is_some_and(|part| all_digits(part, 2))
            && zone.get(3..4) == Some(":")
            && zone.get(4..).is_some_and(|part| all_digits(part, 2)));
    is_date(date) && clock && zone_fine
}

/// A Go duration, or the wordier kind: `3 days`, `1h 5 min`.
fn is_duration(value: &str) -> bool {
    if kernel::duration::GoDuration::parse(value).is_ok() {
        return true;
    }
    let mut rest = value;
    let mut found = false;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = rest.get(start..).unwrap_or_default();
        let after = number.trim_start_matches(|c: char| c.is_ascii_digit());
        let unit: String =
            after.trim_start().chars().take_while(|c| c.is_ascii_alphabetic() || *c == 'µ').collect::<String>();
        if !unit.is_empty() {
            let unit = unit.to_lowercase();
            let exact = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
            let prefixes = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
            found |= exact.contains(&unit.as_str()) || prefixes.iter().any(|prefix| unit.starts_with(prefix));
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_and_refuse() {
        let cases: [(&str, &[&str], &[&str]); 19] = [
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f"]),
            ("uri", &["http://a/b", "/a", "mailto:x"], &["", "a/b", "%zz"]),
            ("email", &["a@b.c", "A B <a@b>"], &["a", "a@", "a b@c"]),
            ("hostname", &["a", "a.example", "x-1.de"], &["-a", "a..b", "a.b.1"]),
            ("ipv4", &["1.2.3.4", "010.1.1.1"], &["1.2.3", "::1", "256.1.1.1"]),
            ("ipv6", &["::1", "fe80::1"], &["1.2.3.4", "x"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"]),
            ("mac", &["01:23:45:67:89:ab", "0123.4567.89ab"], &["01:23"]),
            ("uuid", &["550e8400-e29b-41d4-a716-446655440000"], &["x"]),
            ("uuid4", &["550e8400-e29b-41d4-a716-446655440000"], &["550e8400-e29b-31d4-a716-446655440000"]),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044"]),
            ("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]),
            ("ssn", &["111-22-3333"], &["111223333"]),
            ("hexcolor", &["#fff", "FFFFFF"], &["#ffff"]),
            ("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2,256)"]),
            ("byte", &["aGk=", "YWJj"], &["", "a"]),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-1"]),
            (
                "date-time",
                &["2024-01-01T00:00:00Z", "2024-01-01t01:02:03.5+01:00"],
                &["2024-01-01", "2024-01-01T25:00:00Z"],
            ),
            ("duration", &["1h30m", "22 ns", "3 days"], &["x", "1x"]),
        ];
        for (format, good, bad) in cases {
            for value in good {
                assert_eq!(check(format, value), Some(true), "{format}: {value}");
            }
            for value in bad {
                assert_eq!(check(format, value), Some(false), "{format}: {value}");
            }
        }
        assert_eq!(check("int-or-quantity", "x"), None);
    }
}
