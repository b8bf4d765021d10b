//! Paths with slashes.

use super::{Function, Outcome, Run, f, fits, text};
use crate::template::value::Value;

const BASE: Run = |_, a| Ok(Value::text(base(&text(a, 0))));
const DIR: Run = |_, a| with_parts(&text(a, 0), dir);
const CLEAN: Run = |_, a| with_parts(&text(a, 0), clean);
const EXT: Run = |_, a| Ok(Value::text(ext(&text(a, 0))));
const IS_ABS: Run = |_, a| Ok(Value::Bool(text(a, 0).starts_with('/')));

pub(super) static FUNCTIONS: &[Function] = &[
    f("base", "s", BASE),
    f("dir", "s", DIR),
    f("clean", "s", CLEAN),
    f("ext", "s", EXT),
    f("isAbs", "s", IS_ABS),
    f("osBase", "s", BASE),
    f("osDir", "s", DIR),
    f("osClean", "s", CLEAN),
    f("osExt", "s", EXT),
    f("osIsAbs", "s", IS_ABS),
];

/// Cuts a path into its parts, each of which takes more than a slash.
fn with_parts(path: &str, make: fn(&str) -> String) -> Outcome {
    fits(path.split('/').count().saturating_mul(size_of::<&str>()))?;
    Ok(Value::text(make(path)))
}

/// The last part of a path.
pub(super) fn base(path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    match (path, trimmed) {
        ("", _) => ".".to_owned(),
        (_, "") => "/".to_owned(),
        (_, trimmed) => trimmed.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

fn dir(path: &str) -> String {
    clean(path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or_default())
}

fn ext(path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.rfind('.').and_then(|dot| last.get(dot..)).unwrap_or_default().to_owned()
}

/// The shortest path that means the same.
pub(super) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
