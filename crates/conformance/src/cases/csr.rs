//! Certificate signing requests, as far as the API server itself handles them.

use serde_json::{Value, json};

use crate::case::Area;

const CSRS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const ONE: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests/{ns}-c";
/// A request for CN=alice, O=devs.
pub(super) const CLIENT: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0JBZ0VBTUI4eERqQU1CZ05WQkFNTUJXRnNhV05sTVEwd0N3WURWUVFLREFSa1pYWnpNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFQUE1b0s5M2NqN1BwSGFjUWZITjNPc0JOQWFJSW1PczlvVFpzCnAwYnlPNVlTKzgxRE8wZGFQb1hpVkJxNmdEOUZKdmE3ZnM4cXNET0dLMUpWc21QWFpLQUFNQW9HQ0NxR1NNNDkKQkFNQ0EwY0FNRVFDSUI3d1VXTzlwem1rL1Q2SXNucEZEZlVnazBiajNFVG9mSHY4bUkvL2lOaktBaUFyOXdhawpHU1E3YkV2N0g0REpZQzd5TmtyNytKajg4UThpN0ZyQmh3N2JZQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";
/// A request for CN=system:node:n1, O=system:nodes.
pub(super) const NODE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIcU1JR1NBZ0VBTURBeEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVYTUJVR0ExVUVBd3dPYzNsegpkR1Z0T201dlpHVTZiakV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVFBRG1ncjNkeVBzK2tkCnB4QjhjM2M2d0UwQm9naVk2ejJoTm15blJ2STdsaEw3elVNN1IxbytoZUpVR3JxQVAwVW05cnQrenlxd000WXIKVWxXeVk5ZGtvQUF3Q2dZSUtvWkl6ajBFQXdJRFJ3QXdSQUlnY01MK0FzYmRybk85TTZBOWpXWjRVcVN0aGRmRwpXc2pOOWRwR2hZK3dZOU1DSUE1OS9LOHNGSUkrVklBdTlPVGZEQk1pNC9rL3V1ZFl2c1F4cnhhUXdhaXkKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

fn request(signer: &str, pem: &str, usages: Value) -> Value {
    json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-c"},
        "spec": {"request": pem, "signerName": signer, "usages": usages}})
}

fn condition(kind: &str) -> Value {
    json!([{"type": kind, "status": "True", "reason": "Because", "message": "said so"}])
}

pub(super) fn cases(area: &mut Area) {
    area.case("carries who asked", |c| {
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["client auth"]))).user("admin");
        c.get(ONE).table();
    });
    area.case("who asked cannot be forged", |c| {
        let mut body = request("example.com/signer", CLIENT, json!(["client auth"]));
        body["spec"]["username"] = json!("root");
        body["spec"]["groups"] = json!(["system:masters"]);
        c.post(CSRS, body).as_user("{ns}-u").header("Impersonate-Group", "system:masters").only(&["/spec/username", "/spec/groups", "/message"]);
    });
    area.case("approval", |c| {
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["client auth"]))).quiet();
        c.merge(ONE, json!({"status": {"conditions": condition("Approved")}})).only(&["/status"]);
        c.merge(&format!("{ONE}/approval"), json!({"status": {"conditions": condition("Approved")}}));
        c.merge(&format!("{ONE}/approval"), json!({"status": {"conditions": condition("Denied")}}));
        c.get(ONE).table().only(&["/rows/0/cells"]);
    });
    area.case("denial", |c| {
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["client auth"]))).quiet();
        c.merge(&format!("{ONE}/approval"), json!({"status": {"conditions": condition("Denied")}})).only(&["/status"]);
        c.merge(&format!("{ONE}/approval"), json!({"status": {"conditions": [
            {"type": "Denied", "status": "True"}, {"type": "Approved", "status": "True"}]}}));
    });
    area.case("a certificate through status", |c| {
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["client auth"]))).quiet();
        c.merge(&format!("{ONE}/status"), json!({"status": {"certificate": "bm90IHBlbQ=="}}));
        c.merge(&format!("{ONE}/status"), json!({"status": {"conditions": condition("Approved")}}));
        c.merge(&format!("{ONE}/status"), json!({"status": {"conditions": condition("Failed")}})).only(&["/status"]);
    });
    area.case("invalid requests", |c| {
        c.post(CSRS, request("example.com/signer", "bm90IHBlbQ==", json!(["client auth"])));
        c.post(CSRS, request("nosigner", CLIENT, json!(["client auth"])));
        c.post(CSRS, request("kubernetes.io/legacy-unknown", CLIENT, json!(["client auth"])));
        c.post(CSRS, request("example.com/signer", CLIENT, json!([])));
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["world domination"])));
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["client auth", "client auth"])));
        let mut short = request("example.com/signer", CLIENT, json!(["client auth"]));
        short["spec"]["expirationSeconds"] = json!(5);
        c.post(CSRS, short);
    });
    area.case("the spec is immutable", |c| {
        c.post(CSRS, request("example.com/signer", CLIENT, json!(["client auth"]))).quiet();
        c.merge(ONE, json!({"spec": {"signerName": "example.com/other"}})).only(&["/spec/signerName", "/message"]);
    });
    area.case("system:masters is not to be had", |c| {
        c.post(CSRS, request("kubernetes.io/kube-apiserver-client", CLIENT, json!(["client auth"]))).only(&["/spec/signerName"]);
    });
    area.case("approving needs the right on the signer", |c| {
        let user = "{ns}-u";
        c.post(CSRS, request("kubernetes.io/kube-apiserver-client-kubelet", NODE, json!(["client auth", "digital signature"]))).quiet();
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "{ns}-r"},
            "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests", "certificatesigningrequests/approval"], "verbs": ["*"]}]})).quiet();
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "{ns}-r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{ns}-r"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})).quiet();
        c.get(ONE).as_user(user).until(200).quiet();
        c.merge(&format!("{ONE}/approval"), json!({"status": {"conditions": condition("Approved")}})).as_user(user);
    });
}
