//! Things every cluster does by itself: furnish namespaces, admit nodes, bind volumes, count quotas, sign certificates.

use anyhow::ensure;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use super::collection;
use crate::programs::api::Api;
use crate::programs::kubelet::NODE;

/// The default ServiceAccount and the CA's certificate.
pub(super) async fn namespace_is_furnished(api: &mut Api, ca: &str) -> anyhow::Result<()> {
    api.until(&collection("api/v1", "serviceaccounts/default"), Value::is_object).await?;
    let published = api.until(&collection("api/v1", "configmaps/kube-root-ca.crt"), Value::is_object).await?;
    ensure!(published["data"]["ca.crt"] == ca, "{published}");
    Ok(())
}

/// A node is born with a taint that goes when it is ready.
pub(super) async fn node_is_freed_of_taints(api: &mut Api) -> anyhow::Result<()> {
    api.until(&format!("/api/v1/nodes/{NODE}"), |node| node.is_object() && node["spec"]["taints"].is_null()).await?;
    Ok(())
}

/// A claim finds the volume that fits.
pub(super) async fn volume_is_bound(api: &mut Api) -> anyhow::Result<()> {
    let volume = json!({
        "metadata": {"name": "disk"},
        "spec": {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"}},
    });
    api.create("/api/v1/persistentvolumes", &volume).await?;
    // A claim that comes before that waits for the controller's next round.
    api.until("/api/v1/persistentvolumes/disk", |volume| volume["status"]["phase"] == "Available").await?;
    let claim = json!({
        "metadata": {"name": "disk"},
        "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}},
    });
    api.create(&collection("api/v1", "persistentvolumeclaims"), &claim).await?;
    let bound = |claim: &Value| claim["status"]["phase"] == "Bound" && claim["spec"]["volumeName"] == "disk";
    api.until(&collection("api/v1", "persistentvolumeclaims/disk"), bound).await?;
    Ok(())
}

/// What is there already is counted.
pub(super) async fn quota_is_counted(api: &mut Api) -> anyhow::Result<()> {
    let quota = json!({"metadata": {"name": "limits"}, "spec": {"hard": {"services": "5"}}});
    api.create(&collection("api/v1", "resourcequotas"), &quota).await?;
    let counted = |quota: &Value| quota["status"]["used"]["services"] == "1";
    api.until(&collection("api/v1", "resourcequotas/limits"), counted).await?;
    Ok(())
}

/// A labelled ClusterRole becomes part of `view`.
pub(super) async fn roles_are_aggregated(api: &mut Api) -> anyhow::Result<()> {
    let rule = json!({"apiGroups": ["shop.example.com"], "resources": ["bells"], "verbs": ["get"]});
    let labels = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    let role = json!({"metadata": {"name": "see-bells", "labels": labels}, "rules": [rule]});
    api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await?;
    let joined = |view: &Value| view["rules"].as_array().is_some_and(|rules| rules.contains(&rule));
    api.until("/apis/rbac.authorization.k8s.io/v1/clusterroles/view", joined).await?;
    Ok(())
}

/// The manager approves and signs a kubelet's request, and signs others when an administrator approved them.
pub(super) async fn requests_are_signed(api: &mut Api) -> anyhow::Result<()> {
    const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";
    const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
    let all = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    api.create(all, &request("kubelet", KUBELET, "system:nodes", &format!("system:node:{NODE}"))?).await?;
    let mut made = api.create(all, &request("alice", CLIENT, "devs", "alice")?).await?;
    made["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "Suite", "message": "yes"}]);
    api.replace(&format!("{all}/alice/approval"), &made).await?;
    for name in ["kubelet", "alice"] {
        let signed = api.until(&format!("{all}/{name}"), |csr| csr["status"]["certificate"].is_string()).await?;
        let certificate = BASE64_STANDARD.decode(signed["status"]["certificate"].as_str().unwrap_or_default())?;
        ensure!(certificate.starts_with(b"-----BEGIN CERTIFICATE-----"), "{signed}");
    }
    Ok(())
}

fn request(name: &str, signer: &str, group: &str, user: &str) -> anyhow::Result<Value> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, group);
    params.distinguished_name.push(DnType::CommonName, user);
    let request = params.serialize_request(&KeyPair::generate()?)?.pem()?;
    Ok(json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "request": BASE64_STANDARD.encode(request),
            "signerName": signer,
            "usages": ["digital signature", "client auth"],
        },
    }))
}
