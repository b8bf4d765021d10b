//! The table of built-in resources.

use std::sync::Arc;

use crate::Resource;

/// All built-in resources, parsed once per process and shared by every API in it.
pub fn builtin() -> &'static [Arc<Resource>] {
    &[]
}
