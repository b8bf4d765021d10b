//! Which old value a new one came from. Unchanged values are not held against an update.

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::{ListType, SchemaRef};

/// An old value and the new one at the same place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlated<'a> {
    old: &'a Value,
    new: &'a Value,
    schema: SchemaRef<'a>,
}

impl<'a> Correlated<'a> {
    /// The same place before and after.
    pub(crate) fn new(old: &'a Value, new: &'a Value, schema: SchemaRef<'a>) -> Self {
        Self { old, new, schema }
    }

    /// Whether nothing changed here.
    pub(crate) fn is_unchanged(&self) -> bool {
        is_same(self.old, self.new, self.schema)
    }

    /// The same for a field or map entry.
    pub(crate) fn key(&self, key: &str) -> Option<Self> {
        let schema = self.schema.field(key)?;
        Some(Self { old: self.old.get(key)?, new: self.new.get(key)?, schema })
    }

    /// The items of this list as they were, to be found by their keys.
    pub(crate) fn items(&self) -> ItemsBefore<'a> {
        ItemsBefore::new(Some(self.old), self.schema)
    }
}

/// The items of a list before an update, found by their keys. Lists without keys cannot tell which was which.
#[derive(Debug, Default)]
pub(crate) struct ItemsBefore<'a> {
    list: Option<SchemaRef<'a>>,
    by_key: HashMap<String, &'a Value>,
}

impl<'a> ItemsBefore<'a> {
    /// The items of `old`, if that is a list with keys.
    pub(crate) fn new(old: Option<&'a Value>, list: SchemaRef<'a>) -> Self {
        let node = list.node();
        let Some(items) = old.and_then(Value::as_array) else { return Self::default() };
        if node.list_type != ListType::Map || node.list_map_keys.is_empty() {
            return Self::default();
        }
        let mut by_key = HashMap::with_capacity(items.len());
        for item in items {
            if let Some(key) = key_of(item, list) {
                by_key.entry(key).or_insert(item);
            }
        }
        Self { list: Some(list), by_key }
    }

    /// What this item was before.
    pub(crate) fn get(&self, item: &Value) -> Option<&'a Value> {
        self.by_key.get(&key_of(item, self.list?)?).copied()
    }

    /// What this item was before, with where to go on from there.
    pub(crate) fn correlate(&self, item: &'a Value) -> Option<Correlated<'a>> {
        Some(Correlated::new(self.get(item)?, item, self.list?.items()?))
    }
}

fn key_of(item: &Value, list: SchemaRef<'_>) -> Option<String> {
    let map = item.as_object()?;
    let mut out = String::new();
    for key in &list.node().list_map_keys {
        match map.get(&**key)? {
            Value::Object(_) | Value::Array(_) | Value::Null => return None,
            scalar => out.push_str(&scalar.to_string()),
        }
        out.push('\0');
    }
    Some(out)
}

/// Equal, lists with keys whatever their order. Content the schema does not know counts as changed.
fn is_same(old: &Value, new: &Value, schema: SchemaRef<'_>) -> bool {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && after.iter().all(|(key, new)| match (before.get(key), schema.field(key)) {
                    (Some(old), Some(field)) => is_same(old, new, field),
                    _ => false,
                })
        }
        (Value::Array(before), Value::Array(after)) if schema.node().list_type == ListType::Map => {
            let items = ItemsBefore::new(Some(old), schema);
            before.len() == after.len()
                && after.iter().all(|new| items.correlate(new).is_some_and(|pair| pair.is_unchanged()))
        }
        _ => old == new,
    }
}
