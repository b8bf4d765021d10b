//! Maps.

use super::convert::strval;
use super::merge::merge;
use super::{Fault, Function, Outcome, any, f, map, text};
use crate::template::value::{Value, Walk};

pub(super) static FUNCTIONS: &[Function] = &[
    f("dict", "v*", |_, a| {
        let pairs = a.chunks(2).map(|pair| {
            let value = pair.get(1).cloned().unwrap_or_else(|| Value::text(""));
            (strval(any(pair, 0)).into_owned(), value)
        });
        Ok(Value::map(pairs))
    }),
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
    f("omit", "ms*", |_, a| {
        let entries = map(a, 0).map(|map| map.entries()).unwrap_or_default();
        let omitted = |key: &str| (1..a.len()).any(|index| text(a, index) == key);
        Ok(Value::map(entries.into_iter().filter(|(key, _)| !omitted(key))))
    }),
    f("merge", "mm*", |_, a| merged(a, false)),
    f("mustMerge", "mm*", |_, a| merged(a, false)),
    f("mergeOverwrite", "mm*", |_, a| merged(a, true)),
    f("mustMergeOverwrite", "mm*", |_, a| merged(a, true)),
    f("deepCopy", "v", |_, a| copy(a)),
    f("mustDeepCopy", "v", |_, a| copy(a)),
    f("dig", "v*", |_, a| dig(a)),
];

fn copy(a: &[Value]) -> Outcome {
    any(a, 0).deep_copy().map_err(Fault::Message)
}

fn merged(a: &[Value], overwrite: bool) -> Outcome {
    if let Some(target) = map(a, 0) {
        for source in a.iter().skip(1).filter_map(Value::as_map) {
            merge(target, source, overwrite, &Walk::new(), 0)?;
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
