//! Constants of templates: quoted texts and numbers in all the ways Go writes them.

use std::borrow::Cow;

use super::node::Number;
use super::print::quote;

/// The text of a Go string literal, in double quotes or backquotes.
pub(super) fn unquote(literal: &str) -> Result<Cow<'_, str>, String> {
    let invalid = || "invalid syntax".to_owned();
    if let Some(raw) = literal.strip_prefix('`') {
        return Ok(raw.strip_suffix('`').ok_or_else(invalid)?.replace('\r', "").into());
    }
    let inner = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or_else(invalid)?;
    if !inner.contains('\\') {
        return Ok(inner.into());
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(next) = rest.chars().next() {
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
        if next == '\\' {
            let (escaped, after) = unescape(rest, '"').ok_or_else(invalid)?;
            bytes.extend(escaped);
            rest = after;
        } else {
            bytes.extend(next.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

/// What follows a backslash, and what is left after it.
fn unescape(rest: &str, quote: char) -> Option<(Vec<u8>, &str)> {
    let first = rest.chars().next()?;
    let after = rest.get(first.len_utf8()..)?;
    let digits = |count: usize, radix| {
        let digits = rest.get(usize::from(first.is_alphabetic())..)?.get(..count)?;
        let number = u32::from_str_radix(digits, radix).ok().filter(|_| digits.is_ascii())?;
        Some((number, rest.get(usize::from(first.is_alphabetic()) + count..)?))
    };
    let simple = match first {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        _ if first == quote => u8::try_from(quote).ok()?,
        'x' => {
            let (number, after) = digits(2, 16)?;
            return Some((vec![u8::try_from(number).ok()?], after));
        }
        '0'..='7' => {
            let (number, after) = digits(3, 8)?;
            return Some((vec![u8::try_from(number).ok()?], after));
        }
        'u' | 'U' => {
            let (number, after) = digits(if first == 'u' { 4 } else { 8 }, 16)?;
            return Some((char::from_u32(number)?.to_string().into_bytes(), after));
        }
        _ => return None,
    };
    Some((vec![simple], after))
}

/// A number or character constant.
pub(super) fn number(text: &str) -> Result<Number, String> {
    let made = |int: Option<i64>, float, is_rune| Number { text: text.to_owned(), int, float, is_rune };
    if let Some(rest) = text.strip_prefix('\'') {
        let malformed = || format!("malformed character constant: {text}");
        let inner = rest.strip_suffix('\'').ok_or_else(malformed)?;
        let decoded = match inner.strip_prefix('\\') {
            Some(escape) => {
                let (bytes, after) = unescape(escape, '\'').ok_or_else(malformed)?;
                if !after.is_empty() {
                    return Err(malformed());
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
            None => inner.to_owned(),
        };
        let mut chars = decoded.chars();
        let rune = i64::from(u32::from(chars.next().ok_or_else(malformed)?));
        if chars.next().is_some() {
            return Err(malformed());
        }
        #[expect(clippy::cast_precision_loss, reason = "runes are small")]
        return Ok(made(Some(rune), Some(rune as f64), true));
    }
    let illegal = || format!("illegal number syntax: {}", quote(text.as_bytes()));
    if let Some(whole) = integer(text) {
        #[expect(clippy::cast_precision_loss, reason = "what Go does with a constant")]
        return Ok(made(Some(whole), Some(whole as f64), false));
    }
    let float = float(text).ok_or_else(illegal)?;
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return Err(format!("integer overflow: {}", quote(text.as_bytes())));
    }
    #[expect(clippy::cast_possible_truncation, reason = "compared with where it came from")]
    let whole = float as i64;
    #[expect(clippy::cast_precision_loss, reason = "compared with where it came from")]
    let is_whole = whole as f64 == float;
    Ok(made(is_whole.then_some(whole), Some(float), false))
}

/// An integer with Go's prefixes and underscores.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) || digits.ends_with('_') || digits.contains("__") {
        return None;
    }
    let digits = digits.replace('_', "");
    let magnitude = i128::from_str_radix(&digits, radix).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// A float as Go's `ParseFloat` reads decimal ones.
pub(crate) fn float(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    let named = matches!(digits.to_ascii_lowercase().as_str(), "inf" | "infinity" | "nan");
    if text.len() - digits.len() > 1 || !(named || digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
        return None;
    }
    text.replace('_', "").parse().ok()
}
