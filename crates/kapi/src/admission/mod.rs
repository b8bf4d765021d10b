//! What stands between a well-formed write and the store.

mod allocate;
mod namespace;

use serde_json::Value;

pub(crate) use allocate::{allocate, first_service_ip};

use crate::call::Call;
use crate::status::Status;

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

/// Lets admission change the object.
pub(crate) async fn mutate(
    call: &mut Call,
    operation: Operation,
    object: &mut Value,
    _old: Option<&Value>,
) -> Result<(), Status> {
    if operation == Operation::Create {
        namespace::check_create(call, object)?;
    }
    Ok(())
}

/// Lets admission refuse the write.
pub(crate) async fn validate(
    call: &mut Call,
    operation: Operation,
    _object: Option<&Value>,
    _old: Option<&Value>,
) -> Result<(), Status> {
    if operation == Operation::Delete {
        namespace::check_delete(call)?;
    }
    Ok(())
}
