//! Label and field selectors.

use serde_json::json;

use super::{WIDGETS, config_map, establish, labelled, open_schema, pod, widget, widget_crd};
use crate::case::{Area, Steps};

fn zoo(c: &mut Steps) {
    for (name, labels) in [
        ("ant", json!({"legs": "6", "wild": "true"})),
        ("bee", json!({"legs": "6", "wings": "4"})),
        ("cat", json!({"legs": "4", "wild": "false"})),
        ("dog", json!({"legs": "4"})),
        ("eel", json!({})),
    ] {
        c.post("v1 configmaps", labelled(name, labels)).quiet();
    }
}

fn names(c: &mut Steps, selector: &str) {
    c.get(&format!("v1 configmaps?labelSelector={selector}"))
        .accept("application/json;as=Table;v=v1;g=meta.k8s.io")
        .only(&["/rows/0/cells/0", "/rows/1/cells/0", "/rows/2/cells/0", "/rows/3/cells/0", "/rows/4/cells/0", "/message"]);
}

pub(super) fn cases(area: &mut Area) {
    area.case("labels by equality", |c| {
        zoo(c);
        for selector in ["legs=4", "legs%3D%3D4", "legs!=4", "legs=4,wild=false", "wild=", "legs=5", ""] {
            names(c, selector);
        }
    });
    area.case("labels by sets", |c| {
        zoo(c);
        for selector in ["legs in (4,6)", "legs notin (4)", "wings", "!wings", "legs in (6),!wild", "wild in (true, false)", "legs in ()"] {
            names(c, selector);
        }
    });
    area.case("labels by numbers", |c| {
        zoo(c);
        for selector in ["legs>4", "legs<6", "wild>1", "legs>x"] {
            names(c, selector);
        }
    });
    area.case("bad label selectors", |c| {
        for selector in [
            "a=b=c", "a in b", "a in (b", "=x", "a b", "a in (b,c),", "!a=b", "UPPER/lower/x=1", "-a=b", "a=-b", "a=b c",
            "a=%zz",
        ] {
            c.get(&format!("v1 configmaps?labelSelector={selector}"));
        }
    });
    area.case("a label value too long", |c| {
        c.get(&format!("v1 configmaps?labelSelector=a={}", "x".repeat(64)));
        c.post("v1 configmaps", labelled("a", json!({"a": "x".repeat(64)})));
        c.post("v1 configmaps", labelled("a", json!({"a/b/c": "x", "ok": "-bad-"}))).any_error_order();
    });
    area.case("fields that all kinds have", |c| {
        zoo(c);
        for selector in ["metadata.name=cat", "metadata.name!=cat", "metadata.namespace={ns}", "metadata.namespace=other",
            "metadata.name=cat,metadata.namespace={ns}", "metadata.name==cat"] {
            c.get(&format!("v1 configmaps?fieldSelector={selector}")).table()
                .only(&["/rows/0/cells/0", "/rows/1/cells/0", "/rows/2/cells/0", "/rows/3/cells/0", "/rows/4/cells/0", "/message"]);
        }
    });
    area.case("fields of pods", |c| {
        let mut placed = pod("placed");
        placed["spec"]["nodeName"] = json!("n9");
        c.post("v1 pods", pod("free")).quiet();
        c.post("v1 pods", placed).quiet();
        for selector in ["spec.nodeName=n9", "spec.nodeName=", "status.phase=Pending", "status.phase!=Pending",
            "spec.restartPolicy=Always", "spec.schedulerName=default-scheduler", "spec.serviceAccountName=default",
            "spec.hostNetwork=false", "status.podIP=", "status.nominatedNodeName=", "spec.containers=x"] {
            c.get(&format!("v1 pods?fieldSelector={selector}"))
                .only(&["/items/0/metadata/name", "/items/1/metadata/name", "/message"]);
        }
    });
    area.case("fields of other kinds", |c| {
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "example.com/x"})).quiet();
        c.get("v1 secrets?fieldSelector=type=example.com/x").only(&["/items/0/metadata/name"]);
        c.get("v1 secrets?fieldSelector=type=Opaque").only(&["/items/0/metadata/name"]);
        c.get("/api/v1/namespaces?fieldSelector=metadata.name={ns},status.phase=Active").only(&["/items/0/metadata/name"]);
        c.get("/api/v1/nodes?fieldSelector=spec.unschedulable=true").head_only();
        c.get("v1 events?fieldSelector=involvedObject.kind=Pod,reason=X,type=Normal,involvedObject.name=a").head_only();
        c.get("apps/v1 replicasets?fieldSelector=status.replicas=0").head_only();
        c.get("batch/v1 jobs?fieldSelector=status.successful=0").head_only();
        c.get("/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=spec.signerName=x").head_only();
        c.get("v1 replicationcontrollers?fieldSelector=status.replicas=0").head_only();
        c.get("apps/v1 deployments?fieldSelector=status.replicas=0");
        c.get("v1 services?fieldSelector=spec.type=ClusterIP").head_only();
        c.get("v1 services?fieldSelector=spec.clusterIP=None").head_only();
    });
    area.case("bad field selectors", |c| {
        for selector in ["metadata.labels=x", "a", "metadata.name>a", "metadata.name=a=b", "=", "metadata.name in (a)"] {
            c.get(&format!("v1 configmaps?fieldSelector={selector}"));
        }
    });
    area.case("a name selector must agree with the path", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.watch("w", "v1 configmaps/a?watch=true&fieldSelector=metadata.name=b");
        c.get("v1 configmaps/a?fieldSelector=metadata.name=b").only(&["/metadata/name", "/message"]);
    });
    area.case("selectable fields of a custom resource", |c| {
        let mut crd = widget_crd(json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "color": {"type": "string"}, "size": {"type": "integer"}, "on": {"type": "boolean"}}}}}));
        crd["spec"]["versions"][0]["selectableFields"] =
            json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.on"}]);
        establish(c, crd);
        c.post(WIDGETS, widget("a", json!({"color": "red", "size": 1, "on": true}))).quiet();
        c.post(WIDGETS, widget("b", json!({"color": "blue", "size": 2}))).quiet();
        for selector in ["spec.color=red", "spec.color!=red", "spec.size=2", "spec.on=true", "spec.on=", "spec.color=red,spec.size=1",
            "spec.shape=x", "metadata.name=b"] {
            c.get(&format!("{WIDGETS}?fieldSelector={selector}"))
                .only(&["/items/0/metadata/name", "/items/1/metadata/name", "/message"]);
        }
    });
    area.case("labels of a custom resource", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "labels": {"x": "y"}}})).quiet();
        c.get(&format!("{WIDGETS}?labelSelector=x in (y)")).only(&["/items/0/metadata/name", "/kind"]);
        c.get(&format!("{WIDGETS}?fieldSelector=spec.x=1"));
    });
}
