//! What the tests of the API share: YAML files, and which CRD an object belongs to.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_api::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::Value;

/// Objects that are refused, and in which words; a file of `refused/`.
#[derive(Debug, Deserialize)]
pub(crate) struct Refused {
    /// An object that is accepted. A status that it has is told before it is changed.
    pub(crate) object: Value,
    /// Changes of it that are accepted, each for itself.
    #[serde(default)]
    pub(crate) accepted: Vec<Value>,
    /// Changes that are not.
    pub(crate) cases: Vec<RefusedCase>,
}

/// One change that is refused.
#[derive(Debug, Deserialize)]
pub(crate) struct RefusedCase {
    /// What it is about.
    pub(crate) case: String,
    /// Whether the changed object is created, or the created object changed.
    pub(crate) on: On,
    /// JSON merge patch.
    pub(crate) change: Value,
    /// What the API server says, as `field: message`, sorted.
    pub(crate) errors: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum On {
    Create,
    Update,
}

pub(crate) fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

pub(crate) fn examples_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// YAML files of a directory, by name.
pub(crate) fn files(directory: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no YAML in {}", directory.display());
    files
}

/// Documents of a YAML text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    kernel::yaml::values(text).unwrap()
}

/// A seed, verbatim.
pub(crate) fn seed(name: &str) -> Value {
    let text = fs::read_to_string(tests_dir().join("seeds").join(name)).unwrap();
    kernel::yaml::from_str(&text).unwrap()
}

/// Every whole object of seeds and examples that is of a Butler kind, with the file it is from.
pub(crate) fn accepted_objects() -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    for (file, text) in files(&tests_dir().join("seeds")) {
        let mut object: Value = kernel::yaml::from_str(&text).unwrap();
        if file.starts_with("nameless-") {
            object["metadata"] = serde_json::json!({ "name": "a-name" });
        }
        if !file.starts_with("fragment-") {
            objects.push((file, object));
        }
    }
    for (file, text) in files(&examples_dir()) {
        objects.extend(documents(&text).into_iter().map(|object| (file.clone(), object)));
    }
    objects.retain(|(_, object)| crd_of(object).is_some());
    objects
}

pub(crate) fn refused() -> Vec<(String, Refused)> {
    let files = files(&tests_dir().join("refused"));
    files.into_iter().map(|(file, text)| (file, kernel::yaml::from_str(&text).unwrap())).collect()
}

/// The CRD of an object; `None` for kinds that are not Butler's.
pub(crate) fn crd_of(object: &Value) -> Option<CustomResourceDefinition> {
    let (group, _) = object["apiVersion"].as_str()?.split_once('/')?;
    butler_api::crds().into_iter().find(|crd| crd.spec.group == group && crd.spec.names.kind == object["kind"])
}

/// The schema of a CRD, as JSON.
pub(crate) fn schema(crd: &CustomResourceDefinition) -> Value {
    serde_json::to_value(crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap()).unwrap()
}

/// RFC 7386.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let fields = target.as_object_mut().unwrap();
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}
