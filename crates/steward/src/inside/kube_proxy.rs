//! kube-proxy: Services inside the tenant.

use butler_api::steward::tenant_control_plane::ImageOverride;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::kubeadm::yaml;
use super::objects::{SYSTEM, label, namespaced, of_addon};
use super::rbac::{BOOTSTRAPPERS, bound, group, reads, service_account};
use super::{Error, Tenant, joined};

/// Name of the addon in labels.
pub(super) const ADDON: &str = "kube-proxy";
const NAME: &str = "kube-proxy";
const FOLDER: &str = "/var/lib/kube-proxy";
const ACCOUNT_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The tag that runs: the one asked for, or the Kubernetes version.
pub(super) fn tag(tenant: &Tenant, image: &ImageOverride) -> String {
    image.image_tag.clone().unwrap_or_else(|| tenant.version.to_string())
}

pub(super) fn objects(tenant: &Tenant, image: &ImageOverride) -> Result<Vec<DynamicObject>, Error> {
    let mut objects = vec![
        namespaced::<ServiceAccount>(SYSTEM, NAME, json!({})),
        bound("kubeadm:node-proxier", "system:node-proxier", vec![service_account(NAME)]),
    ];
    // `kubeadm join` reads it.
    objects.extend(reads(SYSTEM, NAME, NAME, vec![group(BOOTSTRAPPERS)]));
    objects.push(config_map(tenant)?);
    objects.push(daemon_set(tenant, image));
    Ok(of_addon(ADDON, objects))
}

fn config_map(tenant: &Tenant) -> Result<DynamicObject, Error> {
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "default",
            "cluster": {"certificate-authority": format!("{ACCOUNT_FOLDER}/ca.crt"), "server": tenant.server()},
        }],
        "contexts": [{
            "name": "default",
            "context": {"cluster": "default", "namespace": "default", "user": "default"},
        }],
        "current-context": "default",
        "users": [{"name": "default", "user": {"tokenFile": format!("{ACCOUNT_FOLDER}/token")}}],
    });
    let data = json!({"config.conf": yaml(&configuration(tenant)?)?, "kubeconfig.conf": yaml(&kubeconfig)?});
    let mut config_map = namespaced::<ConfigMap>(SYSTEM, NAME, json!({"data": data}));
    label(&mut config_map, "app", NAME);
    Ok(config_map)
}

fn configuration(tenant: &Tenant) -> Result<Value, Error> {
    let main = tenant.service_cidrs.first().ok_or(Error::Missing("network for its Services"))?;
    let any = if main.addr().is_ipv4() { "0.0.0.0" } else { "::" };
    Ok(json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": any,
        "clientConnection": {"kubeconfig": format!("{FOLDER}/kubeconfig.conf")},
        "clusterCIDR": joined(&tenant.pod_cidrs),
    }))
}

fn daemon_set(tenant: &Tenant, image: &ImageOverride) -> DynamicObject {
    let labels = json!({"k8s-app": NAME});
    let repository = image.image_repository.as_ref().unwrap_or(&tenant.registry);
    let container = json!({
        "name": NAME,
        "image": format!("{repository}/{NAME}:{}", tag(tenant, image)),
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "/usr/local/bin/kube-proxy",
            format!("--config={FOLDER}/config.conf"),
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"privileged": true},
        "volumeMounts": [
            {"name": "kube-proxy", "mountPath": FOLDER},
            {"name": "xtables-lock", "mountPath": "/run/xtables.lock"},
            {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": true},
        ],
    });
    let pod = json!({
        "priorityClassName": "system-node-critical",
        "serviceAccountName": NAME,
        "hostNetwork": true,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [
            {"name": "kube-proxy", "configMap": {"name": NAME}},
            {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
            {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
        ],
    });
    let spec = json!({
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    });
    let mut daemon_set = namespaced::<DaemonSet>(SYSTEM, NAME, json!({"spec": spec}));
    label(&mut daemon_set, "k8s-app", NAME);
    daemon_set
}
