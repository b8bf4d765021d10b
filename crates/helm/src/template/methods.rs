//! Methods of [`Native`] values. The receiver is the first of a method's values.

use base64::Engine as _;

use super::error::Fault;
use super::functions::{Clock, Function, ITEM, Outcome, fits, layout};
use super::glob::Glob;
use super::native::Native;
use super::value::{Value, Walk};
use crate::semver::Version;
use crate::yaml::{self, Dialect};

/// What a pattern takes to be compiled, in steps.
const GLOB: usize = 1000;

/// Longer than any pattern of files.
const MAX_GLOB: usize = 1024;

pub(super) static FILES: &[Function] = &[
    Function::method("Get", "s", |_, a| Ok(content(a).map_or(Value::text(""), Value::string_of))),
    Function::method("GetBytes", "s", |_, a| Ok(Value::Bytes(content(a).unwrap_or_default().into()))),
    Function::method("Glob", "s", |e, a| {
        let Some(Native::Files(files)) = receiver(a) else { return Ok(Value::Nil) };
        e.machine.spend(GLOB + files.len())?;
        if argument(a).len() > MAX_GLOB {
            return Err(Fault::Limit("the pattern is too large"));
        }
        // A pattern that is none finds everything, as in Helm.
        let glob = Glob::new(&argument(a));
        let kept = files.iter().filter(|(name, _)| glob.as_ref().is_none_or(|glob| glob.matches(name)));
        Ok(Value::native(Native::Files(kept.map(|(name, content)| (name.clone(), content.clone())).collect())))
    }),
    Function::method("AsConfig", "", |_, a| by_base_name(a, |content| String::from_utf8_lossy(content).into_owned())),
    Function::method("AsSecrets", "", |_, a| {
        by_base_name(a, |content| base64::engine::general_purpose::STANDARD.encode(content))
    }),
    Function::method("Lines", "s", |_, a| {
        let Some(content) = content(a) else { return Ok(Value::texts(Vec::<String>::new())) };
        fits(memchr::memchr_iter(b'\n', &content).count().saturating_mul(ITEM))?;
        let text = String::from_utf8_lossy(&content).into_owned();
        Ok(Value::texts(text.strip_suffix('\n').unwrap_or(&text).split('\n')))
    }),
];

pub(super) static VERSIONS: &[Function] = &[Function::method("Has", "s", |_, a| {
    let wanted = argument(a);
    let Some(Native::Versions(versions)) = receiver(a) else { return Ok(Value::Bool(false)) };
    Ok(Value::Bool(versions.iter().any(|version| **version == *wanted)))
})];

pub(super) static KUBE_VERSION: &[Function] =
    &[Function::method("String", "", |_, a| Ok(shown(a))), Function::method("GitVersion", "", |_, a| Ok(shown(a)))];

pub(super) static TIME: &[Function] = &[
    Function::method("Format", "s", |_, a| Ok(Value::text(time(a)?.format(&layout(a, 1)?)))),
    Function::method("String", "", |_, a| Ok(shown(a))),
    Function::method("UTC", "", |_, a| Ok(Value::native(Native::Time(time(a)?.in_zone("UTC"))))),
    Function::method("AddDate", "iii", |_, a| {
        let number = |index: usize| match a.get(index) {
            Some(Value::Int(number, _)) => *number,
            _ => 0,
        };
        Ok(Value::native(Native::Time(time(a)?.add_date(number(1), number(2), number(3))?)))
    }),
    Function::method("Unix", "", |_, a| number(a, "Unix")),
    Function::method("UnixMilli", "", |_, a| number(a, "UnixMilli")),
    Function::method("UnixNano", "", |_, a| number(a, "UnixNano")),
    Function::method("Year", "", |_, a| number(a, "Year")),
    Function::method("Month", "", |_, a| number(a, "Month")),
    Function::method("Day", "", |_, a| number(a, "Day")),
    Function::method("Hour", "", |_, a| number(a, "Hour")),
    Function::method("Minute", "", |_, a| number(a, "Minute")),
    Function::method("Second", "", |_, a| number(a, "Second")),
    Function::method("Weekday", "", |_, a| number(a, "Weekday")),
    Function::method("YearDay", "", |_, a| number(a, "YearDay")),
];

pub(super) static VERSION: &[Function] = &[
    Function::method("Major", "", |_, a| Ok(Value::unsigned(version(a)?.major))),
    Function::method("Minor", "", |_, a| Ok(Value::unsigned(version(a)?.minor))),
    Function::method("Patch", "", |_, a| Ok(Value::unsigned(version(a)?.patch))),
    Function::method("Prerelease", "", |_, a| Ok(Value::text(version(a)?.prerelease.as_str()))),
    Function::method("Metadata", "", |_, a| Ok(Value::text(version(a)?.metadata.as_str()))),
    Function::method("Original", "", |_, a| Ok(Value::text(version(a)?.original()))),
    Function::method("String", "", |_, a| Ok(shown(a))),
    Function::method("Compare", "v", |_, a| {
        let other = version(a.get(1..).unwrap_or_default())?;
        Ok(Value::int(version(a)?.compare(other) as i64))
    }),
    Function::method("LessThan", "v", |_, a| Ok(Value::Bool(order(a)?.is_lt()))),
    Function::method("GreaterThan", "v", |_, a| Ok(Value::Bool(order(a)?.is_gt()))),
    Function::method("Equal", "v", |_, a| Ok(Value::Bool(order(a)?.is_eq()))),
];

fn receiver(args: &[Value]) -> Option<&Native> {
    match args.first() {
        Some(Value::Native(native)) => Some(native),
        _ => None,
    }
}

fn argument(args: &[Value]) -> String {
    args.get(1).map(super::print::display).unwrap_or_default()
}

fn shown(args: &[Value]) -> Value {
    Value::text(receiver(args).map(Native::display).unwrap_or_default())
}

fn content(args: &[Value]) -> Option<Vec<u8>> {
    let Some(Native::Files(files)) = receiver(args) else { return None };
    files.get(argument(args).as_str()).map(|content| content.to_vec())
}

/// YAML of file names without their folders, as ConfigMaps and Secrets want them.
fn by_base_name(args: &[Value], encode: impl Fn(&[u8]) -> String) -> Outcome {
    let Some(Native::Files(files)) = receiver(args) else { return Ok(Value::text("")) };
    let named = files.iter().map(|(name, content)| {
        let base = name.rsplit('/').next().unwrap_or_default();
        (base, Value::text(encode(content)))
    });
    Ok(Value::text(yaml::write(&Value::map(named), Dialect::Plain, &Walk::default())?))
}

fn time(args: &[Value]) -> Result<&Clock, Fault> {
    match receiver(args) {
        Some(Native::Time(time)) => Ok(time),
        _ => Err("not a time".into()),
    }
}

fn number(args: &[Value], method: &str) -> Outcome {
    time(args)?.number(method).ok_or_else(|| "not a time".into())
}

fn version(args: &[Value]) -> Result<&Version, Fault> {
    match receiver(args) {
        Some(Native::Version(version)) => Ok(version),
        _ => Err("not a version".into()),
    }
}

fn order(args: &[Value]) -> Result<std::cmp::Ordering, Fault> {
    Ok(version(args)?.compare(version(args.get(1..).unwrap_or_default())?))
}
