//! Conversions: `int('5')`, `string(1.5)`, `duration('1h')`.

use kernel::duration::GoDuration;

use super::eval::Evaluator;
use super::library::text_cost;
use super::time;
use super::value::{Error, Evaluated, Val, fail};
use crate::go;

/// Calls a conversion; none if the name is not one's, or if the value is one only the libraries know.
pub(super) fn call<'a>(run: &mut Evaluator<'a>, name: &str, values: &[Val<'a>]) -> Option<Evaluated<'a>> {
    let [value] = values else { return None };
    if matches!(value, Val::Foreign(_)) {
        return None;
    }
    let converted = match name {
        "int" => to_int(value),
        "uint" => to_uint(value),
        "double" => to_double(value),
        "bool" => to_bool(value),
        "string" => to_string(value),
        "bytes" => to_bytes(value),
        "timestamp" => to_timestamp(value),
        "duration" => to_duration(value),
        _ => return None,
    };
    let work = match (name, value) {
        ("string" | "bytes", Val::String(_) | Val::Bytes(_)) => text_cost(value.size().unwrap_or(0)),
        _ => 1,
    };
    Some(run.spend(work).and(converted))
}

fn impossible<'a>(value: &Val<'a>, to: &str) -> Evaluated<'a> {
    fail(format!("type conversion error from '{}' to '{to}'", value.type_name()))
}

fn overflow<'a>() -> Evaluated<'a> {
    fail("integer overflow")
}

fn to_int<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Int(int) => Ok(Val::Int(*int)),
        Val::Uint(uint) => i64::try_from(*uint).map(Val::Int).or_else(|_| overflow()),
        Val::Double(double)
            if double.is_nan() || *double <= -9.223_372_036_854_775e18 || *double >= 9.223_372_036_854_775e18 =>
        {
            overflow()
        }
        Val::Double(double) => Ok(Val::Int(*double as i64)),
        Val::String(text) => match text.parse() {
            Ok(int) if !text.is_empty() => Ok(Val::Int(int)),
            _ => impossible(value, "int"),
        },
        Val::Timestamp(at) => Ok(Val::Int(at.as_second())),
        Val::Duration(nanos) => Ok(Val::Int(*nanos)),
        _ => Err(Error::NoSuchOverload),
    }
}

fn to_uint<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Uint(uint) => Ok(Val::Uint(*uint)),
        Val::Int(int) => u64::try_from(*int).map(Val::Uint).or_else(|_| fail("unsigned integer overflow")),
        Val::Double(double) if double.is_nan() || *double < 0.0 || *double >= 1.844_674_407_370_955e19 => {
            fail("unsigned integer overflow")
        }
        Val::Double(double) => Ok(Val::Uint(*double as u64)),
        Val::String(text) => text.parse().map(Val::Uint).or_else(|_| impossible(value, "uint")),
        _ => Err(Error::NoSuchOverload),
    }
}

fn to_double<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Double(double) => Ok(Val::Double(*double)),
        Val::Int(int) => Ok(Val::Double(*int as f64)),
        Val::Uint(uint) => Ok(Val::Double(*uint as f64)),
        Val::String(text) => text.parse().map(Val::Double).or_else(|_| impossible(value, "double")),
        _ => Err(Error::NoSuchOverload),
    }
}

fn to_bool<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Bool(b) => Ok(Val::Bool(*b)),
        Val::String(text) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Val::Bool(false)),
            _ => impossible(value, "bool"),
        },
        _ => Err(Error::NoSuchOverload),
    }
}

fn to_string<'a>(value: &Val<'a>) -> Evaluated<'a> {
    Ok(match value {
        Val::String(text) => Val::String(text.clone()),
        Val::Bool(b) => Val::text(b.to_string()),
        Val::Int(int) => Val::text(int.to_string()),
        Val::Uint(uint) => Val::text(uint.to_string()),
        Val::Double(double) => Val::text(go::float_v(*double)),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Val::text(text),
            Err(_) => return fail("invalid UTF-8 in bytes, cannot convert to string"),
        },
        Val::Timestamp(at) => Val::text(time::print(*at)),
        Val::Duration(nanos) => Val::text(seconds(*nanos)),
        _ => return Err(Error::NoSuchOverload),
    })
}

/// CEL prints durations in seconds alone.
pub(super) fn seconds(nanos: i64) -> String {
    let printed = GoDuration(nanos % 1_000_000_000).to_string();
    let fraction = printed.trim_start_matches('-');
    if nanos % 1_000_000_000 == 0 || !fraction.ends_with('s') {
        return format!("{}s", nanos / 1_000_000_000);
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let decimals = format!("{:09}", (nanos % 1_000_000_000).unsigned_abs());
    format!("{sign}{}.{}s", (nanos / 1_000_000_000).unsigned_abs(), decimals.trim_end_matches('0'))
}

fn to_bytes<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Bytes(bytes) => Ok(Val::Bytes(bytes.clone())),
        Val::String(text) => Ok(Val::Bytes(text.as_bytes().into())),
        _ => Err(Error::NoSuchOverload),
    }
}

fn to_timestamp<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Timestamp(at) => Ok(Val::Timestamp(*at)),
        Val::String(text) => match time::parse_timestamp(text) {
            Some(at) => Ok(Val::Timestamp(at)),
            None => impossible(value, "google.protobuf.Timestamp"),
        },
        Val::Int(seconds) => match jiff::Timestamp::from_second(*seconds) {
            Ok(at) => Ok(Val::Timestamp(at)),
            Err(_) => fail("timestamp overflow"),
        },
        _ => Err(Error::NoSuchOverload),
    }
}

fn to_duration<'a>(value: &Val<'a>) -> Evaluated<'a> {
    match value {
        Val::Duration(nanos) => Ok(Val::Duration(*nanos)),
        Val::String(text) => match GoDuration::parse(text) {
            Ok(GoDuration(nanos)) => Ok(Val::Duration(nanos)),
            Err(_) => impossible(value, "google.protobuf.Duration"),
        },
        Val::Int(nanos) => Ok(Val::Duration(*nanos)),
        _ => Err(Error::NoSuchOverload),
    }
}
