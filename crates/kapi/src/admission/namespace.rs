//! Objects need a namespace that exists and is not going; some namespaces stay for ever.

use serde_json::Value;

use crate::call::Call;
use crate::object;
use crate::status::{Cause, Named, Status};

const NAMESPACES: &str = "namespaces.";
/// Namespaces the API cannot be without.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn check_create(call: &Call, object: &Value) -> Result<(), Status> {
    let namespace = &call.target.namespace;
    if !call.served.resource.namespaced || namespace.is_empty() || !call.served.has_verb("list") {
        return Ok(());
    }
    let found = call.api.collection_named(NAMESPACES).get(namespace);
    let Some(entry) = found else {
        return Err(Status::not_found(Named { group: "", plural: "namespaces" }, namespace));
    };
    let live = object::parse(&entry.bytes)?;
    if !object::is_deleting(&live) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden_because(call.served.named(), object::name(object), why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        });
    }
    Err(status)
}

pub(super) fn check_delete(call: &Call) -> Result<(), Status> {
    if call.served.is("", "Namespace") && IMMORTAL.contains(&call.target.name.as_str()) {
        return Err(Status::forbidden_because(
            call.served.named(),
            &call.target.name,
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}
