//! Reading and writing the parts of an object the server cares about.

use kapi_store::Body;
use serde_json::{Map, Value};

/// The metadata of an object; nothing when it has none.
pub(crate) fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

/// Sets a field of the metadata, making the metadata if there is none.
pub(crate) fn set_meta(object: &mut Value, field: &str, value: impl Into<Value>) {
    let Some(root) = object.as_object_mut() else { return };
    let metadata = root.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    if let Some(map) = metadata.as_object_mut() {
        map.insert(field.to_owned(), value.into());
    }
}

/// Removes a field of the metadata.
pub(crate) fn clear_meta(object: &mut Value, field: &str) {
    if let Some(map) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        map.remove(field);
    }
}

/// Copies a field of the metadata from one object to another; absent there, absent here.
pub(crate) fn copy_meta(to: &mut Value, from: &Value, field: &str) {
    match metadata(from).and_then(|meta| meta.get(field)) {
        Some(value) => set_meta(to, field, value.clone()),
        None => clear_meta(to, field),
    }
}

/// A text field of the metadata; empty when absent.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    metadata(object).and_then(|meta| meta.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// The object's name.
pub(crate) fn name(object: &Value) -> &str {
    meta(object, "name")
}

/// The object's namespace.
pub(crate) fn namespace(object: &Value) -> &str {
    meta(object, "namespace")
}

/// The object's uid.
pub(crate) fn uid(object: &Value) -> &str {
    meta(object, "uid")
}

/// The object's finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    metadata(object)
        .and_then(|meta| meta.get("finalizers"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether deletion has been asked for.
pub(crate) fn is_deleting(object: &Value) -> bool {
    metadata(object).is_some_and(|meta| meta.get("deletionTimestamp").is_some_and(|at| !at.is_null()))
}

/// The resourceVersion, 0 when absent.
pub(crate) fn revision(object: &Value) -> u64 {
    meta(object, "resourceVersion").parse().unwrap_or(0)
}

/// Parses a stored document. What the store holds was written by [`encode`], so this cannot fail on sound data.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, crate::Status> {
    serde_json::from_slice(bytes).map_err(crate::Status::internal)
}

/// The document the store keeps: apiVersion and kind first (so that lists can leave them off without parsing), and the
/// resourceVersion left out, for the store to put in.
pub(crate) fn encode(object: &Value) -> Body {
    let (bytes, splice) = encoded(object);
    Body::new(bytes, splice)
}

/// The same document as bytes, and where in it the metadata begin.
pub(crate) fn encoded(object: &Value) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(512);
    let mut splice = 0;
    out.push(b'{');
    write_field(&mut out, "apiVersion", object.get("apiVersion").unwrap_or(&Value::Null));
    out.push(b',');
    write_field(&mut out, "kind", object.get("kind").unwrap_or(&Value::Null));
    for (key, value) in object.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(meta)) => {
                out.extend_from_slice(b",\"metadata\":{");
                splice = out.len();
                let mut first = true;
                for (key, value) in meta.iter().filter(|(key, _)| *key != "resourceVersion") {
                    if !first {
                        out.push(b',');
                    }
                    first = false;
                    write_field(&mut out, key, value);
                }
                out.push(b'}');
            }
            _ => {
                out.push(b',');
                write_field(&mut out, key, value);
            }
        }
    }
    out.push(b'}');
    (out, splice)
}

/// The length of what [`encode`] writes before everything else: `{"apiVersion":"v1","kind":"Pod",`.
pub(crate) fn prefix(api_version: &str, kind: &str) -> String {
    format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","#)
}

fn write_field(out: &mut Vec<u8>, key: &str, value: &Value) {
    // Writing JSON to a Vec cannot fail.
    let _ = serde_json::to_writer(&mut *out, key);
    out.push(b':');
    let _ = serde_json::to_writer(&mut *out, value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_encoded_object_comes_back_with_its_revision() {
        let store = kapi_store::Store::in_memory().unwrap();
        let object = json!({"kind": "ConfigMap", "data": {"a": "b"}, "apiVersion": "v1", "metadata": {"name": "x"}});
        let op = kapi_store::Op {
            collection: store.collection("t/configmaps."),
            key: "x".into(),
            expect: kapi_store::Expect::Absent,
            action: kapi_store::Action::Put(encode(&object)),
        };
        let events = store.commit(vec![op]).await.unwrap();
        let stored = parse(&events[0].object).unwrap();
        assert_eq!(stored["metadata"], json!({"name": "x", "resourceVersion": "1"}));
        assert_eq!(stored["data"], object["data"]);
        assert_eq!(&events[0].object[prefix("v1", "ConfigMap").len()..][..5], b"\"data");
    }
}
