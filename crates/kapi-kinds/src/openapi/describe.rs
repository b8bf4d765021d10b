//! Descriptions of built-in kinds, for `kubectl explain`.
//!
//! They are Kubernetes' own sentences and come from the schemas in `k8s-openapi`, not from this repository.

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use crate::generated::described;

/// The descriptions of all built-in components. Some megabytes while it lives: load it to build documents, then drop it.
pub struct Descriptions(Map<String, Value>);

impl Descriptions {
    /// Gathers them; takes a few milliseconds.
    pub fn load() -> Self {
        let mut generator = SchemaGenerator::default();
        described::visit(&mut generator);
        Self(generator.take_definitions(false))
    }

    /// Adds the descriptions of the component called `name` to its schema and its properties.
    pub fn describe(&self, name: &str, schema: &mut Value) {
        let Some(described) = self.0.get(name) else { return };
        copy(described, schema);
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
        for (field, property) in properties {
            copy(&described["properties"][field], property);
        }
    }

    /// Adds the descriptions of what every object has to the schema of a custom kind.
    pub fn describe_custom(&self, schema: &mut Value) {
        let common = self.0.get("io.k8s.api.core.v1.ConfigMap").map_or(&Value::Null, |any| &any["properties"]);
        for field in ["apiVersion", "kind", "metadata"] {
            if let Some(property) = schema.get_mut("properties").and_then(|properties| properties.get_mut(field)) {
                copy(&common[field], property);
            }
        }
    }
}

fn copy(from: &Value, to: &mut Value) {
    if let (Some(text @ Value::String(_)), Value::Object(to)) = (from.get("description"), to) {
        to.insert("description".to_owned(), text.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component;

    #[test]
    fn kinds_and_their_fields_are_described() {
        let descriptions = Descriptions::load();
        for name in ["io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Container", "io.k8s.api.apps.v1.DeploymentSpec"] {
            let mut schema = component(name).unwrap();
            descriptions.describe(name, &mut schema);
            assert!(schema["description"].is_string(), "{name}");
            for (field, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{name}.{field}");
            }
        }
    }

    #[test]
    fn what_is_not_known_stays_as_it_is() {
        let mut schema = serde_json::json!({"type": "object"});
        Descriptions::load().describe("example.v1.Thing", &mut schema);
        assert_eq!(schema, serde_json::json!({"type": "object"}));
    }
}
