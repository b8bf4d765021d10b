//! Structural schemas: the one description of a kind that validation, defaulting, pruning, list semantics, apply,
//! CEL and OpenAPI all read.
//!
//! A [`Schema`] owns an arena of nodes; a [`SchemaRef`] is a copyable cursor into it, so recursive kinds (a CRD's
//! `JSONSchemaProps`) need no special case. Built-in kinds and CRDs are parsed by the same code.
//!
//! ```text
//!   schema, parse, openapi   the model, from OpenAPI and back
//!   pruning, defaulting      what a write loses and gains before it is judged, in this order
//!   validate                 OpenAPI checks, list duplicates, embedded resources, ratcheting
//!   cel                      x-kubernetes-validations; run after validate, unless it says otherwise (`blocks_rules`)
//!   decode                   wrong types in built-in kinds, as Go's decoder tells them
//!   crd                      CustomResourceDefinitions themselves
//!   labels, fields, jsonpath selectors and paths
//! ```
//!
//! Walkers recurse into values: ask [`too_deep`] before handing in what did not come straight from a JSON parser.
//!
//! Errors are [`field::FieldError`]s, worded as kube-apiserver words them, because clients and people read them.
//!
//! This crate does no IO and knows no kind by name.

mod cel;
pub mod crd;
mod decode;
mod defaulting;
mod depth;
pub mod field;
pub mod formats;
pub mod go;
mod gopattern;
mod jsonpath;
pub mod names;
mod openapi;
mod parse;
mod pruning;
mod schema;
mod selector;
mod trail;
mod validate;

pub use cel::{CelOutcome, CelRules, Condition};
pub use decode::check_types_as_go;
pub use defaulting::apply_defaults;
pub use depth::{MAX_DEPTH, too_deep};
pub use gopattern::LazyPattern;
pub use jsonpath::{JsonPath, JsonPathError};
pub use openapi::to_openapi;
pub use parse::ParseError;
pub use pruning::{PruneOptions, each_embedded, prune, unknown_fields};
pub use schema::{Additional, ListType, MapType, Node, Rule, Schema, SchemaRef, Type};
pub use selector::{fields, labels};
pub use validate::{blocks_rules, validate};
