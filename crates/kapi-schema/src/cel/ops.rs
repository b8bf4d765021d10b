//! Arithmetic, indexing and printing of values.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::duration::GoDuration;

use super::value::{Error, Evaluated, Key, Val, fail};
use crate::go;
use crate::schema::ListType;

fn overflow<'a>(result: Option<i64>) -> Evaluated<'a> {
    result.map(Val::Int).ok_or_else(|| Error::Message("integer overflow".into()))
}

fn unsigned<'a>(result: Option<u64>) -> Evaluated<'a> {
    result.map(Val::Uint).ok_or_else(|| Error::Message("unsigned integer overflow".into()))
}

fn nanos<'a>(result: Option<i64>) -> Evaluated<'a> {
    result.map(Val::Duration).ok_or_else(|| Error::Message("duration overflow".into()))
}

/// An operator applied to two values.
pub(super) fn arithmetic<'a>(operator: &str, a: &Val<'a>, b: &Val<'a>) -> Evaluated<'a> {
    match (operator, a, b) {
        ("_+_", Val::Int(a), Val::Int(b)) => overflow(a.checked_add(*b)),
        ("_-_", Val::Int(a), Val::Int(b)) => overflow(a.checked_sub(*b)),
        ("_*_", Val::Int(a), Val::Int(b)) => overflow(a.checked_mul(*b)),
        ("_/_", Val::Int(_), Val::Int(0)) | ("_/_", Val::Uint(_), Val::Uint(0)) => fail("division by zero"),
        ("_%_", Val::Int(_), Val::Int(0)) | ("_%_", Val::Uint(_), Val::Uint(0)) => fail("modulus by zero"),
        ("_/_", Val::Int(a), Val::Int(b)) => overflow(a.checked_div(*b)),
        ("_%_", Val::Int(a), Val::Int(b)) => overflow(a.checked_rem(*b)),
        ("_+_", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_add(*b)),
        ("_-_", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_sub(*b)),
        ("_*_", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_mul(*b)),
        ("_/_", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_div(*b)),
        ("_%_", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_rem(*b)),
        ("_+_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        ("_-_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        ("_*_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("_/_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("_+_", Val::String(a), Val::String(b)) => Ok(Val::text(format!("{}{}", &**a, &**b))),
        ("_+_", Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes(a.iter().chain(b.iter()).copied().collect())),
        ("_+_", Val::Duration(a), Val::Duration(b)) => nanos(a.checked_add(*b)),
        ("_-_", Val::Duration(a), Val::Duration(b)) => nanos(a.checked_sub(*b)),
        ("_+_", Val::Timestamp(time), Val::Duration(d)) | ("_+_", Val::Duration(d), Val::Timestamp(time)) => {
            shifted(*time, Some(*d))
        }
        ("_-_", Val::Timestamp(time), Val::Duration(d)) => shifted(*time, d.checked_neg()),
        ("_-_", Val::Timestamp(a), Val::Timestamp(b)) => {
            nanos(i64::try_from(a.as_nanosecond() - b.as_nanosecond()).ok())
        }
        ("_+_", Val::List(_) | Val::ObjectList(..), Val::List(_) | Val::ObjectList(..)) => concatenate(a, b),
        _ => Err(Error::NoSuchOverload),
    }
}

fn shifted<'a>(time: jiff::Timestamp, by: Option<i64>) -> Evaluated<'a> {
    by.and_then(|by| time.checked_add(jiff::SignedDuration::from_nanos(by)).ok())
        .map(Val::Timestamp)
        .ok_or_else(|| Error::Message("timestamp overflow".into()))
}

/// Lists of the object join as their schema merges them: sets without repeats, keyed lists by their keys.
fn concatenate<'a>(a: &Val<'a>, b: &Val<'a>) -> Evaluated<'a> {
    let (Some(left), Some(right)) = (a.items(), b.items()) else { return Err(Error::NoSuchOverload) };
    let (mut out, right) = (left?, right?);
    let Val::ObjectList(_, schema) = a else {
        out.extend(right);
        return Ok(Val::list(out));
    };
    let node = schema.node();
    let identity = |item: &Val<'a>| -> Option<Vec<Key>> {
        match node.list_type {
            ListType::Atomic => None,
            ListType::Set => Some(vec![Key::of(item)?]),
            ListType::Map => {
                node.list_map_keys.iter().map(|key| Key::of(&item.field(key).ok()??)).collect::<Option<Vec<_>>>()
            }
        }
    };
    let mut places: BTreeMap<Vec<Key>, usize> =
        out.iter().enumerate().filter_map(|(i, item)| Some((identity(item)?, i))).collect();
    for item in right {
        let own = identity(&item);
        match own.as_ref().and_then(|own| places.get(own)).and_then(|at| out.get_mut(*at)) {
            Some(slot) => *slot = item,
            None => {
                places.extend(own.map(|own| (own, out.len())));
                out.push(item);
            }
        }
    }
    Ok(Val::list(out))
}

/// What stands at an index or key; `Ok(None)` if nothing does.
pub(super) fn index<'a>(of: &Val<'a>, by: &Val<'a>) -> Result<Option<Val<'a>>, Error> {
    match of {
        Val::List(_) | Val::ObjectList(..) => {
            let at = match by {
                Val::Int(at) => *at,
                Val::Uint(at) => i64::try_from(*at).unwrap_or(-1),
                Val::Double(at) if at.fract() == 0.0 => *at as i64,
                _ => return fail(format!("unsupported index type '{}' in list", by.type_name())),
            };
            usize::try_from(at).ok().and_then(|at| of.item(at)).transpose()
        }
        Val::Map(map) => Ok(Key::of(by).and_then(|key| map.get(&key).cloned())),
        Val::Object(..) => match by {
            Val::String(key) => of.field(key),
            _ => Ok(None),
        },
        _ => Err(Error::NoSuchOverload),
    }
}

/// A value as errors print it.
pub(super) fn print(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".into(),
        Val::Bool(b) => b.to_string(),
        Val::Int(int) => int.to_string(),
        Val::Uint(uint) => uint.to_string(),
        Val::Double(double) => go::float_v(*double),
        Val::String(text) => text.to_string(),
        Val::Duration(nanos) => GoDuration(*nanos).to_string(),
        Val::Timestamp(time) => super::time::print(*time),
        Val::Type(name) => name.to_string(),
        other => other.type_name().to_string(),
    }
}

/// Whether a value is the empty one of its kind.
pub(super) fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Optional(None) => true,
        Val::Bool(b) => !b,
        Val::Int(int) => *int == 0,
        Val::Uint(uint) => *uint == 0,
        Val::Double(double) => *double == 0.0,
        Val::Duration(nanos) => *nanos == 0,
        Val::Timestamp(_) | Val::Type(_) | Val::Foreign(_) => false,
        Val::Optional(Some(inner)) => is_zero(inner),
        sized => sized.size() == Some(0),
    }
}

/// An optional of a value.
pub(super) fn optional<'a>(value: Option<Val<'a>>) -> Val<'a> {
    Val::Optional(value.map(Arc::new))
}
