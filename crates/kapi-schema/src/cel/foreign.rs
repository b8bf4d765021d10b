//! The libraries of Kubernetes (addresses, quantities, versions, URLs, formats), as `kube-cel` has them.
//!
//! Values cross over for the call alone; what comes back that is not a plain value stays as it is.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::{Key as ForeignKey, Map as ForeignMap, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value as Foreign};

use super::eval::Evaluator;
use super::library::text_cost;
use super::value::{Error, Evaluated, Key, Val, fail};
use crate::field::go_quote;

thread_local! {
    static FUNCTIONS: Context<'static> = Context::default().with_all();
}

/// The name of the type of a library's value.
pub(super) fn type_name(value: &Foreign) -> &'static str {
    let Foreign::Opaque(opaque) = value else { return "dyn" };
    let name = opaque.runtime_type_name();
    let known = [
        ("ip", "net.IP"),
        ("cidr", "net.CIDR"),
        ("quantity", "kubernetes.Quantity"),
        ("semver", "kubernetes.Semver"),
        ("url", "kubernetes.URL"),
        ("format", "kubernetes.NamedFormat"),
    ];
    let lower = name.to_ascii_lowercase();
    known.iter().find(|(part, _)| lower.contains(part)).map_or("dyn", |(_, name)| name)
}

/// Calls a library function.
pub(super) fn call<'a>(run: &mut Evaluator<'a>, name: &str, method: bool, values: &[Val<'a>]) -> Evaluated<'a> {
    let size: usize = values.iter().map(|value| value.size().unwrap_or(1)).sum();
    run.spend(text_cost(size).max(1))?;
    let args = values.iter().map(to_foreign).collect::<Option<Vec<_>>>().ok_or(Error::NoSuchOverload)?;
    let result = FUNCTIONS.with(|functions| {
        let mut scope = functions.new_inner_scope();
        let names: Vec<String> = (0..args.len()).map(|i| format!("a{i}")).collect();
        for (name, value) in names.iter().zip(args) {
            scope.add_variable_from_value(name.as_str(), value);
        }
        let mut idents = names.into_iter().map(|name| IdedExpr { id: 0, expr: Expr::Ident(name) });
        let (func_name, target) = match (method, name.split_once('.')) {
            (true, _) => (name.to_owned(), idents.next().map(Box::new)),
            (false, Some((prefix, rest))) => {
                (rest.to_owned(), Some(Box::new(IdedExpr { id: 0, expr: Expr::Ident(prefix.to_owned()) })))
            }
            (false, None) => (name.to_owned(), None),
        };
        let call = CallExpr { func_name, target, args: idents.collect() };
        let expr = IdedExpr { id: 0, expr: Expr::Call(call) };
        // A library that trips over hostile input must not take the server with it.
        catch_unwind(AssertUnwindSafe(|| Foreign::resolve(&expr, &scope)))
    });
    match result {
        Ok(Ok(Foreign::Null)) if name == "format.named" => Ok(Val::Optional(None)),
        Ok(Ok(value @ Foreign::Opaque(_))) if name == "format.named" => Ok(Val::some(from_foreign(value)?)),
        Ok(Ok(value)) => from_foreign(value),
        Ok(Err(error)) => Err(explain(name, values, error)),
        Err(_) => fail(format!("{name} could not be evaluated")),
    }
}

/// The libraries' complaints, in the words of the real ones.
fn explain(name: &str, values: &[Val<'_>], error: ExecutionError) -> Error {
    let ExecutionError::FunctionError { message, .. } = error else { return Error::NoSuchOverload };
    let argument = match values.first() {
        Some(Val::String(text)) => &**text,
        _ => "",
    };
    let quoted = go_quote(argument);
    Error::Message(match name {
        "ip" | "ip.isCanonical" if argument.contains('%') => {
            format!("IP address {quoted} with zone value is not allowed")
        }
        "ip" | "ip.isCanonical" if argument.to_ascii_lowercase().starts_with("::ffff:") => {
            format!("IPv4-mapped IPv6 address {quoted} is not allowed")
        }
        "ip" | "ip.isCanonical" => {
            format!("IP Address {quoted} parse error during conversion from string: {}", not_an_address(argument))
        }
        "cidr" => {
            let reason = match argument.rsplit_once('/') {
                None => "no '/'".to_owned(),
                Some((address, bits)) if is_address(address) => match bits.parse::<u32>() {
                    Ok(_) => "prefix length out of range".to_owned(),
                    Err(_) => format!("bad bits after slash: {}", go_quote(bits)),
                },
                Some((address, _)) => not_an_address(address),
            };
            let text = "network address parse error during conversion from string";
            format!("{text}: {text}: netip.ParsePrefix({quoted}): {reason}")
        }
        "containsIP" | "containsCIDR" => return Error::NoSuchOverload,
        "asInteger" => "cannot convert value to integer".into(),
        "quantity" => {
            let known = argument.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
            if known {
                "unable to parse quantity's suffix".into()
            } else {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".into()
            }
        }
        "semver" => not_a_version(argument),
        _ => message,
    })
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// Why Go does not take a text for an address.
fn not_an_address(text: &str) -> String {
    let parts: Vec<&str> = text.split('.').collect();
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let reason = if text.contains(':') || !text.contains('.') {
        "unable to parse IP".to_owned()
    } else if parts.iter().any(|part| !digits(part)) {
        "unexpected character".to_owned()
    } else if parts.iter().any(|part| part.is_empty()) {
        "IPv4 field must have at least one digit".to_owned()
    } else if parts.iter().any(|part| part.len() > 1 && part.starts_with('0')) {
        "IPv4 field has octet with leading zero".to_owned()
    } else if parts.iter().any(|part| part.parse::<u8>().is_err()) {
        "IPv4 field has value >255".to_owned()
    } else if parts.len() < 4 {
        "IPv4 address too short".to_owned()
    } else {
        "IPv4 address too long".to_owned()
    };
    format!("ParseAddr({}): {reason}", go_quote(text))
}

fn not_a_version(text: &str) -> String {
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    if text.is_empty() {
        return "Version string empty".into();
    }
    if parts.len() != 3 {
        return "No Major.Minor.Patch elements found".into();
    }
    for (name, part) in ["major", "minor"].iter().zip(&parts) {
        if !part.bytes().all(|b| b.is_ascii_digit()) {
            return format!("Invalid character(s) found in {name} number {}", go_quote(part));
        }
        if part.len() > 1 && part.starts_with('0') {
            let title = if *name == "major" { "Major" } else { "Minor" };
            return format!("{title} number must not contain leading zeroes {}", go_quote(part));
        }
    }
    format!("Invalid character(s) found in patch number {}", go_quote(parts.get(2).unwrap_or(&"")))
}

fn to_foreign(value: &Val<'_>) -> Option<Foreign> {
    Some(match value {
        Val::Null => Foreign::Null,
        Val::Bool(b) => Foreign::Bool(*b),
        Val::Int(int) => Foreign::Int(*int),
        Val::Uint(uint) => Foreign::UInt(*uint),
        Val::Double(double) => Foreign::Float(*double),
        Val::String(text) => Foreign::String(Arc::new(text.to_string())),
        Val::Bytes(bytes) => Foreign::Bytes(Arc::new(bytes.to_vec())),
        Val::Duration(_) | Val::Timestamp(_) => Foreign::String(Arc::new(super::ops::print(value))),
        Val::List(_) | Val::ObjectList(..) => {
            Foreign::List(Arc::new(value.items()?.ok()?.iter().map(to_foreign).collect::<Option<Vec<_>>>()?))
        }
        Val::Map(_) | Val::Object(..) => {
            let mut map = HashMap::new();
            for (key, value) in value.entries()?.ok()? {
                let key = match Key::of(&key)? {
                    Key::Bool(b) => ForeignKey::Bool(b),
                    Key::Int(int) => ForeignKey::Int(int),
                    Key::String(text) => ForeignKey::String(Arc::new(text.to_string())),
                };
                map.insert(key, to_foreign(&value)?);
            }
            Foreign::Map(ForeignMap { map: Arc::new(map) })
        }
        Val::Optional(None) => Foreign::Opaque(Arc::new(OptionalValue::none())),
        Val::Optional(Some(inner)) => Foreign::Opaque(Arc::new(OptionalValue::of(to_foreign(inner)?))),
        Val::Type(name) => Foreign::String(Arc::new(name.to_string())),
        Val::Foreign(value) => value.clone(),
    })
}

fn from_foreign<'a>(value: Foreign) -> Evaluated<'a> {
    Ok(match value {
        Foreign::Null => Val::Null,
        Foreign::Bool(b) => Val::Bool(b),
        Foreign::Int(int) => Val::Int(int),
        Foreign::UInt(uint) => Val::Uint(uint),
        Foreign::Float(double) => Val::Double(double),
        Foreign::String(text) => Val::text(text.as_str()),
        Foreign::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
        Foreign::List(items) => Val::list(items.iter().cloned().map(from_foreign).collect::<Result<_, _>>()?),
        Foreign::Map(map) => {
            let mut out = BTreeMap::new();
            for (key, value) in map.map.iter() {
                let key = match key {
                    ForeignKey::Bool(b) => Key::Bool(*b),
                    ForeignKey::Int(int) => Key::Int(*int),
                    ForeignKey::Uint(uint) => Key::Int(i64::try_from(*uint).unwrap_or(i64::MAX)),
                    ForeignKey::String(text) => Key::String(Arc::from(text.as_str())),
                };
                out.insert(key, from_foreign(value.clone())?);
            }
            Val::Map(Arc::new(out))
        }
        Foreign::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>() {
            Some(optional) => match optional.value() {
                Some(inner) => Val::some(from_foreign(inner.clone())?),
                None => Val::Optional(None),
            },
            None => Val::Foreign(Foreign::Opaque(opaque)),
        },
        other => return fail(format!("unexpected value {other:?}")),
    })
}
