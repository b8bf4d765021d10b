//! What a kubelet may do, with the refusals a real kube-apiserver 1.34 gave to one.
#![allow(clippy::unwrap_used)]

mod support;

use base64::Engine as _;
use kapi_auth::{Attributes, Authorizer as _, ClusterAuthorizer, NodeWrite, Operation, User, forbidden, restrict_node};
use serde_json::{Value, json};
use support::{Objects, admin, authorizer, object};

fn node() -> User {
    User::new("system:node:n1", ["system:nodes", "system:authenticated"])
}

fn pod(name: &str, uid: &str, node: &str) -> Value {
    json!({"metadata": {"namespace": "one", "name": name, "uid": uid}, "spec": {
        "nodeName": node, "serviceAccountName": "bot", "imagePullSecrets": [{"name": "used"}],
        "volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}]}})
}

fn world() -> ClusterAuthorizer {
    let authorizer = authorizer(&[]);
    authorizer.nodes.apply_event("Pod", "one", "np", Some(&pod("np", "u-np", "n1")));
    let volume = json!({"spec": {"claimRef": {"namespace": "one", "name": "claim"}}});
    authorizer.nodes.apply_event("PersistentVolume", "", "pv", Some(&volume));
    authorizer.nodes.apply_event("VolumeAttachment", "", "va", Some(&json!({"spec": {"nodeName": "n1"}})));
    authorizer.nodes.apply_event("ResourceSlice", "", "slice", Some(&json!({"spec": {"nodeName": "n1"}})));
    authorizer
}

#[test]
fn kubelets_read_what_their_pods_need() {
    let unrelated = "no relationship found between node 'n1' and this object";
    let lease = "coordination.k8s.io/leases";
    // verb, group/resource/subresource, namespace, name, field selector, refusal ("" for allowed)
    let rows = [
        ("get", "/secrets", "one", "used", "", ""),
        ("list", "/secrets", "one", "used", "", ""),
        ("get", "/secrets", "one", "unused", "", unrelated),
        ("list", "/secrets", "one", "", "", "No Object name found"),
        ("list", "/secrets", "", "", "", "can only read namespaced object of this type"),
        ("delete", "/secrets", "one", "used", "", "can only read resources of this type"),
        ("get", "/secrets/x", "one", "used", "", "cannot read subresource"),
        ("get", "/configmaps", "one", "x", "", unrelated),
        ("get", "/persistentvolumeclaims", "one", "claim", "", ""),
        ("get", "/persistentvolumeclaims", "one", "x", "", unrelated),
        ("list", "/persistentvolumeclaims", "one", "", "", "can only get individual resources of this type"),
        ("get", "/persistentvolumeclaims/status", "one", "claim", "", "can only get/update/patch this type"),
        ("update", "/persistentvolumeclaims/status", "one", "claim", "", ""),
        ("get", "/persistentvolumes", "", "pv", "", ""),
        ("get", "/persistentvolumes", "", "other", "", unrelated),
        ("get", "/persistentvolumes/x", "", "pv", "", "cannot get subresource"),
        ("get", "/serviceaccounts", "one", "bot", "", ""),
        ("get", "/serviceaccounts", "one", "default", "", unrelated),
        ("list", "/serviceaccounts", "one", "", "", "can only create tokens for individual service accounts"),
        ("create", "/serviceaccounts/token", "one", "bot", "", ""),
        ("create", "/serviceaccounts/token", "one", "default", "", unrelated),
        ("create", "/serviceaccounts/x", "one", "bot", "", "can only create token subresource of serviceaccount"),
        ("get", lease, "kube-node-lease", "n1", "", ""),
        ("create", lease, "kube-node-lease", "", "", ""),
        (
            "get",
            lease,
            "kube-node-lease",
            "n2",
            "",
            "can only access node lease with the same name as the requesting node",
        ),
        ("list", lease, "kube-node-lease", "", "", "can only get, create, update, patch, or delete a node lease"),
        ("get", lease, "one", "n1", "", "can only access leases in the \"kube-node-lease\" system namespace"),
        ("get", "storage.k8s.io/csinodes", "", "n1", "", ""),
        (
            "get",
            "storage.k8s.io/csinodes",
            "",
            "n2",
            "",
            "can only access CSINode with the same name as the requesting node",
        ),
        ("list", "storage.k8s.io/csinodes", "", "", "", "can only get, create, update, patch, or delete a CSINode"),
        ("get", "storage.k8s.io/csinodes/x", "", "n1", "", "cannot authorize CSINode subresources"),
        ("get", "storage.k8s.io/volumeattachments", "", "va", "", ""),
        ("list", "storage.k8s.io/volumeattachments", "", "", "", "can only get individual resources of this type"),
        ("get", "/nodes", "", "n1", "", ""),
        ("list", "/nodes", "", "", "", "node 'n1' cannot read all nodes, only its own Node object"),
        ("get", "/nodes", "", "n2", "", "node 'n1' cannot read 'n2', only its own Node object"),
        ("create", "/nodes", "", "", "", ""),
        ("patch", "/nodes/status", "", "n1", "", ""),
        ("delete", "/nodes", "", "n1", "", "-"),
        ("list", "/pods", "", "", "spec.nodeName=n1", ""),
        ("watch", "/pods", "", "", "spec.nodeName=n1,status.phase!=Failed", ""),
        ("list", "/pods", "", "", "spec.nodeName=n2", "can only list/watch pods with spec.nodeName field selector"),
        ("list", "/pods", "", "", "spec.nodeName!=n1", "can only list/watch pods with spec.nodeName field selector"),
        ("list", "/pods", "", "", "", "can only list/watch pods with spec.nodeName field selector"),
        ("list", "/pods", "one", "np", "metadata.name=np", ""),
        ("get", "/pods", "one", "np", "", ""),
        ("get", "/pods", "one", "q", "", unrelated),
        ("get", "/pods/log", "one", "np", "", "-"),
        ("create", "/pods/eviction", "one", "np", "", ""),
        ("update", "/pods", "one", "np", "", "-"),
        ("list", "resource.k8s.io/resourceslices", "", "", "spec.nodeName=n1", ""),
        (
            "list",
            "resource.k8s.io/resourceslices",
            "",
            "",
            "",
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        ("get", "resource.k8s.io/resourceslices", "", "slice", "", ""),
        ("list", "/services", "", "", "", ""),
        ("create", "/events", "one", "", "", ""),
        ("list", "node.k8s.io/runtimeclasses", "", "", "", ""),
        ("list", "apps/deployments", "", "", "", "-"),
        ("list", "/namespaces", "", "", "", "-"),
    ];
    let (world, user) = (world(), node());
    for (verb, path, namespace, name, selector, refusal) in rows {
        let mut parts = path.split('/');
        let (group, resource) = (parts.next().unwrap(), parts.next().unwrap());
        let fields = kapi_schema::fields::Selector::parse(selector).unwrap().terms;
        let asked = Attributes {
            subresource: parts.next().unwrap_or_default(),
            fields: &fields,
            ..Attributes::resource(&user, verb, group, resource).named(namespace, name)
        };
        let decision = world.authorize(&asked);
        let expected = if refusal == "-" { "" } else { refusal };
        assert_eq!(
            (decision.is_allowed(), decision.reason(&user).as_str()),
            (refusal.is_empty(), expected),
            "{verb} {path}"
        );
    }
}

#[test]
fn refusals_carry_the_reason() {
    let (world, user) = (world(), node());
    let asked = Attributes::resource(&user, "get", "", "nodes").named("", "n2");
    let message = forbidden(&asked, &world.authorize(&asked).reason(&user)).message;
    assert_eq!(
        message,
        "nodes \"n2\" is forbidden: User \"system:node:n1\" cannot get resource \"nodes\" in API group \"\" at the cluster scope: node 'n1' cannot read 'n2', only its own Node object"
    );
    let unnamed = User::new("system:node:", ["system:nodes"]);
    let decision = world.authorize(&Attributes::resource(&unnamed, "get", "", "nodes"));
    assert_eq!(decision.reason(&unnamed), "unknown node for user \"system:node:\"");
    let outsider = User::new("system:node:n1", ["devs"]);
    assert!(!world.authorize(&Attributes::resource(&outsider, "get", "", "nodes").named("", "n1")).is_allowed());
}

fn objects() -> Objects {
    Objects::default()
        .with("pods", pod("np", "u-np", "n1"))
        .with("pods", pod("q", "u-q", "n2"))
        .with("nodes", object("", "n1", "u-n1"))
}

struct Row {
    operation: Operation,
    path: &'static str,
    namespace: &'static str,
    name: &'static str,
    object: Value,
    old: Value,
    refusal: &'static str,
}

fn row(
    operation: Operation,
    path: &'static str,
    name: &'static str,
    object: Value,
    old: Value,
    refusal: &'static str,
) -> Row {
    let namespace = if path.contains("leases") { "kube-node-lease" } else { "one" };
    Row { operation, path, namespace, name, object, old, refusal }
}

fn check(rows: Vec<Row>) {
    let (world, objects, user, admin) = (world(), objects(), node(), admin());
    for row in rows {
        let mut parts = row.path.split('/');
        let write = NodeWrite {
            user: &user,
            operation: row.operation,
            group: parts.next().unwrap(),
            resource: parts.next().unwrap(),
            subresource: parts.next().unwrap_or_default(),
            namespace: row.namespace,
            name: row.name,
            object: Some(&row.object),
            old: Some(&row.old),
        };
        let message = restrict_node(&write, &objects, &world).err().map(|e| e.message).unwrap_or_default();
        assert_eq!(message, row.refusal, "{:?} {}", row.operation, row.path);
        assert!(restrict_node(&NodeWrite { user: &admin, ..write }, &objects, &world).is_ok());
    }
}

#[test]
fn nodes_write_only_themselves() {
    use Operation::{Create, Delete, Update};
    let named = |name: &str| json!({"metadata": {"name": name}});
    let labelled = |labels: Value| json!({"metadata": {"name": "n1", "labels": labels}});
    let tainted = json!({"metadata": {"name": "n1"}, "spec": {"taints": [{"key": "a"}]}});
    let slice = |node: &str| json!({"metadata": {"name": "s"}, "spec": {"nodeName": node}});
    check(vec![
        row(Create, "/nodes", "", named("n1"), Value::Null, ""),
        row(
            Create,
            "/nodes",
            "",
            named("n2"),
            Value::Null,
            "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"",
        ),
        row(Create, "/nodes", "", labelled(json!({"kubernetes.io/hostname": "n1", "role": "x"})), Value::Null, ""),
        row(
            Create,
            "/nodes",
            "",
            labelled(json!({"node-role.kubernetes.io/master": ""})),
            Value::Null,
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to set the following labels: node-role.kubernetes.io/master",
        ),
        row(
            Update,
            "/nodes",
            "n1",
            labelled(json!({"node-role.kubernetes.io/x": "b", "k8s.io/y": "z"})),
            labelled(json!({})),
            "nodes \"n1\" is forbidden: is not allowed to modify labels: k8s.io/y, node-role.kubernetes.io/x",
        ),
        row(
            Update,
            "/nodes",
            "n1",
            tainted,
            named("n1"),
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints",
        ),
        row(
            Update,
            "/nodes",
            "n1",
            json!({"metadata": {"name": "n1", "ownerReferences": [{"name": "x"}]}}),
            named("n1"),
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify ownerReferences",
        ),
        row(Create, "coordination.k8s.io/leases", "", named("n1"), Value::Null, ""),
        row(
            Create,
            "coordination.k8s.io/leases",
            "",
            named("n2"),
            Value::Null,
            "leases.coordination.k8s.io \"n2\" is forbidden: can only access node lease with the same name as the requesting node",
        ),
        row(
            Create,
            "storage.k8s.io/csinodes",
            "",
            named("n2"),
            Value::Null,
            "csinodes.storage.k8s.io \"n2\" is forbidden: can only access CSINode with the same name as the requesting node",
        ),
        row(Create, "resource.k8s.io/resourceslices", "", slice("n1"), Value::Null, ""),
        row(
            Delete,
            "resource.k8s.io/resourceslices",
            "s",
            Value::Null,
            slice("n2"),
            "resourceslices.resource.k8s.io \"s\" is forbidden: can only delete ResourceSlice with the same NodeName as the requesting node",
        ),
        row(
            Update,
            "/persistentvolumeclaims",
            "claim",
            json!({}),
            json!({}),
            "persistentvolumeclaims \"claim\" is forbidden: may only update PVC status",
        ),
        row(
            Update,
            "/persistentvolumeclaims/status",
            "claim",
            json!({"status": {"capacity": {"storage": "2Gi"}}}),
            json!({"status": {"capacity": {"storage": "1Gi"}, "conditions": []}}),
            "",
        ),
        row(Create, "apps/deployments", "x", json!({}), Value::Null, ""),
    ]);
}

#[test]
fn nodes_write_only_their_pods() {
    use Operation::{Create, Delete, Update};
    let mirror = |change: &dyn Fn(&mut Value)| {
        let mut pod = json!({"metadata": {"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-n1", "controller": true}]},
            "spec": {"nodeName": "n1", "volumes": [{"hostPath": {"path": "/"}}]}});
        change(&mut pod);
        pod
    };
    let owner = |field: &'static str, value: Value| {
        mirror(&move |pod: &mut Value| pod["metadata"]["ownerReferences"][0][field] = value.clone())
    };
    let create = |object: Value, refusal: &'static str| row(Create, "/pods", "", object, Value::Null, refusal);
    check(vec![
        create(mirror(&|_| ()), ""),
        create(
            mirror(&|pod| pod["metadata"]["annotations"] = Value::Null),
            "pods \"m\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create mirror pods",
        ),
        create(
            mirror(&|pod| pod["spec"]["nodeName"] = "n2".into()),
            "pods \"m\" is forbidden: node \"n1\" can only create pods with spec.nodeName set to itself",
        ),
        create(
            mirror(&|pod| pod["metadata"]["ownerReferences"] = json!([])),
            "pods \"m\" is forbidden: node \"n1\" can only create pods with an owner reference set to itself",
        ),
        create(
            owner("name", "n2".into()),
            "pods \"m\" is forbidden: node \"n1\" can only create pods with an owner reference set to itself",
        ),
        create(owner("uid", "bad".into()), "pods \"m\" is forbidden: node n1 UID mismatch: expected bad got u-n1"),
        create(
            owner("controller", false.into()),
            "pods \"m\" is forbidden: node \"n1\" can only create pods with a controller owner reference set to itself",
        ),
        create(
            owner("blockOwnerDeletion", true.into()),
            "pods \"m\" is forbidden: node \"n1\" must not set blockOwnerDeletion on an owner reference",
        ),
        create(
            mirror(&|pod| pod["spec"]["serviceAccountName"] = "bot".into()),
            "pods \"m\" is forbidden: node \"n1\" can not create pods that reference serviceaccounts",
        ),
        create(
            mirror(&|pod| pod["spec"]["volumes"][0] = json!({"persistentVolumeClaim": {"claimName": "x"}})),
            "pods \"m\" is forbidden: node \"n1\" can not create pods that reference persistentvolumeclaims",
        ),
        create(
            mirror(&|pod| pod["spec"]["volumes"][0] = json!({"projected": {"sources": [{"serviceAccountToken": {}}]}})),
            "pods \"m\" is forbidden: node \"n1\" can not create pods that reference serviceaccounts (via projected volumes)",
        ),
        row(Delete, "/pods", "np", Value::Null, pod("np", "u-np", "n1"), ""),
        row(
            Delete,
            "/pods",
            "q",
            Value::Null,
            Value::Null,
            "pods \"q\" is forbidden: node \"n1\" can only delete pods with spec.nodeName set to itself",
        ),
        row(Delete, "/pods", "gone", Value::Null, Value::Null, "pods \"gone\" not found"),
        row(
            Create,
            "/pods/eviction",
            "q",
            json!({}),
            Value::Null,
            "pods \"q\" is forbidden: node n1 can only evict pods with spec.nodeName set to itself",
        ),
        row(Create, "/pods/eviction", "np", json!({}), Value::Null, ""),
        row(
            Update,
            "/pods/status",
            "q",
            pod("q", "u-q", "n2"),
            pod("q", "u-q", "n2"),
            "pods \"q\" is forbidden: node \"n1\" can only update pod status for pods with spec.nodeName set to itself",
        ),
        row(
            Update,
            "/pods/status",
            "np",
            json!({"metadata": {"labels": {"a": "b"}}}),
            pod("np", "u-np", "n1"),
            "pods \"np\" is forbidden: node \"n1\" cannot update labels through pod status",
        ),
        row(
            Create,
            "/pods/exec",
            "np",
            json!({}),
            Value::Null,
            "pods \"np\" is forbidden: unexpected pod subresource \"exec\", only 'status' and 'eviction' are allowed",
        ),
    ]);
}

#[test]
fn nodes_ask_only_for_tokens_of_their_pods() {
    use Operation::Create;
    let bound = |name: &str, uid: &str, audiences: Value| {
        json!({"spec": {"audiences": audiences,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}}})
    };
    let token = |object: Value, refusal: &'static str| {
        row(Create, "/serviceaccounts/token", "bot", object, Value::Null, refusal)
    };
    let request = base64::engine::general_purpose::STANDARD.encode(include_str!("../../pki/fixtures/p384.csr"));
    let csr = |signer: &str, request: &str| json!({"metadata": {"name": "c"}, "spec": {"signerName": signer, "request": request}});
    check(vec![
        token(bound("np", "u-np", json!([])), ""),
        token(json!({"spec": {}}), "serviceaccounts \"bot\" is forbidden: node requested token not bound to a pod"),
        token(
            bound("np", "", json!([])),
            "serviceaccounts \"bot\" is forbidden: node requested token with a pod binding without a uid",
        ),
        token(
            bound("np", "bad", json!([])),
            "serviceaccounts \"bot\" is forbidden: the UID in the bound object reference (bad) does not match the UID in record. The object might have been deleted and then recreated",
        ),
        token(
            bound("q", "u-q", json!([])),
            "serviceaccounts \"bot\" is forbidden: node requested token bound to a pod scheduled on a different node",
        ),
        token(
            bound("np", "u-np", json!(["x"])),
            "serviceaccounts \"bot\" is forbidden: audience \"x\" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience",
        ),
        token(
            bound("np", "u-np", json!(["x", "y"])),
            "serviceaccounts \"bot\" is forbidden: node may only request 0 or 1 audiences",
        ),
        row(
            Create,
            "certificates.k8s.io/certificatesigningrequests",
            "",
            csr("kubernetes.io/kubelet-serving", &request),
            Value::Null,
            "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: can only create a node CSR with CN=system:node:n1",
        ),
        row(
            Create,
            "certificates.k8s.io/certificatesigningrequests",
            "",
            csr("example.com/mine", "garbage"),
            Value::Null,
            "",
        ),
    ]);
}
