//! The built-in kinds: what is served (a generated table), and what each kind does beyond its schema.
//!
//! ```text
//!   generated/  resources and schemas, read off a real kube-apiserver
//!   behaviour/  defaulting, validation and field rules that Kubernetes keeps in code, one file per kind or family
//!   columns/    what `kubectl get` prints
//!   openapi/    the documents `kubectl explain` and client-side checks read
//!   meta        the rules every object's metadata obeys
//! ```
//!
//! Everything here is a pure function of the object: no store, no clock, no randomness. What needs the store
//! (cluster IPs, tokens, quota) is done by the server.

mod behaviour;
mod columns;
mod generated;
pub mod meta;
pub mod openapi;
mod resource;
mod table;

pub use behaviour::{Behaviour, behaviour, prepare_approval, settle_empties, validate_approval};
pub use columns::{Column, Columns, Evaluate, PrintRow, columns, custom_columns, row_conditions};
pub use generated::{
    Group, component, component_names, default_objects, default_rbac, delete_returns_object, groups,
    kubernetes_version, storage_version_hash,
};
pub use resource::{Resource, Subresource};
pub use table::{builtin, component_of, schema};
