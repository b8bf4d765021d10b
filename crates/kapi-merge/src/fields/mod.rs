//! Sets of field paths: what a manager owns, what a comparison found.
//!
//! A set is a sorted tree. A node may be a member itself, have members below it, or both:
//! `spec.replicas` alone makes `replicas` a member below `spec`, and `spec` no member.

mod element;
mod format;
mod set;

pub use element::PathElement;
pub use format::FieldsError;
pub use set::FieldSet;
pub(crate) use set::{Node, path_text};
