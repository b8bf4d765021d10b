//! Scalars of Go structs: how each is decoded from JSON and printed again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kernel::quantity::Quantity;
use serde_json::{Number, Value};

/// The scalar types that occur in built-in kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    String,
    Bool,
    Int(IntWidth),
    Float,
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    Duration,
    Raw,
}

/// The integer types of Go that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntWidth {
    Eight,
    ThirtyTwo,
    SixtyFour,
    Machine,
}

/// Why a value is not of its type.
pub(super) enum Error {
    /// JSON of another type.
    Mismatch,
    /// What the type's own decoder says.
    Text(String),
}

impl Scalar {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "bool" => Self::Bool,
            "uint8" => Self::Int(IntWidth::Eight),
            "int32" => Self::Int(IntWidth::ThirtyTwo),
            "int64" => Self::Int(IntWidth::SixtyFour),
            "int" => Self::Int(IntWidth::Machine),
            "float64" => Self::Float,
            "bytes" => Self::Bytes,
            "quantity" => Self::Quantity,
            "intstr" => Self::IntOrString,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "duration" => Self::Duration,
            "raw" => Self::Raw,
            _ => Self::String,
        }
    }

    pub(super) fn go_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int(IntWidth::Eight) => "uint8",
            Self::Int(IntWidth::ThirtyTwo) => "int32",
            Self::Int(IntWidth::SixtyFour) => "int64",
            Self::Int(IntWidth::Machine) => "int",
            Self::Float => "float64",
            Self::Bytes => "[]uint8",
            _ => "string",
        }
    }

    pub(super) fn zero(self) -> Value {
        match self {
            Self::String => Value::String(String::new()),
            Self::Bool => Value::Bool(false),
            Self::Int(_) | Self::IntOrString | Self::Float => Value::Number(Number::from(0)),
            Self::Quantity => Value::String("0".to_owned()),
            Self::Duration => Value::String("0s".to_owned()),
            Self::Bytes | Self::Time | Self::MicroTime | Self::Raw => Value::Null,
        }
    }

    /// Whether an omitted-when-empty zero disappears; those that are structs in Go never do.
    pub(super) fn omits_zero(self) -> bool {
        matches!(self, Self::String | Self::Bool | Self::Int(_) | Self::Float | Self::Bytes)
    }

    pub(super) fn decode(self, value: &mut Value) -> Result<(), Error> {
        match self {
            Self::Raw => Ok(()),
            Self::String if value.is_string() => Ok(()),
            Self::Bool if value.is_boolean() => Ok(()),
            Self::Float if value.is_number() => Ok(()),
            Self::Int(width) => int(value, width),
            Self::Bytes => bytes(value),
            Self::Quantity => quantity(value),
            Self::IntOrString => int_or_string(value),
            Self::Time => time(value, "%Y-%m-%dT%H:%M:%SZ", "2006-01-02T15:04:05Z07:00"),
            Self::MicroTime => time(value, "%Y-%m-%dT%H:%M:%S.%6fZ", "2006-01-02T15:04:05.000000Z07:00"),
            Self::Duration => duration(value),
            _ => Err(Error::Mismatch),
        }
    }
}

fn int(value: &mut Value, width: IntWidth) -> Result<(), Error> {
    let number = match value {
        Value::Number(number) => number.as_i64().or_else(|| whole_float(number)),
        _ => None,
    };
    let number = number.ok_or(Error::Mismatch)?;
    let fits = match width {
        IntWidth::Eight => u8::try_from(number).is_ok(),
        IntWidth::ThirtyTwo => i32::try_from(number).is_ok(),
        IntWidth::SixtyFour | IntWidth::Machine => true,
    };
    if !fits {
        return Err(Error::Mismatch);
    }
    *value = Value::from(number);
    Ok(())
}

/// YAML and some clients write `3.0`; Go refuses it, so only an exactly integral literal may pass as one.
fn whole_float(number: &Number) -> Option<i64> {
    number.as_u64().and_then(|n| i64::try_from(n).ok())
}

fn bytes(value: &mut Value) -> Result<(), Error> {
    let Value::String(text) = value else { return Err(Error::Mismatch) };
    let decoded = decode_base64(text).map_err(Error::Text)?;
    *text = STANDARD.encode(decoded);
    Ok(())
}

/// Bytes from base64, refused in the words of Go's decoder.
pub(super) fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).or_else(|_| {
        let stripped: String = text.chars().filter(|c| *c != '\n' && *c != '\r').collect();
        STANDARD.decode(&stripped).map_err(|error| {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => stripped.len() / 4 * 4,
            };
            format!("illegal base64 data at input byte {at}")
        })
    })
}

fn quantity(value: &mut Value) -> Result<(), Error> {
    let written = match &*value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match Quantity::read_back(&written) {
        Ok(text) => {
            *value = Value::String(text.into_owned());
            Ok(())
        }
        Err(error) => Err(Error::Text(error.to_string())),
    }
}

fn int_or_string(value: &Value) -> Result<(), Error> {
    match value {
        Value::String(_) => Ok(()),
        Value::Number(number) if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => Ok(()),
        Value::Number(number) => {
            Err(Error::Text(format!("json: cannot unmarshal number {number} into Go value of type int32")))
        }
        other => {
            let kind = match other {
                Value::Bool(_) => "bool",
                Value::Array(_) => "array",
                _ => "object",
            };
            Err(Error::Text(format!("json: cannot unmarshal {kind} into Go value of type int32")))
        }
    }
}

fn time(value: &mut Value, print: &str, layout: &str) -> Result<(), Error> {
    let Value::String(text) = value else {
        let kind = if value.is_number() { "number" } else { "object" };
        return Err(Error::Text(format!("json: cannot unmarshal {kind} into Go value of type string")));
    };
    if text.is_empty() {
        *value = Value::Null;
        return Ok(());
    }
    let micro = layout.contains('.');
    let fraction = text.find('.').map(|dot| text.get(dot..).unwrap_or(""));
    let dated = text.starts_with(|c: char| c.is_ascii_digit());
    if micro && dated && fraction.is_none_or(|rest| rest.chars().skip(1).take_while(char::is_ascii_digit).count() != 6)
    {
        let rest = fraction.or_else(|| text.get(19..)).unwrap_or("");
        return Err(Error::Text(format!(
            "parsing time \"{text}\" as \"{layout}\": cannot parse \"{rest}\" as \".000000\""
        )));
    }
    match text.parse::<Timestamp>() {
        Ok(time) => {
            *text = time.strftime(print).to_string();
            Ok(())
        }
        Err(_) => {
            Err(Error::Text(format!("parsing time \"{text}\" as \"{layout}\": cannot parse \"{text}\" as \"2006\"")))
        }
    }
}

fn duration(value: &mut Value) -> Result<(), Error> {
    let Value::String(text) = value else { return Err(Error::Mismatch) };
    match kernel::duration::GoDuration::parse(text) {
        Ok(duration) => {
            *text = duration.to_string();
            Ok(())
        }
        Err(error) => Err(Error::Text(error.to_string())),
    }
}
