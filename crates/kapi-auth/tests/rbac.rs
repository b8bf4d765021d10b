//! RBAC as seen on a real kube-apiserver 1.34: decisions, reasons, and refusals of escalation.
#![allow(clippy::unwrap_used)]

mod support;

use kapi_auth::{Attributes, Authorizer as _, RbacResource, RbacWrite, User, check_rbac_write};
use serde_json::{Value, json};
use support::{admin, alice, authorizer, binding, role};

fn pods(verbs: &[&str]) -> Value {
    json!([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}])
}

#[test]
fn decisions_and_reasons() {
    let authorizer = authorizer(&[
        role("ClusterRole", "", "reader", pods(&["get", "list"])),
        role("Role", "one", "writer", pods(&["create"])),
        role("Role", "two", "writer", pods(&["delete"])),
        role("ClusterRole", "", "info", json!([{"nonResourceURLs": ["/healthz", "/livez/*"], "verbs": ["get"]}])),
        binding("", "readers", "ClusterRole:reader", &["User:bob", "Group:devs"]),
        binding("one", "writers", "Role:writer", &["ServiceAccount:bot", "ServiceAccount:other/bot", "User:alice"]),
        binding("two", "local", "ClusterRole:reader", &["User:carol"]),
        binding("", "info", "ClusterRole:info", &["Group:system:unauthenticated", "Group:system:authenticated"]),
        binding("", "accounts", "ClusterRole:reader", &["ServiceAccount:nowhere"]),
        binding("", "gone", "ClusterRole:nope", &["User:dave"]),
        binding("one", "gone", "Role:nope", &["User:dave"]),
        binding("one", "odd", "Sultan:nope", &["User:erin"]),
    ]);
    let user = |name: &str| match name {
        "alice" => alice(),
        "anonymous" => User::anonymous(),
        name => User::new(name, ["system:authenticated"]),
    };
    let rows = [
        (
            "alice",
            "get",
            "one",
            true,
            "RBAC: allowed by ClusterRoleBinding \"readers\" of ClusterRole \"reader\" to Group \"devs\"",
        ),
        (
            "bob",
            "list",
            "",
            true,
            "RBAC: allowed by ClusterRoleBinding \"readers\" of ClusterRole \"reader\" to User \"bob\"",
        ),
        (
            "alice",
            "create",
            "one",
            true,
            "RBAC: allowed by RoleBinding \"writers/one\" of Role \"writer\" to User \"alice\"",
        ),
        ("alice", "create", "two", false, ""),
        ("alice", "create", "", false, ""),
        ("alice", "delete", "two", false, ""),
        (
            "carol",
            "get",
            "two",
            true,
            "RBAC: allowed by RoleBinding \"local/two\" of ClusterRole \"reader\" to User \"carol\"",
        ),
        ("carol", "get", "one", false, ""),
        ("carol", "get", "", false, ""),
        (
            "system:serviceaccount:one:bot",
            "create",
            "one",
            true,
            "RBAC: allowed by RoleBinding \"writers/one\" of Role \"writer\" to ServiceAccount \"bot/one\"",
        ),
        (
            "system:serviceaccount:other:bot",
            "create",
            "one",
            true,
            "RBAC: allowed by RoleBinding \"writers/one\" of Role \"writer\" to ServiceAccount \"bot/other\"",
        ),
        ("system:serviceaccount:two:bot", "create", "one", false, ""),
        // Without a namespace a ClusterRoleBinding names no ServiceAccount at all.
        ("system:serviceaccount::nowhere", "get", "one", false, ""),
        ("dave", "get", "", false, "RBAC: clusterrole.rbac.authorization.k8s.io \"nope\" not found"),
        (
            "dave",
            "get",
            "one",
            false,
            "RBAC: [clusterrole.rbac.authorization.k8s.io \"nope\" not found, role.rbac.authorization.k8s.io \"nope\" not found]",
        ),
        ("erin", "get", "one", false, "RBAC: unsupported role reference kind: \"Sultan\""),
        ("anonymous", "get", "one", false, ""),
    ];
    for (name, verb, namespace, allowed, reason) in rows {
        let user = user(name);
        let decision = authorizer.authorize(&Attributes::resource(&user, verb, "", "pods").named(namespace, ""));
        assert_eq!((decision.is_allowed(), decision.reason(&user).as_str()), (allowed, reason), "{name} {verb}");
    }
    for (name, path, allowed) in
        [("anonymous", "/healthz", true), ("anonymous", "/livez/x", true), ("alice", "/metrics", false)]
    {
        let user = user(name);
        assert_eq!(authorizer.authorize(&Attributes::path(&user, "get", path)).is_allowed(), allowed);
    }
    let admin = admin();
    let decision = authorizer.authorize(&Attributes::resource(&admin, "fly", "x", "y"));
    assert_eq!((decision.is_allowed(), decision.reason(&admin).as_str()), (true, ""));
}

#[test]
fn events_change_the_answers() {
    let authorizer = authorizer(&[]);
    let may =
        || authorizer.authorize(&Attributes::resource(&alice(), "get", "", "pods").named("one", "x")).is_allowed();
    let put = |object: &Value| {
        let field = |name: &str| object["metadata"][name].as_str().unwrap();
        authorizer.rbac.apply_event(object["kind"].as_str().unwrap(), field("namespace"), field("name"), Some(object));
    };
    let reader = role("Role", "one", "reader", pods(&["get"]));
    let steps: &[(&dyn Fn(), bool)] = &[
        (&|| put(&reader), false),
        (&|| put(&binding("one", "b", "Role:reader", &["User:alice", "User:alice"])), true),
        (&|| put(&role("Role", "one", "reader", pods(&["list"]))), false),
        (&|| put(&reader), true),
        (&|| put(&binding("one", "b", "Role:reader", &["User:bob"])), false),
        (&|| put(&binding("one", "b", "Role:reader", &["Group:devs"])), true),
        (&|| authorizer.rbac.apply_event("RoleBinding", "two", "b", None), true),
        (&|| authorizer.rbac.apply_event("RoleBinding", "one", "b", None), false),
        (&|| put(&binding("", "c", "ClusterRole:all", &["User:alice"])), false),
        (&|| put(&role("ClusterRole", "", "all", pods(&["*"]))), true),
        (&|| authorizer.rbac.apply_event("ClusterRole", "", "all", None), false),
        (&|| authorizer.rbac.apply_event("ConfigMap", "one", "x", Some(&json!({}))), false),
    ];
    for (number, (step, expected)) in steps.iter().enumerate() {
        step();
        assert_eq!(may(), *expected, "step {number}");
    }
}

/// alice as set up on the real server: she may write all RBAC kinds, and holds a few rights of her own.
fn rbac_world(more: &[Value]) -> kapi_auth::ClusterAuthorizer {
    let held = json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
            "verbs": ["create", "update", "patch", "get", "delete"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["*"]},
        {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]},
    ]);
    let all =
        json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]);
    let mut objects = vec![
        role("ClusterRole", "", "held", held),
        binding("", "held", "ClusterRole:held", &["User:alice"]),
        role("ClusterRole", "", "cluster-admin", all),
        role("ClusterRole", "", "empty", json!([])),
        role("Role", "one", "r1", pods(&["get", "list"])),
    ];
    objects.extend_from_slice(more);
    authorizer(&objects)
}

fn refusal(more: &[Value], resource: &str, object: &Value, old: Option<&Value>, user: &User) -> (u16, String) {
    let world = rbac_world(more);
    let write = RbacWrite {
        user,
        resource: RbacResource::from_plural(resource).unwrap(),
        namespace: if resource.starts_with("cluster") { "" } else { "one" },
        request_name: old.map_or("", |o| o["metadata"]["name"].as_str().unwrap()),
        object,
        old,
    };
    match check_rbac_write(&write, &world, world.rbac.as_ref()) {
        Ok(()) => (200, String::new()),
        Err(error) => (error.code, error.message),
    }
}

const HELD_NOT: &str = "user \"alice\" (groups=[\"devs\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n";

#[test]
fn roles_grant_only_what_is_held() {
    let dangling = [
        binding("one", "dang", "Role:nope", &["User:alice"]),
        binding("", "dang", "ClusterRole:nope", &["Group:devs"]),
    ];
    let rows: Vec<(&[Value], &str, Value, &str)> = vec![
        (&[], "roles", pods(&["get", "list"]), ""),
        (
            &[],
            "roles",
            json!([{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list", "watch"]}]),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\" \"watch\"]}",
        ),
        (
            &dangling,
            "roles",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
            "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}; resolution errors: [roles.rbac.authorization.k8s.io \"nope\" not found]",
        ),
        (
            &dangling,
            "clusterroles",
            json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]),
            "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}; resolution errors: [clusterroles.rbac.authorization.k8s.io \"nope\" not found]",
        ),
        (&[], "roles", json!([{"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get"]}]), ""),
        (&[], "clusterroles", json!([{"nonResourceURLs": ["/logs/x"], "verbs": ["get"]}]), ""),
        (
            &[],
            "clusterroles",
            json!([{"nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get", "post"]}]),
            "{NonResourceURLs:[\"/logs/*\"], Verbs:[\"post\"]}\n{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}\n{NonResourceURLs:[\"/metrics\"], Verbs:[\"post\"]}",
        ),
    ];
    for (more, resource, rules, expected) in rows {
        let object = json!({"metadata": {"name": "new"}, "rules": rules});
        let expected = match expected {
            "" => (200, String::new()),
            missing => (403, format!("{resource}.rbac.authorization.k8s.io \"new\" is forbidden: {HELD_NOT}{missing}")),
        };
        assert_eq!(refusal(more, resource, &object, None, &alice()), expected);
        assert_eq!(refusal(more, resource, &object, None, &admin()).0, 200);
    }
}

#[test]
fn escalate_aggregation_and_collection() {
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let grant = |verb: &str, resource: &str, names: Value| {
        let rules = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": [resource], "verbs": [verb], "resourceNames": names}]);
        [role("ClusterRole", "", "g", rules), binding("one", "g", "ClusterRole:g", &["User:alice"])]
    };
    let new = json!({"metadata": {"name": "r7"}, "rules": everything});
    let old = json!({"metadata": {"name": "r7"}, "rules": pods(&["get"])});
    let with_finalizer = json!({"metadata": {"name": "r7", "finalizers": ["a/b"]}, "rules": everything});
    let labelled = json!({"metadata": {"name": "r7", "labels": {"a": "b"}}, "rules": everything});
    assert_eq!(refusal(&grant("escalate", "roles", json!([])), "roles", &new, None, &alice()).0, 200);
    // A create has no name in its path, so a right limited to names does not help it; it does help an update.
    assert_eq!(refusal(&grant("escalate", "roles", json!(["r7"])), "roles", &new, None, &alice()).0, 403);
    assert_eq!(refusal(&grant("escalate", "roles", json!(["r7"])), "roles", &new, Some(&old), &alice()).0, 200);
    assert_eq!(refusal(&grant("escalate", "clusterroles", json!([])), "roles", &new, None, &alice()).0, 403);
    assert_eq!(refusal(&[], "roles", &new, Some(&old), &alice()).0, 403);
    assert_eq!(refusal(&[], "roles", &with_finalizer, Some(&new), &alice()).0, 200);
    assert_eq!(refusal(&[], "roles", &labelled, Some(&new), &alice()).0, 403);
    let aggregated = json!({"metadata": {"name": "au-agg"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}});
    let refused = "clusterroles.rbac.authorization.k8s.io \"au-agg\" is forbidden: must have cluster-admin privileges to use the aggregationRule";
    assert_eq!(refusal(&[], "clusterroles", &aggregated, None, &alice()), (403, refused.to_owned()));
    let many: Vec<_> = (0..200).map(|n| n.to_string()).collect();
    let bomb = json!({"metadata": {"name": "x"}, "rules": [{"apiGroups": many, "resources": many, "verbs": many}]});
    assert_eq!(refusal(&[], "roles", &bomb, None, &alice()).0, 400);
    let plain = json!({"metadata": {"name": "au-agg"}});
    assert_eq!(refusal(&[], "clusterroles", &plain, Some(&aggregated), &alice()), (403, refused.to_owned()));
    let root = [binding("", "root", "ClusterRole:cluster-admin", &["User:alice"])];
    assert_eq!(refusal(&root, "clusterroles", &aggregated, None, &alice()).0, 200);
}

#[test]
fn bindings_grant_only_what_is_held() {
    let bind = |name: &str| {
        let rules = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": [name]}]);
        vec![role("ClusterRole", "", "g", rules), binding("one", "g", "ClusterRole:g", &["User:alice"])]
    };
    let admin_missing =
        "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}";
    let forbidden = |resource: &str| {
        format!("{resource}.rbac.authorization.k8s.io \"new\" is forbidden: {HELD_NOT}{admin_missing}")
    };
    let not_found = |resource: &str| format!("{resource}.rbac.authorization.k8s.io \"missing\" not found");
    let rows = [
        (vec![], "rolebindings", "ClusterRole", "empty", 200, String::new()),
        (vec![], "rolebindings", "ClusterRole", "held", 200, String::new()),
        (vec![], "rolebindings", "Role", "r1", 200, String::new()),
        (vec![], "rolebindings", "Role", "missing", 404, not_found("rolebindings")),
        (vec![], "rolebindings", "ClusterRole", "missing", 404, not_found("rolebindings")),
        (vec![], "clusterrolebindings", "ClusterRole", "missing", 404, not_found("clusterrolebindings")),
        (vec![], "clusterrolebindings", "Role", "x", 400, "Namespace parameter required.".to_owned()),
        (vec![], "clusterrolebindings", "ClusterRole", "cluster-admin", 403, forbidden("clusterrolebindings")),
        (vec![], "rolebindings", "ClusterRole", "cluster-admin", 403, forbidden("rolebindings")),
        (bind("cluster-admin"), "rolebindings", "ClusterRole", "cluster-admin", 200, String::new()),
        (bind("other"), "rolebindings", "ClusterRole", "cluster-admin", 403, forbidden("rolebindings")),
        // The right to bind in one namespace says nothing about the whole cluster.
        (
            bind("cluster-admin"),
            "clusterrolebindings",
            "ClusterRole",
            "cluster-admin",
            403,
            forbidden("clusterrolebindings"),
        ),
    ];
    for (more, resource, kind, name, code, message) in rows {
        let object = json!({"metadata": {"name": "new"}, "subjects": [],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}});
        assert_eq!(refusal(&more, resource, &object, None, &alice()), (code, message), "{resource} {kind} {name}");
    }
}
