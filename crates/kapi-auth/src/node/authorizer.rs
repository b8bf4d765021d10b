//! The node authorizer: rights that follow from the pods a node runs.

use kapi_schema::field::go_quote;

use super::{NodeGraph, graph::Kind};
use crate::{AllowedBy, Attributes, Decision};

const LEASE_NAMESPACE: &str = "kube-node-lease";

/// What every node may do to resources that are not divided among nodes: verbs, group, resources.
const COMMON_RULES: &[(&[&str], &str, &[&str])] = &[
    (&["create"], "authentication.k8s.io", &["tokenreviews"]),
    (&["create"], "authorization.k8s.io", &["subjectaccessreviews", "localsubjectaccessreviews"]),
    (&["get", "list", "watch"], "", &["services"]),
    (&["create", "update", "patch"], "", &["events"]),
    (&["get"], "", &["endpoints"]),
    (&["create", "get", "list", "watch"], "certificates.k8s.io", &["certificatesigningrequests"]),
    (&["get", "watch", "list"], "storage.k8s.io", &["csidrivers"]),
    (&["get", "list", "watch"], "node.k8s.io", &["runtimeclasses"]),
];

/// Answers questions of nodes; about others it has no opinion.
pub(crate) fn authorize(graph: &NodeGraph, asked: &Attributes<'_>) -> Decision {
    let Some(node) = asked.user.node_name() else { return refuse("") };
    if node.is_empty() {
        return refuse(format!("unknown node for user {}", go_quote(&asked.user.name)));
    }
    if !asked.is_resource {
        return refuse("");
    }
    let node = Node { graph, name: node, asked };
    match (asked.group, asked.resource) {
        ("", "secrets") => node.read_namespaced(Kind::Secret),
        ("", "configmaps") => node.read_namespaced(Kind::ConfigMap),
        ("", "persistentvolumeclaims") if asked.subresource == "status" => node.update_claim_status(),
        ("", "persistentvolumeclaims") => node.get_related(Kind::Claim),
        ("", "persistentvolumes") => node.get(|node| node.graph.relates_to_volume(node.name, asked.name)),
        ("resource.k8s.io", "resourceclaims") => node.get_related(Kind::ResourceClaim),
        ("storage.k8s.io", "volumeattachments") => node.get_related(Kind::Attachment),
        ("", "serviceaccounts") => node.service_account(),
        ("coordination.k8s.io", "leases") => node.lease(),
        ("storage.k8s.io", "csinodes") => node.csi_node(),
        ("resource.k8s.io", "resourceslices") => node.resource_slice(),
        ("", "nodes") => node.node(),
        ("", "pods") => node.pod(),
        _ if is_common(asked) => allow(),
        _ => refuse(""),
    }
}

fn is_common(asked: &Attributes<'_>) -> bool {
    asked.subresource.is_empty()
        && COMMON_RULES.iter().any(|(verbs, group, resources)| {
            *group == asked.group && resources.contains(&asked.resource) && verbs.contains(&asked.verb)
        })
}

fn allow() -> Decision {
    Decision::Allow(AllowedBy::Default)
}

fn refuse(reason: impl Into<String>) -> Decision {
    Decision::NoOpinion { reason: reason.into() }
}

struct Node<'a> {
    graph: &'a NodeGraph,
    name: &'a str,
    asked: &'a Attributes<'a>,
}

impl Node<'_> {
    fn related(&self, is_related: bool) -> Decision {
        if is_related {
            allow()
        } else {
            refuse(format!("no relationship found between node '{}' and this object", self.name))
        }
    }

    fn named(&self, relates: impl FnOnce(&Self) -> bool) -> Decision {
        if self.asked.name.is_empty() { refuse("No Object name found") } else { self.related(relates(self)) }
    }

    fn relates(&self, kind: Kind) -> bool {
        let namespace = if matches!(kind, Kind::Attachment | Kind::Slice) { "" } else { self.asked.namespace };
        self.graph.relates(self.name, kind, namespace, self.asked.name)
    }

    fn get(&self, relates: impl FnOnce(&Self) -> bool) -> Decision {
        if self.asked.verb != "get" {
            return refuse("can only get individual resources of this type");
        }
        if !self.asked.subresource.is_empty() {
            return refuse("cannot get subresource");
        }
        self.named(relates)
    }

    fn get_related(&self, kind: Kind) -> Decision {
        self.get(|node| node.relates(kind))
    }

    fn read_namespaced(&self, kind: Kind) -> Decision {
        if !["get", "list", "watch"].contains(&self.asked.verb) {
            return refuse("can only read resources of this type");
        }
        if !self.asked.subresource.is_empty() {
            return refuse("cannot read subresource");
        }
        if self.asked.namespace.is_empty() {
            return refuse("can only read namespaced object of this type");
        }
        self.named(|node| node.relates(kind))
    }

    fn update_claim_status(&self) -> Decision {
        if !["update", "patch"].contains(&self.asked.verb) {
            return refuse("can only get/update/patch this type");
        }
        self.named(|node| node.relates(Kind::Claim))
    }

    fn service_account(&self) -> Decision {
        if self.asked.verb == "get" && self.asked.subresource.is_empty() {
            return self.read_namespaced(Kind::ServiceAccount);
        }
        if self.asked.verb != "create" || self.asked.name.is_empty() {
            return refuse("can only create tokens for individual service accounts");
        }
        if self.asked.subresource != "token" {
            return refuse("can only create token subresource of serviceaccount");
        }
        self.related(self.relates(Kind::ServiceAccount))
    }

    /// Objects with the node's own name. On create the name is not known yet; admission checks it.
    fn own_object(&self, what: &str, misplaced: Option<String>) -> Decision {
        if !["get", "create", "update", "patch", "delete"].contains(&self.asked.verb) {
            return refuse(format!("can only get, create, update, patch, or delete a {what}"));
        }
        if let Some(reason) = misplaced {
            return refuse(reason);
        }
        if self.asked.verb != "create" && self.asked.name != self.name {
            return refuse(format!("can only access {what} with the same name as the requesting node"));
        }
        allow()
    }

    fn lease(&self) -> Decision {
        let elsewhere = self.asked.namespace != LEASE_NAMESPACE;
        let refusal = || format!("can only access leases in the {} system namespace", go_quote(LEASE_NAMESPACE));
        self.own_object("node lease", elsewhere.then(refusal))
    }

    fn csi_node(&self) -> Decision {
        let refusal = || "cannot authorize CSINode subresources".to_owned();
        self.own_object("CSINode", (!self.asked.subresource.is_empty()).then(refusal))
    }

    fn selects_itself(&self) -> bool {
        self.asked.fields.iter().any(|f| f.equal && f.field == "spec.nodeName" && f.value == self.name)
    }

    fn resource_slice(&self) -> Decision {
        if !self.asked.subresource.is_empty() {
            return refuse("cannot authorize ResourceSlice subresources");
        }
        match self.asked.verb {
            "create" => allow(),
            "get" | "update" | "patch" | "delete" => self.named(|node| node.relates(Kind::Slice)),
            "watch" | "list" | "deletecollection" if self.selects_itself() => allow(),
            "watch" | "list" | "deletecollection" => {
                refuse("can only list/watch/deletecollection resourceslices with nodeName field selector")
            }
            _ => refuse(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
            ),
        }
    }

    fn node(&self) -> Decision {
        let me = self.name;
        match (self.asked.subresource, self.asked.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => allow(),
            ("", "get" | "list" | "watch") => match self.asked.name {
                name if name == me => allow(),
                "" => refuse(format!("node '{me}' cannot read all nodes, only its own Node object")),
                other => refuse(format!("node '{me}' cannot read '{other}', only its own Node object")),
            },
            _ => refuse(""),
        }
    }

    fn pod(&self) -> Decision {
        match (self.asked.subresource, self.asked.verb) {
            ("", "get") => self.get_related(Kind::Pod),
            ("", "list" | "watch") if self.selects_itself() => allow(),
            ("", "list" | "watch") if !self.asked.name.is_empty() => self.named(|node| node.relates(Kind::Pod)),
            ("", "list" | "watch") => refuse("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => allow(),
            _ => refuse(""),
        }
    }
}
