//! Arithmetic.

use super::convert::{to_float64, to_int64};
use super::{Fault, Function, Outcome, any, f, int};
use crate::template::print::shortest;
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    f("add", "v*", |_, a| Ok(Value::int64(a.iter().map(to_int64).fold(0, i64::wrapping_add)))),
    f("add1", "v", |_, a| Ok(Value::int64(to_int64(any(a, 0)).wrapping_add(1)))),
    f("sub", "vv", |_, a| Ok(Value::int64(to_int64(any(a, 0)).wrapping_sub(to_int64(any(a, 1)))))),
    f("mul", "vv*", |_, a| Ok(Value::int64(a.iter().map(to_int64).fold(1, i64::wrapping_mul)))),
    f("div", "vv", |_, a| divided(a, i64::wrapping_div)),
    f("mod", "vv", |_, a| divided(a, i64::wrapping_rem)),
    f("max", "vv*", |_, a| Ok(Value::int64(a.iter().map(to_int64).max().unwrap_or(0)))),
    f("biggest", "vv*", |_, a| Ok(Value::int64(a.iter().map(to_int64).max().unwrap_or(0)))),
    f("min", "vv*", |_, a| Ok(Value::int64(a.iter().map(to_int64).min().unwrap_or(0)))),
    f("maxf", "vv*", |_, a| Ok(Value::Float(a.iter().map(to_float64).fold(f64::NEG_INFINITY, f64::max)))),
    f("minf", "vv*", |_, a| Ok(Value::Float(a.iter().map(to_float64).fold(f64::INFINITY, f64::min)))),
    f("ceil", "v", |_, a| Ok(Value::Float(to_float64(any(a, 0)).ceil()))),
    f("floor", "v", |_, a| Ok(Value::Float(to_float64(any(a, 0)).floor()))),
    f("round", "vif*", |_, a| round(a)),
    f("addf", "v*", |_, a| decimals(a, Decimal::ZERO, |a, b| a.plus(b, 1))),
    f("add1f", "v", |_, a| decimals(a, Decimal::ONE, |a, b| a.plus(b, 1))),
    f("subf", "vv*", |_, a| from_first(a, |a, b| a.plus(b, -1))),
    f("mulf", "vv*", |_, a| from_first(a, Decimal::times)),
    f("divf", "vv*", |_, a| from_first(a, Decimal::over)),
];

fn divided(a: &[Value], operation: fn(i64, i64) -> i64) -> Outcome {
    let divisor = to_int64(any(a, 1));
    if divisor == 0 {
        return Err("runtime error: integer divide by zero".into());
    }
    Ok(Value::int64(operation(to_int64(any(a, 0)), divisor)))
}

fn round(a: &[Value]) -> Outcome {
    let places = i32::try_from(int(a, 1)).unwrap_or(0);
    let turning = a.get(2).map_or(0.5, to_float64);
    let power = 10_f64.powi(places);
    let digit = power * to_float64(any(a, 0));
    let rounded = if digit.fract() >= turning { digit.ceil() } else { digit.floor() };
    Ok(Value::Float(rounded / power))
}

/// Digits and how many of them stand behind the point.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    scale: i32,
}

/// Places behind the point that a division keeps.
const PLACES: i32 = 16;

impl Decimal {
    const ZERO: Self = Self { digits: 0, scale: 0 };
    const ONE: Self = Self { digits: 1, scale: 0 };

    fn of(value: &Value) -> Option<Self> {
        let text = shortest(to_float64(value));
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let scale = i32::try_from(fraction.len()).ok()? - exponent.parse::<i32>().ok()?;
        Some(Self { digits: format!("{whole}{fraction}").parse().ok()?, scale })
    }

    /// The same number with more places.
    fn at_scale(self, scale: i32) -> Option<i128> {
        let power = u32::try_from(scale.checked_sub(self.scale)?).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(power)?)
    }

    fn plus(self, other: Self, sign: i128) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let digits = self.at_scale(scale)?.checked_add(other.at_scale(scale)?.checked_mul(sign)?)?;
        Some(Self { digits, scale })
    }

    fn times(self, other: Self) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(other.digits)?, scale: self.scale + other.scale })
    }

    fn over(self, other: Self) -> Option<Self> {
        let numerator = self.at_scale(PLACES.checked_add(other.scale)?.max(self.scale))?;
        let scale = PLACES.checked_add(other.scale)?.max(self.scale) - other.scale;
        let quotient = numerator.checked_div(other.digits)?;
        let left = numerator.checked_rem(other.digits)?;
        let away = i128::from(left.unsigned_abs() * 2 >= other.digits.unsigned_abs());
        let sign = if (numerator < 0) == (other.digits < 0) { 1 } else { -1 };
        Some(Self { digits: quotient + sign * away, scale })
    }

    fn float(self) -> f64 {
        format!("{}e{}", self.digits, -self.scale).parse().unwrap_or_default()
    }
}

fn decimals(a: &[Value], first: Decimal, operation: fn(Decimal, Decimal) -> Option<Decimal>) -> Outcome {
    let too_large = || Fault::from("number is out of range");
    let mut result = first;
    for value in a {
        let next = Decimal::of(value).ok_or_else(too_large)?;
        result = operation(result, next).ok_or_else(too_large)?;
    }
    Ok(Value::Float(result.float()))
}

fn from_first(a: &[Value], operation: fn(Decimal, Decimal) -> Option<Decimal>) -> Outcome {
    let (first, rest) = a.split_first().ok_or("wrong number of args")?;
    let first = Decimal::of(first).ok_or("number is out of range")?;
    if rest.iter().any(|value| to_float64(value) == 0.0) && operation(Decimal::ONE, Decimal::ZERO).is_none() {
        return Err("decimal division by 0".into());
    }
    decimals(rest, first, operation)
}
