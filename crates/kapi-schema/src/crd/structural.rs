//! Whether a schema is structural: types outside, value checks inside, and nothing checked that is not typed.

use serde_json::{Map, Value, json};

use crate::field::{FieldError, Path};
use crate::gopattern;

/// Where in an object a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Why the schema cannot even be read as a structural one. The keyword checks usually say the same better.
pub(super) fn unreadable(schema: &Value) -> Option<String> {
    let map = schema.as_object()?;
    for key in ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"] {
        if map.get(key).is_some_and(|value| !value.is_null() && *value != "") {
            let name = if key == "$schema" { "schema" } else { key };
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    if map.get("items").is_some_and(Value::is_array) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
    }
    children(map).find_map(|(_, child)| unreadable(child))
}

/// All schemas directly inside one, with the path step to each.
fn children(map: &Map<String, Value>) -> impl Iterator<Item = (String, &Value)> {
    let named = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    let named = named.map(|(name, child)| (format!("properties[{name}]"), child));
    let single = ["items", "additionalProperties", "not"]
        .into_iter()
        .filter_map(|key| map.get(key).filter(|child| child.is_object()).map(|child| (key.to_owned(), child)));
    let listed = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| {
        let list = map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
        list.map(move |(i, child)| (format!("{key}[{i}]"), child))
    });
    named.chain(single).chain(listed)
}

/// What keeps a schema from being structural, sorted as the server sorts it.
pub(super) fn validate(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    if let Some(map) = schema.as_object() {
        complete_junctors(map, Some(schema), path, path, &mut errors);
    }
    errors.sort_by_key(ToString::to_string);
    errors
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn property<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    map.get("properties")?.get(name)?.as_object()
}

fn invariants(schema: &Value, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(map) = schema.as_object() else { return };
    let ty = text(map, "type");
    let embedded = flag(map, "x-kubernetes-embedded-resource");
    let open = flag(map, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = flag(map, "x-kubernetes-int-or-string");
    match map.get("items").filter(|items| items.is_object()) {
        Some(items) => invariants(items, Level::Item, &path.child("items"), errors),
        None if ty == "array" => errors.push(FieldError::required(&path.child("items"), "must be specified")),
        None => {}
    }
    for (name, child) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        invariants(child, Level::Field, &path.child("properties").key(name), errors);
    }
    if let Some(additional) = map.get("additionalProperties") {
        let at = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        invariants(additional, Level::Field, &at, errors);
        if embedded {
            errors.push(FieldError::forbidden(&at, "must not be used if x-kubernetes-embedded-resource is set"));
        }
    }
    for (key, set) in [("x-kubernetes-preserve-unknown-fields", open), ("x-kubernetes-embedded-resource", embedded)] {
        if int_or_string && set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&path.child(key), &Value::Bool(true), detail));
        }
    }
    value_checks(map, path, errors);
    types(map, ty, level, path, errors);
    metadata(map, level, path, errors);
    let no_properties = map.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    if embedded && !open && no_properties {
        errors.push(FieldError::required(
            &path.child("properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn types(map: &Map<String, Value>, ty: &str, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let at = path.child("type");
    if flag(map, "x-kubernetes-embedded-resource") && ty != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if ty.is_empty() {
            FieldError::required(&at, detail)
        } else {
            FieldError::invalid(&at, &Value::from(ty), detail)
        });
    } else if ty.is_empty()
        && !flag(map, "x-kubernetes-int-or-string")
        && !flag(map, "x-kubernetes-preserve-unknown-fields")
    {
        errors.push(FieldError::required(
            &at,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        errors.push(FieldError::invalid(&at, &Value::from(ty), "must be object at the root"));
    }
}

fn metadata(map: &Map<String, Value>, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || flag(map, "x-kubernetes-embedded-resource");
    let at = path.child("properties");
    for key in ["kind", "apiVersion"] {
        if let Some(property) = property(map, key).filter(|_| is_resource)
            && text(property, "type") != "string"
        {
            let at = at.key(key).child("type");
            errors.push(FieldError::invalid(&at, &Value::from(text(property, "type")), "must be string"));
        }
    }
    let Some(metadata) = property(map, "metadata") else { return };
    let at = at.key("metadata");
    if is_resource && text(metadata, "type") != "object" {
        errors.push(FieldError::invalid(&at.child("type"), &Value::from(text(metadata, "type")), "must be object"));
    }
    if level == Level::Root {
        let only_names = metadata
            .get("properties")
            .and_then(Value::as_object)
            .is_none_or(|properties| properties.keys().all(|key| key == "name" || key == "generateName"));
        let nothing_else = metadata.iter().all(|(key, value)| {
            matches!(key.as_str(), "type" | "properties" | "default") || value.is_null() || *value == Value::Bool(false)
        });
        if !(only_names && nothing_else) {
            errors.push(FieldError::forbidden(
                &at,
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            ));
        }
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, which int-or-string fields may say.
fn is_int_or_string(any_of: Option<&Value>) -> bool {
    any_of == Some(&json!([{"type": "integer"}, {"type": "string"}]))
}

fn value_checks(map: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    let skip_any_of = is_int_or_string(map.get("anyOf"));
    let skip_first_all_of =
        is_int_or_string(map.get("allOf").and_then(|all| all.get(0)).and_then(|one| one.get("anyOf")));
    for (key, i, child) in junctors(map) {
        if key == "anyOf" && skip_any_of {
            continue;
        }
        let skip = key == "allOf" && i == Some(0) && skip_first_all_of;
        nested(child, skip, &junctor_path(path, key, i), errors);
    }
    let pattern = text(map, "pattern");
    if !pattern.is_empty()
        && let Err(reason) = gopattern::compile(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(FieldError::invalid(&path.child("pattern"), &Value::from(pattern), detail));
    }
}

/// The schemas under `anyOf`, `allOf`, `oneOf` and `not`.
fn junctors(map: &Map<String, Value>) -> impl Iterator<Item = (&'static str, Option<usize>, &Value)> {
    let listed = ["anyOf", "allOf", "oneOf"].into_iter().flat_map(|key| {
        let list = map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
        list.map(move |(i, child)| (key, Some(i), child))
    });
    listed.chain(map.get("not").map(|child| ("not", None, child)))
}

fn junctor_path(path: &Path, key: &str, index: Option<usize>) -> Path {
    match index {
        Some(i) => path.child(key).index(i),
        None => path.child(key),
    }
}

/// Inside a junctor only values may be checked.
fn nested(schema: &Value, skip_any_of: bool, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(map) = schema.as_object() else { return };
    for (key, i, child) in junctors(map) {
        if !(key == "anyOf" && skip_any_of) {
            nested(child, false, &junctor_path(path, key, i), errors);
        }
    }
    let pattern = text(map, "pattern");
    if !pattern.is_empty()
        && let Err(reason) = gopattern::compile(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(FieldError::invalid(&path.child("pattern"), &Value::from(pattern), detail));
    }
    if let Some(items) = map.get("items") {
        nested(items, false, &path.child("items"), errors);
    }
    for (name, child) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        nested(child, false, &path.child("properties").key(name), errors);
    }
    let forbidden: [(&str, bool, &str); 12] = [
        ("type", !text(map, "type").is_empty(), "must be empty to be structural"),
        ("additionalProperties", map.contains_key("additionalProperties"), "must be undefined to be structural"),
        ("default", map.contains_key("default"), "must be undefined to be structural"),
        ("title", !text(map, "title").is_empty(), "must be empty to be structural"),
        ("description", !text(map, "description").is_empty(), "must be empty to be structural"),
        ("nullable", flag(map, "nullable"), "must be false to be structural"),
        (
            "x-kubernetes-preserve-unknown-fields",
            flag(map, "x-kubernetes-preserve-unknown-fields"),
            "must be false to be structural",
        ),
        (
            "x-kubernetes-embedded-resource",
            flag(map, "x-kubernetes-embedded-resource"),
            "must be false to be structural",
        ),
        ("x-kubernetes-int-or-string", flag(map, "x-kubernetes-int-or-string"), "must be false to be structural"),
        (
            "x-kubernetes-list-map-keys",
            map.contains_key("x-kubernetes-list-map-keys"),
            "must be empty to be structural",
        ),
        ("x-kubernetes-list-type", map.contains_key("x-kubernetes-list-type"), "must be undefined to be structural"),
        ("x-kubernetes-map-type", map.contains_key("x-kubernetes-map-type"), "must be undefined to be structural"),
    ];
    for (key, said, detail) in forbidden {
        if said {
            errors.push(FieldError::forbidden(&path.child(key), detail));
        }
    }
    if map.get("x-kubernetes-validations").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty()) {
        let at = path.child("x-kubernetes-validations");
        errors.push(FieldError::forbidden(&at, "must be empty to be structural"));
    }
    if property(map, "metadata").is_some() {
        let at = path.child("properties").key("metadata");
        errors.push(FieldError::forbidden(&at, "must not be specified in a nested context"));
    }
}

/// What is checked inside a junctor must be typed outside of it.
fn complete_junctors(
    map: &Map<String, Value>,
    typed: Option<&Value>,
    typed_at: &Path,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    for (key, i, child) in junctors(map) {
        complete(child, typed, typed_at, &junctor_path(path, key, i), errors);
    }
}

fn complete(schema: &Value, typed: Option<&Value>, typed_at: &Path, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(map) = schema.as_object() else { return };
    let Some(typed) = typed else {
        errors.push(FieldError::required(typed_at, format!("because it is defined in {path}")));
        return;
    };
    complete_junctors(map, Some(typed), typed_at, path, errors);
    if let Some(items) = map.get("items") {
        complete(items, typed.get("items"), &typed_at.child("items"), &path.child("items"), errors);
    }
    for (name, child) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let (at, from) = (typed_at.child("properties").key(name), path.child("properties").key(name));
        let property = typed.get("properties").and_then(|properties| properties.get(name));
        complete(child, property, &at, &from, errors);
    }
}
