//! Conversions to numbers.

use super::convert::{to_float64, to_int64};
use super::{Function, any, f, text};
use crate::template::print::display;
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    f("int", "v", |_, a| Ok(Value::int(to_int64(any(a, 0))))),
    f("int64", "v", |_, a| Ok(Value::int64(to_int64(any(a, 0))))),
    f("float64", "v", |_, a| Ok(Value::Float(to_float64(any(a, 0))))),
    f("atoi", "s", |_, a| {
        let number = text(a, 0);
        let digits = number.strip_prefix(['+', '-']).unwrap_or(&number);
        let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let clamped = if number.starts_with('-') { i64::MIN } else { i64::MAX };
        Ok(Value::int(if valid { number.parse().unwrap_or(clamped) } else { 0 }))
    }),
    f("toDecimal", "v", |_, a| {
        let octal = |text: &str| Value::int64(i64::from_str_radix(text, 8).unwrap_or(0));
        Ok(match any(a, 0) {
            Value::List(_) | Value::Map(_) | Value::Native(_) => Value::int64(0),
            value => octal(&display(value)),
        })
    }),
];
