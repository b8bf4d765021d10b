//! Structural schemas: the one description of a kind that validation, defaulting, pruning, list semantics, apply,
//! CEL and OpenAPI all read.
//!
//! A [`Schema`] owns an arena of nodes; a [`SchemaRef`] is a copyable cursor into it, so recursive kinds (a CRD's
//! `JSONSchemaProps`) need no special case. Built-in kinds and CRDs are parsed by the same code.
//!
//! Errors are [`field::FieldError`]s, worded as kube-apiserver words them, because clients and people read them.
//!
//! This crate does no IO and knows no kind by name.

pub mod field;
mod parse;
mod schema;

pub use parse::ParseError;
pub use schema::{Additional, ListType, MapType, Node, Rule, Schema, SchemaRef, Type};
