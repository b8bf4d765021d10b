//! From a schema back to OpenAPI v3, for serving it.

use serde_json::{Map, Number, Value, json};

use crate::schema::{Additional, ListType, MapType, Node, Rule, SchemaRef, Type};

/// The schema as OpenAPI v3 JSON.
pub fn to_openapi(schema: SchemaRef<'_>) -> Value {
    Value::Object(write(schema, &mut Vec::new()))
}

fn write(schema: SchemaRef<'_>, above: &mut Vec<u32>) -> Map<String, Value> {
    let node = schema.node();
    let mut out = Map::new();
    above.push(schema.id());
    put(&mut out, "description", node.description.as_deref());
    put(&mut out, "type", node.ty.map(|ty| ty.name()));
    put(&mut out, "format", node.format.as_deref());
    flag(&mut out, "nullable", node.nullable);
    flag(&mut out, "x-kubernetes-int-or-string", node.int_or_string);
    flag(&mut out, "x-kubernetes-preserve-unknown-fields", node.preserve_unknown_fields);
    flag(&mut out, "x-kubernetes-embedded-resource", node.embedded_resource);
    if !node.properties.is_empty() {
        let properties = node.properties.iter().map(|(name, &id)| (name.to_string(), child(schema, id, above)));
        out.insert("properties".into(), Value::Object(properties.collect()));
    }
    texts(&mut out, "required", &node.required);
    match node.additional {
        Additional::Unsaid => {}
        Additional::Any => drop(out.insert("additionalProperties".into(), Value::Bool(true))),
        Additional::Nothing => drop(out.insert("additionalProperties".into(), Value::Bool(false))),
        Additional::Of(id) => drop(out.insert("additionalProperties".into(), child(schema, id, above))),
    }
    if let Some(id) = node.items {
        out.insert("items".into(), child(schema, id, above));
    }
    merging(&mut out, node);
    bounds(&mut out, node);
    for (key, ids) in [("allOf", &node.all_of), ("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
        if !ids.is_empty() {
            let list = ids.iter().map(|&id| child(schema, id, above)).collect();
            out.insert(key.into(), Value::Array(list));
        }
    }
    if let Some(id) = node.not {
        out.insert("not".into(), child(schema, id, above));
    }
    if !node.rules.is_empty() {
        out.insert("x-kubernetes-validations".into(), node.rules.iter().map(rule).collect());
    }
    above.pop();
    out
}

/// A recursive component ends where it meets itself: there is no finite way to write it out.
fn child(schema: SchemaRef<'_>, id: u32, above: &mut Vec<u32>) -> Value {
    if above.contains(&id) {
        return json!({"type": "object"});
    }
    Value::Object(write(schema.at(id), above))
}

fn merging(out: &mut Map<String, Value>, node: &Node) {
    let list_type = match node.list_type {
        ListType::Atomic => (node.says_atomic && node.ty == Some(Type::Array)).then_some("atomic"),
        ListType::Set => Some("set"),
        ListType::Map => Some("map"),
    };
    put(out, "x-kubernetes-list-type", list_type);
    texts(out, "x-kubernetes-list-map-keys", &node.list_map_keys);
    put(out, "x-kubernetes-map-type", (node.map_type == MapType::Atomic).then_some("atomic"));
    put(out, "x-kubernetes-patch-merge-key", node.patch_merge_key.as_deref());
    put(out, "x-kubernetes-patch-strategy", node.patch_strategy.as_deref());
}

fn bounds(out: &mut Map<String, Value>, node: &Node) {
    if let Some(default) = &node.default {
        out.insert("default".into(), default.clone());
    }
    if !node.enumeration.is_empty() {
        out.insert("enum".into(), Value::Array(node.enumeration.clone()));
    }
    put(out, "pattern", node.pattern.as_deref());
    number(out, "minimum", node.minimum);
    number(out, "maximum", node.maximum);
    flag(out, "exclusiveMinimum", node.exclusive_minimum);
    flag(out, "exclusiveMaximum", node.exclusive_maximum);
    number(out, "multipleOf", node.multiple_of);
    count(out, "minLength", node.min_length);
    count(out, "maxLength", node.max_length);
    count(out, "minItems", node.min_items);
    count(out, "maxItems", node.max_items);
    flag(out, "uniqueItems", node.unique_items);
    count(out, "minProperties", node.min_properties);
    count(out, "maxProperties", node.max_properties);
}

fn rule(rule: &Rule) -> Value {
    let mut out = Map::new();
    put(&mut out, "rule", Some(&rule.rule));
    put(&mut out, "message", rule.message.as_deref());
    put(&mut out, "messageExpression", rule.message_expression.as_deref());
    put(&mut out, "reason", rule.reason.as_deref());
    put(&mut out, "fieldPath", rule.field_path.as_deref());
    if let Some(optional) = rule.optional_old_self {
        out.insert("optionalOldSelf".into(), Value::Bool(optional));
    }
    Value::Object(out)
}

fn put(out: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.insert(key.into(), Value::from(text));
    }
}

fn texts(out: &mut Map<String, Value>, key: &str, list: &[std::sync::Arc<str>]) {
    if !list.is_empty() {
        out.insert(key.into(), list.iter().map(|text| Value::from(&**text)).collect());
    }
}

fn flag(out: &mut Map<String, Value>, key: &str, set: bool) {
    if set {
        out.insert(key.into(), Value::Bool(true));
    }
}

fn count(out: &mut Map<String, Value>, key: &str, count: Option<u64>) {
    if let Some(count) = count {
        out.insert(key.into(), Value::from(count));
    }
}

/// Whole numbers are written without a point, as they were read.
#[allow(clippy::cast_possible_truncation)]
fn number(out: &mut Map<String, Value>, key: &str, number: Option<f64>) {
    let Some(number) = number else { return };
    let value = if number.fract() == 0.0 && number.abs() < 9e15 {
        Some(Number::from(number as i64))
    } else {
        Number::from_f64(number)
    };
    out.extend(value.map(|value| (key.to_owned(), Value::Number(value))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    #[test]
    fn what_is_read_is_written() {
        let openapi = json!({"type": "object", "description": "d", "required": ["a"], "properties": {
            "a": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 1.5, "exclusiveMinimum": true,
                "multipleOf": 2, "default": 1, "enum": [1, 2]},
            "b": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "minItems": 1, "maxItems": 2},
            "c": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic",
                "minProperties": 1, "maxProperties": 2},
            "d": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "e": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "f": {"type": "string", "nullable": true, "pattern": "^a", "minLength": 1, "maxLength": 2,
                "not": {"enum": ["x"]},
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "m", "messageExpression": "'m'",
                    "reason": "FieldValueForbidden", "fieldPath": ".x", "optionalOldSelf": true}]},
            "g": {"type": "object", "additionalProperties": true},
            "h": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
            "i": {"type": "array", "items": {"type": "string"}},
        }});
        assert_eq!(to_openapi(Schema::parse(&openapi).unwrap().root()), openapi);
    }

    #[test]
    fn a_recursive_component_ends() {
        let components = json!({"P": {"type": "object", "properties": {"not": {"$ref": "#/components/schemas/P"}}}});
        let schema = Schema::parse_component(components.as_object().unwrap(), "P").unwrap();
        let expected = json!({"type": "object", "properties": {"not": {"type": "object"}}});
        assert_eq!(to_openapi(schema.root()), expected);
    }
}
