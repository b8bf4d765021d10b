//! Who set which field.
//!
//! Every write says who made it. [`track_update`] notes what an ordinary write changed; [`apply()`] merges a
//! configuration, refuses to change what others own, and removes what its manager applied before and dropped. Both
//! keep the record in `metadata.managedFields`.

mod apply;
mod cap;
mod last_applied;
mod managed;
mod manager;
mod no_op;
mod prune;
mod request;
mod scale;
mod take;
mod update;
mod validation;

pub use apply::apply;
pub use manager::{MAX_MANAGER_LENGTH, manager_from_user_agent, validate_manager_name};
pub use no_op::keep_times_of_no_op;
pub use request::{ApplyRequest, KindOrigin, UpdateRequest};
pub use scale::{ScaleFields, scale_fields, scale_fields_to_parent};
pub use update::track_update;
pub use validation::{misfit, validate_managed_fields};
