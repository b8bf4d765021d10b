//! Defaults and choices.

use super::{Function, any, f};
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    f("empty", "v", |_, a| Ok(Value::Bool(empty(any(a, 0))))),
    f("default", "vv*", |_, a| match a {
        [_, given, ..] if !empty(given) => Ok(given.clone()),
        _ => Ok(any(a, 0).clone()),
    }),
    f("coalesce", "v*", |_, a| Ok(a.iter().find(|value| !empty(value)).cloned().unwrap_or(Value::Nil))),
    f("all", "v*", |_, a| Ok(Value::Bool(!a.iter().any(empty)))),
    f("any", "v*", |_, a| Ok(Value::Bool(a.iter().any(|value| !empty(value))))),
    f("ternary", "vvb", |_, a| Ok(if any(a, 2).truth() { any(a, 0) } else { any(a, 1) }.clone())),
    f("hello", "", |_, _| Ok(Value::text("Hello!"))),
];

/// What `default` replaces.
pub(super) fn empty(value: &Value) -> bool {
    match value {
        Value::Native(native) => matches!(native.kind(), "map" | "slice") && !native.truth(),
        other => !other.truth(),
    }
}
