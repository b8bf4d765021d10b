//! Regular expressions, as `re2` has them.

use regex::{Match, Regex};

use super::{Fault, Function, ITEM, Outcome, f, fits, int, text};
use crate::re2;
use crate::template::exec::Executor;
use crate::template::value::{Element, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    f("regexMatch", "ss", |e, a| match compile(e, a) {
        Err(Fault::Message(_)) => Ok(Value::Bool(false)),
        re => Ok(Value::Bool(re?.is_match(&text(a, 1)))),
    }),
    f("mustRegexMatch", "ss", |e, a| Ok(Value::Bool(compile(e, a)?.is_match(&text(a, 1))))),
    f("regexFind", "ss", |e, a| find(&must(e, a)?, a)),
    f("mustRegexFind", "ss", |e, a| find(&compile(e, a)?, a)),
    f("regexFindAll", "ssi", |e, a| find_all(&must(e, a)?, e, a)),
    f("mustRegexFindAll", "ssi", |e, a| find_all(&compile(e, a)?, e, a)),
    f("regexReplaceAll", "sss", |e, a| replace(&must(e, a)?, e, a)),
    f("mustRegexReplaceAll", "sss", |e, a| replace(&compile(e, a)?, e, a)),
    f("regexReplaceAllLiteral", "sss", |e, a| literal(&must(e, a)?, e, a)),
    f("mustRegexReplaceAllLiteral", "sss", |e, a| literal(&compile(e, a)?, e, a)),
    f("regexSplit", "ssi", |e, a| split(&must(e, a)?, e, a)),
    f("mustRegexSplit", "ssi", |e, a| split(&compile(e, a)?, e, a)),
    f("regexQuoteMeta", "s", |_, a| Ok(Value::text(quote_meta(&text(a, 0))))),
];

/// The expression that is the first argument, for use on the second.
fn compile(executor: &mut Executor<'_>, a: &[Value]) -> Result<Regex, Fault> {
    executor.machine.regex(&text(a, 0), text(a, 1).len())
}

/// Functions without `must` in their name stop as a panic would.
fn must(executor: &mut Executor<'_>, a: &[Value]) -> Result<Regex, Fault> {
    compile(executor, a).map_err(|fault| match fault {
        Fault::Message(error) => format!("regexp: Compile({}): {error}", go_quoted(&text(a, 0))).into(),
        other => other,
    })
}

/// How much text is searched in the time of a step, where every match may search all that is left.
const SEARCHED_PER_STEP: usize = 4096;

/// Calls `each` with every match, as long as that is not too much work.
fn each_match<'t>(
    re: &Regex,
    executor: &mut Executor<'_>,
    whole: &'t str,
    mut each: impl FnMut(Match<'t>) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    for found in re.find_iter(whole) {
        executor.machine.spend((whole.len() - found.start()) / SEARCHED_PER_STEP)?;
        if !each(found)? {
            break;
        }
    }
    Ok(())
}

fn go_quoted(text: &str) -> String {
    if text.contains('`') { crate::template::print::quote(text.as_bytes()) } else { format!("`{text}`") }
}

fn find(re: &Regex, a: &[Value]) -> Outcome {
    Ok(Value::text(re.find(&text(a, 1)).map(|found| found.as_str()).unwrap_or_default()))
}

fn find_all(re: &Regex, executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let limit = usize::try_from(int(a, 2)).unwrap_or(usize::MAX);
    let whole = text(a, 1);
    let mut all = Vec::new();
    each_match(re, executor, &whole, |found| {
        if all.len() < limit {
            all.push(Value::text(found.as_str()));
        }
        fits(all.len().saturating_mul(ITEM))?;
        Ok(all.len() < limit)
    })?;
    Ok(Value::list_or_nil(Element::Text, all))
}

fn replace(re: &Regex, executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let (whole, with) = (text(a, 1), text(a, 2));
    if !with.contains('$') {
        return literal(re, executor, a);
    }
    let names = re2::translate(&text(a, 0))?.names;
    let (mut out, mut done) = (String::with_capacity(whole.len()), 0);
    for found in re.captures_iter(&whole) {
        let Some(all) = found.get(0) else { continue };
        executor.machine.spend((whole.len() - all.start()) / SEARCHED_PER_STEP)?;
        // Each letter of the replacement may stand for the whole match.
        fits(out.len().saturating_add(with.len().saturating_mul(all.len().max(1))))?;
        out.push_str(whole.get(done..all.start()).unwrap_or_default());
        re2::expand(&found, &names, &with, &mut out);
        done = all.end();
    }
    out.push_str(whole.get(done..).unwrap_or_default());
    Ok(Value::text(out))
}

fn literal(re: &Regex, executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let (whole, with) = (text(a, 1), text(a, 2));
    let (mut out, mut done) = (String::with_capacity(whole.len()), 0);
    each_match(re, executor, &whole, |found| {
        fits(out.len().saturating_add(with.len()))?;
        out.push_str(whole.get(done..found.start()).unwrap_or_default());
        out.push_str(&with);
        done = found.end();
        Ok(true)
    })?;
    out.push_str(whole.get(done..).unwrap_or_default());
    Ok(Value::text(out))
}

fn split(re: &Regex, executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
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
    each_match(re, executor, &whole, |found| {
        if parts.len() + 1 == limit {
            return Ok(false);
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(whole.get(begin..end).unwrap_or_default());
            fits(parts.len().saturating_mul(ITEM))?;
        }
        begin = found.end();
        Ok(true)
    })?;
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
