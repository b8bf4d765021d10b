//! Conversions that functions of many families make: Sprig's `strval` and the casts below it.

use std::borrow::Cow;

use crate::template::constant::{float, integer};
use crate::template::print::display;
use crate::template::value::Value;

/// Any value as text.
pub(super) fn strval(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Str(text) => Cow::Borrowed(text),
        Value::Raw(bytes) | Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        other => Cow::Owned(display(other)),
    }
}

/// Any value as the text of Go, bytes kept.
pub(super) fn to_string(value: &Value) -> Value {
    match value {
        Value::Str(_) | Value::Raw(_) => value.clone(),
        Value::Bytes(bytes) => Value::string_of(bytes.to_vec()),
        other => Value::text(display(other)),
    }
}

/// A list of texts out of anything; nil disappears.
pub(super) fn strslice(value: &Value) -> Vec<String> {
    if let Some(items) = value.as_items() {
        return items.iter().filter(|item| !matches!(item, Value::Nil)).map(|item| strval(item).into_owned()).collect();
    }
    match value {
        Value::Nil => Vec::new(),
        other => vec![strval(other).into_owned()],
    }
}

/// Any value as an integer; what is none is zero.
pub(super) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(number, _) => *number,
        Value::Float(number) => float_to_int(*number),
        Value::Bool(value) => (*value).into(),
        Value::Str(text) => {
            let trimmed = match text.split_once('.') {
                Some((whole, zeros)) if zeros.chars().all(|c| c == '0') => whole,
                _ => text,
            };
            integer(trimmed).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Go's conversion on amd64: what does not fit becomes the smallest.
pub(super) fn float_to_int(number: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) { number as i64 } else { i64::MIN }
}

/// Any value as a float; what is none is zero.
#[expect(clippy::cast_precision_loss, reason = "what a cast does")]
pub(super) fn to_float64(value: &Value) -> f64 {
    match value {
        Value::Int(number, _) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Str(text) => float(text).unwrap_or(0.0),
        _ => 0.0,
    }
}
