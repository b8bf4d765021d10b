//! Maps.

use std::rc::Rc;

use super::convert::strval;
use super::merge::merge;
use super::{Executor, Fault, Function, Outcome, any, f, fits, map, text, walking};
use crate::template::value::{BYTES_PER_STEP, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    f("dict", "v*", dict),
    f("get", "ms", |_, a| Ok(map(a, 0).and_then(|map| map.get(&text(a, 1))).unwrap_or_else(|| Value::text("")))),
    f("set", "msv", |_, a| match map(a, 0) {
        Some(map) => {
            map.set(text(a, 1).as_ref(), any(a, 2).clone());
            Ok(any(a, 0).clone())
        }
        None => Err("assignment to entry in nil map".into()),
    }),
    f("unset", "ms", |_, a| {
        if let Some(map) = map(a, 0) {
            map.remove(&text(a, 1));
        }
        Ok(any(a, 0).clone())
    }),
    f("hasKey", "ms", |_, a| Ok(Value::Bool(map(a, 0).is_some_and(|map| map.contains(&text(a, 1)))))),
    f("pluck", "sm*", |_, a| {
        let key = text(a, 0);
        Ok(Value::list(a.iter().skip(1).filter_map(|dict| dict.as_map()?.get(&key)).collect()))
    }),
    f("keys", "m*", |_, a| {
        Ok(Value::texts(a.iter().filter_map(Value::as_map).flat_map(|map| map.keys()).collect::<Vec<_>>()))
    }),
    f("values", "m", |_, a| {
        let entries = map(a, 0).map(|map| map.entries()).unwrap_or_default();
        Ok(Value::list(entries.into_iter().map(|(_, value)| value).collect()))
    }),
    f("pick", "ms*", |_, a| {
        let kept = (1..a.len()).filter_map(|index| {
            let key = text(a, index);
            Some((key.as_ref().to_owned(), map(a, 0)?.get(&key)?))
        });
        Ok(Value::map(kept))
    }),
    f("omit", "ms*", |e, a| {
        let entries = map(a, 0).map(|map| map.entries()).unwrap_or_default();
        e.machine.spend(entries.len().saturating_mul(a.len()) / 4)?;
        let omitted = |key: &str| (1..a.len()).any(|index| text(a, index) == key);
        Ok(Value::map(entries.into_iter().filter(|(key, _)| !omitted(key))))
    }),
    f("merge", "mm*", |e, a| merged(e, a, false)),
    f("mustMerge", "mm*", |e, a| merged(e, a, false)),
    f("mergeOverwrite", "mm*", |e, a| merged(e, a, true)),
    f("mustMergeOverwrite", "mm*", |e, a| merged(e, a, true)),
    f("deepCopy", "v", copy),
    f("mustDeepCopy", "v", copy),
    f("dig", "v*", |_, a| dig(a)),
];

fn dict(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    let mut pairs = Vec::with_capacity(a.len() / 2 + 1);
    let mut size = 0_usize;
    for pair in a.chunks(2) {
        let key = match any(pair, 0) {
            Value::Str(key) => key.clone(),
            other => Rc::from(strval(other)),
        };
        size = size.saturating_add(key.len());
        fits(size)?;
        pairs.push((key, pair.get(1).cloned().unwrap_or_else(|| Value::text(""))));
    }
    executor.machine.spend(size / BYTES_PER_STEP)?;
    Ok(Value::map(pairs))
}

fn copy(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    walking(executor, |walk| any(a, 0).deep_copy(walk))
}

fn merged(executor: &mut Executor<'_>, a: &[Value], overwrite: bool) -> Outcome {
    if let Some(target) = map(a, 0) {
        for source in a.iter().skip(1).filter_map(Value::as_map) {
            walking(executor, |walk| merge(target, source, overwrite, walk, 0))?;
        }
    }
    Ok(any(a, 0).clone())
}

fn dig(a: &[Value]) -> Outcome {
    let [keys @ .., default, dict] = a else { return Err("dig needs at least three arguments".into()) };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut found = dict.clone();
    for key in keys {
        let Value::Str(key) = key else { return Err(conversion(key, "string")) };
        let Value::Map(map) = &found else { return Err(conversion(&found, "map[string]interface {}")) };
        match map.get(key) {
            Some(value) => found = value,
            None => return Ok(default.clone()),
        }
    }
    Ok(found)
}

fn conversion(value: &Value, wanted: &str) -> Fault {
    let found = if matches!(value, Value::Nil) { "nil" } else { value.type_name() };
    format!("interface conversion: interface {{}} is {found}, not {wanted}").into()
}
