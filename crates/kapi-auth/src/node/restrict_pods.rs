//! What a node may do to pods: run mirror pods, and report on and evict those it runs.

use kapi_schema::field::go_quote;
use serde_json::Value;

use super::{
    labels::labels,
    mirror::api_reference,
    restriction::{Operation, Restriction},
};
use crate::{
    StatusError,
    objects::{at, list, name, text, uid},
};

impl Restriction<'_> {
    fn node_of_pod(&self, pod: &str) -> Result<String, StatusError> {
        let found = self.objects.get("", "pods", self.write.namespace, pod);
        let found = found.ok_or_else(|| StatusError::not_found("", "pods", pod))?;
        Ok(text(&found, &["spec", "nodeName"]).to_owned())
    }

    pub(super) fn pod(&self) -> Result<(), StatusError> {
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
                go_quote(self.write.operation.text())
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

    pub(super) fn pod_status(&self) -> Result<(), StatusError> {
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

    pub(super) fn eviction(&self) -> Result<(), StatusError> {
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
}
