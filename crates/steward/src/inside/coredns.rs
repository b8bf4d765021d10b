//! CoreDNS: names inside the tenant.

use std::net::IpAddr;

use butler_api::steward::tenant_control_plane::ImageOverride;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::objects::{SYSTEM, clustered, label, namespaced, of_addon};
use super::rbac::{bound, rule, service_account};
use super::release::Release;
use super::{Error, Tenant};

/// Name of the addon in labels.
pub(super) const ADDON: &str = "coredns";
const NAME: &str = "coredns";
const ROLE: &str = "system:coredns";
/// By this label the Service finds the pods, and kubeadm the Deployment.
const APP: (&str, &str) = ("k8s-app", "kube-dns");
/// kubeadm's number: one may go while a node is drained.
const REPLICAS: u32 = 2;

const HEALTH_PORT: u16 = 8080;
const READY_PORT: u16 = 8181;

/// The tag that runs: the one asked for, or that of the Kubernetes version.
pub(super) fn tag(tenant: &Tenant, image: &ImageOverride) -> Result<String, Error> {
    let own = Release::of(tenant.version)?.coredns_tag;
    Ok(image.image_tag.clone().unwrap_or_else(|| own.to_owned()))
}

pub(super) fn objects(tenant: &Tenant, image: &ImageOverride) -> Result<Vec<DynamicObject>, Error> {
    let reads = ["list", "watch"];
    let rules = json!([
        rule("", &["endpoints", "services", "pods", "namespaces"], &reads),
        rule("discovery.k8s.io", &["endpointslices"], &reads),
    ]);
    let objects = vec![
        namespaced::<ServiceAccount>(SYSTEM, NAME, json!({})),
        clustered::<ClusterRole>(ROLE, json!({"rules": rules})),
        bound(ROLE, ROLE, vec![service_account(NAME)]),
        namespaced::<ConfigMap>(SYSTEM, NAME, json!({})),
        deployment(tenant, image)?,
        service(tenant)?,
    ];
    Ok(of_addon(ADDON, objects))
}

/// What administrators tune: the Corefile and the number of pods.
pub(super) fn defaults(tenant: &Tenant) -> Result<Vec<DynamicObject>, Error> {
    let release = Release::of(tenant.version)?;
    let corefile = corefile(&tenant.cluster_domain, &release);
    let objects = vec![
        namespaced::<ConfigMap>(SYSTEM, NAME, json!({"data": {"Corefile": corefile}})),
        namespaced::<Deployment>(SYSTEM, NAME, json!({"spec": {"replicas": REPLICAS}})),
    ];
    Ok(of_addon(ADDON, objects))
}

fn corefile(domain: &str, release: &Release) -> String {
    let cache = if release.uncached_cluster_names {
        format!("cache 30 {{\n        disable success {domain}\n        disable denial {domain}\n    }}")
    } else {
        "cache 30".to_owned()
    };
    format!(
        ".:53 {{
    errors
    health {{
        lameduck 5s
    }}
    ready
    kubernetes {domain} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
        max_concurrent 1000
    }}
    {cache}
    loop
    reload
    loadbalance
}}
"
    )
}

fn deployment(tenant: &Tenant, image: &ImageOverride) -> Result<DynamicObject, Error> {
    let labels = json!({APP.0: APP.1});
    let spread = json!({
        "weight": 100,
        "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": labels},
        },
    });
    let pod = json!({
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": NAME,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
        ],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [spread]}},
        // The node's own resolver: this is the cluster's.
        "dnsPolicy": "Default",
        "containers": [container(tenant, image)?],
        "volumes": [{
            "name": "config-volume",
            "configMap": {"name": NAME, "items": [{"key": "Corefile", "path": "Corefile"}]},
        }],
    });
    let spec = json!({
        "selector": {"matchLabels": labels},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    });
    let mut deployment = namespaced::<Deployment>(SYSTEM, NAME, json!({"spec": spec}));
    label(&mut deployment, APP.0, APP.1);
    Ok(deployment)
}

fn container(tenant: &Tenant, image: &ImageOverride) -> Result<Value, Error> {
    let release = Release::of(tenant.version)?;
    let mut ports = vec![port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")];
    let (health, ready) = if release.named_probe_ports {
        ports.extend([port("liveness-probe", HEALTH_PORT, "TCP"), port("readiness-probe", READY_PORT, "TCP")]);
        (json!("liveness-probe"), json!("readiness-probe"))
    } else {
        (json!(HEALTH_PORT), json!(READY_PORT))
    };
    Ok(json!({
        "name": NAME,
        "image": format!("{}:{}", repository(tenant, image), tag(tenant, image)?),
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "ports": ports,
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": true}],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": health, "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": ready, "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    }))
}

fn port(name: &str, number: u16, protocol: &str) -> Value {
    json!({"name": name, "containerPort": number, "protocol": protocol})
}

/// The official registry keeps CoreDNS one folder deeper than its mirrors, as kubeadm has it.
fn repository(tenant: &Tenant, image: &ImageOverride) -> String {
    match image.image_repository.as_ref().unwrap_or(&tenant.registry).as_str() {
        "registry.k8s.io" => "registry.k8s.io/coredns/coredns".to_owned(),
        other => format!("{other}/coredns"),
    }
}

fn service(tenant: &Tenant) -> Result<DynamicObject, Error> {
    let first = tenant.dns_addresses.first().ok_or(Error::Missing("address for its DNS Service"))?;
    let port = |name: &str, number: u16, protocol: &str| json!({"name": name, "port": number, "protocol": protocol, "targetPort": number});
    let mut spec = json!({
        "clusterIP": first,
        "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")],
        "selector": {APP.0: APP.1},
    });
    if let Some(second) = tenant.dns_addresses.iter().find(|other| other.is_ipv4() != first.is_ipv4()) {
        spec["clusterIPs"] = json!([first, second]);
        spec["ipFamilies"] = json!([family(first), family(second)]);
        spec["ipFamilyPolicy"] = "RequireDualStack".into();
    }
    let mut service = namespaced::<Service>(SYSTEM, "kube-dns", json!({"spec": spec}));
    label(&mut service, APP.0, APP.1);
    label(&mut service, "kubernetes.io/cluster-service", "true");
    label(&mut service, "kubernetes.io/name", "CoreDNS");
    let annotations = service.annotations_mut();
    annotations.insert("prometheus.io/port".to_owned(), "9153".to_owned());
    annotations.insert("prometheus.io/scrape".to_owned(), "true".to_owned());
    Ok(service)
}

fn family(address: &IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}
