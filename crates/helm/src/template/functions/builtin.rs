//! The functions of Go's text/template itself.

use std::borrow::Cow;

use super::{Fault, Function, Outcome, any, f, fits, int, text};
use crate::template::print::{sprint, sprintf, sprintln};
use crate::template::value::{IntType, Value, Walk};

pub(super) static FUNCTIONS: &[Function] = &[
    f("and", "v*", |_, _| Ok(Value::Nil)),
    f("or", "v*", |_, _| Ok(Value::Nil)),
    f("not", "v", |_, a| Ok(Value::Bool(!any(a, 0).truth()))),
    f("eq", "vv*", |_, a| eq(a)),
    f("ne", "vv", |_, a| Ok(Value::Bool(!equal(any(a, 0), any(a, 1))?))),
    f("lt", "vv", |_, a| Ok(Value::Bool(less(any(a, 0), any(a, 1))?))),
    f("le", "vv", |_, a| Ok(Value::Bool(less_or_equal(any(a, 0), any(a, 1))?))),
    f("gt", "vv", |_, a| Ok(Value::Bool(!less_or_equal(any(a, 0), any(a, 1))?))),
    f("ge", "vv", |_, a| Ok(Value::Bool(!less(any(a, 0), any(a, 1))?))),
    f("index", "vv*", |_, a| index(a)),
    f("len", "v", |_, a| len(any(a, 0))),
    f("print", "v*", |_, a| Ok(Value::text(sprint(a)))),
    f("printf", "sv*", |_, a| Ok(Value::text(sprintf(&text(a, 0), a.get(1..).unwrap_or_default())))),
    f("println", "v*", |_, a| Ok(Value::text(sprintln(a)))),
    f("call", "vv*", |_, a| Err(format!("non-function of type {}", any(a, 0).type_name()).into())),
    f("html", "v*", |_, a| Ok(Value::text(escape(&joined(a)?, html)))),
    f("js", "v*", |_, a| Ok(Value::text(escape(&joined(a)?, js)))),
    f("urlquery", "v*", |_, a| Ok(Value::text(super::urls::query_escape(&joined(a)?)))),
];

/// Whether a function stops at its first operand that is true (`or`) or false (`and`).
pub(crate) fn short_circuit(name: &str) -> Option<bool> {
    match name {
        "or" => Some(true),
        "and" => Some(false),
        _ => None,
    }
}

/// How many letters an escaped one has at most.
const ESCAPED: usize = 6;

/// What is to be escaped.
fn joined(args: &[Value]) -> Result<Cow<'_, str>, Fault> {
    let text = match args {
        [Value::Str(text)] => Cow::Borrowed(&**text),
        _ => Cow::Owned(sprint(args)),
    };
    fits(text.len().saturating_mul(ESCAPED))?;
    Ok(text)
}

fn escape(text: &str, one: fn(char) -> Option<String>) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match one(c) {
            Some(escaped) => out.push_str(&escaped),
            None => out.push(c),
        }
        out
    })
}

fn html(c: char) -> Option<String> {
    let escaped = match c {
        '"' => "&#34;",
        '\'' => "&#39;",
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '\0' => "\u{fffd}",
        _ => return None,
    };
    Some(escaped.to_owned())
}

fn js(c: char) -> Option<String> {
    Some(match c {
        '\\' => "\\\\".to_owned(),
        '\'' => "\\'".to_owned(),
        '"' => "\\\"".to_owned(),
        '<' | '>' | '&' | '=' | '\0'..='\u{1f}' => format!("\\u{:04X}", u32::from(c)),
        _ => return None,
    })
}

/// What `eq` and its kin can compare.
#[derive(PartialEq)]
enum Basic<'a> {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'a [u8]),
    Nothing,
    Other,
}

fn basic(value: &Value) -> Basic<'_> {
    match value {
        Value::Nil => Basic::Nothing,
        Value::Bool(value) => Basic::Bool(*value),
        Value::Int(bits, kind) => Basic::Int(kind.number(*bits)),
        Value::Float(number) => Basic::Float(*number),
        Value::Str(_) | Value::Raw(_) => Basic::Text(value.as_bytes().unwrap_or_default()),
        _ => Basic::Other,
    }
}

fn incompatible(a: &Value, b: &Value) -> Fault {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()).into()
}

fn eq(args: &[Value]) -> Outcome {
    let (first, rest) = args.split_first().ok_or("missing argument for comparison")?;
    if rest.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in rest {
        if equal(first, other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn is_comparable(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Map(_) | Value::Bytes(_))
}

fn non_comparable(a: &Value, b: &Value) -> Fault {
    let types = [a.type_name(), b.type_name()].map(Value::text);
    let [one, two] = types;
    sprintf("non-comparable types %s: %v, %s: %v", &[a.clone(), one, two, b.clone()]).into()
}

fn equal(a: &Value, b: &Value) -> Result<bool, Fault> {
    Ok(match (basic(a), basic(b)) {
        (Basic::Nothing, Basic::Nothing) => true,
        (Basic::Nothing, _) => b.is_nil_list(),
        (_, Basic::Nothing) => a.is_nil_list(),
        (Basic::Other, Basic::Other) => {
            if is_comparable(a) && is_comparable(b) {
                return Ok(a.deep_equal(b, &Walk::default()));
            }
            return Err(non_comparable(a, b));
        }
        (Basic::Bool(a), Basic::Bool(b)) => a == b,
        (Basic::Int(a), Basic::Int(b)) => a == b,
        (Basic::Float(a), Basic::Float(b)) => a == b,
        (Basic::Text(a), Basic::Text(b)) => a == b,
        _ => return Err(incompatible(a, b)),
    })
}

fn less(a: &Value, b: &Value) -> Result<bool, Fault> {
    Ok(match (basic(a), basic(b)) {
        (Basic::Int(a), Basic::Int(b)) => a < b,
        (Basic::Float(a), Basic::Float(b)) => a < b,
        (Basic::Text(a), Basic::Text(b)) => a < b,
        (Basic::Nothing | Basic::Other, _) | (_, Basic::Nothing | Basic::Other) | (Basic::Bool(_), Basic::Bool(_)) => {
            return Err("invalid type for comparison".into());
        }
        _ => return Err(incompatible(a, b)),
    })
}

fn less_or_equal(a: &Value, b: &Value) -> Result<bool, Fault> {
    Ok(less(a, b)? || equal(a, b)?)
}

fn len(value: &Value) -> Outcome {
    let length = match value {
        Value::Nil => return Err("len of nil pointer".into()),
        Value::Str(_) | Value::Raw(_) => value.as_bytes().unwrap_or_default().len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Map(map) => map.len(),
        Value::Native(native) if native.entries().is_some() => native.entries().unwrap_or_default().len(),
        other => match other.as_items() {
            Some(items) => items.len(),
            None => return Err(format!("len of type {}", other.type_name()).into()),
        },
    };
    Ok(Value::count(length))
}

fn index(args: &[Value]) -> Outcome {
    let (first, indexes) = args.split_first().ok_or("index of untyped nil")?;
    if let Value::Nil = first {
        return Err("index of untyped nil".into());
    }
    let mut item = first.clone();
    for index in indexes {
        item = match &item {
            Value::Nil => return Err("index of nil pointer".into()),
            Value::Map(map) => match index {
                Value::Nil => return Err("value is nil; should be of type string".into()),
                Value::Str(key) => map.get(key).unwrap_or(if item.type_name() == "map[string]string" {
                    Value::text("")
                } else {
                    Value::Nil
                }),
                other => return Err(format!("value has type {}; should be string", other.type_name()).into()),
            },
            Value::Str(_) | Value::Raw(_) => {
                let content = item.as_bytes().unwrap_or_default();
                let at = position(index, content.len())?;
                Value::Int(content.get(at).copied().unwrap_or_default().into(), IntType::Byte)
            }
            other => match other.as_items() {
                Some(items) => items.get(position(index, items.len())?).cloned().unwrap_or(Value::Nil),
                None => return Err(format!("can't index item of type {}", other.type_name()).into()),
            },
        };
    }
    Ok(item)
}

fn position(index: &Value, length: usize) -> Result<usize, Fault> {
    match index {
        Value::Nil => Err("cannot index slice/array with nil".into()),
        Value::Int(..) => {
            let at = int(std::slice::from_ref(index), 0);
            usize::try_from(at).ok().filter(|at| *at < length).ok_or_else(|| format!("index out of range: {at}").into())
        }
        other => Err(format!("cannot index slice/array with type {}", other.type_name()).into()),
    }
}
