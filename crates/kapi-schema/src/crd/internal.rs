//! Values as kube-apiserver prints them in complaints about CRDs: its internal types, with their Go field names.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::field::{ErrorKind, FieldError, Path};
use crate::go;

/// How a field of an internal type is printed.
enum Kind {
    Text,
    Flag,
    /// A pointer or plain JSON: null when absent.
    Plain,
    Schema,
    Schemas,
    SchemaMap,
    Items,
    SchemaOrBool,
    Rules,
}

const SCHEMA_FIELDS: [(&str, &str, Kind); 44] = [
    ("ID", "id", Kind::Text),
    ("Schema", "$schema", Kind::Text),
    ("Ref", "$ref", Kind::Plain),
    ("Description", "description", Kind::Text),
    ("Type", "type", Kind::Text),
    ("Nullable", "nullable", Kind::Flag),
    ("Format", "format", Kind::Text),
    ("Title", "title", Kind::Text),
    ("Default", "default", Kind::Plain),
    ("Maximum", "maximum", Kind::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Kind::Flag),
    ("Minimum", "minimum", Kind::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Kind::Flag),
    ("MaxLength", "maxLength", Kind::Plain),
    ("MinLength", "minLength", Kind::Plain),
    ("Pattern", "pattern", Kind::Text),
    ("MaxItems", "maxItems", Kind::Plain),
    ("MinItems", "minItems", Kind::Plain),
    ("UniqueItems", "uniqueItems", Kind::Flag),
    ("MultipleOf", "multipleOf", Kind::Plain),
    ("Enum", "enum", Kind::Plain),
    ("MaxProperties", "maxProperties", Kind::Plain),
    ("MinProperties", "minProperties", Kind::Plain),
    ("Required", "required", Kind::Plain),
    ("Items", "items", Kind::Items),
    ("AllOf", "allOf", Kind::Schemas),
    ("OneOf", "oneOf", Kind::Schemas),
    ("AnyOf", "anyOf", Kind::Schemas),
    ("Not", "not", Kind::Schema),
    ("Properties", "properties", Kind::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Kind::SchemaOrBool),
    ("PatternProperties", "patternProperties", Kind::SchemaMap),
    ("Dependencies", "dependencies", Kind::Plain),
    ("AdditionalItems", "additionalItems", Kind::SchemaOrBool),
    ("Definitions", "definitions", Kind::SchemaMap),
    ("ExternalDocs", "externalDocs", Kind::Plain),
    ("Example", "example", Kind::Plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Kind::Plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Kind::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Kind::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Kind::Plain),
    ("XListType", "x-kubernetes-list-type", Kind::Plain),
    ("XMapType", "x-kubernetes-map-type", Kind::Plain),
    ("XValidations", "x-kubernetes-validations", Kind::Rules),
];

const RULE_FIELDS: [(&str, &str, Kind); 6] = [
    ("Rule", "rule", Kind::Text),
    ("Message", "message", Kind::Text),
    ("MessageExpression", "messageExpression", Kind::Text),
    ("Reason", "reason", Kind::Plain),
    ("FieldPath", "fieldPath", Kind::Text),
    ("OptionalOldSelf", "optionalOldSelf", Kind::Plain),
];

/// An error about a value printed like this.
pub(super) fn invalid(path: &Path, printed: String, detail: impl Into<String>) -> FieldError {
    FieldError { kind: ErrorKind::Invalid, path: path.clone(), value: Some(printed), detail: detail.into() }
}

/// A schema.
pub(super) fn schema(openapi: &Value) -> String {
    object(openapi, &SCHEMA_FIELDS)
}

/// One of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    object(rule, &RULE_FIELDS)
}

/// `spec.versions`; what all versions share has been moved out of them before.
pub(super) fn versions(versions: &[Map<String, Value>]) -> String {
    let printed: Vec<String> = versions.iter().map(version).collect();
    format!("[{}]", printed.join(","))
}

fn version(version: &Map<String, Value>) -> String {
    let plain = |key: &str| go::json(version.get(key).unwrap_or(&Value::Null));
    let flag = |key: &str| version.get(key).and_then(Value::as_bool).unwrap_or(false);
    let schema = match version.get("schema").and_then(|schema| schema.get("openAPIV3Schema")) {
        Some(openapi) => format!("{{\"OpenAPIV3Schema\":{}}}", schema(openapi)),
        None => "null".into(),
    };
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\
         \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
        go::json(version.get("name").unwrap_or(&Value::from(""))),
        flag("served"),
        flag("storage"),
        flag("deprecated"),
        plain("deprecationWarning"),
        plain("subresources"),
        plain("additionalPrinterColumns"),
        plain("selectableFields"),
    )
}

fn object(value: &Value, fields: &[(&str, &str, Kind)]) -> String {
    let mut out = String::from("{");
    for (name, key, kind) in fields {
        let separator = if out.len() > 1 { "," } else { "" };
        let _ = write!(out, "{separator}\"{name}\":{}", field(value.get(key), kind));
    }
    out.push('}');
    out
}

fn field(value: Option<&Value>, kind: &Kind) -> String {
    let list = |items: &[Value], print: fn(&Value) -> String| {
        format!("[{}]", items.iter().map(print).collect::<Vec<_>>().join(","))
    };
    match (kind, value) {
        (Kind::Text, value) => go::json(value.unwrap_or(&Value::from(""))),
        (Kind::Flag, value) => value.and_then(Value::as_bool).unwrap_or(false).to_string(),
        (_, None | Some(Value::Null)) => "null".into(),
        (Kind::Plain, Some(value)) => go::json(value),
        (Kind::Schema, Some(value)) => schema(value),
        (Kind::Schemas, Some(Value::Array(items))) => list(items, schema),
        (Kind::Rules, Some(Value::Array(items))) => list(items, rule),
        (Kind::SchemaMap, Some(Value::Object(map))) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", go::json(&Value::from(key.as_str())), schema(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        (Kind::Items, Some(Value::Array(items))) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(items, schema))
        }
        (Kind::Items, Some(value)) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        (Kind::SchemaOrBool, Some(Value::Bool(allows))) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (Kind::SchemaOrBool, Some(value)) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)),
        (_, Some(other)) => go::json(other),
    }
}
