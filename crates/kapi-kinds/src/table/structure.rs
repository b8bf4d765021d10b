//! From the component schemas to arenas of nodes: one that all kinds with pods share, one for each of the others.
//!
//! Two things are done to the components before they are parsed. Equal subschemas become one component of their own,
//! so that the thousands of plain strings are one node. And `allOf: [$ref]` with something beside it (`default: {}`,
//! a merge rule) becomes one component per different use, because copying the target at each use would never end for
//! kinds that contain themselves.
//!
//! The defaults in these schemas are mostly Go's zero values, and they matter: a Go server writes a field that is no
//! pointer and not `omitempty` even when nobody set it (`resources: {}`, `numberReady: 0`), and exactly those fields
//! have such a default. Filling them in is what makes an object read like one that went through the real server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use kapi_schema::Schema;
use serde_json::{Map, Value, json};

use crate::generated::{component_texts, served};

const REFERENCE: &str = "#/components/schemas/";

/// Kinds that are no resource: of subresources, and of the body of a delete.
pub(super) const OTHER_KINDS: [(&str, [&str; 3]); 4] = [
    ("io.k8s.api.autoscaling.v1.Scale", ["autoscaling", "v1", "Scale"]),
    ("io.k8s.api.policy.v1.Eviction", ["policy", "v1", "Eviction"]),
    ("io.k8s.api.authentication.v1.TokenRequest", ["authentication.k8s.io", "v1", "TokenRequest"]),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", ["", "v1", "DeleteOptions"]),
];

/// The schemas of all kinds by component name, each read at its first use.
pub(super) fn schemas() -> &'static BTreeMap<&'static str, Schema> {
    static SCHEMAS: LazyLock<BTreeMap<&'static str, Schema>> =
        LazyLock::new(|| components().map(|name| (name, Schema::deferred(move || read(name)))).collect());
    &SCHEMAS
}

/// The components that are kinds.
fn components() -> impl Iterator<Item = &'static str> {
    let resources = served().resources.iter().map(|resource| resource.component);
    resources.chain(OTHER_KINDS.map(|(component, _)| component))
}

/// Kinds that contain this are large and have most of it in common: they are read together.
const POD: &str = "io.k8s.api.core.v1.PodSpec";

fn read(kind: &'static str) -> Schema {
    static WITH_PODS: LazyLock<BTreeMap<&'static str, Schema>> = LazyLock::new(|| {
        let kinds: Vec<&str> = components().filter(|kind| reachable(&[kind]).contains(POD)).collect();
        kinds.iter().copied().zip(parse(&kinds)).collect()
    });
    let found = match reachable(&[kind]).contains(POD) {
        true => WITH_PODS.get(kind).cloned(),
        false => parse(&[kind]).pop(),
    };
    found.unwrap_or_else(Schema::any)
}

fn parse(kinds: &[&str]) -> Vec<Schema> {
    Schema::parse_components(&shared_components(&reachable(kinds)), kinds).unwrap_or_default()
}

/// These components and all they refer to.
fn reachable(names: &[&str]) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = names.to_vec();
    while let Some(name) = open.pop() {
        let Some((&name, &text)) = component_texts().get_key_value(name) else { continue };
        if found.insert(name) {
            open.extend(text.split(REFERENCE).skip(1).filter_map(|rest| rest.split('"').next()));
        }
    }
    found
}

/// What the published schema of a component does not say, though clients and servers know it.
fn unsaid(component: &str) -> Option<Value> {
    Some(match component {
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => json!({"format": "quantity"}),
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => json!({"x-kubernetes-int-or-string": true}),
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1" | "io.k8s.apimachinery.pkg.runtime.RawExtension" => {
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic"})
        }
        _ if component.starts_with("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON")
            && !component.ends_with(".JSONSchemaProps") =>
        {
            json!({"x-kubernetes-preserve-unknown-fields": true})
        }
        _ => return None,
    })
}

/// A default that is published but never filled in.
const NOT_FILLED_IN: (&str, &str) = ("io.k8s.api.core.v1.ReplicationControllerSpec", "minReadySeconds");

fn shared_components(names: &BTreeSet<&'static str>) -> Map<String, Value> {
    let mut sharing = Sharing::default();
    for (name, text) in component_texts().iter().filter(|(name, _)| names.contains(*name)) {
        let mut body: Value = unsaid(name).or_else(|| serde_json::from_str(text).ok()).unwrap_or_default();
        if *name == NOT_FILLED_IN.0
            && let Some(Value::Object(property)) = body["properties"].get_mut(NOT_FILLED_IN.1)
        {
            property.remove("default");
        }
        let body = sharing.body(body);
        sharing.components.insert((*name).to_owned(), body);
    }
    for (name, (target, beside)) in std::mem::take(&mut sharing.changed) {
        if let Some(Value::Object(mut body)) = sharing.components.get(&target).cloned() {
            body.extend(beside);
            sharing.components.insert(name, Value::Object(body));
        }
    }
    sharing.components
}

#[derive(Default)]
struct Sharing {
    components: Map<String, Value>,
    /// Uses of a component with something beside it: made once all components are there.
    changed: BTreeMap<String, (String, Map<String, Value>)>,
}

impl Sharing {
    /// The schema with its subschemas replaced by references.
    fn body(&mut self, schema: Value) -> Value {
        let Value::Object(mut map) = schema else { return schema };
        map.remove("x-kubernetes-group-version-kind");
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for property in properties.values_mut() {
                *property = self.reference(property.take());
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(schema @ Value::Object(_)) = map.get_mut(key) {
                *schema = self.reference(schema.take());
            }
        }
        Value::Object(map)
    }

    /// A reference to this subschema, which is kept under its own text. What follows the last dot of a component's
    /// name is the name of the type: kept for changed uses of a component, empty for what has no name.
    fn reference(&mut self, schema: Value) -> Value {
        let name = if let Some(name) = target(&schema) {
            name
        } else if let Some((component, beside)) = changed_target(&schema) {
            let name = format!("{}.{component}", Value::Object(beside.clone()));
            self.changed.insert(name.clone(), (component, beside));
            name
        } else {
            let name = format!("{schema}.");
            if !self.components.contains_key(&name) {
                let body = self.body(schema);
                self.components.insert(name.clone(), body);
            }
            name
        };
        json!({"$ref": format!("{REFERENCE}{name}")})
    }
}

/// The component this schema is, with nothing beside the reference.
fn target(schema: &Value) -> Option<String> {
    let bare = match schema.as_object()?.get("allOf") {
        Some(Value::Array(all)) if schema.as_object()?.len() == 1 => all.first()?,
        _ => schema,
    };
    Some(bare.get("$ref")?.as_str()?.strip_prefix(REFERENCE)?.to_owned())
}

/// The component this schema changes, and how.
fn changed_target(schema: &Value) -> Option<(String, Map<String, Value>)> {
    let name = target(schema.get("allOf")?.get(0)?)?;
    let beside = schema.as_object()?.iter().filter(|(key, _)| *key != "allOf");
    Some((name, beside.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_subschemas_are_one_and_changed_uses_are_apart() {
        let mut sharing = Sharing::default();
        let reference = json!({"$ref": "#/components/schemas/Meta"});
        let body = sharing.body(json!({"properties": {
            "a": {"type": "string"},
            "b": {"type": "string"},
            "plain": {"allOf": [reference]},
            "changed": {"allOf": [reference], "default": {}},
        }}));
        assert_eq!(body["properties"]["a"], body["properties"]["b"]);
        assert_eq!(body["properties"]["plain"], reference);
        let changed = body["properties"]["changed"]["$ref"].as_str().unwrap();
        assert!(changed.ends_with("}.Meta"), "{changed}");
        assert_eq!(sharing.changed.len(), 1);
    }

    #[test]
    fn kinds_that_contain_themselves_are_finite() {
        let crd = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
        let spec = schemas()[crd].root().property("spec").unwrap();
        let version = spec.property("versions").and_then(|v| v.items()).unwrap();
        let props = version.property("schema").and_then(|s| s.property("openAPIV3Schema")).unwrap();
        let nested = props.property("properties").and_then(|p| p.additional()).unwrap();
        let again = nested.property("properties").and_then(|p| p.additional()).unwrap();
        assert_eq!(nested.id(), again.id());
        assert!(props.property("default").unwrap().preserve_unknown_fields);
    }
}
