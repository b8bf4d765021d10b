//! Pruning: what a schema does not name is dropped, and named to the client that asked for it.

use serde_json::{Map, Value};

use crate::schema::{Additional, SchemaRef};
use crate::trail::Trail;

/// How to prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneOptions {
    /// The value is a whole object: its `apiVersion`, `kind` and `metadata` stay whatever the schema says.
    pub resource: bool,
    /// Whether to collect the paths of what is dropped.
    pub track: bool,
}

/// Drops what the schema does not know, and gives the sorted paths of what was dropped (`spec.list[0].foo`).
pub fn prune(value: &mut Value, schema: SchemaRef<'_>, options: PruneOptions) -> Vec<String> {
    let mut dropped = Dropped { track: options.track, paths: Vec::new() };
    let keep = Keep::of(schema);
    let keep = Keep { meta: keep.meta || options.resource, ..keep };
    prune_known(value, schema, keep, &Trail::default(), &mut dropped);
    dropped.paths.sort();
    dropped.paths
}

/// The sorted paths of what [`prune`] would drop, the value staying as it is.
pub fn unknown_fields(value: &Value, schema: SchemaRef<'_>, options: PruneOptions) -> Vec<String> {
    prune(&mut value.clone(), schema, PruneOptions { track: true, ..options })
}

/// Visits the metadata of every resource that is embedded in a value, each with the path to it.
pub fn each_embedded(
    value: &mut Value,
    schema: SchemaRef<'_>,
    visit: &mut impl FnMut(&str, &mut Value) -> Result<(), String>,
) -> Result<(), String> {
    embedded(value, schema, &Trail::default(), visit)
}

fn embedded(
    value: &mut Value,
    schema: SchemaRef<'_>,
    trail: &Trail<'_>,
    visit: &mut impl FnMut(&str, &mut Value) -> Result<(), String>,
) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            if schema.node().embedded_resource
                && let Some(metadata) = map.get_mut("metadata")
            {
                visit(&trail.field("metadata").dotted(), metadata)?;
            }
            for (key, child) in map.iter_mut() {
                if let Some(field) = schema.field(key) {
                    embedded(child, field, &trail.field(key), visit)?;
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                if let Some(schema) = schema.items() {
                    embedded(item, schema, &trail.item(i), visit)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

struct Dropped {
    track: bool,
    paths: Vec<String>,
}

impl Dropped {
    fn note(&mut self, trail: &Trail<'_>, key: &str) {
        if self.track {
            self.paths.push(trail.field(key).dotted());
        }
    }
}

fn is_meta(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

/// What an object keeps beside what its schema names.
#[derive(Clone, Copy)]
struct Keep {
    /// `apiVersion`, `kind` and `metadata`.
    meta: bool,
    /// Everything unknown.
    all: bool,
}

impl Keep {
    fn of(schema: SchemaRef<'_>) -> Self {
        let node = schema.node();
        Self { meta: node.embedded_resource, all: node.preserve_unknown_fields || node.is_opaque() }
    }
}

fn prune_known(value: &mut Value, schema: SchemaRef<'_>, keep: Keep, trail: &Trail<'_>, dropped: &mut Dropped) {
    match value {
        Value::Object(map) => prune_object(map, schema, keep, trail, dropped),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                let trail = trail.item(i);
                match schema.items() {
                    Some(schema) => {
                        let own = Keep::of(schema);
                        prune_known(item, schema, Keep { all: own.all || keep.all, ..own }, &trail, dropped);
                    }
                    None if keep.all => {}
                    None => prune_unknown(item, &trail, dropped),
                }
            }
        }
        _ => {}
    }
}

fn prune_object(
    map: &mut Map<String, Value>,
    schema: SchemaRef<'_>,
    keep: Keep,
    trail: &Trail<'_>,
    dropped: &mut Dropped,
) {
    let mut unknown: Vec<String> = Vec::new();
    for (key, child) in map.iter_mut() {
        if keep.meta && is_meta(key) {
            continue;
        }
        let below = trail.field(key);
        if let Some(field) = schema.field(key) {
            prune_known(child, field, Keep::of(field), &below, dropped);
            continue;
        }
        match schema.node().additional {
            // `additionalProperties: true` keeps the entry but knows nothing of what is inside it.
            Additional::Any | Additional::Nothing => prune_unknown(child, &below, dropped),
            _ if keep.all => {}
            _ => unknown.push(key.clone()),
        }
    }
    for key in unknown {
        if !is_meta(&key) || !trail.is_root() {
            dropped.note(trail, &key);
        }
        map.remove(&key);
    }
}

fn prune_unknown(value: &mut Value, trail: &Trail<'_>, dropped: &mut Dropped) {
    match value {
        Value::Object(map) => {
            for key in map.keys() {
                dropped.note(trail, key);
            }
            map.clear();
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                prune_unknown(item, &trail.item(i), dropped);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    #[test]
    fn what_is_unknown_goes_and_is_named() {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "known": {"type": "string"},
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"shut": {"type": "object"}}},
                "anything": {"type": "object", "additionalProperties": true},
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": true,
                    "properties": {"spec": {"type": "object"}}},
                "opens": {"type": "array", "x-kubernetes-preserve-unknown-fields": true,
                    "items": {"type": "object", "properties": {"shut": {"type": "object"}}}},
            }},
        }});
        let cases: [(_, _, _, &[&str]); 9] = [
            (
                "root",
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}, "foo": 1}),
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}}),
                &["foo"],
            ),
            (
                "nested",
                json!({"spec": {"known": "a", "foo": {"bar": 1}}}),
                json!({"spec": {"known": "a"}}),
                &["spec.foo"],
            ),
            (
                "list",
                json!({"spec": {"list": [{"a": "x"}, {"b": 1}]}}),
                json!({"spec": {"list": [{"a": "x"}, {}]}}),
                &["spec.list[1].b"],
            ),
            ("map", json!({"spec": {"map": {"k": {"b": 1}}}}), json!({"spec": {"map": {"k": {}}}}), &["spec.map.k.b"]),
            (
                "open",
                json!({"spec": {"open": {"x": {"y": 1}, "shut": {"z": 1}}}}),
                json!({"spec": {"open": {"x": {"y": 1}, "shut": {}}}}),
                &["spec.open.shut.z"],
            ),
            (
                "anything",
                json!({"spec": {"anything": {"s": "x", "o": {"p": 1}, "l": [{"q": 1}]}}}),
                json!({"spec": {"anything": {"s": "x", "o": {}, "l": [{}]}}}),
                &["spec.anything.l[0].q", "spec.anything.o.p"],
            ),
            (
                "embedded",
                json!({"spec": {"embedded": {"kind": "K", "metadata": {"name": "n"}, "foo": 1, "spec": {"b": 1}}}}),
                json!({"spec": {"embedded": {"kind": "K", "metadata": {"name": "n"}, "spec": {}}}}),
                &["spec.embedded.foo", "spec.embedded.spec.b"],
            ),
            (
                "open list",
                json!({"spec": {"opens": [{"x": 1, "shut": {"y": 1}}]}}),
                json!({"spec": {"opens": [{"x": 1, "shut": {}}]}}),
                &["spec.opens[0].shut.y"],
            ),
            (
                "a metadata that is not the root's",
                json!({"spec": {"metadata": {}}}),
                json!({"spec": {}}),
                &["spec.metadata"],
            ),
        ];
        let schema = Schema::parse(&schema).unwrap();
        let options = PruneOptions { resource: true, track: true };
        for (name, input, expected, paths) in cases {
            let mut value = input;
            assert_eq!(unknown_fields(&value, schema.root(), options), paths, "{name}");
            assert_eq!(prune(&mut value, schema.root(), options), paths, "{name}");
            assert_eq!(value, expected, "{name}");
        }
    }
}
