//! What a kind does beyond its schema.
//!
//! The order of hooks on a write, which the server keeps:
//!
//! ```text
//!   decode            the object as Go's structs would read it (400 with Go's own words when they would not)
//!   default           what Kubernetes fills in by code
//!   prepare_*         what only the server or only a subresource may set
//!   meta + validate_* everything that is wrong, at once (422)
//!   settle_empties    what storing it makes of empty lists and maps; the same for all kinds
//! ```
//!
//! Objects carry `apiVersion` and `kind` in all of them, and `metadata.uid` from `prepare_create` on.

mod admission;
mod api_service;
mod apiextensions;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
pub(crate) mod check;
mod core;
mod diff;
mod endpoint_slice;
mod lease;
mod networking;
mod pod;
mod policy;
mod rbac;
mod review;
mod runtime_class;
mod scalar;
mod scheduling;
mod shape;
mod status;
mod storage;
pub(crate) mod value;

use kapi_schema::field::FieldError;
use serde_json::Value;

pub use certificates::{prepare_approval, validate_approval};
pub use shape::settle_empties;

/// The hooks of a kind. The default does nothing, which is right for custom resources.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Reads the object as Go's structs would and leaves it as they print it: zeros that are never printed are gone,
    /// fields that always are are there, quantities, times and bytes are canonical. The error is Go's.
    pub decode: fn(&mut Value) -> Result<(), String>,
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
    /// Whether `metadata.generation` is kept.
    pub generation: bool,
    /// Whether it is 1 from the creation on, and not only from the first change.
    pub counts_creation: bool,
    /// Whether an update counts for `metadata.generation`: by default any change outside metadata and status.
    pub changed: fn(new: &Value, old: &Value) -> bool,
    /// Whether finalizers must be well-known or qualified, as those of built-in kinds must.
    pub standard_finalizers: bool,
    /// The object as another served version (or group) of the same kind has it; none when versions differ in name
    /// only. `to` is an apiVersion.
    pub convert: Option<fn(object: &Value, to: &str) -> Value>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            decode: |_| Ok(()),
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
            counts_creation: true,
            changed,
            standard_finalizers: false,
            convert: None,
        }
    }
}

impl Behaviour {
    /// What every built-in kind has in common.
    fn builtin() -> Self {
        Self { decode: shape::decode, standard_finalizers: true, ..Self::default() }
    }
}

/// Whether anything outside metadata and status differs.
fn changed(new: &Value, old: &Value) -> bool {
    let outside = |object: &Value| -> Vec<String> {
        let keys = object.as_object().into_iter().flatten().map(|(key, _)| key);
        keys.filter(|key| !matches!(key.as_str(), "metadata" | "status")).cloned().collect()
    };
    let differs = |key: &String| !value::same(value::dig(new, &[key]), value::dig(old, &[key]));
    outside(new).iter().chain(&outside(old)).any(differs)
}

/// The hooks of a built-in kind.
pub fn behaviour(group: &str, kind: &str) -> Behaviour {
    let found = match group {
        "" => core::behaviour(kind),
        "apiextensions.k8s.io" => apiextensions::behaviour(kind),
        "apps" => apps::behaviour(kind),
        "batch" => batch::behaviour(kind),
        "rbac.authorization.k8s.io" => rbac::behaviour(kind),
        "coordination.k8s.io" => lease::behaviour(kind),
        "storage.k8s.io" => storage::behaviour(kind),
        "networking.k8s.io" => networking::behaviour(kind),
        "policy" => policy::behaviour(kind),
        "discovery.k8s.io" => endpoint_slice::behaviour(kind),
        "certificates.k8s.io" => certificates::behaviour(kind),
        "admissionregistration.k8s.io" => admission::behaviour(kind),
        "apiregistration.k8s.io" => api_service::behaviour(kind),
        "scheduling.k8s.io" => scheduling::behaviour(kind),
        "autoscaling" => autoscaling::behaviour(kind),
        "node.k8s.io" => runtime_class::behaviour(kind),
        "events.k8s.io" => (kind == "Event").then(core::event::behaviour),
        "authentication.k8s.io" | "authorization.k8s.io" => review::behaviour(group, kind),
        // Custom resource definitions are judged by the schema crate.
        _ => None,
    };
    found.unwrap_or_else(Behaviour::builtin)
}
