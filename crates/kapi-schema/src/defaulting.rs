//! Structural defaulting: absent fields get the default their schema names, at any depth.

use serde_json::{Map, Value};

use crate::schema::SchemaRef;

/// Fills in defaults, and drops nulls that are neither allowed nor have a default to take their place.
/// Says whether anything changed.
pub fn apply_defaults(value: &mut Value, schema: SchemaRef<'_>) -> bool {
    match value {
        Value::Object(map) => default_object(map, schema),
        Value::Array(items) => match schema.items() {
            Some(item) => default_items(items, item),
            None => false,
        },
        _ => false,
    }
}

fn default_object(map: &mut Map<String, Value>, schema: SchemaRef<'_>) -> bool {
    let mut changed = drop_unwanted_nulls(map, schema);
    for (name, &id) in &schema.node().properties {
        let property = schema.at(id);
        let Some(default) = &property.node().default else { continue };
        if default.is_null() {
            continue;
        }
        match map.get_mut(&**name) {
            None => {
                map.insert(name.to_string(), default.clone());
                changed = true;
            }
            Some(slot) if slot.is_null() && !property.node().nullable => {
                *slot = default.clone();
                changed = true;
            }
            Some(_) => {}
        }
    }
    for (key, child) in map.iter_mut() {
        if let Some(property) = schema.property(key) {
            changed |= apply_defaults(child, property);
        } else if let Some(entry) = schema.additional() {
            changed |= replace_null(child, entry);
            changed |= apply_defaults(child, entry);
        }
    }
    changed
}

fn default_items(items: &mut [Value], schema: SchemaRef<'_>) -> bool {
    let mut changed = false;
    for item in items {
        changed |= replace_null(item, schema);
        changed |= apply_defaults(item, schema);
    }
    changed
}

/// A null where null is no value gives way to the default, if there is one.
fn replace_null(value: &mut Value, schema: SchemaRef<'_>) -> bool {
    let node = schema.node();
    match &node.default {
        Some(default) if value.is_null() && !node.nullable && !default.is_null() => {
            *value = default.clone();
            true
        }
        _ => false,
    }
}

fn drop_unwanted_nulls(map: &mut Map<String, Value>, schema: SchemaRef<'_>) -> bool {
    let unwanted = |key: &str, value: &Value| {
        value.is_null()
            && schema.field(key).is_some_and(|field| {
                let node = field.node();
                !node.nullable && node.default.as_ref().is_none_or(Value::is_null)
            })
    };
    // Objects without nulls are the rule; `retain` would rebuild the map for nothing.
    if !map.iter().any(|(key, value)| unwanted(key, value)) {
        return false;
    }
    map.retain(|key, value| !unwanted(key, value));
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    #[test]
    fn defaults_reach_every_depth() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "x"},
            "n": {"type": "string", "nullable": true, "default": "x"},
            "spec": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 1}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "boolean", "default": true}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"d": {"type": "integer", "default": 2}}}},
            "scalars": {"type": "object", "additionalProperties": {"type": "string", "default": "z"}},
            "plain": {"type": "string"},
        }});
        let cases = [
            ("absent fields", json!({}), json!({"a": "x", "n": "x", "spec": {"b": 1}})),
            ("null where null is no value", json!({"a": null}), json!({"a": "x", "n": "x", "spec": {"b": 1}})),
            ("null where null is a value", json!({"n": null}), json!({"a": "x", "n": null, "spec": {"b": 1}})),
            ("null without a default", json!({"plain": null}), json!({"a": "x", "n": "x", "spec": {"b": 1}})),
            ("nested nulls", json!({"spec": {"b": null}}), json!({"a": "x", "n": "x", "spec": {"b": 1}})),
            (
                "list items",
                json!({"list": [{}, {"c": false}]}),
                json!({"a": "x", "n": "x", "spec": {"b": 1}, "list": [{"c": true}, {"c": false}]}),
            ),
            (
                "map entries",
                json!({"map": {"k": {}}}),
                json!({"a": "x", "n": "x", "spec": {"b": 1}, "map": {"k": {"d": 2}}}),
            ),
            (
                "null map entries",
                json!({"scalars": {"k": null}}),
                json!({"a": "x", "n": "x", "spec": {"b": 1}, "scalars": {"k": "z"}}),
            ),
        ];
        let schema = Schema::parse(&schema).unwrap();
        for (name, input, expected) in cases {
            let mut value = input;
            assert!(apply_defaults(&mut value, schema.root()), "{name}");
            assert_eq!(value, expected, "{name}");
            assert!(!apply_defaults(&mut value, schema.root()), "{name}: a second time");
        }
    }
}
