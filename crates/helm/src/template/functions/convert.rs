//! Conversions that functions of many families make: Sprig's `strval` and the casts below it.

use std::borrow::Cow;

use super::{Fault, ITEM, fits};
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

/// A list of texts out of anything; nil disappears. Many items may be one large text.
pub(super) fn strslice(value: &Value) -> Result<Vec<String>, Fault> {
    match (value.as_items(), value) {
        (Some(items), _) => shown(&items, |item| strval(item).into_owned()),
        (None, other) => shown(std::slice::from_ref(other), |item| strval(item).into_owned()),
    }
}

/// Values as texts, one by one as long as all of them are not too large; nil disappears.
pub(super) fn shown(values: &[Value], show: impl Fn(&Value) -> String) -> Result<Vec<String>, Fault> {
    let mut texts = Vec::with_capacity(values.len());
    let mut size = 0_usize;
    for value in values.iter().filter(|value| !matches!(value, Value::Nil)) {
        let text = show(value);
        size = size.saturating_add(text.len()).saturating_add(ITEM);
        fits(size)?;
        texts.push(text);
    }
    Ok(texts)
}

/// Texts with a separator between them.
pub(super) fn joined(texts: &[String], separator: &str) -> Result<String, Fault> {
    let size = texts.iter().map(|text| text.len().saturating_add(separator.len()));
    fits(size.fold(0, usize::saturating_add))?;
    Ok(texts.join(separator))
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
