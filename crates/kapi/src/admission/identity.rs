//! Writes that would widen somebody's rights: nodes, roles and bindings, certificate requests.

use kapi_auth::{NodeWrite, RbacResource, RbacWrite, check_rbac_write, csr, restrict_node};
use serde_json::{Value, json};

use super::Operation;
use super::fields::{list, push_spec, text};
use crate::call::Call;
use crate::status::Status;

/// Nodes write only what is theirs.
pub(super) fn restrict(
    call: &Call,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), Status> {
    let operation = match operation {
        Operation::Create => kapi_auth::Operation::Create,
        Operation::Update => kapi_auth::Operation::Update,
        Operation::Delete => kapi_auth::Operation::Delete,
    };
    let write = NodeWrite {
        user: &call.user,
        operation,
        group: &call.served.resource.group,
        resource: &call.served.resource.plural,
        subresource: &call.target.subresource,
        namespace: &call.target.namespace,
        name: &call.target.name,
        object,
        old,
    };
    let auth = &call.api.auth;
    restrict_node(&write, auth.objects(), &auth.authorizer).map_err(Into::into)
}

/// A new node gets pods only once it is ready.
pub(super) fn taint_node(node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    let tainted = |taint: &Value| text(taint, "/key") == KEY && text(taint, "/effect") == "NoSchedule";
    if !list(node, "/spec/taints").iter().any(tainted) {
        push_spec(node, "taints", json!({"key": KEY, "effect": "NoSchedule"}));
    }
}

/// Nobody grants what they do not hold.
pub(super) fn check_rbac(call: &Call, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    if &*call.served.resource.group != "rbac.authorization.k8s.io" {
        return Ok(());
    }
    let Some(resource) = RbacResource::from_plural(&call.served.resource.plural) else { return Ok(()) };
    let write = RbacWrite {
        user: &call.user,
        resource,
        namespace: &call.target.namespace,
        request_name: &call.target.name,
        object,
        old,
    };
    let authorizer = &call.api.auth.authorizer;
    check_rbac_write(&write, authorizer, &*authorizer.rbac).map_err(Into::into)
}

/// Who may make, approve and sign certificate requests.
pub(super) fn check_certificates(
    call: &Call,
    operation: Operation,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let authorizer = &call.api.auth.authorizer;
    match (operation, call.target.subresource.as_str(), old) {
        (Operation::Create, "", _) => csr::check_subject(object).map_err(Into::into),
        (Operation::Update, "approval", Some(old)) => {
            csr::check_approval(&call.user, old, authorizer).map_err(Into::into)
        }
        (Operation::Update, "status", Some(old)) => {
            csr::check_signing(&call.user, old, object, authorizer).map_err(Into::into)
        }
        _ => Ok(()),
    }
}
