//! Who is asking.

use serde_json::json;

use crate::case::{Area, CertificateKind};

const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

pub(super) fn cases(area: &mut Area) {
    let who = || json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    area.case("nobody", |c| {
        c.get("/api/v1/namespaces").anonymous();
        c.get("/api").anonymous();
        c.get("/version").anonymous().head_only();
        c.get("/healthz").anonymous();
        c.get("/livez").anonymous();
        c.get("/readyz").anonymous();
        c.get("/metrics").anonymous();
        c.post(WHO, who()).anonymous();
    });
    area.case("bad tokens", |c| {
        c.get("/api").anonymous().header("Authorization", "Bearer nonsense");
        c.get("/healthz").anonymous().header("Authorization", "Bearer nonsense");
        c.get("/api").anonymous().header("Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ.");
        c.get("/api").anonymous().header("Authorization", "Bearer ");
        c.get("/api").anonymous().header("Authorization", "Basic YWRtaW46YWRtaW4=");
        c.get("/api").anonymous().header("Authorization", "nonsense");
    });
    area.case("client certificates", |c| {
        c.post(WHO, who()).certificate(CertificateKind::Valid);
        c.get("v1 pods").certificate(CertificateKind::Valid);
        c.post(WHO, who()).user("admin");
        c.post(WHO, who()).user("alice");
    });
    area.case("an expired certificate", |c| {
        c.get("/api").certificate(CertificateKind::Expired);
    });
    area.case("a certificate of an unknown authority", |c| {
        c.get("/api").certificate(CertificateKind::Foreign);
    });
    area.case("a server's certificate", |c| {
        c.get("/api").certificate(CertificateKind::ServerUsage);
    });
    area.case("a certificate wins over a bad token", |c| {
        c.post(WHO, who()).certificate(CertificateKind::Valid).header("Authorization", "Bearer nonsense").only(&["/status/userInfo/username", "/message"]);
    });
    area.case("bootstrap tokens", |c| {
        let secret = |id: &str, extra: serde_json::Value| {
            let mut data = json!({"token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:conformance"});
            if let (Some(data), Some(extra)) = (data.as_object_mut(), extra.as_object()) {
                data.extend(extra.clone());
            }
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("bootstrap-token-{id}")}, "type": "bootstrap.kubernetes.io/token", "stringData": data})
        };
        let path = "/api/v1/namespaces/kube-system/secrets";
        // Left over when the case ran on this server before.
        for id in ["cnfrm1", "cnfrm2", "cnfrm3"] {
            c.delete(&format!("{path}/bootstrap-token-{id}")).attempt();
        }
        c.post(path, secret("cnfrm1", json!({}))).quiet();
        c.post(path, secret("cnfrm2", json!({"expiration": "2020-01-01T00:00:00Z"}))).quiet();
        c.post(path, secret("cnfrm3", json!({"usage-bootstrap-authentication": "false"}))).quiet();
        c.post(WHO, who()).anonymous().header("Authorization", "Bearer cnfrm1.0123456789abcdef").until(201);
        c.get("/api").anonymous().header("Authorization", "Bearer cnfrm1.fedcba9876543210");
        c.get("/api").anonymous().header("Authorization", "Bearer cnfrm2.0123456789abcdef");
        c.get("/api").anonymous().header("Authorization", "Bearer cnfrm3.0123456789abcdef");
        c.delete(&format!("{path}/bootstrap-token-cnfrm1")).quiet();
        c.get("/api").anonymous().header("Authorization", "Bearer cnfrm1.0123456789abcdef").until(401);
    });
    area.case("a token review of garbage", |c| {
        c.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "garbage"}}));
        c.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}}));
    });
}
