//! Strategic merge patch: a merge patch that knows how lists merge, by the schema of a built-in kind.
//!
//! Lists with the strategy `merge` merge item by item, found by their merge key; others are replaced. Directives in
//! the patch steer it: `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/<list>` and `$setElementOrder/<list>`.

mod list;
mod map;
mod order;

use kapi_schema::SchemaRef;
use kapi_schema::go;
use serde_json::{Map, Value};

use crate::error::PatchError;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// The document after a strategic merge patch. Custom kinds do not take them: the endpoint refuses with 415 before.
pub fn strategic_merge(doc: &Value, patch: &Value, schema: SchemaRef<'_>) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => Map::new(),
        other => {
            let kind = go::json_type(other);
            let message = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
            return Err(PatchError::BadRequest(message));
        }
    };
    let doc = doc.as_object().cloned().unwrap_or_default();
    map::merge(doc, patch, Meta { schema: Some(schema) }).map(Value::Object)
}

/// What the schema says of a place. Below a map of free keys it says nothing and everything merges as maps.
#[derive(Clone, Copy)]
struct Meta<'a> {
    schema: Option<SchemaRef<'a>>,
}

impl<'a> Meta<'a> {
    /// The field `key` of a struct, or an entry of a map.
    fn field(self, key: &str) -> Meta<'a> {
        Meta { schema: self.schema.and_then(|schema| schema.field(key)) }
    }

    fn items(self) -> Meta<'a> {
        Meta { schema: self.schema.and_then(SchemaRef::items) }
    }

    fn merge_key(self) -> &'a str {
        self.schema.and_then(|schema| schema.node().patch_merge_key.as_deref()).unwrap_or_default()
    }

    /// Whether one of the strategies of this field is `name`.
    fn has_strategy(self, name: &str) -> bool {
        let strategies = self.schema.and_then(|schema| schema.node().patch_strategy.as_deref()).unwrap_or_default();
        strategies.split(',').any(|strategy| strategy == name)
    }
}

fn internal<T>(message: impl Into<String>) -> Result<T, PatchError> {
    Err(PatchError::Internal(message.into()))
}

fn bad_format<T>(of: &str) -> Result<T, PatchError> {
    Err(PatchError::BadRequest(format!("invalid patch format of {of}")))
}

fn no_merge_key(map: &Map<String, Value>, key: &str) -> PatchError {
    let map = go::plain(&Value::Object(map.clone()));
    PatchError::Internal(format!("map: {map} does not contain declared merge key: {key}"))
}

fn not_a_map(value: &Value) -> PatchError {
    let actual = go::type_name(value);
    PatchError::Internal(format!("expected a map[string]interface {{}}, but received a {actual}"))
}

fn not_a_list(value: &Value) -> PatchError {
    PatchError::Internal(format!("expected a []interface {{}}, but received a {}", go::type_name(value)))
}

fn bad_directive(directive: &Value, map: Map<String, Value>) -> PatchError {
    let (directive, map) = (go::string_verb(directive), go::plain(&Value::Object(map)));
    PatchError::Internal(format!("unknown patch type: {directive} in map: {map}"))
}
