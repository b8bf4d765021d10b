//! Lists.

use super::convert::{joined, strslice, strval, to_int64};
use super::logic::empty;
use super::{Executor, Fault, Function, ITEM, Outcome, any, f, fits, int, text, walking};
use crate::template::MAX_MADE;
use crate::template::value::{Element, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    f("list", "v*", |_, a| Ok(Value::list(a.to_vec()))),
    f("tuple", "v*", |_, a| Ok(Value::list(a.to_vec()))),
    f("append", "vv", |_, a| push(a)),
    f("push", "vv", |_, a| push(a)),
    f("mustAppend", "vv", |_, a| push(a)),
    f("mustPush", "vv", |_, a| push(a)),
    f("prepend", "vv", |_, a| prepend(a)),
    f("mustPrepend", "vv", |_, a| prepend(a)),
    f("concat", "v*", |_, a| {
        let mut all = Vec::new();
        for list in a {
            let kind = list.kind();
            if let Value::Nil = list {
                return Err(NIL_POINTER.into());
            }
            all.extend(list.as_items().ok_or_else(|| format!("Cannot concat type {kind} as list"))?.iter().cloned());
        }
        Ok(Value::list_or_nil(Element::Any, all))
    }),
    f("first", "v", |_, a| first(a)),
    f("mustFirst", "v", |_, a| first(a)),
    f("last", "v", |_, a| last(a)),
    f("mustLast", "v", |_, a| last(a)),
    f("rest", "v", |_, a| rest(a)),
    f("mustRest", "v", |_, a| rest(a)),
    f("initial", "v", |_, a| initial(a)),
    f("mustInitial", "v", |_, a| initial(a)),
    f("reverse", "v", |_, a| reverse(a)),
    f("mustReverse", "v", |_, a| reverse(a)),
    f("compact", "v", |_, a| compact(a)),
    f("mustCompact", "v", |_, a| compact(a)),
    f("uniq", "v", uniq),
    f("mustUniq", "v", uniq),
    f("without", "vv*", without),
    f("mustWithout", "vv*", without),
    f("has", "vv", has),
    f("mustHas", "vv", has),
    f("slice", "vv*", |_, a| slice(a)),
    f("mustSlice", "vv*", |_, a| slice(a)),
    f("chunk", "iv", |_, a| chunk(a)),
    f("mustChunk", "iv", |_, a| chunk(a)),
    f("sortAlpha", "v", |_, a| {
        let mut texts = match any(a, 0) {
            Value::Nil => vec![strval(&Value::Nil).into_owned()],
            given => strslice(given)?,
        };
        texts.sort_unstable();
        Ok(as_texts(any(a, 0), texts))
    }),
    f("join", "sv", |_, a| Ok(Value::text(joined(&strslice(any(a, 1))?, &text(a, 0))?))),
    f("toStrings", "v", |_, a| Ok(as_texts(any(a, 0), strslice(any(a, 0))?))),
    f("splitList", "ss", |_, a| Ok(Value::texts(split(&text(a, 1), &text(a, 0))?))),
    f("split", "ss", |_, a| Ok(numbered(split(&text(a, 1), &text(a, 0))?))),
    f("splitn", "sis", |_, a| Ok(numbered(splitn(&text(a, 2), &text(a, 0), int(a, 1))?))),
    f("until", "i", |_, a| steps(0, int(a, 0), if int(a, 0) < 0 { -1 } else { 1 })),
    f("untilStep", "iii", |_, a| steps(int(a, 0), int(a, 1), int(a, 2))),
    f("seq", "i*", |_, a| seq(a)),
];

/// Texts made of a list. Go leaves one that has texts as it is, nil too.
fn as_texts(list: &Value, texts: Vec<String>) -> Value {
    if matches!(list, Value::List(list) if list.element == Element::NoText) {
        list.clone()
    } else {
        Value::texts(texts)
    }
}

/// What Go says where a list is asked for and nothing is there.
const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";

fn items<'a>(value: &'a Value, verb: &str) -> Result<std::borrow::Cow<'a, [Value]>, Fault> {
    let kind = value.kind();
    if let Value::Nil = value {
        return Err(NIL_POINTER.into());
    }
    value.as_items().ok_or_else(|| format!("Cannot {verb} on type {kind}").into())
}

fn push(a: &[Value]) -> Outcome {
    let mut all = items(any(a, 0), "push")?.into_owned();
    all.push(any(a, 1).clone());
    Ok(Value::list(all))
}

fn prepend(a: &[Value]) -> Outcome {
    let mut all = items(any(a, 0), "prepend")?.into_owned();
    all.insert(0, any(a, 1).clone());
    Ok(Value::list(all))
}

fn first(a: &[Value]) -> Outcome {
    Ok(items(any(a, 0), "find first")?.first().cloned().unwrap_or(Value::Nil))
}

fn last(a: &[Value]) -> Outcome {
    Ok(items(any(a, 0), "find last")?.last().cloned().unwrap_or(Value::Nil))
}

fn rest(a: &[Value]) -> Outcome {
    let items = items(any(a, 0), "find rest")?;
    let rest = items.get(1..).map(<[Value]>::to_vec);
    Ok(rest.map_or_else(|| Value::list_or_nil(Element::Any, Vec::new()), Value::list))
}

fn initial(a: &[Value]) -> Outcome {
    let items = items(any(a, 0), "find initial")?;
    let initial = items.split_last().map(|(_, before)| before.to_vec());
    Ok(initial.map_or_else(|| Value::list_or_nil(Element::Any, Vec::new()), Value::list))
}

fn reverse(a: &[Value]) -> Outcome {
    let mut all = items(any(a, 0), "find reverse")?.into_owned();
    all.reverse();
    Ok(Value::list(all))
}

fn compact(a: &[Value]) -> Outcome {
    let all = items(any(a, 0), "compact")?;
    Ok(Value::list(all.iter().filter(|item| !empty(item)).cloned().collect()))
}

fn contains(executor: &mut Executor<'_>, list: &[Value], wanted: &Value) -> Result<bool, Fault> {
    walking(executor, |walk| Ok(list.iter().any(|item| item.deep_equal(wanted, walk))))
}

fn uniq(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let all = items(any(a, 0), "find uniq")?;
    let mut kept: Vec<Value> = Vec::new();
    for item in all.iter() {
        if !contains(executor, &kept, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn without(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let all = items(any(a, 0), "find without")?;
    let omitted = a.get(1..).unwrap_or_default();
    let mut kept = Vec::new();
    for item in all.iter() {
        if !contains(executor, omitted, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn has(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    if let Value::Nil = any(a, 1) {
        return Ok(Value::Bool(false));
    }
    Ok(Value::Bool(contains(executor, &items(any(a, 1), "find has")?, any(a, 0))?))
}

fn slice(a: &[Value]) -> Outcome {
    let list = any(a, 0);
    let items = list.as_items().ok_or_else(|| format!("list should be type of slice or array but {}", list.kind()))?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let bound = |index: usize, otherwise: usize| match a.get(index) {
        Some(value) => to_int64(value),
        None => i64::try_from(otherwise).unwrap_or(i64::MAX),
    };
    let (from, to) = (bound(1, 0), bound(2, items.len()));
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    match range.and_then(|(from, to)| items.get(from..to)) {
        Some(part) => {
            let element = if let Value::List(list) = list { list.element } else { Element::Any };
            Ok(Value::list_of(element, part.to_vec()))
        }
        None => Err("reflect.Value.Slice: slice index out of bounds".into()),
    }
}

fn chunk(a: &[Value]) -> Outcome {
    let size = usize::try_from(int(a, 0)).ok().filter(|size| *size > 0);
    let all = any(a, 1).as_items().ok_or_else(|| format!("Cannot chunk type {}", any(a, 1).kind()))?;
    let size = size.ok_or("runtime error: makeslice: len out of range")?;
    fits(all.len().div_ceil(size).saturating_mul(ITEM))?;
    let chunks = all.chunks(size).map(|chunk| Value::list(chunk.to_vec())).collect();
    Ok(Value::list_of(Element::List, chunks))
}

/// `strings.Split`: an empty separator cuts into characters.
fn split(text: &str, separator: &str) -> Result<Vec<String>, Fault> {
    fit_parts(text, separator, usize::MAX)?;
    if separator.is_empty() {
        return Ok(text.chars().map(String::from).collect());
    }
    Ok(text.split(separator).map(str::to_owned).collect())
}

/// Fails if a text is cut into too many parts.
fn fit_parts(text: &str, separator: &str, most: usize) -> Result<(), Fault> {
    if text.len() < MAX_MADE / ITEM {
        return Ok(());
    }
    let cuts = if separator.is_empty() { text.chars().count() } else { text.matches(separator).count() };
    fits(cuts.min(most).saturating_mul(ITEM))
}

fn splitn(text: &str, separator: &str, count: i64) -> Result<Vec<String>, Fault> {
    fit_parts(text, separator, usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok(match usize::try_from(count) {
        Err(_) => split(text, separator)?,
        Ok(0) => Vec::new(),
        Ok(count) if separator.is_empty() => {
            let mut parts = Vec::new();
            let mut rest = text;
            while let Some(c) = rest.chars().next().filter(|_| parts.len() + 1 < count) {
                parts.push(c.to_string());
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
            if !rest.is_empty() {
                parts.push(rest.to_owned());
            }
            parts
        }
        Ok(count) => text.splitn(count, separator).map(str::to_owned).collect(),
    })
}

fn numbered(parts: Vec<String>) -> Value {
    let fields = parts.into_iter().enumerate().map(|(index, part)| (format!("_{index}"), Value::text(part)));
    Value::map_of(Element::Text, fields)
}

fn steps(start: i64, stop: i64, step: i64) -> Outcome {
    let mut numbers = Vec::new();
    if step != 0 && (stop < start) == (step < 0) {
        let count = stop.abs_diff(start) / step.unsigned_abs();
        fits(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()))?;
        let mut number = start;
        while if step > 0 { number < stop } else { number > stop } {
            numbers.push(Value::int(number));
            number = match number.checked_add(step) {
                Some(next) => next,
                None => break,
            };
        }
    }
    Ok(Value::list_of(Element::Int, numbers))
}

fn seq(a: &[Value]) -> Outcome {
    let direction = |from: i64, to: i64| if to < from { -1 } else { 1 };
    let numbers = match a.len() {
        1 => {
            let end = int(a, 0);
            let step = direction(1, end);
            steps(1, end.saturating_add(step), step)?
        }
        2 => {
            let step = direction(int(a, 0), int(a, 1));
            steps(int(a, 0), int(a, 1).saturating_add(step), step)?
        }
        3 => {
            let (start, step, end) = (int(a, 0), int(a, 1), int(a, 2));
            if (step > 0 && end < start) || (step < 0 && end > start) {
                return Ok(Value::text(""));
            }
            steps(start, end.saturating_add(direction(start, end)), step)?
        }
        _ => return Ok(Value::text("")),
    };
    Ok(Value::text(joined(&strslice(&numbers)?, " ")?))
}
