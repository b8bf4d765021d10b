//! What may be said in a schema of a CRD, and whether its rules compile.

use serde_json::{Map, Value};

use super::budget::{self, Budget};
use super::internal;
use crate::Schema;
use crate::cel::{Checked, check_rules, fieldpath};
use crate::field::{FieldError, Path};
use crate::schema::SchemaRef;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What is wrong. Rules are checked only where `schema` is given: types must be sound for that. Of rules that are there
/// already only what they cost together is judged.
pub(super) fn validate(
    openapi: &Value,
    schema: Option<SchemaRef<'_>>,
    path: &Path,
    is_unchanged: bool,
) -> Vec<FieldError> {
    let mut found = Found { is_unchanged, ..Found::default() };
    found.walk(openapi, schema, path, &Around { root: true, copies: Some(1), ..Around::default() });
    found.of_schema.append(&mut found.of_rules);
    found.of_schema.extend(found.budget.errors(path));
    found.of_schema
}

/// What surrounds a schema.
#[derive(Clone, Default)]
struct Around {
    root: bool,
    /// Inside `apiVersion`, `kind` or `metadata` of a resource.
    in_meta: bool,
    /// Why there may be no defaults.
    no_defaults: Option<String>,
    /// The nearest schema above whose items cannot be told apart over time.
    uncorrelated: Option<Path>,
    /// How often the value can be in an object, if all lists and maps around it say how long they may be.
    copies: Option<u64>,
}

impl Around {
    /// What surrounds what is inside of a schema.
    fn inside(&self, map: &Map<String, Value>) -> Self {
        let copies = self.copies.zip(budget::copies(map)).map(|(outer, inner)| outer.saturating_mul(inner));
        Self { root: false, copies, ..self.clone() }
    }
}

#[derive(Default)]
struct Found {
    of_schema: Vec<FieldError>,
    of_rules: Vec<FieldError>,
    budget: Budget,
    is_unchanged: bool,
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

impl Found {
    fn add(&mut self, error: FieldError) {
        self.of_schema.push(error);
    }

    fn walk(&mut self, openapi: &Value, schema: Option<SchemaRef<'_>>, path: &Path, around: &Around) {
        let Some(map) = openapi.as_object() else { return };
        let errors_before = self.of_schema.len();
        self.plain(map, path, around);
        self.below(map, schema, path, around);
        self.lists(map, path);
        self.rules(openapi, map, schema, path, around, errors_before);
    }

    fn plain(&mut self, map: &Map<String, Value>, path: &Path, around: &Around) {
        let ty = text(map, "type");
        if !ty.is_empty() && !TYPES.contains(&ty) {
            self.add(FieldError::not_supported(&path.child("type"), &Value::from(ty), &TYPES));
        }
        if let (Some(reason), true) =
            (&around.no_defaults, map.get("default").is_some_and(|default| !default.is_null()))
        {
            self.add(FieldError::forbidden(&path.child("default"), format!("must not be set {reason}")));
        }
        let present = |key: &str| match map.get(key) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(map)) if key != "dependencies" => !map.is_empty(),
            Some(_) => true,
        };
        for key in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
            if present(key) {
                self.add(FieldError::forbidden(&path.child(key), format!("{key} is not supported")));
            }
        }
        if ty == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            self.add(FieldError::forbidden(&path.child("type"), detail));
        }
        if map.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty()) {
            self.add(FieldError::forbidden(&path.child("items"), "items must be a schema object and not an array"));
        }
        if around.in_meta && flag(map, "x-kubernetes-embedded-resource") {
            let at = path.child("x-kubernetes-embedded-resource");
            self.add(FieldError::forbidden(&at, "must not be used inside of resource meta"));
        }
        if flag(map, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.add(FieldError::forbidden(&path.child("uniqueItems"), detail));
        }
        let open = "x-kubernetes-preserve-unknown-fields";
        if map.get(open) == Some(&Value::Bool(false)) {
            self.add(FieldError::invalid(&path.child(open), &Value::Bool(false), "must be true or undefined"));
        }
    }

    fn below(&mut self, map: &Map<String, Value>, schema: Option<SchemaRef<'_>>, path: &Path, around: &Around) {
        if let Some(additional) = map.get("additionalProperties") {
            let has_properties = map.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
            let at = path.child("additionalProperties");
            if has_properties && *additional != Value::Bool(true) {
                self.add(FieldError::forbidden(&at, "additionalProperties and properties are mutual exclusive"));
            }
            let mut around = around.inside(map);
            if around.in_meta {
                around.no_defaults = Some("inside additionalProperties applying to object metadata".into());
            }
            self.walk(additional, schema.and_then(SchemaRef::additional), &at, &around);
        }
        for (name, child) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let mut inside = around.inside(map);
            let is_resource = around.root || flag(map, "x-kubernetes-embedded-resource");
            if is_resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                inside.in_meta = true;
                if around.root {
                    inside.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            let schema = schema.and_then(|schema| schema.property(name));
            self.walk(child, schema, &path.child("properties").key(name), &inside);
        }
        if let Some(not) = map.get("not") {
            self.walk(not, None, &path.child("not"), &around.inside(map));
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            for (i, child) in map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
                self.walk(child, None, &path.child(key).index(i), &around.inside(map));
            }
        }
        if let Some(items) = map.get("items") {
            let mut inside = around.inside(map);
            if text(map, "x-kubernetes-list-type") != "map" && inside.uncorrelated.is_none() {
                inside.uncorrelated = Some(path.clone());
            }
            self.walk(items, schema.and_then(SchemaRef::items), &path.child("items"), &inside);
        }
    }

    fn lists(&mut self, map: &Map<String, Value>, path: &Path) {
        let ty = text(map, "type");
        let ty_path = path.child("type");
        for (key, wanted) in [("x-kubernetes-map-type", "object"), ("x-kubernetes-list-type", "array")] {
            if map.contains_key(key) && ty != wanted {
                let detail = format!("must be {wanted} if {key} is specified");
                self.add(if ty.is_empty() {
                    FieldError::required(&ty_path, detail)
                } else {
                    FieldError::invalid(&ty_path, &Value::from(ty), detail)
                });
            }
        }
        if let Some(map_type) = map.get("x-kubernetes-map-type")
            && !matches!(map_type.as_str(), Some("atomic" | "granular"))
        {
            let at = path.child("x-kubernetes-map-type");
            self.add(FieldError::not_supported(&at, map_type, &["atomic", "granular"]));
        }
        let list_type = map.get("x-kubernetes-list-type").and_then(Value::as_str);
        let items = map.get("items").and_then(Value::as_object);
        let at = path.child("x-kubernetes-list-type");
        if let (Some("set"), "array", Some(items)) = (list_type, ty, items) {
            self.set_items(items, path);
        }
        if let Some(other) = list_type.filter(|list_type| !matches!(*list_type, "atomic" | "set" | "map")) {
            self.add(FieldError::not_supported(&at, &Value::from(other), &["atomic", "set", "map"]));
        }
        let keys = map.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        if keys.is_some_and(|keys| !keys.is_empty()) && list_type != Some("map") {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            self.add(match list_type {
                None => FieldError::required(&at, detail),
                Some(other) => FieldError::invalid(&at, &Value::from(other), detail),
            });
        }
        if list_type == Some("map") {
            self.keyed(map, keys, path);
        }
        if let (Some(list_type @ ("set" | "map")), Some(items)) = (list_type, items) {
            self.never_null(items, keys, list_type, path);
        }
    }

    fn set_items(&mut self, items: &Map<String, Value>, path: &Path) {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let items_path = path.child("items");
        let list_type = items.get("x-kubernetes-list-type").unwrap_or(&Value::Null);
        match text(items, "type") {
            "array" if !list_type.is_null() && list_type != "atomic" => {
                self.add(FieldError::invalid(&items_path.child("x-kubernetes-list-type"), list_type, detail));
            }
            "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
                self.add(FieldError::invalid(&items_path.child("x-kubernetes-map-type"), list_type, detail));
            }
            _ => {}
        }
    }

    fn keyed(&mut self, map: &Map<String, Value>, keys: Option<&Vec<Value>>, path: &Path) {
        let keys_path = path.child("x-kubernetes-list-map-keys");
        if keys.is_none_or(Vec::is_empty) {
            self.add(FieldError::required(&keys_path, "must not be empty if x-kubernetes-list-type is map"));
        }
        let items_path = path.child("items");
        let items = match map.get("items") {
            None => {
                self.add(FieldError::required(&items_path, "must have a schema if x-kubernetes-list-type is map"));
                return;
            }
            Some(Value::Object(items)) => items,
            Some(other) => {
                let detail = "must only have a single schema if x-kubernetes-list-type is map";
                self.add(FieldError::invalid(&items_path, other, detail));
                return;
            }
        };
        let ty = text(items, "type");
        if ty != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.add(FieldError::invalid(&items_path.child("type"), &Value::from(ty), detail));
            return;
        }
        let mut seen: Vec<&str> = Vec::new();
        for key in keys.into_iter().flatten().filter_map(Value::as_str) {
            match items.get("properties").and_then(|properties| properties.get(key)) {
                Some(property) => {
                    if matches!(property.get("type").and_then(Value::as_str), Some("array" | "object")) {
                        let at = items_path.child("properties").key(key).child("type");
                        let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                        self.add(FieldError::invalid(&at, &Value::from(ty), detail));
                    }
                }
                None => {
                    let all = Value::Array(keys.cloned().unwrap_or_default());
                    self.add(FieldError::invalid(&keys_path, &all, "entries must all be names of item properties"));
                }
            }
            if seen.contains(&key) {
                let all = Value::Array(keys.cloned().unwrap_or_default());
                self.add(FieldError::invalid(&keys_path, &all, "must not contain duplicate entries"));
            }
            seen.push(key);
        }
    }

    /// Items of sets and keyed lists, and the keys, must always be there.
    fn never_null(&mut self, items: &Map<String, Value>, keys: Option<&Vec<Value>>, list_type: &str, path: &Path) {
        let items_path = path.child("items");
        if flag(items, "nullable") {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.add(FieldError::forbidden(&items_path.child("nullable"), detail));
        }
        if list_type != "map" {
            return;
        }
        let required = items.get("required").and_then(Value::as_array);
        for key in keys.into_iter().flatten() {
            let Some(name) = key.as_str() else { continue };
            let Some(property) = items.get("properties").and_then(|properties| properties.get(name)) else { continue };
            let at = items_path.child("properties").key(name);
            let is_required = required.is_some_and(|required| required.contains(key));
            if !is_required && property.get("default").is_none_or(Value::is_null) {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                              required property";
                self.add(FieldError::required(&at.child("default"), detail));
            }
            if property.get("nullable") == Some(&Value::Bool(true)) {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.add(FieldError::forbidden(&at.child("nullable"), detail));
            }
        }
    }

    fn rules(
        &mut self,
        openapi: &Value,
        map: &Map<String, Value>,
        schema: Option<SchemaRef<'_>>,
        path: &Path,
        around: &Around,
        errors_before: usize,
    ) {
        let Some(rules) = map.get("x-kubernetes-validations").and_then(Value::as_array) else { return };
        let at = |i: usize| path.child("x-kubernetes-validations").index(i);
        for (i, rule) in rules.iter().enumerate() {
            self.rule_text(openapi, rule, &at(i));
        }
        let Some(schema) = schema.filter(|_| self.of_schema.len() == errors_before && !rules.is_empty()) else {
            return;
        };
        let is_resource = around.root || schema.node().embedded_resource;
        let Some(Checked { rules: checked, most_often }) = check_rules(schema, is_resource) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            self.of_rules.push(FieldError::internal(&path.child("x-kubernetes-validations"), detail));
            return;
        };
        let copies = around.copies.unwrap_or(most_often);
        for (i, (rule, fault)) in rules.iter().zip(checked).enumerate() {
            let cost = fault.cost.saturating_mul(copies);
            self.spend("estimated rule cost", cost, &at(i).child("rule"));
            if let Some(error) = fault.error {
                self.of_rules.push(internal::invalid(&at(i).child("rule"), internal::rule(rule), error));
            }
            if let Some(error) = fault.message_error {
                self.of_rules.push(internal::invalid(&at(i).child("messageExpression"), internal::rule(rule), error));
            }
            if let Some(cost) = fault.message_cost {
                self.spend("estimated messageExpression cost", cost, &at(i).child("messageExpression"));
            }
            if fault.uses_old_self {
                if let Some(above) = &around.uncorrelated {
                    let source = rule.get("rule").unwrap_or(&Value::Null);
                    let detail =
                        format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
                    self.of_rules.push(FieldError::invalid(&at(i).child("rule"), source, detail));
                }
            } else if let Some(optional) = rule.get("optionalOldSelf") {
                let detail = "may not be set if oldSelf is not used in rule";
                self.of_rules.push(FieldError::invalid(&at(i).child("optionalOldSelf"), optional, detail));
            }
        }
    }

    /// Notes what an expression costs, and refuses it if that is too much for one.
    fn spend(&mut self, what: &str, cost: u64, path: &Path) {
        let error = budget::too_much_for_one(what, cost).filter(|_| !self.is_unchanged);
        self.of_rules.extend(error.map(|detail| FieldError::forbidden(path, detail)));
        self.budget.spend(path, cost);
    }

    /// The parts of a rule that can be judged without compiling it.
    fn rule_text(&mut self, openapi: &Value, rule: &Value, at: &Path) {
        let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
        let has_newline = |text: &str| text.contains(['\n', '\r']);
        let (source, message) = (text("rule").trim(), text("message"));
        if source.is_empty() {
            self.add(FieldError::required(&at.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            self.add(FieldError::invalid(
                &at.child("message"),
                &Value::from(message),
                "must be non-empty if specified",
            ));
        } else if has_newline(message.trim()) {
            self.add(FieldError::invalid(&at.child("message"), &Value::from(message), "must not contain line breaks"));
        } else if has_newline(source) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            self.add(FieldError::required(&at.child("message"), detail));
        }
        let expression = text("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            self.add(FieldError::required(&at.child("messageExpression"), detail));
        }
        if let Some(reason) = rule.get("reason").filter(|reason| reason.as_str().is_none_or(|r| !REASONS.contains(&r)))
        {
            self.add(FieldError::not_supported(&at.child("reason"), reason, &REASONS));
        }
        let field_path = text("fieldPath");
        let at = at.child("fieldPath");
        let value = Value::from(field_path);
        if !field_path.is_empty() && field_path.trim().is_empty() {
            self.add(FieldError::invalid(&at, &value, "must be non-empty if specified"));
        }
        if has_newline(field_path) {
            self.add(FieldError::invalid(&at, &value, "must not contain line breaks"));
        }
        if !field_path.is_empty()
            && let Ok(schema) = Schema::parse(openapi)
            && fieldpath::resolve(field_path, schema.root(), true).is_err()
        {
            self.add(FieldError::invalid(&at, &value, "must be a valid path"));
        }
    }
}
