//! Objects without anything but their metadata.

use serde_json::{Value, json};

/// An object as PartialObjectMetadata.
pub(super) fn object(mut object: Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get_mut("metadata").map(Value::take).unwrap_or_default(),
    })
}
