//! The OpenAPI documents clients read: kubectl's `explain`, `diff` and checks before an apply, and helm's.
//!
//! A document is built from the resources it is about and the components (schemas) they refer to, the same way for
//! built-in and custom kinds. Documents are large, so they are written out piece by piece and handed over as text:
//! serve it, and keep it no longer than worthwhile.

mod custom;
mod describe;
mod operation;
mod parameters;
mod v2;
mod v3;

pub use custom::{custom_component, custom_list_component};
pub use describe::Descriptions;
pub use operation::component_name;
pub use v2::document_v2;
pub use v3::document;

#[cfg(test)]
mod tests;
