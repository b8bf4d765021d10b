//! Texts: cutting, padding, quoting, replacing.

use super::convert::{joined, shown, strval, to_string};
use super::{Executor, Fault, Function, Outcome, any, bytes, f, fits, int, text};
use crate::template::print::{quote, sprintf};
use crate::template::value::{BYTES_PER_STEP, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    f("toString", "v", |_, a| Ok(to_string(any(a, 0)))),
    f("trim", "s", |_, a| Ok(Value::text(text(a, 0).trim()))),
    f("trimAll", "ss", trim_all),
    f("trimall", "ss", trim_all),
    f("trimSuffix", "ss", |_, a| {
        let whole = text(a, 1);
        Ok(Value::text(whole.strip_suffix(text(a, 0).as_ref()).unwrap_or(&whole)))
    }),
    f("trimPrefix", "ss", |_, a| {
        let whole = text(a, 1);
        Ok(Value::text(whole.strip_prefix(text(a, 0).as_ref()).unwrap_or(&whole)))
    }),
    f("upper", "s", |_, a| Ok(Value::text(text(a, 0).chars().map(upper).collect::<String>()))),
    f("lower", "s", |_, a| Ok(Value::text(text(a, 0).chars().map(lower).collect::<String>()))),
    f("title", "s", |_, a| Ok(Value::text(title(&text(a, 0))))),
    f("repeat", "is", |_, a| {
        let count = usize::try_from(int(a, 0)).map_err(|_| "strings: negative Repeat count")?;
        let content = bytes(a, 1);
        fits(content.len().saturating_mul(count))?;
        Ok(Value::string_of(content.repeat(count)))
    }),
    f("substr", "iis", |_, a| substring(int(a, 0), int(a, 1), bytes(a, 2))),
    f("trunc", "is", |_, a| Ok(Value::string_of(trunc(int(a, 0), bytes(a, 1)).to_vec()))),
    f("contains", "ss", |_, a| Ok(Value::Bool(text(a, 1).contains(text(a, 0).as_ref())))),
    f("hasPrefix", "ss", |_, a| Ok(Value::Bool(text(a, 1).starts_with(text(a, 0).as_ref())))),
    f("hasSuffix", "ss", |_, a| Ok(Value::Bool(text(a, 1).ends_with(text(a, 0).as_ref())))),
    f("replace", "sss", |_, a| {
        let (old, new, source) = (text(a, 0), text(a, 1), text(a, 2));
        let found = if old.is_empty() { source.chars().count() + 1 } else { source.matches(old.as_ref()).count() };
        fits(source.len().saturating_add(found.saturating_mul(new.len())))?;
        Ok(Value::text(source.replace(old.as_ref(), &new)))
    }),
    f("quote", "v*", |_, a| spaced(a, |value| quote(&text_bytes(value)))),
    f("squote", "v*", |_, a| spaced(a, |value| sprintf("'%v'", std::slice::from_ref(value)))),
    f("cat", "v*", |_, a| spaced(a, |value| sprintf("%v", std::slice::from_ref(value)))),
    f("indent", "is", |_, a| indent("", a)),
    f("nindent", "is", |_, a| indent("\n", a)),
    f("plural", "ssi", |_, a| Ok(Value::text(text(a, if int(a, 2) == 1 { 0 } else { 1 })))),
];

fn text_bytes(value: &Value) -> Vec<u8> {
    match value.as_bytes() {
        Some(bytes) => bytes.to_vec(),
        None => strval(value).into_owned().into_bytes(),
    }
}

fn spaced(args: &[Value], show: impl Fn(&Value) -> String) -> Outcome {
    let mut texts = shown(args, show)?;
    Ok(Value::text(if texts.len() == 1 { texts.swap_remove(0) } else { joined(&texts, " ")? }))
}

fn trim_all(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let (set, whole) = (text(a, 0), text(a, 1));
    executor.machine.spend(whole.len().saturating_mul(set.len()) / BYTES_PER_STEP)?;
    Ok(Value::text(whole.trim_matches(|c| set.contains(c))))
}

/// A letter in upper case, where that is one letter.
pub(super) fn upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// A letter in lower case, where that is one letter.
pub(super) fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn title(text: &str) -> String {
    let mut before = ' ';
    let is_separator = |c: char| match c {
        '_' => false,
        _ if c.is_ascii() => !c.is_ascii_alphanumeric(),
        _ => c.is_whitespace(),
    };
    text.chars()
        .map(|c| {
            let titled = if is_separator(before) { upper(c) } else { c };
            before = c;
            titled
        })
        .collect()
}

pub(super) fn trunc(count: i64, content: &[u8]) -> &[u8] {
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 {
        return content.len().checked_sub(size).and_then(|from| content.get(from..)).unwrap_or(content);
    }
    content.get(..size).unwrap_or(content)
}

fn substring(start: i64, end: i64, content: &[u8]) -> Outcome {
    let length = content.len();
    let outside = |from: i64, to: i64| -> Fault {
        if to < 0 {
            return format!("runtime error: slice bounds out of range [:{to}]").into();
        }
        if usize::try_from(to).is_ok_and(|to| to > length) {
            return format!("runtime error: slice bounds out of range [:{to}] with length {length}").into();
        }
        format!("runtime error: slice bounds out of range [{from}:{to}]").into()
    };
    let whole = i64::try_from(length).unwrap_or(i64::MAX);
    let (from, to) = match (start, end) {
        (..0, end) => (0, end),
        (start, end) if end < 0 || end > whole => (start, whole),
        both => both,
    };
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    let part = range.and_then(|(from, to)| content.get(from..to)).ok_or_else(|| outside(from, to))?;
    Ok(Value::string_of(part.to_vec()))
}

fn indent(before: &str, a: &[Value]) -> Outcome {
    let count = usize::try_from(int(a, 0)).map_err(|_| "strings: negative Repeat count")?;
    let content = text(a, 1);
    let lines = memchr::memchr_iter(b'\n', content.as_bytes()).count() + 1;
    let size = content.len().saturating_add(lines.saturating_mul(count));
    fits(size)?;
    let pad = " ".repeat(count);
    let mut out = String::with_capacity(size + before.len());
    out.push_str(before);
    for (index, line) in crate::text::lines(&content).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&pad);
        out.push_str(line);
    }
    Ok(Value::text(out))
}
