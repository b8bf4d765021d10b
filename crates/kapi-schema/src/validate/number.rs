//! Bounds and multiples of numbers. Integers and floats are compared each in their own way, as Go does.

use serde_json::Number;

use crate::go;
use crate::schema::Node;

/// What is wrong with a number: each text follows `<path> in body`.
pub(super) fn check(number: &Number, node: &Node) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(factor) = node.multiple_of {
        faults.extend(not_multiple(number, factor));
    }
    if let Some(least) = node.minimum {
        let below = compare(number, least, |a, b| a < b, |a, b| a < b)
            || node.exclusive_minimum && compare(number, least, |a, b| a == b, |a, b| a == b);
        if below {
            let relation = if node.exclusive_minimum { "greater than" } else { "greater than or equal to" };
            faults.push(format!("should be {relation} {}", bound(number, least)));
        }
    }
    if let Some(most) = node.maximum {
        let above = compare(number, most, |a, b| a > b, |a, b| a > b)
            || node.exclusive_maximum && compare(number, most, |a, b| a == b, |a, b| a == b);
        if above {
            let relation = if node.exclusive_maximum { "less than" } else { "less than or equal to" };
            faults.push(format!("should be {relation} {}", bound(number, most)));
        }
    }
    faults
}

#[allow(clippy::cast_possible_truncation)]
fn truncated(bound: f64) -> i64 {
    bound as i64
}

fn compare(number: &Number, bound: f64, ints: impl Fn(i64, i64) -> bool, floats: impl Fn(f64, f64) -> bool) -> bool {
    match number.as_i64() {
        Some(value) => ints(value, truncated(bound)),
        None => number.as_f64().is_some_and(|value| floats(value, bound)),
    }
}

fn bound(number: &Number, bound: f64) -> String {
    if number.is_i64() { truncated(bound).to_string() } else { go::float_v(bound) }
}

fn not_multiple(number: &Number, factor: f64) -> Option<String> {
    match number.as_i64() {
        Some(value) => {
            let factor = truncated(factor);
            if factor <= 0 {
                return None;
            }
            (value % factor != 0).then(|| format!("should be a multiple of {factor}"))
        }
        None => {
            let value = number.as_f64()?;
            if factor <= 0.0 {
                return None;
            }
            let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            let whole = (times - times.round()).abs() < 1e-9 * times.abs().max(1.0);
            (!whole).then(|| format!("should be a multiple of {}", go::float_v(factor)))
        }
    }
}
