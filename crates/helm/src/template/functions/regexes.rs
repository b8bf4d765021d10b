//! Regular expressions, as `re2` has them.

use regex::{Captures, Regex};

use super::{Fault, Function, Outcome, f, int, text};
use crate::re2;
use crate::template::exec::Executor;
use crate::template::value::{Element, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    f("regexMatch", "ss", |e, a| Ok(Value::Bool(compile(e, &text(a, 0)).is_ok_and(|re| re.is_match(&text(a, 1)))))),
    f("mustRegexMatch", "ss", |e, a| Ok(Value::Bool(compile(e, &text(a, 0))?.is_match(&text(a, 1))))),
    f("regexFind", "ss", |e, a| find(&must(e, a)?, a)),
    f("mustRegexFind", "ss", |e, a| find(&compile(e, &text(a, 0))?, a)),
    f("regexFindAll", "ssi", |e, a| find_all(&must(e, a)?, a)),
    f("mustRegexFindAll", "ssi", |e, a| find_all(&compile(e, &text(a, 0))?, a)),
    f("regexReplaceAll", "sss", |e, a| replace(&must(e, a)?, a)),
    f("mustRegexReplaceAll", "sss", |e, a| replace(&compile(e, &text(a, 0))?, a)),
    f("regexReplaceAllLiteral", "sss", |e, a| literal(&must(e, a)?, a)),
    f("mustRegexReplaceAllLiteral", "sss", |e, a| literal(&compile(e, &text(a, 0))?, a)),
    f("regexSplit", "ssi", |e, a| split(&must(e, a)?, a)),
    f("mustRegexSplit", "ssi", |e, a| split(&compile(e, &text(a, 0))?, a)),
    f("regexQuoteMeta", "s", |_, a| Ok(Value::text(quote_meta(&text(a, 0))))),
];

fn compile(executor: &mut Executor<'_>, expression: &str) -> Result<Regex, Fault> {
    executor.machine.regex(expression).map_err(Fault::Message)
}

/// Functions without `must` in their name stop as a panic would.
fn must(executor: &mut Executor<'_>, a: &[Value]) -> Result<Regex, Fault> {
    let expression = text(a, 0);
    let panicked = |error| Fault::Message(format!("regexp: Compile({}): {error}", go_quoted(&expression)));
    executor.machine.regex(&expression).map_err(panicked)
}

fn go_quoted(text: &str) -> String {
    if text.contains('`') { crate::template::print::quote(text.as_bytes()) } else { format!("`{text}`") }
}

fn find(re: &Regex, a: &[Value]) -> Outcome {
    Ok(Value::text(re.find(&text(a, 1)).map(|found| found.as_str()).unwrap_or_default()))
}

fn find_all(re: &Regex, a: &[Value]) -> Outcome {
    let limit = usize::try_from(int(a, 2)).unwrap_or(usize::MAX);
    let all: Vec<Value> = re.find_iter(&text(a, 1)).take(limit).map(|found| Value::text(found.as_str())).collect();
    Ok(Value::list_or_nil(Element::Text, all))
}

fn replace(re: &Regex, a: &[Value]) -> Outcome {
    let (with, names) = (text(a, 2), re2::translate(&text(a, 0))?.names);
    let expanded = |found: &Captures<'_>| {
        let mut out = String::new();
        re2::expand(found, &names, &with, &mut out);
        out
    };
    Ok(Value::text(re.replace_all(&text(a, 1), expanded)))
}

fn literal(re: &Regex, a: &[Value]) -> Outcome {
    Ok(Value::text(re.replace_all(&text(a, 1), regex::NoExpand(&text(a, 2)))))
}

fn split(re: &Regex, a: &[Value]) -> Outcome {
    let whole = text(a, 1);
    let limit = usize::try_from(int(a, 2)).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Value::list_or_nil(Element::Text, Vec::new()));
    }
    if whole.is_empty() && !text(a, 0).is_empty() {
        return Ok(Value::texts([""]));
    }
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in re.find_iter(&whole) {
        if parts.len() + 1 == limit {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(whole.get(begin..end).unwrap_or_default());
        }
        begin = found.end();
    }
    if end != whole.len() {
        parts.push(whole.get(begin..).unwrap_or_default());
    }
    Ok(Value::texts(parts))
}

fn quote_meta(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if "\\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
        out
    })
}
