//! Moving from kubectl's client-side apply to server-side apply.
//!
//! Client-side apply keeps its configuration in an annotation. What it says counts as kubectl's own when kubectl
//! changes over, and the annotation is kept fresh so that one can go back.

use kapi_schema::SchemaRef;
use kapi_schema::go;
use serde_json::Value;

use super::request::ApplyRequest;
use crate::fields::FieldSet;
use crate::typed::{Duplicates, Shape, compare, field_set, validate};

/// Only this manager changes over.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// All annotations of an object together may have this many bytes.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The fields the annotation of `live` says, as far as they are still as it says.
pub(super) fn owned_by_annotation(
    live: Option<&Value>,
    schema: SchemaRef<'_>,
    request: &ApplyRequest<'_>,
) -> Option<FieldSet> {
    let live = live?;
    let text = annotations(live)?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())?;
    let shape = Shape::object(schema);
    validate(live, shape, Duplicates::Refused).ok()?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(request.api_version) {
        return None;
    }
    validate(&last, shape, Duplicates::Refused).ok()?;
    let changes = compare(&last, live, shape).ok()?;
    let said = field_set(&last, shape);
    Some(said.difference(&changes.modified).difference(&changes.added).difference(&changes.removed))
}

/// Sets the annotation, where there is one, to the configuration just applied.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    let has_annotation =
        annotations(object).and_then(|all| all.get(ANNOTATION)?.as_str()).is_some_and(|text| !text.is_empty());
    if !has_annotation {
        return;
    }
    let mut config = config.clone();
    if let Some(all) = annotations_mut(&mut config) {
        all.remove(ANNOTATION);
    }
    let mut text = go::json(&config);
    text.push('\n');
    if let Some(all) = annotations_mut(object) {
        all.insert(ANNOTATION.to_owned(), Value::String(text));
        let size: usize = all.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
        if size > MAX_ANNOTATION_BYTES {
            all.remove(ANNOTATION);
        }
    }
}

fn annotations(object: &Value) -> Option<&serde_json::Map<String, Value>> {
    object.get("metadata")?.get("annotations")?.as_object()
}

fn annotations_mut(object: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
