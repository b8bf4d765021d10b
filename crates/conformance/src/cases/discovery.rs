//! What the server says it serves.

use serde_json::json;

use super::{establish, open_schema, widget_crd};
use crate::case::Area;

const AGGREGATED: &str = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList";

/// Group versions whose resource lists both servers must agree on.
const GROUP_VERSIONS: &[(&str, &str)] = &[
    ("resources of apps/v1", "/apis/apps/v1"),
    ("resources of batch/v1", "/apis/batch/v1"),
    ("resources of rbac", "/apis/rbac.authorization.k8s.io/v1"),
    ("resources of coordination", "/apis/coordination.k8s.io/v1"),
    ("resources of storage", "/apis/storage.k8s.io/v1"),
    ("resources of networking", "/apis/networking.k8s.io/v1"),
    ("resources of policy", "/apis/policy/v1"),
    ("resources of discovery", "/apis/discovery.k8s.io/v1"),
    ("resources of certificates", "/apis/certificates.k8s.io/v1"),
    ("resources of admissionregistration", "/apis/admissionregistration.k8s.io/v1"),
    ("resources of apiextensions", "/apis/apiextensions.k8s.io/v1"),
    ("resources of apiregistration", "/apis/apiregistration.k8s.io/v1"),
    ("resources of scheduling", "/apis/scheduling.k8s.io/v1"),
    ("resources of autoscaling/v1", "/apis/autoscaling/v1"),
    ("resources of autoscaling/v2", "/apis/autoscaling/v2"),
    ("resources of node", "/apis/node.k8s.io/v1"),
    ("resources of events", "/apis/events.k8s.io/v1"),
    ("resources of authentication", "/apis/authentication.k8s.io/v1"),
    ("resources of authorization", "/apis/authorization.k8s.io/v1"),
];

pub(super) fn cases(area: &mut Area) {
    for (name, path) in GROUP_VERSIONS {
        area.case(name, |c| {
            c.get(path);
        });
    }
    area.case("resources of core", |c| {
        c.get("/api/v1");
    });
    area.case("versions of core", |c| {
        c.get("/api").only(&["/kind", "/versions"]);
    });
    area.case("groups", |c| {
        c.get("/apis").only(&["/kind", "/apiVersion"]);
        for group in ["apps", "autoscaling", "batch", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "none.example.com"] {
            c.get(&format!("/apis/{group}"));
        }
    });
    area.case("aggregated", |c| {
        c.get("/api").accept(AGGREGATED);
        c.get("/apis").accept(AGGREGATED).only(&["/kind", "/apiVersion", "/items/0/metadata/name"]);
        c.get("/api").accept("application/json;v=v2beta1;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList").only(&["/kind", "/apiVersion"]);
        c.get("/api").accept("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json").only(&["/kind", "/apiVersion"]);
        c.get("/api").accept("application/json;v=v9;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList,application/json").only(&["/kind", "/apiVersion"]);
        c.get("/apis/apps/v1").accept(AGGREGATED).only(&["/kind", "/code"]);
    });
    area.case("of a custom resource", |c| {
        let mut crd = widget_crd(open_schema());
        crd["spec"]["names"]["categories"] = json!(["{ns}-a", "{ns}-b"]);
        establish(c, crd);
        c.get("/apis/{ns}.example.com/v1").until(200);
        c.get("/apis/{ns}.example.com").until(200);
    });
    area.case("unknown versions and paths", |c| {
        c.get("/apis/apps/v9");
        c.get("/nothing");
        c.get("/api/v1/namespaces/{ns}/unknowns");
        c.get("/apis/apps/v1/namespaces/{ns}");
        c.send("OPTIONS", "/api/v1/namespaces", crate::case::Body::None);
        c.send("PUT", "/api/v1/namespaces", crate::case::Body::Json(json!({})));
        c.send("POST", "/api", crate::case::Body::Json(json!({})));
    });
    area.case("the version", |c| {
        c.get("/version").only(&["/major", "/minor", "/gitVersion"]);
    });
    area.case("trailing slashes and doubled ones", |c| {
        c.get("/api/v1/").head_only();
        c.get("/apis/").head_only();
        c.get("/api/v1/namespaces/{ns}/configmaps/").head_only();
        c.get("/api//v1").head_only();
        c.get("//api").head_only();
    });
}
