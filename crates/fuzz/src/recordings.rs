//! What tests of other crates recorded, to begin with.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

/// A path in the checkout.
fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A file of the checkout.
pub(crate) fn text(path: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(checkout(path)).with_context(|| format!("cannot read {path}"))
}

/// A JSON document of the checkout.
pub(crate) fn document(path: &str) -> anyhow::Result<Value> {
    serde_json::from_str(&text(path)?).with_context(|| format!("{path} is no JSON"))
}

/// All files of a folder of the checkout.
pub(crate) fn texts(folder: &str) -> anyhow::Result<Vec<String>> {
    let cannot_list = || format!("cannot list {folder}");
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(checkout(folder)).with_context(cannot_list)? {
        paths.push(entry.with_context(cannot_list)?.path());
    }
    paths.sort();
    let read =
        |path: &PathBuf| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    paths.iter().map(read).collect()
}

/// The requests of the differential suite: method and target, as `GET /api/v1/pods?watch=1`.
pub(crate) fn requests() -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for text in texts("crates/conformance/golden")? {
        let area: Value = serde_json::from_str(&text)?;
        let steps = area.as_object().into_iter().flat_map(|cases| cases.values()).filter_map(Value::as_array).flatten();
        found.extend(steps.filter_map(|step| step["step"].as_str()).map(|step| step.replace("{ns}", "default")));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The recorded writes of one of these verbs, as `{"kind", "verb", "live", "change"}`.
pub(crate) fn writes(verbs: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    for text in texts("crates/kapi-merge/tests/golden")? {
        let scenarios: Vec<Value> = serde_json::from_str(&text)?;
        for scenario in scenarios {
            // Steps without an object before them follow from the step before.
            let mut before = Value::Null;
            for step in scenario["steps"].as_array().into_iter().flatten() {
                let live = step.get("live").unwrap_or(&before);
                if step["verb"].as_str().is_some_and(|verb| verbs.contains(&verb)) {
                    let (kind, verb, change) = (&scenario["kind"], &step["verb"], &step["body"]);
                    found.push(json!({"kind": kind, "verb": verb, "live": live, "change": change}));
                }
                before = step.get("result").cloned().unwrap_or(before);
            }
        }
    }
    Ok(found)
}
