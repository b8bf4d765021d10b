//! What spec and status may be changed through.

use serde_json::Value;

use super::shape;
use super::value::keep;

/// A new object has the status of one nobody has looked at.
pub(super) fn reset(object: &mut Value) {
    shape::reset_status(object);
}

/// The main resource does not change the status.
pub(super) fn keep_status(new: &mut Value, old: &Value) {
    keep(new, old, "status");
}

/// `/status` does not change the spec.
pub(super) fn keep_spec(new: &mut Value, old: &Value) {
    keep(new, old, "spec");
}
