//! Ownership seen through the `scale` endpoint, which knows one field of its parent: the number of replicas.

use serde_json::Value;

use super::managed::{Entry, Managed};
use crate::fields::{FieldSet, PathElement};

const SCALE_VERSION: &str = "autoscaling/v1";

/// Where a kind keeps its replicas, for each of its versions.
#[derive(Clone, Copy, Debug)]
pub struct ScaleFields<'a> {
    /// The version of the request, as `apps/v1`.
    pub api_version: &'a str,
    /// All versions of the kind, each with the field names that lead to its replicas; no names where that version has
    /// no `scale`.
    pub replicas: &'a [(&'a str, &'a [&'a str])],
}

impl ScaleFields<'_> {
    fn path(&self, api_version: &str) -> Option<Vec<PathElement>> {
        let (_, names) = self.replicas.iter().find(|(version, _)| *version == api_version)?;
        Some(names.iter().map(|name| PathElement::field(name)).collect())
    }
}

fn replicas_of_scale() -> Vec<PathElement> {
    vec![PathElement::field("spec"), PathElement::field("replicas")]
}

fn set_of(path: &[PathElement]) -> FieldSet {
    let mut set = FieldSet::new();
    set.insert(path);
    set
}

/// The `managedFields` of the Scale of an object: everyone who owns its replicas.
pub fn scale_fields(parent: &Value, fields: &ScaleFields<'_>) -> Value {
    let mut scale = Managed::default();
    for entry in Managed::of(Some(parent)).unwrap_or_default().entries {
        let owns = fields.path(&entry.api_version).is_some_and(|path| entry.fields.contains(&path));
        if owns {
            scale.put(Entry { api_version: SCALE_VERSION.to_owned(), fields: set_of(&replicas_of_scale()), ..entry });
        }
    }
    encoded(scale)
}

/// The `managedFields` of an object whose Scale was written and now has `scale_entries`.
pub fn scale_fields_to_parent(parent: &Value, scale_entries: &[Value], fields: &ScaleFields<'_>) -> Value {
    let mut scale = Managed::decode(scale_entries).unwrap_or_default();
    let mut result = Managed::default();
    for entry in Managed::of(Some(parent)).unwrap_or_default().entries {
        let Some(path) = fields.path(&entry.api_version) else { continue };
        if !entry.fields.contains(&path) {
            result.entries.push(entry);
            continue;
        }
        // Updaters are never found here, for their entries are of another version: theirs are made anew below.
        if scale.take(entry.identity()).is_some() {
            result.entries.push(entry);
            continue;
        }
        let rest = entry.fields.difference(&set_of(&path));
        if !rest.is_empty() {
            result.entries.push(Entry { fields: rest, ..entry });
        }
    }
    for entry in scale.entries.into_iter().filter(|entry| entry.fields.contains(&replicas_of_scale())) {
        let path = fields.path(fields.api_version).unwrap_or_default();
        // The real server forgets the time.
        result.entries.push(Entry {
            api_version: fields.api_version.to_owned(),
            fields: set_of(&path),
            time: None,
            ..entry
        });
    }
    encoded(result)
}

fn encoded(managed: Managed) -> Value {
    let mut holder = serde_json::json!({});
    managed.write_to(&mut holder);
    holder["metadata"]["managedFields"].take()
}
