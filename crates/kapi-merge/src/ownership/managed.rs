//! `metadata.managedFields`, read and written.

use std::collections::HashMap;

use kapi_schema::field::go_quote;
use serde_json::{Map, Value, json};

use crate::fields::FieldSet;

/// How a manager got its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What one manager owns.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

/// What makes two entries the same: appliers keep their entry when they change the version, updaters do not.
pub(super) type Identity<'a> = (&'a str, Operation, &'a str, &'a str);

impl Entry {
    pub(super) fn identity(&self) -> Identity<'_> {
        identity(&self.manager, self.operation, &self.api_version, &self.subresource)
    }

    /// The manager as messages name it.
    pub(super) fn described(&self) -> String {
        let mut text = go_quote(&self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {}", go_quote(&self.subresource)));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }

    fn to_value(&self) -> Value {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        if !self.manager.is_empty() {
            put("manager", json!(self.manager));
        }
        put("operation", json!(self.operation.name()));
        put("apiVersion", json!(self.api_version));
        if let Some(time) = &self.time {
            put("time", json!(time));
        }
        put("fieldsType", json!("FieldsV1"));
        put("fieldsV1", self.fields.to_fields_v1());
        if !self.subresource.is_empty() {
            put("subresource", json!(self.subresource));
        }
        Value::Object(entry)
    }
}

pub(super) fn identity<'a>(
    manager: &'a str,
    operation: Operation,
    api_version: &'a str,
    subresource: &'a str,
) -> Identity<'a> {
    let version = if operation == Operation::Apply { "" } else { api_version };
    (manager, operation, version, subresource)
}

/// All entries of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed {
    pub(super) entries: Vec<Entry>,
}

impl Managed {
    /// The entries of an object.
    pub(super) fn of(object: Option<&Value>) -> Result<Self, String> {
        match object.and_then(entries_of) {
            Some(entries) => Self::decode(entries),
            None => Ok(Self::default()),
        }
    }

    pub(super) fn decode(encoded: &[Value]) -> Result<Self, String> {
        let mut entries: Vec<Entry> = Vec::with_capacity(encoded.len());
        let mut known: HashMap<(String, Operation, String, String), usize> = HashMap::new();
        for (index, value) in encoded.iter().enumerate() {
            let entry = decode_entry(index, value)?;
            let (manager, operation, version, subresource) = entry.identity();
            let identity = (manager.to_owned(), operation, version.to_owned(), subresource.to_owned());
            match known.get(&identity).and_then(|&at| entries.get_mut(at)) {
                Some(twin) => *twin = entry,
                None => {
                    known.insert(identity, entries.len());
                    entries.push(entry);
                }
            }
        }
        Ok(Self { entries })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[cfg(test)]
    pub(super) fn find(&self, identity: Identity<'_>) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.identity() == identity)
    }

    /// Adds an entry, in place of the one with its identity.
    pub(super) fn put(&mut self, entry: Entry) {
        match self.entries.iter().position(|known| known.identity() == entry.identity()) {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
    }

    pub(super) fn take(&mut self, identity: Identity<'_>) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.identity() == identity)?;
        Some(self.entries.remove(at))
    }

    /// Writes the entries into an object: appliers first, older ones first.
    pub(super) fn write_to(mut self, object: &mut Value) {
        if self.entries.is_empty() {
            remove_from(object);
            return;
        }
        self.entries.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        let encoded = self.entries.iter().map(Entry::to_value).collect();
        let Value::Object(fields) = object else { return };
        let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if !metadata.is_object() {
            *metadata = Value::Object(Map::new());
        }
        if let Value::Object(metadata) = metadata {
            metadata.insert("managedFields".to_owned(), Value::Array(encoded));
        }
    }
}

/// Times are all of the form `2006-01-02T15:04:05Z`, so their texts order as they do.
fn sort_key(entry: &Entry) -> (Operation, &str, &str, &str, &str) {
    let time = entry.time.as_deref().unwrap_or_default();
    (entry.operation, time, &entry.manager, &entry.api_version, &entry.subresource)
}

/// The encoded entries of an object, if it has a list of them.
pub(super) fn entries_of(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array()
}

/// Takes `managedFields` out of an object.
pub(super) fn remove_from(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

fn decode_entry(index: usize, value: &Value) -> Result<Entry, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    if text("apiVersion").is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
        other => return Err(format!("invalid fieldsType {} in managed fields entry {index}", go_quote(other))),
    }
    let fields = match value.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::new(),
        Some(fields) => FieldSet::from_fields_v1(fields).map_err(|error| format!("error decoding set: {error}"))?,
    };
    Ok(Entry {
        manager: text("manager").to_owned(),
        operation,
        api_version: text("apiVersion").to_owned(),
        subresource: text("subresource").to_owned(),
        time: value.get("time").and_then(Value::as_str).map(utc_seconds),
        fields,
    })
}

/// A time in UTC to the second, as the real server keeps it.
fn utc_seconds(text: &str) -> String {
    let is_kept_form = text.len() == "2006-01-02T15:04:05Z".len() && text.ends_with('Z');
    if is_kept_form {
        return text.to_owned();
    }
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => jiff::Timestamp::from_second(time.as_second()).map_or_else(|_| text.to_owned(), |t| t.to_string()),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Value) -> Result<Managed, String> {
        Managed::decode(&[value])
    }

    #[test]
    fn malformed_entries_are_named() {
        let cases = [
            (json!({}), "operation must be `Apply` or `Update`"),
            (json!({"operation": "Apply"}), "apiVersion must not be empty"),
            (json!({"operation": "Apply", "apiVersion": "v1"}), "missing fieldsType in managed fields entry 0"),
            (
                json!({"operation": "Apply", "apiVersion": "v1", "fieldsType": "V2"}),
                "invalid fieldsType \"V2\" in managed fields entry 0",
            ),
        ];
        for (value, message) in cases {
            assert_eq!(entry(value).unwrap_err(), message);
        }
    }

    #[test]
    fn entries_are_written_in_order() {
        let make = |manager: &str, operation: &str, time: &str| {
            json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
                "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}})
        };
        let unordered = [
            make("c", "Update", "2024-01-01T00:00:00Z"),
            make("b", "Update", "2023-01-01T02:00:00+02:00"),
            make("a", "Apply", "2025-01-01T00:00:00Z"),
        ];
        let mut object = json!({});
        Managed::decode(&unordered).unwrap().write_to(&mut object);
        let written = entries_of(&object).unwrap();
        let names: Vec<_> = written.iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(written[1]["time"], "2023-01-01T00:00:00Z");
    }
}
