//! The object a create is compared with.

use kapi_schema::{SchemaRef, Type};
use serde_json::{Map, Value};

/// The zero value of a built-in kind, as its Go struct would print: structs are there, lists and pointers that are
/// not optional are null. OpenAPI tells the structs by their default `{}`.
///
/// It matters because only what differs from it is new: `spec` of a Deployment exists before the first create and is
/// never owned itself, while `spec` of a custom object is. Some structs, as times, print as null and have no default;
/// where `object` says null such a field is taken to be one.
pub(crate) fn zero_object(object: &Value, schema: SchemaRef<'_>) -> Value {
    Value::Object(zero_fields(object, schema, 0))
}

/// Stands for a field that is not there, which is something else than null.
const ABSENT: Value = Value::Bool(false);

/// Structs by value cannot contain themselves; this only stops a schema that says so.
const MAX_DEPTH: usize = 16;

fn zero_fields(object: &Value, schema: SchemaRef<'_>, depth: usize) -> Map<String, Value> {
    let mut fields = Map::new();
    if depth >= MAX_DEPTH {
        return fields;
    }
    for (name, &id) in &schema.properties {
        let field = schema.at(id);
        let found = object.get(&**name).unwrap_or(&ABSENT);
        let value = match &field.node().default {
            Some(Value::Object(default)) if default.is_empty() => match field.ty {
                Some(Type::Object) => Value::Object(zero_fields(found, field, depth + 1)),
                _ => Value::Null,
            },
            Some(default) if is_zero(default) => default.clone(),
            Some(_) => continue,
            None if found.is_null() => Value::Null,
            None if schema.required.iter().any(|required| required == name) => Value::Null,
            None => continue,
        };
        fields.insert(name.to_string(), value);
    }
    fields
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use kapi_schema::Schema;
    use serde_json::json;

    use super::*;

    #[test]
    fn structs_are_there_and_optional_fields_are_not() {
        let schema = Schema::parse(&json!({"type": "object", "required": ["list"], "properties": {
            "spec": {"type": "object", "default": {}, "required": ["name"], "properties": {
                "name": {"type": "string", "default": ""},
                "protocol": {"type": "string", "default": "TCP"},
                "replicas": {"type": "integer"},
            }},
            "pointer": {"type": "object"},
            "time": {"type": "string", "default": {}},
            "list": {"type": "array", "items": {"type": "string"}},
        }}))
        .unwrap();
        let zero = json!({"spec": {"name": "", "replicas": null}, "time": null, "list": null});
        assert_eq!(zero_object(&json!({"spec": {"replicas": null}}), schema.root()), zero);
    }
}
