//! String functions, counted in characters.

use super::eval::Evaluator;
use super::library::text_cost;
use super::value::{Error, Evaluated, Val, fail};
use crate::field::quote;

/// Calls a string function; none if the name is not one's.
pub(super) fn call<'a>(run: &mut Evaluator<'a>, name: &str, values: &[Val<'a>]) -> Option<Evaluated<'a>> {
    let Some((Val::String(text), args)) = values.split_first() else { return None };
    let text: &str = text;
    let result = match (name, args) {
        ("contains", [Val::String(part)]) => {
            let work = text_cost(text.len()).max(1) * text_cost(part.len()).max(1);
            run.spend(work).and(Ok(Val::Bool(text.contains(&**part))))
        }
        ("startsWith", [Val::String(part)]) => {
            run.spend(text_cost(part.len())).and(Ok(Val::Bool(text.starts_with(&**part))))
        }
        ("endsWith", [Val::String(part)]) => {
            run.spend(text_cost(part.len())).and(Ok(Val::Bool(text.ends_with(&**part))))
        }
        ("matches", [Val::String(pattern)]) => {
            let work = text_cost(text.len() + 1) * (pattern.len().div_ceil(4) as u64);
            run.spend(work).and_then(|()| Ok(Val::Bool(run.patterns.get(pattern)?.is_match(text))))
        }
        ("find", [Val::String(pattern)]) => spend_regex(run, text, pattern)
            .and_then(|()| Ok(Val::text(run.patterns.get(pattern)?.find(text).map_or("", |found| found.as_str())))),
        ("findAll", [Val::String(pattern), rest @ ..]) => spend_regex(run, text, pattern).and_then(|()| {
            let limit = match rest {
                [] => usize::MAX,
                [Val::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
                _ => return Err(Error::NoSuchOverload),
            };
            let regex = run.patterns.get(pattern)?;
            Ok(Val::list(regex.find_iter(text).take(limit).map(|found| Val::text(found.as_str())).collect()))
        }),
        _ => {
            let result = plain(name, text, args)?;
            run.spend(text_cost(text.len()).max(1)).and(result)
        }
    };
    Some(result)
}

fn spend_regex(run: &mut Evaluator<'_>, text: &str, pattern: &str) -> Result<(), Error> {
    run.spend(text_cost(text.len() + 1) * (pattern.len().div_ceil(4) as u64))
}

fn plain<'a>(name: &str, text: &str, args: &[Val<'a>]) -> Option<Evaluated<'a>> {
    Some(match (name, args) {
        ("charAt", [Val::Int(at)]) => char_at(text, *at),
        ("indexOf", [Val::String(part)]) => index_of(text, part, 0),
        ("indexOf", [Val::String(part), Val::Int(from)]) => index_of(text, part, *from),
        ("lastIndexOf", [Val::String(part)]) => last_index_of(text, part, None),
        ("lastIndexOf", [Val::String(part), Val::Int(from)]) => last_index_of(text, part, Some(*from)),
        ("lowerAscii", []) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::text(text.to_ascii_uppercase())),
        ("replace", [Val::String(from), Val::String(to)]) => Ok(Val::text(text.replace(&**from, to))),
        ("replace", [Val::String(from), Val::String(to), Val::Int(times)]) => {
            Ok(Val::text(match usize::try_from(*times) {
                Ok(times) => text.replacen(&**from, to, times),
                Err(_) => text.replace(&**from, to),
            }))
        }
        ("split", [Val::String(by)]) => Ok(split(text, by, -1)),
        ("split", [Val::String(by), Val::Int(limit)]) => Ok(split(text, by, *limit)),
        ("substring", [Val::Int(from)]) => substring(text, *from, None),
        ("substring", [Val::Int(from), Val::Int(to)]) => substring(text, *from, Some(*to)),
        ("trim", []) => Ok(Val::text(text.trim_matches(|c: char| c.is_whitespace() || c == '\u{85}'))),
        ("format", [list]) => match list.items() {
            Some(Ok(args)) => super::format::format(text, &args),
            _ => Err(Error::NoSuchOverload),
        },
        ("strings.quote", []) => Ok(Val::text(quote(text, |_| false))),
        _ => return None,
    })
}

fn length(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn char_at<'a>(text: &str, at: i64) -> Evaluated<'a> {
    match usize::try_from(at) {
        Ok(index) if at <= length(text) => Ok(Val::text(text.chars().nth(index).map(String::from).unwrap_or_default())),
        _ => fail(format!("index out of range: {at}")),
    }
}

/// The byte at which the character with this number begins.
fn byte_of(text: &str, at: usize) -> usize {
    text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
}

fn position<'a>(text: &str, byte: Option<usize>) -> Evaluated<'a> {
    Ok(Val::Int(byte.and_then(|byte| text.get(..byte)).map_or(-1, length)))
}

fn index_of<'a>(text: &str, part: &str, from: i64) -> Evaluated<'a> {
    if part.is_empty() {
        return Ok(Val::Int(from));
    }
    let Ok(start) = usize::try_from(from) else { return fail(format!("index out of range: {from}")) };
    let start = byte_of(text, start);
    position(text, text.get(start..).and_then(|rest| rest.find(part)).map(|at| at + start))
}

fn last_index_of<'a>(text: &str, part: &str, from: Option<i64>) -> Evaluated<'a> {
    if part.is_empty() {
        return Ok(Val::Int(from.unwrap_or_else(|| length(text))));
    }
    let Some(from) = from else { return position(text, text.rfind(part)) };
    if from < 0 {
        return fail(format!("index out of range: {from}"));
    }
    if from >= length(text) {
        return Ok(Val::Int(-1));
    }
    let end = byte_of(text, usize::try_from(from).unwrap_or(0)) + part.len();
    let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    position(text, text.get(..end.min(text.len())).and_then(|head| head.rfind(part)))
}

fn split<'a>(text: &str, by: &str, limit: i64) -> Val<'a> {
    if limit == 0 {
        return Val::list(Vec::new());
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if by.is_empty() {
        let mut parts: Vec<Val<'a>> =
            text.chars().take(limit.saturating_sub(1)).map(|c| Val::text(String::from(c))).collect();
        let rest: String = text.chars().skip(parts.len()).collect();
        if !rest.is_empty() {
            parts.push(Val::text(rest));
        }
        return Val::list(parts);
    }
    Val::list(text.splitn(limit, by).map(Val::text).collect())
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Evaluated<'a> {
    let size = length(text);
    let end = to.unwrap_or(size);
    if from < 0 || from > size {
        return fail(format!("index out of range: {from}"));
    }
    if end < 0 || end > size {
        return fail(format!("index out of range: {end}"));
    }
    if from > end {
        return fail(format!("invalid substring range. start: {from}, end: {end}"));
    }
    let (from, end) = (usize::try_from(from).unwrap_or(0), usize::try_from(end).unwrap_or(0));
    Ok(Val::text(text.get(byte_of(text, from)..byte_of(text, end)).unwrap_or_default()))
}
