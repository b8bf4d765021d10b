//! Texts as words: cases, abbreviations, wrapping.

use super::strings::{lower, upper};
use super::xcase::{joined_by, pascal};
use super::{Fault, Function, f, fits, int, text};
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    f("abbrev", "is", |_, a| Ok(Value::text(abbreviate(&text(a, 1), 0, int(a, 0))))),
    f("abbrevboth", "iis", |_, a| {
        let (left, right) = (int(a, 0), int(a, 1));
        let whole = text(a, 2);
        if right < 4 || (left > 0 && right < 7) {
            return Ok(Value::text(whole));
        }
        Ok(Value::text(abbreviate(&whole, left, right)))
    }),
    f("initials", "s", |_, a| {
        Ok(Value::text(text(a, 0).split_whitespace().filter_map(|word| word.chars().next()).collect::<String>()))
    }),
    f("nospace", "s", |_, a| Ok(Value::text(text(a, 0).split_whitespace().collect::<String>()))),
    f("untitle", "s", |_, a| {
        let mut before = ' ';
        let whole = text(a, 0);
        let untitled = whole.chars().map(|c| {
            let mapped = if before.is_whitespace() { lower(c) } else { c };
            before = c;
            mapped
        });
        Ok(Value::text(untitled.collect::<String>()))
    }),
    f("swapcase", "s", |_, a| {
        let whole = text(a, 0);
        let swapped = whole.chars().map(|c| if c.is_uppercase() { lower(c) } else { upper(c) });
        Ok(Value::text(swapped.collect::<String>()))
    }),
    f("snakecase", "s", |_, a| Ok(Value::text(joined_by(&text(a, 0), '_')))),
    f("kebabcase", "s", |_, a| Ok(Value::text(joined_by(&text(a, 0), '-')))),
    f("camelcase", "s", |_, a| Ok(Value::text(pascal(&text(a, 0))))),
    f("wrap", "is", |_, a| Ok(Value::text(wrap(&text(a, 1), int(a, 0), "\n", false)?))),
    f("wrapWith", "iss", |_, a| {
        let separator = text(a, 1);
        let separator = if separator.is_empty() { "\n" } else { &separator };
        Ok(Value::text(wrap(&text(a, 2), int(a, 0), separator, true)?))
    }),
];

/// At most `width` bytes of a text from `offset` on, with dots for what is left out.
fn abbreviate(whole: &str, offset: i64, width: i64) -> String {
    let Ok(width) = usize::try_from(width) else { return whole.to_owned() };
    let length = whole.len();
    if width < 4 || length <= width {
        return whole.to_owned();
    }
    let mut offset = usize::try_from(offset).unwrap_or(0).min(length);
    if length - offset < width - 3 {
        offset = length - (width - 3);
    }
    let part = |from: usize, to: usize| {
        String::from_utf8_lossy(whole.as_bytes().get(from..to).unwrap_or_default()).into_owned()
    };
    if offset <= 4 {
        return format!("{}...", part(0, width - 3));
    }
    if width < 7 {
        return String::new();
    }
    if offset + width - 3 < length {
        return format!("...{}", abbreviate(&part(offset, length), 0, i64::try_from(width - 3).unwrap_or(i64::MAX)));
    }
    format!("...{}", part(length - (width - 3), length))
}

fn wrap(whole: &str, width: i64, separator: &str, cuts_words: bool) -> Result<String, Fault> {
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let bytes = whole.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut offset = 0;
    while bytes.len() - offset > width {
        fits(out.len())?;
        let rest = bytes.get(offset..).unwrap_or_default();
        if rest.first() == Some(&b' ') {
            offset += 1;
            continue;
        }
        let line = rest.get(..=width).unwrap_or(rest);
        if let Some(space) = line.iter().rposition(|byte| *byte == b' ') {
            out.extend(rest.get(..space).unwrap_or_default());
            out.extend(separator.as_bytes());
            offset += space + 1;
        } else if cuts_words {
            out.extend(rest.get(..width).unwrap_or_default());
            out.extend(separator.as_bytes());
            offset += width;
        } else {
            let after = rest.get(width..).unwrap_or_default();
            match after.iter().position(|byte| *byte == b' ') {
                Some(space) => {
                    out.extend(rest.get(..width + space).unwrap_or_default());
                    out.extend(separator.as_bytes());
                    offset += width + space + 1;
                }
                None => {
                    out.extend(rest);
                    offset = bytes.len();
                }
            }
        }
    }
    out.extend(bytes.get(offset..).unwrap_or_default());
    Ok(String::from_utf8_lossy(&out).into_owned())
}
