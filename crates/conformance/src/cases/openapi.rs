//! OpenAPI documents.

use serde_json::json;

use super::{establish, spec_schema, widget_crd};
use crate::case::Area;

const V2: &str = "/openapi/v2";

pub(super) fn cases(area: &mut Area) {
    area.case("the v3 index", |c| {
        c.get("/openapi/v3").head_only();
        c.get("/openapi/v3/api/v1").only(&["/openapi", "/paths/~1api~1v1~1namespaces~1{namespace}~1configmaps~1{name}/get/operationId",
            "/paths/~1api~1v1~1namespaces~1{namespace}~1configmaps~1{name}/patch/x-kubernetes-action",
            "/paths/~1api~1v1~1namespaces~1{namespace}~1configmaps~1{name}/patch/x-kubernetes-group-version-kind"]);
        c.get("/openapi/v3/apis/none.example.com/v1");
    });
    area.case("v3 schemas of built-in kinds", |c| {
        c.get("/openapi/v3/api/v1").only(&["/components/schemas/io.k8s.api.core.v1.ConfigMap/x-kubernetes-group-version-kind",
            "/components/schemas/io.k8s.api.core.v1.ConfigMap/properties/data/type", "/components/schemas/io.k8s.api.core.v1.ServicePort/required",
            "/components/schemas/io.k8s.api.core.v1.PodSpec/properties/containers/x-kubernetes-list-map-keys",
            "/components/schemas/io.k8s.api.core.v1.PodSpec/properties/containers/x-kubernetes-patch-merge-key"]);
        c.get("/openapi/v3/apis/apps/v1").only(&["/components/schemas/io.k8s.api.apps.v1.DeploymentSpec/required",
            "/components/schemas/io.k8s.api.apps.v1.Deployment/x-kubernetes-group-version-kind"]);
    });
    area.case("v3 of a custom resource", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "required": ["a"], "description": "what is wanted", "properties": {
            "a": {"type": "string", "description": "a thing", "enum": ["x"]}, "n": {"type": "integer", "minimum": 1, "default": 2}}}))));
        // The name of a schema turns the group around, so ask for paths only.
        c.get("/openapi/v3/apis/{ns}.example.com/v1").until(200).only(&["/openapi",
            "/paths/~1apis~1{ns}.example.com~1v1~1namespaces~1{namespace}~1widgets/post/x-kubernetes-action"]);
    });
    area.case("v2 for old clients", |c| {
        c.get(V2).only(&["/swagger", "/definitions/io.k8s.api.core.v1.ConfigMap/x-kubernetes-group-version-kind",
            "/definitions/io.k8s.api.apps.v1.Deployment/type", "/definitions/io.k8s.api.core.v1.PodSpec/properties/containers/x-kubernetes-patch-strategy"]);
    });
    area.case("media types", |c| {
        c.get("/openapi/v3/apis/apps/v1").accept("text/plain").head_only();
        c.get("/openapi/v3").accept("*/*").head_only();
        c.get("/openapi/v3").accept("application/yaml").head_only();
    });
}
