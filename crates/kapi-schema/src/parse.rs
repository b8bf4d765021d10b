//! From OpenAPI v3 JSON (a CRD's `openAPIV3Schema`, or the components of a served document) to a [`Schema`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::gopattern::LazyPattern;
use crate::schema::{Additional, ListType, MapType, Node, Rule, Schema, Type};

/// A schema that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ParseError {
    /// A `$ref` to a component that is not there.
    #[error("schema refers to {0:?}, which is not among the components")]
    UnknownReference(String),
    /// A node that is not an object.
    #[error("a schema must be an object, not {0}")]
    NotAnObject(String),
}

const REFERENCE: &str = "#/components/schemas/";

impl Schema {
    /// Reads a self-contained schema, as CRDs carry it.
    pub fn parse(openapi: &Value) -> Result<Self, ParseError> {
        let none = Map::new();
        let mut parser = Parser::new(&none);
        let root = parser.node(openapi)?;
        Ok(Self::new(parser.finished(), root))
    }

    /// Reads the component called `name` and all it refers to.
    pub fn parse_component(components: &Map<String, Value>, name: &str) -> Result<Self, ParseError> {
        let mut roots = Self::parse_components(components, &[name])?;
        roots.pop().ok_or_else(|| ParseError::UnknownReference(name.to_owned()))
    }

    /// Reads several components into one shared arena; the schemas come in the order asked for.
    pub fn parse_components(components: &Map<String, Value>, names: &[&str]) -> Result<Vec<Self>, ParseError> {
        let mut parser = Parser::new(components);
        let roots = names.iter().map(|name| parser.component(name)).collect::<Result<Vec<_>, _>>()?;
        let arena = parser.finished();
        Ok(roots.into_iter().map(|root| Self::new(Arc::clone(&arena), root)).collect())
    }
}

struct Parser<'a> {
    components: &'a Map<String, Value>,
    arena: Vec<Node>,
    /// Components read or being read: a recursive reference finds its own slot here.
    known: BTreeMap<String, u32>,
}

impl<'a> Parser<'a> {
    fn new(components: &'a Map<String, Value>) -> Self {
        Self { components, arena: Vec::new(), known: BTreeMap::new() }
    }

    fn finished(mut self) -> Arc<Vec<Node>> {
        self.arena.shrink_to_fit();
        Arc::new(self.arena)
    }

    fn component(&mut self, name: &str) -> Result<u32, ParseError> {
        if let Some(&id) = self.known.get(name) {
            return Ok(id);
        }
        let openapi = self.components.get(name).ok_or_else(|| ParseError::UnknownReference(name.to_owned()))?;
        let id = self.reserve();
        self.known.insert(name.to_owned(), id);
        let node = self.read(openapi)?;
        self.set(id, named(node, name));
        Ok(id)
    }

    fn reserve(&mut self) -> u32 {
        self.arena.push(Node::default());
        u32::try_from(self.arena.len() - 1).unwrap_or(u32::MAX)
    }

    fn node(&mut self, openapi: &Value) -> Result<u32, ParseError> {
        if let Some((name, overlay)) = reference(openapi) {
            let id = self.component(name)?;
            // `allOf: [{$ref}]` with siblings (default, merge keys) is the component with those changed.
            if overlay.is_empty() {
                return Ok(id);
            }
            // The same use inside itself, as a recursive component has it, finds its own slot.
            let key = format!("{name} {}", Value::Object(overlay.clone()));
            if let Some(&id) = self.known.get(&key) {
                return Ok(id);
            }
            let component = self.components.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
            let mut merged = component;
            merged.extend(overlay);
            let slot = self.reserve();
            self.known.insert(key, slot);
            let node = self.read(&Value::Object(merged))?;
            self.set(slot, named(node, name));
            return Ok(slot);
        }
        let slot = self.reserve();
        let node = self.read(openapi)?;
        self.set(slot, node);
        Ok(slot)
    }

    fn set(&mut self, id: u32, node: Node) {
        if let Some(slot) = self.arena.get_mut(id as usize) {
            *slot = node;
        }
    }

    fn nodes(&mut self, list: Option<&Value>) -> Result<Vec<u32>, ParseError> {
        list.and_then(Value::as_array).into_iter().flatten().map(|item| self.node(item)).collect()
    }

    fn read(&mut self, openapi: &Value) -> Result<Node, ParseError> {
        let Value::Object(from) = openapi else {
            return Err(ParseError::NotAnObject(openapi.to_string()));
        };
        let mut properties = BTreeMap::new();
        for (name, schema) in from.get("properties").and_then(Value::as_object).into_iter().flatten() {
            properties.insert(Arc::from(name.as_str()), self.node(schema)?);
        }
        let additional = match from.get("additionalProperties") {
            None => Additional::Unsaid,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Bool(false)) => Additional::Nothing,
            Some(schema) => Additional::Of(self.node(schema)?),
        };
        let items = match from.get("items") {
            Some(Value::Array(list)) => list.first().map(|item| self.node(item)).transpose()?,
            Some(schema) => Some(self.node(schema)?),
            None => None,
        };
        let not = from.get("not").map(|schema| self.node(schema)).transpose()?;
        Ok(Node {
            name: None,
            package: None,
            ty: from.get("type").and_then(Value::as_str).and_then(type_named),
            format: text(from, "format"),
            nullable: flag(from, "nullable"),
            int_or_string: flag(from, "x-kubernetes-int-or-string"),
            preserve_unknown_fields: flag(from, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(from, "x-kubernetes-embedded-resource"),
            properties,
            required: texts(from, "required"),
            additional,
            items,
            list_type: match from.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("map") => ListType::Map,
                Some("set") => ListType::Set,
                _ => ListType::Atomic,
            },
            says_atomic: ["x-kubernetes-list-type", "x-kubernetes-map-type"]
                .iter()
                .any(|key| from.get(*key).and_then(Value::as_str) == Some("atomic")),
            list_map_keys: texts(from, "x-kubernetes-list-map-keys"),
            map_type: match from.get("x-kubernetes-map-type").and_then(Value::as_str) {
                Some("atomic") => MapType::Atomic,
                _ => MapType::Granular,
            },
            patch_merge_key: text(from, "x-kubernetes-patch-merge-key"),
            patch_strategy: text(from, "x-kubernetes-patch-strategy"),
            default: from.get("default").cloned(),
            enumeration: from.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            pattern: text(from, "pattern"),
            regex: LazyPattern::default(),
            minimum: from.get("minimum").and_then(Value::as_f64),
            maximum: from.get("maximum").and_then(Value::as_f64),
            exclusive_minimum: flag(from, "exclusiveMinimum"),
            exclusive_maximum: flag(from, "exclusiveMaximum"),
            multiple_of: from.get("multipleOf").and_then(Value::as_f64),
            min_length: count(from, "minLength"),
            max_length: count(from, "maxLength"),
            min_items: count(from, "minItems"),
            max_items: count(from, "maxItems"),
            unique_items: flag(from, "uniqueItems"),
            min_properties: count(from, "minProperties"),
            max_properties: count(from, "maxProperties"),
            all_of: self.nodes(from.get("allOf"))?,
            any_of: self.nodes(from.get("anyOf"))?,
            one_of: self.nodes(from.get("oneOf"))?,
            not,
            rules: from
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_object)
                .map(rule)
                .collect(),
            description: text(from, "description"),
        })
    }
}

/// A reference to a component, bare or as the only member of an `allOf`, with what stands beside it.
fn reference(openapi: &Value) -> Option<(&str, Map<String, Value>)> {
    let map = openapi.as_object()?;
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        return Some((target.strip_prefix(REFERENCE)?, Map::new()));
    }
    let [only] = map.get("allOf")?.as_array()?.as_slice() else { return None };
    let target = only.get("$ref")?.as_str()?.strip_prefix(REFERENCE)?;
    let beside = map.iter().filter(|(key, _)| *key != "allOf").map(|(k, v)| (k.clone(), v.clone())).collect();
    Some((target, beside))
}

/// A node that says which component it was read from: `io.k8s.api.apps.v1.Deployment`.
fn named(node: Node, component: &str) -> Node {
    let mut segments = component.rsplit('.').map(Arc::from);
    Node { name: segments.next(), package: segments.next(), ..node }
}

fn rule(from: &Map<String, Value>) -> Rule {
    let own = |key: &str| from.get(key).and_then(Value::as_str).map(str::to_owned);
    Rule {
        rule: own("rule").unwrap_or_default(),
        message: own("message"),
        message_expression: own("messageExpression"),
        reason: own("reason"),
        field_path: own("fieldPath"),
        optional_old_self: from.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        _ => return None,
    })
}

fn flag(from: &Map<String, Value>, key: &str) -> bool {
    from.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn count(from: &Map<String, Value>, key: &str) -> Option<u64> {
    from.get(key).and_then(Value::as_u64)
}

fn text(from: &Map<String, Value>, key: &str) -> Option<Arc<str>> {
    from.get(key).and_then(Value::as_str).map(Arc::from)
}

fn texts(from: &Map<String, Value>, key: &str) -> Vec<Arc<str>> {
    from.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(Arc::from).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_recursive_component_finds_itself() {
        let components = json!({
            "Props": {"type": "object", "properties": {"not": {"$ref": "#/components/schemas/Props"}}},
        });
        let schema = Schema::parse_component(components.as_object().unwrap(), "Props").unwrap();
        let root = schema.root();
        assert_eq!(root.property("not").unwrap().id(), root.id());
    }

    #[test]
    fn what_stands_beside_a_reference_changes_only_that_use() {
        let components = json!({
            "Meta": {"type": "object", "properties": {"name": {"type": "string"}}},
            "Pod": {"type": "object", "properties": {
                "metadata": {"allOf": [{"$ref": "#/components/schemas/Meta"}], "default": {}},
            }},
        });
        let schema = Schema::parse_component(components.as_object().unwrap(), "Pod").unwrap();
        let metadata = schema.root().property("metadata").unwrap();
        assert_eq!(metadata.default, Some(json!({})));
        assert!(metadata.property("name").is_some());
    }

    #[test]
    fn a_recursive_component_finds_itself_beside_a_default() {
        let components = json!({
            "Props": {"type": "object", "properties": {
                "not": {"allOf": [{"$ref": "#/components/schemas/Props"}], "default": {}},
            }},
        });
        let schema = Schema::parse_component(components.as_object().unwrap(), "Props").unwrap();
        let below = schema.root().property("not").unwrap();
        assert_eq!(below.property("not").unwrap().id(), below.id());
    }

    #[test]
    fn an_unknown_reference_is_named() {
        let components = json!({"A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}}});
        let error = Schema::parse_component(components.as_object().unwrap(), "A").unwrap_err();
        assert_eq!(error, ParseError::UnknownReference("B".into()));
    }
}
