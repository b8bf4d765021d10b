//! What a kind does beyond its schema.

use kapi_schema::field::FieldError;
use serde_json::Value;

/// The hooks of a kind. The default does nothing, which is right for custom resources.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Fills defaults that the schema does not carry. Runs on every write, after the schema's own defaults.
    pub default: fn(&mut Value),
    /// Readies an object for creation: drops status, sets what only the server sets.
    pub prepare_create: fn(&mut Value),
    /// Readies an update of the main resource: keeps the parts (status) that only a subresource may change.
    pub prepare_update: fn(new: &mut Value, old: &Value),
    /// Readies an update through `/status`: keeps everything but the status.
    pub prepare_status: fn(new: &mut Value, old: &Value),
    /// What is wrong with a new object. Metadata is checked elsewhere (`meta`).
    pub validate: fn(&Value) -> Vec<FieldError>,
    /// What is wrong with a change, immutable fields included.
    pub validate_update: fn(new: &Value, old: &Value) -> Vec<FieldError>,
    /// What is wrong with a change through `/status`.
    pub validate_status: fn(new: &Value, old: &Value) -> Vec<FieldError>,
    /// What is wrong with a name; `prefix` when it is a `generateName`.
    pub validate_name: fn(name: &str, prefix: bool) -> Vec<String>,
    /// Fields that field selectors may name, beside `metadata.name` and `metadata.namespace`, with their values.
    pub fields: fn(&Value) -> Vec<(&'static str, String)>,
    /// What to warn the client about.
    pub warnings: fn(&Value) -> Vec<String>,
    /// Whether `metadata.generation` is kept, counting changes outside metadata and status.
    pub generation: bool,
    /// The object as another served version of the same kind has it; none when versions differ in name only.
    pub convert: Option<fn(object: &Value, to_version: &str) -> Value>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            default: |_| {},
            prepare_create: |_| {},
            prepare_update: |_, _| {},
            prepare_status: |_, _| {},
            validate: |_| Vec::new(),
            validate_update: |_, _| Vec::new(),
            validate_status: |_, _| Vec::new(),
            validate_name: crate::meta::dns_subdomain,
            fields: |_| Vec::new(),
            warnings: |_| Vec::new(),
            generation: false,
            convert: None,
        }
    }
}

/// The hooks of a built-in kind.
pub fn behaviour(_group: &str, _kind: &str) -> Behaviour {
    Behaviour::default()
}
