//! Replacing an object.

use serde_json::Value;

use crate::call::{Answer, Call};
use crate::object;
use crate::read;
use crate::registry::Served;
use crate::status::Status;
use crate::write::{self, Aspect, Change, Preconditions, Way};

pub(crate) async fn update(call: &mut Call, aspect: Aspect) -> Result<Answer, Status> {
    let new = write::read_object(call)?;
    check_identity(call, &new)?;
    if aspect == Aspect::Main && creates_on_update(&call.served) {
        let exists = read::stored(&call.api, &call.served, &call.target.namespace, &call.target.name).is_some();
        if !exists && object::revision(&new) == 0 {
            let stored = write::create_object(call, new, true).await?;
            return Ok(Answer::Object { code: 201, object: read::answered(&call.served, stored)? });
        }
    }
    let change = Change { aspect, way: Way::Replace, preconditions: Preconditions::default() };
    let changed = write::modify(call, &change, |_, _| Ok(new.clone())).await?;
    Ok(Answer::Object { code: 200, object: read::answered(&call.served, changed.into_document())? })
}

/// The object in the body must be the one in the path.
pub(crate) fn check_identity(call: &Call, new: &Value) -> Result<(), Status> {
    let (asked, given) = (&call.target.name, object::name(new));
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({asked} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != asked {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({asked})"
        )));
    }
    let namespace = object::namespace(new);
    if call.served.resource.namespaced && !namespace.is_empty() && *namespace != *call.target.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Kinds that a PUT may bring into being.
fn creates_on_update(served: &Served) -> bool {
    const KINDS: [(&str, &str); 7] = [
        ("", "Service"),
        ("", "Event"),
        ("", "Endpoints"),
        ("", "LimitRange"),
        ("coordination.k8s.io", "Lease"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
    ];
    KINDS.iter().any(|(group, kind)| served.is(group, kind))
}
