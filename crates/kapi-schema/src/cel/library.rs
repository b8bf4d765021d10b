//! The functions rules call: operators and the standard library here, the rest in the modules beside this one.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;

use super::ast::{Expr, Kind, Literal};
use super::eval::Evaluator;
use super::value::{Error, Evaluated, Val, compare, equal, fail};
use super::{convert, foreign, lists, ops, strings, time, urls};
use crate::gopattern;

/// The regular expressions a rule names as constants, compiled once with it.
#[derive(Debug, Default)]
pub(crate) struct Patterns(HashMap<Arc<str>, Regex>);

impl Patterns {
    /// The patterns of an expression.
    pub(crate) fn of(expr: &Expr) -> Self {
        let mut found = HashMap::new();
        expr.walk(&mut |expr| {
            let Kind::Call { function, args, .. } = &expr.kind else { return };
            if !matches!(function.as_str(), "matches" | "find" | "findAll") {
                return;
            }
            for arg in args {
                if let Kind::Literal(Literal::String(text)) = &arg.kind
                    && let Ok(regex) = gopattern::compile(text)
                {
                    found.insert(Arc::clone(text), regex);
                }
            }
        });
        Self(found)
    }

    pub(super) fn get(&self, pattern: &str) -> Result<Regex, Error> {
        match self.0.get(pattern) {
            Some(regex) => Ok(regex.clone()),
            None => gopattern::compile(pattern).map_err(Error::Message),
        }
    }
}

/// A tenth of a unit of work per character, as cel-go has it.
pub(super) fn text_cost(size: usize) -> u64 {
    size.div_ceil(10) as u64
}

/// What comparing two values costs. Unlike cel-go, which refuses costly rules beforehand, all of them is counted.
fn pair_cost(a: &Val<'_>, b: &Val<'_>) -> u64 {
    text_cost(a.weight().min(b.weight()))
}

/// Calls a function; for a method, the target is the first value.
pub(super) fn call<'a>(run: &mut Evaluator<'a>, name: &str, method: bool, values: Vec<Val<'a>>) -> Evaluated<'a> {
    match (name, values.as_slice()) {
        ("_==_", [a, b]) => {
            run.spend(pair_cost(a, b))?;
            Ok(Val::Bool(equal(a, b)))
        }
        ("_!=_", [a, b]) => {
            run.spend(pair_cost(a, b))?;
            Ok(Val::Bool(!equal(a, b)))
        }
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
            run.spend(pair_cost(a, b))?;
            ordered(name, a, b)
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => {
            let work = match (a, b) {
                (Val::String(x), Val::String(y)) => text_cost(x.len() + y.len()),
                (Val::Bytes(x), Val::Bytes(y)) => text_cost(x.len() + y.len()),
                _ => (a.size().unwrap_or(0) + b.size().unwrap_or(0)).max(1) as u64,
            };
            run.spend(work)?;
            ops::arithmetic(name, a, b)
        }
        ("!_", [value]) => {
            run.spend(1)?;
            match value {
                Val::Bool(b) => Ok(Val::Bool(!b)),
                _ => Err(Error::NoSuchOverload),
            }
        }
        ("-_", [value]) => {
            run.spend(1)?;
            match value {
                Val::Int(int) => {
                    int.checked_neg().map(Val::Int).ok_or_else(|| Error::Message("integer overflow".into()))
                }
                Val::Double(double) => Ok(Val::Double(-double)),
                _ => Err(Error::NoSuchOverload),
            }
        }
        ("@in", [needle, hay]) => run.contains(needle, hay),
        ("size", [value]) => {
            // Counting characters takes longer the more there are.
            let long = matches!(value, Val::String(_)).then(|| value.weight() / 1024).unwrap_or_default();
            run.spend(1 + long as u64)?;
            let size = value.size().ok_or(Error::NoSuchOverload)?;
            Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
        }
        ("type", [value]) => {
            run.spend(1)?;
            Ok(Val::Type(value.type_name()))
        }
        ("dyn", [value]) => {
            run.spend(1)?;
            Ok(value.clone())
        }
        ("optional.of", [value]) => Ok(Val::some(value.clone())),
        ("optional.ofNonZeroValue", [value]) => Ok(ops::optional((!ops::is_zero(value)).then(|| value.clone()))),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("hasValue", [Val::Optional(value)]) => Ok(Val::Bool(value.is_some())),
        ("value", [Val::Optional(value)]) => match value {
            Some(value) => Ok((**value).clone()),
            None => fail("optional.none() dereference"),
        },
        (name, [Val::Timestamp(at), zone @ ..]) if method && name.starts_with("get") => {
            run.spend(1)?;
            time_part(name, *at, zone.first())
        }
        (name, [Val::Duration(nanos)]) if method && name.starts_with("get") => {
            run.spend(1)?;
            duration_part(name, *nanos)
        }
        _ => extended(run, name, method, &values),
    }
}

fn extended<'a>(run: &mut Evaluator<'a>, name: &str, method: bool, values: &[Val<'a>]) -> Evaluated<'a> {
    if !method && let Some(result) = convert::call(run, name, values) {
        return result;
    }
    if let Some(result) = strings::call(run, name, values) {
        return result;
    }
    if let Some(result) = lists::call(run, name, values) {
        return result;
    }
    if let Some(result) = urls::call(name, values) {
        return run.spend(1).and(result);
    }
    foreign::call(run, name, method, values)
}

fn ordered<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Evaluated<'a> {
    let nan = |value: &Val<'_>| matches!(value, Val::Double(double) if double.is_nan());
    let Some(order) = compare(a, b) else {
        return if nan(a) || nan(b) { fail("NaN values cannot be ordered") } else { Err(Error::NoSuchOverload) };
    };
    Ok(Val::Bool(match name {
        "_<_" => order == Ordering::Less,
        "_<=_" => order != Ordering::Greater,
        "_>_" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

fn time_part<'a>(name: &str, at: jiff::Timestamp, zone: Option<&Val<'a>>) -> Evaluated<'a> {
    let zone = match zone {
        None => None,
        Some(Val::String(text)) => Some(text.to_string()),
        Some(_) => return Err(Error::NoSuchOverload),
    };
    let Some(local) = time::in_zone(at, zone.as_deref()) else {
        return fail(format!("unknown time zone {}", zone.unwrap_or_default()));
    };
    let value = match name {
        "getFullYear" => i64::from(local.year()),
        "getMonth" => i64::from(local.month()) - 1,
        "getDayOfYear" => i64::from(local.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(local.day()) - 1,
        "getDate" => i64::from(local.day()),
        "getDayOfWeek" => i64::from(local.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(local.hour()),
        "getMinutes" => i64::from(local.minute()),
        "getSeconds" => i64::from(local.second()),
        "getMilliseconds" => i64::from(local.millisecond()),
        _ => return Err(Error::NoSuchOverload),
    };
    Ok(Val::Int(value))
}

fn duration_part<'a>(name: &str, nanos: i64) -> Evaluated<'a> {
    Ok(Val::Int(match name {
        "getHours" => nanos / 3_600_000_000_000,
        "getMinutes" => nanos / 60_000_000_000,
        "getSeconds" => nanos / 1_000_000_000,
        "getMilliseconds" => nanos / 1_000_000,
        _ => return Err(Error::NoSuchOverload),
    }))
}
