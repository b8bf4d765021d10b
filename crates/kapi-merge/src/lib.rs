//! All ways of changing an object, as pure functions over JSON values.
//!
//! ```text
//!   json_patch   merge_patch   strategic        the three patches
//!
//!   ownership ── who set which field: apply(), track_update(), managedFields
//!      │
//!    typed ───── values seen through a schema: compare, merge, remove, extract
//!      │
//!    fields ──── sets of field paths, and their FieldsV1 form
//! ```
//!
//! Wording and rules are kube-apiserver's, because clients read the one and build on the other.
//! This crate does no IO, reads no clock (callers pass `now`) and knows no kind by name.

pub mod error;
pub mod fields;
pub mod go_json;
pub mod json_patch;
pub mod merge_patch;
pub mod ownership;
pub mod strategic;
mod typed;

pub use error::{ApplyError, Conflict, Conflicts, PatchError};
pub use fields::{FieldSet, PathElement};
pub use json_patch::json_patch;
pub use merge_patch::merge_patch;
pub use ownership::{
    ApplyRequest, KindOrigin, UpdateRequest, apply, keep_times_of_no_op, manager_from_user_agent, misfit, track_update,
    validate_manager_name,
};
pub use strategic::strategic_merge;
