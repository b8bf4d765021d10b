//! The NodeRestriction admission: a node writes only what is its own.

use kapi_schema::field::go_quote;
use pki::SigningRequest;
use serde_json::{Map, Value};

use super::labels::{changed_labels, is_forbidden_label};
use crate::{
    Authorizer, ObjectReader, StatusError, User, csr,
    objects::{at, list, name, text},
};

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Operation {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A write that was authorized and is about to happen.
#[derive(Debug, Clone, Copy)]
pub struct NodeWrite<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What is done.
    pub operation: Operation,
    /// The API group of the resource.
    pub group: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The subresource, if any.
    pub subresource: &'a str,
    /// The namespace of the request.
    pub namespace: &'a str,
    /// The name in the request's path.
    pub name: &'a str,
    /// The new object, for creates and updates.
    pub object: Option<&'a Value>,
    /// The current object, for updates and deletes.
    pub old: Option<&'a Value>,
}

const LEASE_NAMESPACE: &str = "kube-node-lease";
static NOTHING: Value = Value::Null;

/// Refuses writes by nodes to what is not theirs; writes by others pass.
pub fn restrict_node(
    write: &NodeWrite<'_>,
    objects: &dyn ObjectReader,
    authorizer: &dyn Authorizer,
) -> Result<(), StatusError> {
    let Some(node) = write.user.node_name() else { return Ok(()) };
    let restriction = Restriction { write, node, objects, authorizer };
    if node.is_empty() {
        return restriction.refuse(format!("could not determine node from user {}", go_quote(&write.user.name)));
    }
    match (write.group, write.resource) {
        ("", "pods") => match write.subresource {
            "" => restriction.pod(),
            "status" => restriction.pod_status(),
            "eviction" => restriction.eviction(),
            other => restriction.refuse(format!(
                "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
                go_quote(other)
            )),
        },
        ("", "nodes") => restriction.node(),
        ("", "persistentvolumeclaims") => restriction.claim(),
        ("", "serviceaccounts") => restriction.token(),
        ("coordination.k8s.io", "leases") => restriction.lease(),
        ("storage.k8s.io", "csinodes") => restriction.own_name("CSINode"),
        ("resource.k8s.io", "resourceslices") => restriction.resource_slice(),
        ("certificates.k8s.io", "certificatesigningrequests") => restriction.signing_request(),
        _ => Ok(()),
    }
}

pub(super) struct Restriction<'a> {
    pub(super) write: &'a NodeWrite<'a>,
    pub(super) node: &'a str,
    pub(super) objects: &'a dyn ObjectReader,
    pub(super) authorizer: &'a dyn Authorizer,
}

impl Restriction<'_> {
    pub(super) fn refuse(&self, why: impl AsRef<str>) -> Result<(), StatusError> {
        let write = self.write;
        let generated = text(self.object(), &["metadata", "generateName"]);
        let known = [write.name, name(self.object()), generated, "Unknown"].into_iter().find(|n| !n.is_empty());
        Err(StatusError::forbidden(write.group, write.resource, known.unwrap_or_default(), why.as_ref()))
    }

    pub(super) fn refuse_unless(&self, holds: bool, why: impl FnOnce() -> String) -> Result<(), StatusError> {
        if holds { Ok(()) } else { self.refuse(why()) }
    }

    pub(super) fn object(&self) -> &Value {
        self.write.object.unwrap_or(&NOTHING)
    }

    pub(super) fn old(&self) -> &Value {
        self.write.old.unwrap_or(&NOTHING)
    }

    pub(super) fn me(&self) -> String {
        go_quote(self.node)
    }

    pub(super) fn unexpected_operation(&self) -> Result<(), StatusError> {
        self.refuse(format!("unexpected operation {}", go_quote(self.write.operation.text())))
    }

    fn node(&self) -> Result<(), StatusError> {
        let (old, new, me) = (self.old(), self.object(), self.me());
        let requested = if self.write.name.is_empty() { name(new) } else { self.write.name };
        if requested != self.node {
            return self.refuse(format!("node {me} is not allowed to modify node {}", go_quote(requested)));
        }
        if self.write.operation == Operation::Delete {
            return Ok(());
        }
        let source = |node| at(node, &["spec", "configSource"]);
        let creating = self.write.operation == Operation::Create;
        if source(new).is_some() && creating {
            return self.refuse(format!("node {me} is not allowed to create pods with a non-nil configSource"));
        }
        if source(new).is_some() && source(new) != source(old) {
            return self
                .refuse(format!("node {me} is not allowed to update configSource to a new non-nil configSource"));
        }
        if !creating && list(old, &["spec", "taints"]) != list(new, &["spec", "taints"]) {
            return self.refuse(format!("node {me} is not allowed to modify taints"));
        }
        let owners = |node| list(node, &["metadata", "ownerReferences"]);
        if !creating && owners(old) != owners(new) {
            return self.refuse(format!("node {me} is not allowed to modify ownerReferences"));
        }
        let forbidden: Vec<_> = changed_labels(old, new).into_iter().filter(|l| is_forbidden_label(l)).collect();
        if forbidden.is_empty() {
            return Ok(());
        }
        let forbidden = forbidden.join(", ");
        if creating {
            self.refuse(format!("node {me} is not allowed to set the following labels: {forbidden}"))
        } else {
            self.refuse(format!("is not allowed to modify labels: {forbidden}"))
        }
    }

    fn claim(&self) -> Result<(), StatusError> {
        if self.write.subresource != "status" {
            return self.refuse("may only update PVC status");
        }
        if self.write.operation != Operation::Update {
            return self.unexpected_operation();
        }
        let strip = |claim: &Value| {
            let mut claim = claim.clone();
            let mut drop = |parent: &str, fields: &[&str]| {
                if let Some(map) = claim.get_mut(parent).and_then(Value::as_object_mut) {
                    fields.iter().for_each(|field| drop_field(map, field));
                }
            };
            drop("metadata", &["resourceVersion", "managedFields"]);
            drop("status", &["capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"]);
            claim
        };
        self.refuse_unless(strip(self.old()) == strip(self.object()), || {
            format!(
                "node {} is not allowed to update fields other than status.quantity and status.conditions",
                self.me()
            )
        })
    }

    fn lease(&self) -> Result<(), StatusError> {
        if self.write.namespace != LEASE_NAMESPACE {
            return self
                .refuse(format!("can only access leases in the {} system namespace", go_quote(LEASE_NAMESPACE)));
        }
        self.own_name("node lease")
    }

    fn own_name(&self, what: &str) -> Result<(), StatusError> {
        let creating = self.write.operation == Operation::Create;
        let requested = if creating { name(self.object()) } else { self.write.name };
        self.refuse_unless(requested == self.node, || {
            format!("can only access {what} with the same name as the requesting node")
        })
    }

    fn resource_slice(&self) -> Result<(), StatusError> {
        let (slice, verb) = match self.write.operation {
            Operation::Create => (self.object(), "create"),
            Operation::Delete => (self.old(), "delete"),
            Operation::Update => return Ok(()),
        };
        self.refuse_unless(text(slice, &["spec", "nodeName"]) == self.node, || {
            format!("can only {verb} ResourceSlice with the same NodeName as the requesting node")
        })
    }

    fn signing_request(&self) -> Result<(), StatusError> {
        let signer = text(self.object(), &["spec", "signerName"]);
        let is_kubelet = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
        if self.write.operation != Operation::Create || !is_kubelet.contains(&signer) {
            return Ok(());
        }
        match csr::parse_request(self.object()) {
            Err(error) => self.refuse(format!("unable to parse csr: {error}")),
            Ok(request) => self.refuse_unless(is_for_node(&request, self.node), || {
                format!("can only create a node CSR with CN=system:node:{}", self.node)
            }),
        }
    }
}

fn is_for_node(request: &SigningRequest, node: &str) -> bool {
    request.subject().common_name.strip_prefix("system:node:") == Some(node)
}

fn drop_field(map: &mut Map<String, Value>, field: &str) {
    map.remove(field);
}
