//! The way of every write: read, shape, own, admit, validate, commit.
//!
//! ```text
//!   body ─▶ input ─▶ (patch onto live) ─▶ prepare ─▶ ownership ─▶ mutating admission ─▶ validate ─▶ validating ─▶ commit
//! ```
//!
//! Create, update, every patch and every subresource go this way; they differ in how the new object comes about and in
//! which [`Aspect`] of the object they may change.

mod commit;
mod create;
mod input;
mod ownership;
mod prepare;
mod update;
mod validate;

pub(crate) use create::{create, create_object};
pub(crate) use input::{check_configuration, read_object, reshape, settle_shape, typed, typed_patch};
pub(crate) use ownership::{apply_configuration, track, track_as};
pub(crate) use prepare::{new_uid, random_suffix};
pub(crate) use update::{Change, Preconditions, Way, modify};

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// All but what only a subresource may change.
    Main,
    /// The status alone.
    Status,
    /// What another subresource lets through; it has picked the fields itself.
    Part(&'static str),
}

impl Aspect {
    /// The node of a pod.
    pub(crate) const BINDING: Self = Self::Part("binding");

    /// The subresource as managedFields name it.
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Part(name) => name,
        }
    }
}
