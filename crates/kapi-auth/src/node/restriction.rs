//! The NodeRestriction admission: a node writes only what is its own.

use std::collections::BTreeSet;

use pki::SigningRequest;
use serde_json::{Map, Value};

use super::mirror::api_reference;
use crate::{
    Attributes, Authorizer, ObjectReader, StatusError, User, csr, go,
    objects::{at, list, name, text, texts, uid},
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
    fn text(self) -> &'static str {
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
        return restriction.refuse(format!("could not determine node from user {}", go::quote(&write.user.name)));
    }
    match (write.group, write.resource) {
        ("", "pods") => match write.subresource {
            "" => restriction.pod(),
            "status" => restriction.pod_status(),
            "eviction" => restriction.eviction(),
            other => restriction.refuse(format!(
                "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
                go::quote(other)
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

struct Restriction<'a> {
    write: &'a NodeWrite<'a>,
    node: &'a str,
    objects: &'a dyn ObjectReader,
    authorizer: &'a dyn Authorizer,
}

impl Restriction<'_> {
    fn refuse(&self, why: impl AsRef<str>) -> Result<(), StatusError> {
        let write = self.write;
        let generated = text(self.object(), &["metadata", "generateName"]);
        let known = [write.name, name(self.object()), generated, "Unknown"].into_iter().find(|n| !n.is_empty());
        Err(StatusError::forbidden(write.group, write.resource, known.unwrap_or_default(), why.as_ref()))
    }

    fn refuse_unless(&self, holds: bool, why: impl FnOnce() -> String) -> Result<(), StatusError> {
        if holds { Ok(()) } else { self.refuse(why()) }
    }

    fn object(&self) -> &Value {
        self.write.object.unwrap_or(&NOTHING)
    }

    fn old(&self) -> &Value {
        self.write.old.unwrap_or(&NOTHING)
    }

    fn me(&self) -> String {
        go::quote(self.node)
    }

    fn node_of_pod(&self, pod: &str) -> Result<String, StatusError> {
        let found = self.objects.get("", "pods", self.write.namespace, pod);
        let found = found.ok_or_else(|| StatusError::not_found("", "pods", pod))?;
        Ok(text(&found, &["spec", "nodeName"]).to_owned())
    }

    fn pod(&self) -> Result<(), StatusError> {
        let me = self.me();
        match self.write.operation {
            Operation::Create => self.mirror_pod(),
            Operation::Delete => {
                let on = self.node_of_pod(self.write.name)?;
                self.refuse_unless(on == self.node, || {
                    format!("node {me} can only delete pods with spec.nodeName set to itself")
                })
            }
            Operation::Update => self.refuse(format!(
                "unexpected operation {}, node {me} can only create and delete mirror pods",
                go::quote(self.write.operation.text())
            )),
        }
    }

    fn mirror_pod(&self) -> Result<(), StatusError> {
        let (pod, me) = (self.object(), self.me());
        if at(pod, &["metadata", "annotations", "kubernetes.io/config.mirror"]).is_none() {
            return self.refuse(format!(
                "pod does not have \"kubernetes.io/config.mirror\" annotation, node {me} can only create mirror pods"
            ));
        }
        if text(pod, &["spec", "nodeName"]) != self.node {
            return self.refuse(format!("node {me} can only create pods with spec.nodeName set to itself"));
        }
        self.mirror_pod_owner(list(pod, &["metadata", "ownerReferences"]))?;
        match api_reference(pod) {
            None => Ok(()),
            Some(what) => self.refuse(format!("node {me} can not create pods that reference {what}")),
        }
    }

    fn mirror_pod_owner(&self, owners: &[Value]) -> Result<(), StatusError> {
        let me = self.me();
        let none = || self.refuse(format!("node {me} can only create pods with an owner reference set to itself"));
        let owner = match owners {
            [] => return none(),
            [owner] => owner,
            _ => {
                return self
                    .refuse(format!("node {me} can only create pods with a single owner reference set to itself"));
            }
        };
        let field = |name| text(owner, &[name]);
        if field("apiVersion") != "v1" || field("kind") != "Node" || field("name") != self.node {
            return none();
        }
        if at(owner, &["controller"]) != Some(&Value::Bool(true)) {
            return self
                .refuse(format!("node {me} can only create pods with a controller owner reference set to itself"));
        }
        if at(owner, &["blockOwnerDeletion"]) == Some(&Value::Bool(true)) {
            return self.refuse(format!("node {me} must not set blockOwnerDeletion on an owner reference"));
        }
        let node = self.objects.get("", "nodes", "", self.node);
        let node = node.ok_or_else(|| StatusError::not_found("", "nodes", self.node))?;
        self.refuse_unless(field("uid") == uid(&node), || {
            format!("node {} UID mismatch: expected {} got {}", self.node, field("uid"), uid(&node))
        })
    }

    fn pod_status(&self) -> Result<(), StatusError> {
        let (old, new, me) = (self.old(), self.object(), self.me());
        if self.write.operation != Operation::Update {
            return self.unexpected_operation();
        }
        if text(old, &["spec", "nodeName"]) != self.node {
            return self
                .refuse(format!("node {me} can only update pod status for pods with spec.nodeName set to itself"));
        }
        if labels(old) != labels(new) {
            return self.refuse(format!("node {me} cannot update labels through pod status"));
        }
        let claims = |pod| list(pod, &["status", "resourceClaimStatuses"]);
        if claims(old) != claims(new) {
            return self.refuse(format!("node {me} cannot update resource claim statues"));
        }
        let extended = |pod| at(pod, &["status", "extendedResourceClaimStatus"]);
        self.refuse_unless(extended(old) == extended(new), || {
            format!("node {me} cannot update extended resource claim status")
        })
    }

    fn unexpected_operation(&self) -> Result<(), StatusError> {
        self.refuse(format!("unexpected operation {}", go::quote(self.write.operation.text())))
    }

    fn eviction(&self) -> Result<(), StatusError> {
        if self.write.operation != Operation::Create {
            return self.refuse(format!("unexpected operation {}", self.write.operation.text()));
        }
        let pod = if self.write.name.is_empty() { name(self.object()) } else { self.write.name };
        if pod.is_empty() {
            return self.refuse("could not determine pod from request data");
        }
        let on = self.node_of_pod(pod)?;
        self.refuse_unless(on == self.node, || {
            format!("node {} can only evict pods with spec.nodeName set to itself", self.node)
        })
    }

    fn node(&self) -> Result<(), StatusError> {
        let (old, new, me) = (self.old(), self.object(), self.me());
        let requested = if self.write.name.is_empty() { name(new) } else { self.write.name };
        if requested != self.node {
            return self.refuse(format!("node {me} is not allowed to modify node {}", go::quote(requested)));
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

    fn token(&self) -> Result<(), StatusError> {
        if self.write.operation != Operation::Create || self.write.subresource != "token" {
            return Ok(());
        }
        let request = self.object();
        let bound = |field| text(request, &["spec", "boundObjectRef", field]);
        if bound("apiVersion") != "v1" || bound("kind") != "Pod" || bound("name").is_empty() {
            return self.refuse("node requested token not bound to a pod");
        }
        if bound("uid").is_empty() {
            return self.refuse("node requested token with a pod binding without a uid");
        }
        let pod = self.objects.get("", "pods", self.write.namespace, bound("name"));
        let pod = pod.ok_or_else(|| StatusError::not_found("", "pods", bound("name")))?;
        if bound("uid") != uid(&pod) {
            return self.refuse(format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                bound("uid")
            ));
        }
        if text(&pod, &["spec", "nodeName"]) != self.node {
            return self.refuse("node requested token bound to a pod scheduled on a different node");
        }
        self.token_audience(request, &pod)
    }

    fn token_audience(&self, request: &Value, pod: &Value) -> Result<(), StatusError> {
        let audiences = texts(request, &["spec", "audiences"]);
        let audience = match audiences.as_slice() {
            [] => "",
            [one] => one.as_str(),
            _ => return self.refuse("node may only request 0 or 1 audiences"),
        };
        if list(pod, &["spec", "volumes"]).iter().any(|volume| self.volume_has_audience(volume, pod, audience)) {
            return Ok(());
        }
        let asked = Attributes::resource(self.write.user, "request-serviceaccounts-token-audience", "", audience)
            .named(self.write.namespace, self.write.name);
        self.refuse_unless(self.authorizer.authorize(&asked).is_allowed(), || {
            format!(
                "audience {} not found in pod spec volume, {} is not authorized to request tokens for this audience",
                go::quote(audience),
                self.write.user.name
            )
        })
    }

    fn volume_has_audience(&self, volume: &Value, pod: &Value, audience: &str) -> bool {
        let projected = list(volume, &["projected", "sources"])
            .iter()
            .filter_map(|source| at(source, &["serviceAccountToken"]))
            .any(|token| text(token, &["audience"]) == audience);
        projected || self.driver_of(volume, pod).is_some_and(|driver| self.driver_has_audience(&driver, audience))
    }

    fn driver_of(&self, volume: &Value, pod: &Value) -> Option<String> {
        let claim = if at(volume, &["ephemeral", "volumeClaimTemplate"]).is_some() {
            format!("{}-{}", name(pod), text(volume, &["name"]))
        } else if let Some(claim) = at(volume, &["persistentVolumeClaim"]) {
            text(claim, &["claimName"]).to_owned()
        } else {
            return at(volume, &["csi", "driver"]).and_then(Value::as_str).map(str::to_owned);
        };
        let claim = self.objects.get("", "persistentvolumeclaims", self.write.namespace, &claim)?;
        let volume = self.objects.get("", "persistentvolumes", "", text(&claim, &["spec", "volumeName"]))?;
        at(&volume, &["spec", "csi", "driver"]).and_then(Value::as_str).map(str::to_owned)
    }

    fn driver_has_audience(&self, driver: &str, audience: &str) -> bool {
        let driver = self.objects.get("storage.k8s.io", "csidrivers", "", driver);
        driver.is_some_and(|driver| {
            list(&driver, &["spec", "tokenRequests"]).iter().any(|r| text(r, &["audience"]) == audience)
        })
    }

    fn lease(&self) -> Result<(), StatusError> {
        if self.write.namespace != LEASE_NAMESPACE {
            return self
                .refuse(format!("can only access leases in the {} system namespace", go::quote(LEASE_NAMESPACE)));
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

fn labels(object: &Value) -> Option<&Map<String, Value>> {
    at(object, &["metadata", "labels"]).and_then(Value::as_object).filter(|labels| !labels.is_empty())
}

fn changed_labels(old: &Value, new: &Value) -> BTreeSet<String> {
    let empty = Map::new();
    let (old, new) = (labels(old).unwrap_or(&empty), labels(new).unwrap_or(&empty));
    old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}

const KUBELET_LABELS: &[&str] = &[
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Labels in the name of Kubernetes that a kubelet may not give itself.
fn is_forbidden_label(label: &str) -> bool {
    let namespace = label.split_once('/').map_or("", |(namespace, _)| namespace);
    let within =
        |domain: &str| namespace.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let allowed = KUBELET_LABELS.contains(&label) || within("kubelet.kubernetes.io") || within("node.kubernetes.io");
    within("node-restriction.kubernetes.io") || ((within("kubernetes.io") || within("k8s.io")) && !allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_set_only_their_labels() {
        for (label, forbidden) in [
            ("role", false),
            ("example.com/role", false),
            ("kubernetes.io/hostname", false),
            ("node.kubernetes.io/anything", false),
            ("x.kubelet.kubernetes.io/anything", false),
            ("topology.kubernetes.io/zone", false),
            ("topology.kubernetes.io/other", true),
            ("node-role.kubernetes.io/master", true),
            ("node-restriction.kubernetes.io/x", true),
            ("a.node-restriction.kubernetes.io/x", true),
            ("k8s.io/x", true),
            ("foo.k8s.io/x", true),
            ("notk8s.io/x", false),
        ] {
            assert_eq!(is_forbidden_label(label), forbidden, "{label}");
        }
    }
}
