//! JSON patch, RFC 6902, with the liberties the real server takes.
//!
//! It differs from the standard: `replace` sets a key that is not there, `copy` of a missing key copies null, `test`
//! of a missing key against null holds, negative indices count from the end, and the root can only be replaced. No
//! library has all of these, so the operations are written out here.

use kapi_schema::go;
use serde_json::{Map, Value};

use crate::error::PatchError;
use crate::go_json;

/// A patch with more operations is refused.
pub const MAX_OPERATIONS: usize = 10_000;

/// What all copies of one patch may add, in bytes of JSON: copies of copies grow exponentially.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Patches may not nest values deeper, for everything that walks the result recurses.
const MAX_DEPTH: usize = 512;

/// The document after a JSON patch.
pub fn json_patch(doc: &Value, patch_body: &[u8]) -> Result<Value, PatchError> {
    let operations = decode(patch_body)?;
    apply(doc, &operations)
}

/// Reads a patch, refusing what is no list of operations.
pub fn decode(patch_body: &[u8]) -> Result<Vec<Value>, PatchError> {
    let bad = |why: String| PatchError::BadRequest(format!("error decoding patch: {why}"));
    let patch: Value = serde_json::from_slice(patch_body)
        .map_err(|error| bad(go_json::syntax_error(patch_body).unwrap_or_else(|| error.to_string())))?;
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => {
            let kind = go::json_type(&other);
            return Err(bad(format!("json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp")));
        }
    };
    for operation in &operations {
        let Value::Object(fields) = operation else {
            let kind = go::json_type(operation);
            return Err(bad(format!("json: cannot unmarshal {kind} into Go value of type handlers.jsonPatchOp")));
        };
        for name in ["op", "path", "from"] {
            match fields.get(name) {
                None | Some(Value::Null | Value::String(_)) => {}
                Some(other) => {
                    let kind = go::json_type(other);
                    let place = format!("Go struct field jsonPatchOp.{name} of type string");
                    return Err(bad(format!("json: cannot unmarshal {kind} into {place}")));
                }
            }
        }
    }
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    Ok(operations)
}

/// What operations carry beside the fields they may have, as warnings name it.
pub fn unknown_fields(operations: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        for key in operation.as_object().into_iter().flat_map(Map::keys) {
            if !matches!(key.as_str(), "op" | "path" | "from" | "value") {
                found.push(format!("json patch unknown field \"[{index}].{key}\""));
            }
        }
    }
    found
}

/// Applies operations read by [`decode`].
pub fn apply(doc: &Value, operations: &[Value]) -> Result<Value, PatchError> {
    let mut patched = Patched { doc: doc.clone(), copied: 0, depth: depth(doc) };
    for operation in operations {
        patched.run(operation).map_err(PatchError::Unprocessable)?;
    }
    Ok(patched.doc)
}

struct Patched {
    doc: Value,
    copied: usize,
    /// No part of the document is deeper than this.
    depth: usize,
}

impl Patched {
    fn run(&mut self, operation: &Value) -> Result<(), String> {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let path = || text("path").ok_or("operation missing path field: missing value");
        let from = || text("from").ok_or("operation, missing from field: missing value");
        let value = || operation.get("value").cloned().unwrap_or(Value::Null);
        match text("op").unwrap_or("unknown") {
            "add" => self.add(path()?, value()),
            "remove" => self.remove(path()?).map(drop),
            "replace" => self.replace(path()?, value()),
            "move" => {
                let (from, path) = (from()?, path()?);
                let value = self.remove(from)?;
                self.grow(steps(path).saturating_sub(steps(from)))?;
                insert(&mut self.doc, path, value)
            }
            "copy" => self.copy(from()?, path()?),
            "test" => self.test(path()?, operation.get("value").unwrap_or(&Value::Null)),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), String> {
        self.reach(steps(path) + depth(&value))?;
        insert(&mut self.doc, path, value)
    }

    fn remove(&mut self, path: &str) -> Result<Value, String> {
        let missing = || format!("remove operation does not apply: doc is missing path: {path:?}");
        let (parent, key) = parent_of(&mut self.doc, path).ok_or_else(missing)?;
        match parent {
            Value::Object(map) => map.remove(&key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}")),
            Value::Array(items) => {
                let at = place(&key, items.len())?;
                if at < items.len() { Ok(items.remove(at)) } else { Err(bad_index(&key)) }
            }
            _ => Err(missing()),
        }
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), String> {
        if path.is_empty() {
            // A scalar is no document; the real server then changes nothing and does not complain.
            if value.is_object() || value.is_array() {
                self.depth = depth(&value);
                self.doc = value;
            }
            return Ok(());
        }
        self.reach(steps(path) + depth(&value))?;
        let missing = || format!("replace operation does not apply: doc is missing path: {path}");
        let (parent, key) = parent_of(&mut self.doc, path).ok_or_else(missing)?;
        match parent {
            Value::Object(map) => {
                map.insert(key, value);
                Ok(())
            }
            Value::Array(items) => {
                let at = place(&key, items.len())?;
                let slot = items.get_mut(at).ok_or_else(missing)?;
                *slot = value;
                Ok(())
            }
            _ => Err(missing()),
        }
    }

    fn copy(&mut self, from: &str, path: &str) -> Result<(), String> {
        let value = get(&mut self.doc, from)?.unwrap_or(Value::Null);
        self.copied += value.to_string().len();
        if self.copied > MAX_COPIED_BYTES {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPIED_BYTES}",
                self.copied
            ));
        }
        self.reach(steps(path) + depth(&value))?;
        insert(&mut self.doc, path, value)
    }

    fn test(&mut self, path: &str, value: &Value) -> Result<(), String> {
        let holds = if path.is_empty() {
            self.doc == *value
        } else {
            let found = get_ref(&self.doc, path)?;
            found.unwrap_or(&Value::Null) == value
        };
        if holds { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
    }

    fn reach(&mut self, depth: usize) -> Result<(), String> {
        self.depth = self.depth.max(depth);
        if self.depth > MAX_DEPTH { Err("exceeded max depth".to_owned()) } else { Ok(()) }
    }

    fn grow(&mut self, by: usize) -> Result<(), String> {
        self.reach(self.depth + by)
    }
}

fn insert(doc: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let missing = || format!("add operation does not apply: doc is missing path: {path:?}");
    let (parent, key) = parent_of(doc, path).ok_or_else(missing)?;
    match parent {
        Value::Object(map) => {
            map.insert(key, value);
            Ok(())
        }
        Value::Array(items) if key == "-" => {
            items.push(value);
            Ok(())
        }
        Value::Array(items) => {
            // Counting from the end, -1 is behind the last item.
            let at = place(&key, items.len() + 1)?;
            if at > items.len() {
                return Err(bad_index(&key));
            }
            items.insert(at, value);
            Ok(())
        }
        _ => Err(missing()),
    }
}

fn get(doc: &mut Value, path: &str) -> Result<Option<Value>, String> {
    Ok(get_ref(doc, path)?.cloned())
}

/// The value at a path: none if its key is not there.
fn get_ref<'a>(doc: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let missing = || format!("operation does not apply: doc is missing path: {path}");
    let (parents, last) = split(path).ok_or_else(missing)?;
    let mut at = doc;
    for step in parents {
        at = child(at, &step).ok_or_else(missing)?;
    }
    match at {
        Value::Object(map) => Ok(map.get(&last)),
        Value::Array(items) => {
            let index = place(&last, items.len())?;
            items.get(index).map(Some).ok_or_else(|| bad_index(&last))
        }
        _ => Err(missing()),
    }
}

fn child<'a>(at: &'a Value, step: &str) -> Option<&'a Value> {
    match at {
        Value::Object(map) => map.get(step),
        Value::Array(items) => items.get(place(step, items.len()).ok()?),
        _ => None,
    }
}

fn parent_of<'a>(doc: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (parents, last) = split(path)?;
    let mut at = doc;
    for step in parents {
        at = match at {
            Value::Object(map) => map.get_mut(&step)?,
            Value::Array(items) => {
                let index = place(&step, items.len()).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    Some((at, last))
}

/// The steps to the parent, and the last one. What is before the first slash does not count.
fn split(path: &str) -> Option<(impl Iterator<Item = String> + '_, String)> {
    let (_, path) = path.split_once('/')?;
    let (parents, last) = match path.rsplit_once('/') {
        Some((parents, last)) => (Some(parents), last),
        None => (None, path),
    };
    Some((parents.into_iter().flat_map(|parents| parents.split('/')).map(unescape), unescape(last)))
}

fn unescape(step: &str) -> String {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~") } else { step.to_owned() }
}

fn steps(path: &str) -> usize {
    path.bytes().filter(|&byte| byte == b'/').count()
}

/// The index a step means in a list of `len` items; it may be past the end.
fn place(step: &str, len: usize) -> Result<usize, String> {
    let index: i64 = step.parse().map_err(|_| format!("value was not a proper array index: '{step}'"))?;
    let from_start = if index < 0 { index + i64::try_from(len).unwrap_or(i64::MAX) } else { index };
    usize::try_from(from_start).map_err(|_| bad_index(step))
}

fn bad_index(step: &str) -> String {
    format!("Unable to access invalid index: {step}: invalid index referenced")
}

/// How deep a value nests. A scalar has depth 0.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_patch_is_refused_in_the_real_words() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("nope", "invalid character 'o' in literal null (expecting 'u')"),
            ("{}", "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
            ("[1]", "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
            ("[\"a\"]", "json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
            (r#"[{"path": 5}]"#, "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string"),
        ];
        for (body, message) in cases {
            let error = json_patch(&json!({}), body.as_bytes()).unwrap_err();
            assert_eq!(error, PatchError::BadRequest(format!("error decoding patch: {message}")));
        }
        assert_eq!(json_patch(&json!({"a": 1}), b"null").unwrap(), json!({"a": 1}));
    }

    #[test]
    fn too_many_operations_are_refused() {
        let test = json!({"op": "test", "path": "/a", "value": 1});
        let patch = |count: usize| Value::Array(vec![test.clone(); count]).to_string();
        assert!(json_patch(&json!({"a": 1}), patch(MAX_OPERATIONS).as_bytes()).is_ok());
        let error = json_patch(&json!({"a": 1}), patch(MAX_OPERATIONS + 1).as_bytes()).unwrap_err();
        let message =
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001".to_owned();
        assert_eq!(error, PatchError::TooLarge(message));
    }

    #[test]
    fn copies_of_copies_do_not_explode() {
        let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let patch = Value::Array(vec![copy; 200]).to_string();
        let error = json_patch(&json!({"a": ["x"]}), patch.as_bytes()).unwrap_err();
        assert!(
            matches!(error, PatchError::Unprocessable(why) if why.contains("accumulated size") || why.contains("depth"))
        );
    }

    #[test]
    fn nesting_has_an_end() {
        let mut operations = Vec::new();
        let mut path = String::new();
        for _ in 0..600 {
            path.push_str("/a");
            operations.push(json!({"op": "add", "path": path, "value": {}}));
        }
        let error = json_patch(&json!({}), Value::Array(operations).to_string().as_bytes()).unwrap_err();
        assert_eq!(error, PatchError::Unprocessable("exceeded max depth".to_owned()));
        let down =
            [json!({"op": "move", "from": "/b", "path": "/a/b/c"}), json!({"op": "move", "from": "/a", "path": "/b"})];
        let moves: Vec<Value> = down.iter().cycle().take(5000).cloned().collect();
        assert!(json_patch(&json!({"a": {"b": {}}, "b": {}}), Value::Array(moves).to_string().as_bytes()).is_err());
    }

    #[test]
    fn unknown_fields_are_named() {
        let operations = decode(br#"[{"op": "add", "path": "/a"}, {"op": "add", "path": "/a", "extra": 1}]"#).unwrap();
        assert_eq!(unknown_fields(&operations), [r#"json patch unknown field "[1].extra""#]);
    }
}
