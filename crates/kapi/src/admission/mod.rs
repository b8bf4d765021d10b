//! What stands between a well-formed write and the store, in the order of kube-apiserver's default plugins.
//!
//! ```text
//!   mutate     namespace ▸ limits ▸ ServiceAccount ▸ node restriction ▸ taints ▸ priority ▸ tolerations ▸ classes
//!              ▸ mutating webhooks ▸ escalation
//!   allocate   who asks and when, addresses and ports of Services
//!   validate   limits ▸ ServiceAccount ▸ priority classes ▸ resizes ▸ runtime classes ▸ certificates ▸ pod security
//!              ▸ validating webhooks ▸ quota
//! ```

mod fields;
mod identity;
mod namespace;
mod pod_security;
mod pods;
mod quota;
mod services;
mod stamps;
mod storage;
#[cfg(test)]
mod tests;
mod webhooks;

use serde_json::Value;

pub(crate) use services::first_service_ip;

use crate::call::Call;
use crate::object;
use crate::status::Status;

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// The operation as webhooks know it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// What admission keeps in mind of one API, fed with every committed change.
#[derive(Default)]
pub(crate) struct State {
    taken: services::Taken,
    webhooks: webhooks::Index,
    pool: webhooks::Pool,
}

impl State {
    /// Takes the state of an object in; none when it is gone.
    pub(crate) fn observe(&self, resource: &str, key: &str, object: Option<&[u8]>) {
        match resource {
            "services." => self.taken.observe(key, object),
            _ => self.webhooks.observe(resource, key, object),
        }
    }
}

/// Gives the object what only the server can: stamps, addresses, ports. What was given out is held until the write is
/// in the store.
pub(crate) fn allocate(
    call: &mut Call,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Option<services::Reservation>, Status> {
    stamps::apply(call, object, old);
    services::allocate(call, object, old)
}

/// Lets admission change the object. Tells whether a webhook did.
pub(crate) async fn mutate(
    call: &mut Call,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<bool, Status> {
    built_in(call, operation, object, old).await?;
    let mut changed = false;
    if webhooks::may_mutate(call) {
        let mut rounds = webhooks::Rounds::of(call);
        webhooks::mutate(call, operation, object, old, &mut rounds, false).await?;
        changed = rounds.needs_another();
        if changed {
            let before = object.clone();
            built_in(call, operation, object, old).await?;
            if *object != before {
                rounds.changed_between();
            }
            webhooks::mutate(call, operation, object, old, &mut rounds, true).await?;
        }
    }
    if call.target.subresource.is_empty() {
        identity::check_rbac(call, object, old)?;
    }
    Ok(changed)
}

/// Lets webhooks judge what is posted to a subresource and stored nowhere: first those that may change it.
pub(crate) async fn mutate_posted(call: &mut Call, object: &mut Value) -> Result<(), Status> {
    if webhooks::may_mutate(call) {
        let mut rounds = webhooks::Rounds::of(call);
        webhooks::mutate(call, Operation::Create, object, None, &mut rounds, false).await?;
        if rounds.needs_another() {
            webhooks::mutate(call, Operation::Create, object, None, &mut rounds, true).await?;
        }
    }
    Ok(())
}

/// Then those that may only refuse it.
pub(crate) async fn validate_posted(call: &mut Call, object: &Value) -> Result<(), Status> {
    webhooks::validate(call, Operation::Create, Some(object), None).await
}

/// What the server itself does to objects before webhooks see them.
async fn built_in(call: &Call, operation: Operation, object: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    let create = operation == Operation::Create;
    if create {
        namespace::check_create(call, object)?;
    }
    let main = call.target.subresource.is_empty();
    let pod = main && call.served.is("", "Pod");
    if pod && create {
        pods::limits::default(call, object);
        pods::service_account::admit(call, object).await?;
    }
    identity::restrict(call, operation, Some(object), old)?;
    if main && create && call.served.is("", "Node") {
        identity::taint_node(object);
    }
    if pod {
        pods::priority::resolve(call, object, old)?;
        pods::tolerations::default(object);
    }
    if main && create {
        on_create(call, object)?;
    }
    Ok(())
}

/// What the rest of the plugins do to new objects alone.
fn on_create(call: &Call, object: &mut Value) -> Result<(), Status> {
    storage::protect(call, object);
    if call.served.is("", "PersistentVolumeClaim") {
        storage::default_storage_class(call, object);
    } else if call.served.is("", "Pod") {
        pods::runtime_class::admit(call, object)?;
    } else if call.served.is("networking.k8s.io", "Ingress") {
        storage::default_ingress_class(call, object);
    }
    Ok(())
}

/// Refuses a token that a node has no use for.
pub(crate) fn check_token(call: &Call, request: &Value) -> Result<(), Status> {
    identity::restrict(call, Operation::Create, Some(request), None)
}

/// Lets admission refuse the write.
pub(crate) async fn validate(
    call: &mut Call,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), Status> {
    match object {
        None => {
            namespace::check_delete(call)?;
            identity::restrict(call, operation, None, old)?;
        }
        Some(object) => {
            check_kind(call, operation, object, old)?;
            pod_security::check(call, operation, object, old)?;
        }
    }
    webhooks::validate(call, operation, object, old).await?;
    match object {
        Some(object) => quota::check(call, operation, object, old).await,
        None => Ok(()),
    }
}

fn check_kind(call: &Call, operation: Operation, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    let main = call.target.subresource.is_empty();
    let create = operation == Operation::Create;
    let going = old.is_some_and(object::is_deleting);
    if call.served.is("", "Pod") {
        if main && create || call.target.subresource == "resize" && !going {
            pods::limits::check_pod(call, object)?;
        }
        if main && create {
            pods::service_account::check(call, object)?;
            pods::runtime_class::check(call, object)?;
        }
    } else if main && call.served.is("", "PersistentVolumeClaim") {
        if !going {
            pods::limits::check_claim(call, object)?;
        }
        if let Some(old) = old {
            storage::check_resize(call, object, old)?;
        }
    } else if main && call.served.is("scheduling.k8s.io", "PriorityClass") {
        pods::priority::check_class(call, operation, object)?;
    } else if call.served.is("certificates.k8s.io", "CertificateSigningRequest") {
        identity::check_certificates(call, operation, object, old)?;
    }
    Ok(())
}
