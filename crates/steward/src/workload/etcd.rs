//! An etcd of the control plane's own.

use butler_api::shared::DedicatedEtcd;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use super::{RenderError, Wanted, metadata};
use crate::names;

/// The port clients use.
pub const CLIENT_PORT: i32 = 2379;
const PEER_PORT: i32 = 2380;
const METRICS_PORT: i32 = 2381;
const DATA: &str = "/var/lib/etcd";
const PKI: &str = "/etc/etcd/pki";
/// The etcd of recent Kubernetes releases; it reads the data of the older ones.
const DEFAULT_IMAGE: &str = "registry.k8s.io/etcd:3.6.16-0";
const DEFAULT_SIZE: &str = "8Gi";
/// As much as the volume holds with room for defragmentation; etcd's own limit of recommendation.
const QUOTA_BYTES: &str = "2147483648";

fn selector(tenant: &str) -> std::collections::BTreeMap<String, String> {
    [(names::NAME, tenant), (names::COMPONENT, "etcd")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
}

fn port(name: &str, port: i32) -> ServicePort {
    ServicePort { name: Some(name.to_owned()), port, protocol: Some("TCP".to_owned()), ..ServicePort::default() }
}

/// The headless Service by which members find each other, before they are ready.
pub fn peer_service(namespace: &str, tenant: &str, owner: &OwnerReference) -> Service {
    Service {
        metadata: metadata(namespace, &names::etcd(tenant), names::labels(tenant, "etcd"), owner),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            selector: Some(selector(tenant)),
            ports: Some(vec![port("peer", PEER_PORT), port("client", CLIENT_PORT)]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The Service through which the API server reaches members that are ready.
pub fn client_service(namespace: &str, tenant: &str, owner: &OwnerReference) -> Service {
    Service {
        metadata: metadata(namespace, &names::etcd_client(tenant), names::labels(tenant, "etcd"), owner),
        spec: Some(ServiceSpec {
            selector: Some(selector(tenant)),
            ports: Some(vec![port("client", CLIENT_PORT)]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The members.
pub fn stateful_set(wanted: &Wanted<'_>, etcd: &DedicatedEtcd) -> Result<StatefulSet, RenderError> {
    let (tenant, namespace) = (wanted.name, wanted.namespace);
    let name = names::etcd(tenant);
    let members = etcd.replicas.unwrap_or(1);
    let host = |member: &str| format!("https://{member}.{name}.{namespace}.svc");
    let cluster: Vec<String> =
        (0..members).map(|index| format!("{name}-{index}={}:{PEER_PORT}", host(&format!("{name}-{index}")))).collect();
    let mut args = vec![
        "--name=$(POD_NAME)".to_owned(),
        format!("--data-dir={DATA}/data"),
        format!("--listen-client-urls=https://0.0.0.0:{CLIENT_PORT}"),
        format!("--advertise-client-urls={}:{CLIENT_PORT}", host("$(POD_NAME)")),
        format!("--listen-peer-urls=https://0.0.0.0:{PEER_PORT}"),
        format!("--initial-advertise-peer-urls={}:{PEER_PORT}", host("$(POD_NAME)")),
        format!("--listen-metrics-urls=http://0.0.0.0:{METRICS_PORT}"),
        format!("--initial-cluster={}", cluster.join(",")),
        "--initial-cluster-state=new".to_owned(),
        format!("--initial-cluster-token={}", wanted.place.schema),
        "--client-cert-auth=true".to_owned(),
        "--peer-client-cert-auth=true".to_owned(),
        format!("--quota-backend-bytes={QUOTA_BYTES}"),
        "--auto-compaction-mode=periodic".to_owned(),
        "--auto-compaction-retention=5m".to_owned(),
        "--snapshot-count=50000".to_owned(),
    ];
    for (prefix, file) in [("", "server"), ("peer-", "server")] {
        args.push(format!("--{prefix}cert-file={PKI}/{file}.crt"));
        args.push(format!("--{prefix}key-file={PKI}/{file}.key"));
        args.push(format!("--{prefix}trusted-ca-file={PKI}/ca.crt"));
    }
    let own_name = json!({"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    let health = |path: &str, period: i32, failures: i32| {
        json!({
            "httpGet": {"path": path, "port": METRICS_PORT, "scheme": "HTTP"},
            "periodSeconds": period, "failureThreshold": failures, "timeoutSeconds": 5,
        })
    };
    let server = format!("{tenant}-etcd-server");
    let mut claim = json!({
        "metadata": {"name": "data", "labels": names::labels(tenant, "etcd")},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": etcd.storage_size.as_ref().map_or(DEFAULT_SIZE.to_owned(), ToString::to_string)}},
        },
    });
    if let Some(class) = &etcd.storage_class_name {
        claim["spec"]["storageClassName"] = json!(class);
    }
    let resources = match &etcd.resources {
        Some(resources) => super::pods::resources_json(resources),
        None => json!({"requests": {"cpu": "100m", "memory": "128Mi"}}),
    };
    let object = json!({
        "metadata": wanted.metadata(&name, "etcd"),
        "spec": {
            "serviceName": name,
            "replicas": members,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector(tenant)},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
            "template": {
                "metadata": {
                    "labels": names::labels(tenant, "etcd"),
                    "annotations": {(names::digest_of(tenant, &server)): wanted.mounted.get(&server)},
                },
                "spec": {
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    "tolerations": (!wanted.tolerations.is_empty()).then_some(wanted.tolerations),
                    "securityContext": {
                        "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": "etcd",
                        "image": etcd.image.as_deref().unwrap_or(DEFAULT_IMAGE),
                        "imagePullPolicy": "IfNotPresent",
                        "command": ["etcd"],
                        "args": args,
                        "env": [own_name],
                        "ports": [
                            {"name": "client", "containerPort": CLIENT_PORT, "protocol": "TCP"},
                            {"name": "peer", "containerPort": PEER_PORT, "protocol": "TCP"},
                        ],
                        "resources": resources,
                        "securityContext": {
                            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        "startupProbe": health("/readyz", 2, 90),
                        "livenessProbe": health("/livez", 10, 8),
                        "readinessProbe": health("/readyz", 2, 3),
                        "volumeMounts": [
                            {"name": "data", "mountPath": DATA},
                            {"name": "pki", "mountPath": PKI, "readOnly": true},
                        ],
                    }],
                    "volumes": [{"name": "pki", "projected": {"defaultMode": 0o440, "sources": [{"secret": {
                        "name": server,
                        "items": [
                            {"key": "tls.crt", "path": "server.crt"}, {"key": "tls.key", "path": "server.key"},
                            {"key": "ca.crt", "path": "ca.crt"},
                        ],
                    }}]}}],
                },
            },
            "volumeClaimTemplates": [claim],
        },
    });
    serde_json::from_value(object)
        .map_err(|error| RenderError::Fragment { field: "spec.etcd".to_owned(), message: error.to_string() })
}
