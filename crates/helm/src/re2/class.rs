//! Classes of characters, and single ones that are written with a backslash.

use std::fmt::Write as _;

use super::{NEVER, Refused, names, next, refused, up_to};

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

const BAD_RANGE: &str = "invalid character class range";
const BAD_ESCAPE: &str = "invalid escape sequence";

/// Reads `[…]`: as `regex` has it, and what follows.
pub(super) fn bracketed(whole: &str) -> Result<(String, &str), Refused<'_>> {
    let mut rest = whole.get(1..).unwrap_or_default();
    let is_negated = rest.starts_with('^');
    if is_negated {
        rest = &rest[1..];
    }
    let mut items = String::new();
    let mut is_first = true;
    while is_first || !rest.starts_with(']') {
        is_first = false;
        if let Some((name, after)) = rest.strip_prefix("[:").and_then(|name| name.split_once(":]")) {
            if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
                return refused(BAD_RANGE, up_to(rest, after));
            }
            items.push_str(up_to(rest, after));
            rest = after;
        } else if let Some((class, after)) = escaped(rest)? {
            items.push_str(&class);
            rest = after;
        } else {
            rest = range(whole, rest, &mut items)?;
        }
    }
    let rest = rest.get(1..).unwrap_or_default();
    let class = match (items.is_empty(), is_negated) {
        (true, false) => NEVER.to_owned(),
        (true, true) => r"[\x{0}-\x{10FFFF}]".to_owned(),
        (false, _) => format!("[{}{items}]", if is_negated { "^" } else { "" }),
    };
    Ok((class, rest))
}

/// Reads `a` or `a-z`.
fn range<'e>(whole: &'e str, begin: &'e str, items: &mut String) -> Result<&'e str, Refused<'e>> {
    let (from, mut rest) = member(whole, begin)?;
    let mut to = from;
    if rest.len() >= 2 && rest.starts_with('-') && !rest.starts_with("-]") {
        (to, rest) = member(whole, &rest[1..])?;
        if to < from {
            return refused(BAD_RANGE, up_to(begin, rest));
        }
    }
    // No text has surrogates, and `regex` none to name.
    let from = if SURROGATES.contains(&from) { 0xE000 } else { from };
    let to = if SURROGATES.contains(&to) { 0xD7FF } else { to };
    if from <= to {
        let _ = write!(items, r"\x{{{from:X}}}-\x{{{to:X}}}");
    }
    Ok(rest)
}

const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

fn member<'e>(whole: &'e str, text: &'e str) -> Result<(u32, &'e str), Refused<'e>> {
    match next(text) {
        None => refused("missing closing ]", whole),
        Some(('\\', _)) => code(text),
        Some((letter, rest)) => Ok((letter.into(), rest)),
    }
}

/// Reads a class with a backslash, if that is what comes: its items, and what follows.
pub(super) fn escaped(text: &str) -> Result<Option<(String, &str)>, Refused<'_>> {
    let Some((letter, rest)) = text.strip_prefix('\\').and_then(next) else { return Ok(None) };
    let items = match letter {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => r"\t\n\x{C}\r\x{20}",
        'S' => r"[^\t\n\x{C}\r\x{20}]",
        'w' => "0-9A-Za-z_",
        'W' => "[^0-9A-Za-z_]",
        'p' | 'P' => return unicode(text, letter == 'P', rest).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((items.to_owned(), rest)))
}

/// Reads `\pL` or `\p{Greek}`, whose name is the rest.
fn unicode<'e>(text: &'e str, is_negated: bool, rest: &'e str) -> Result<(String, &'e str), Refused<'e>> {
    let Some((first, after_one)) = next(rest) else { return refused(BAD_RANGE, text) };
    let (name, rest) = match (first, rest.get(1..).and_then(|name| name.split_once('}'))) {
        ('{', None) => return refused(BAD_RANGE, text),
        ('{', Some(named)) => named,
        _ => (up_to(rest, after_one), after_one),
    };
    let is_negated = is_negated != name.starts_with('^');
    let Some(class) = names::class(name.strip_prefix('^').unwrap_or(name), is_negated) else {
        return refused(BAD_RANGE, up_to(text, rest));
    };
    Ok((class, rest))
}

/// Reads a character with a backslash; one that no text has is none.
pub(super) fn character(text: &str) -> Result<(Option<char>, &str), Refused<'_>> {
    code(text).map(|(code, rest)| (char::from_u32(code), rest))
}

fn code(text: &str) -> Result<(u32, &str), Refused<'_>> {
    let Some((letter, mut rest)) = text.strip_prefix('\\').and_then(next) else {
        return refused("trailing backslash at end of expression", "");
    };
    let octal = |rest: &str| rest.starts_with(|digit| matches!(digit, '0'..='7'));
    let code = match letter {
        '1'..='7' if !octal(rest) => None,
        '0'..='7' => {
            let mut code = letter.to_digit(8).unwrap_or_default();
            for _ in 0..2 {
                let Some((digit, after)) = next(rest).filter(|_| octal(rest)) else { break };
                code = code * 8 + digit.to_digit(8).unwrap_or_default();
                rest = after;
            }
            Some(code)
        }
        'x' => hexadecimal(&mut rest),
        'a' => Some(7),
        'f' => Some(0xC),
        'n' => Some(0xA),
        'r' => Some(0xD),
        't' => Some(9),
        'v' => Some(0xB),
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => Some(other.into()),
        _ => None,
    };
    code.map_or_else(|| refused(BAD_ESCAPE, up_to(text, rest)), |code| Ok((code, rest)))
}

/// Reads `41` or `{41}`. What is wrong belongs to the part that is refused.
fn hexadecimal(rest: &mut &str) -> Option<u32> {
    let mut digit = || {
        let (letter, after) = next(rest)?;
        *rest = after;
        Some(letter)
    };
    let first = digit()?;
    if first != '{' {
        let second = digit()?;
        return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
    }
    let mut code = None;
    loop {
        match digit()? {
            '}' => return code,
            letter => {
                let larger = code.unwrap_or(0) * 16 + letter.to_digit(16)?;
                code = Some(larger).filter(|code| *code <= 0x10_FFFF);
                code?;
            }
        }
    }
}
