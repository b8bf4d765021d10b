//! konnectivity's server, beside the API server: agents on the nodes connect to it, and requests to nodes go back that way.

use butler_api::steward::TenantControlPlaneSpec;
use butler_api::steward::tenant_control_plane::{ControlPlaneAddons, KonnectivityServer};
use serde_json::{Value, json};

use super::flags::{Flags, Refused};
use super::pods::resources_json;
use super::{RenderError, Wanted};
use crate::inside;

/// Where the API server reads which requests go through it.
pub(super) const SELECTOR_FILE: &str = "/etc/kubernetes/egress/selector.yaml";
/// Pod annotation with the content of that file: it needs no object of its own, and pods follow when it changes.
pub(super) const SELECTOR: &str = "steward.butlerlabs.dev/egress-selector";
/// Ports of its administration and health.
pub const OWN_PORTS: [i32; 2] = [8133, 8134];

const AGENT_PORT: i32 = 8132;
const SOCKETS: &str = "/run/konnectivity";
const FILES: &str = "/etc/kubernetes/konnectivity";
const FIELD: &str = "spec.addons.konnectivity.server.extraArgs";

/// The port agents connect to, if there is such a server.
pub fn agent_port(addons: &ControlPlaneAddons) -> Option<i32> {
    let konnectivity = addons.konnectivity.as_ref()?;
    Some(konnectivity.server.as_ref().and_then(|server| server.port).unwrap_or(AGENT_PORT))
}

/// What the API server is told: requests into the tenant's cluster go through the socket.
pub(super) fn selector() -> String {
    json!({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{
            "name": "cluster",
            "connection": {"proxyProtocol": "GRPC", "transport": {"uds": {"udsName": socket()}}},
        }],
    })
    .to_string()
}

/// Volumes of the API server for it.
pub(super) const API_SERVER_VOLUMES: [(&str, &str); 2] =
    [("egress-selector", "/etc/kubernetes/egress"), ("konnectivity-sockets", SOCKETS)];

/// Volumes of the pod for it.
pub(super) fn volumes(wanted: &Wanted<'_>) -> Vec<Value> {
    let tenant = wanted.name;
    let annotation = format!("metadata.annotations['{SELECTOR}']");
    let certificate = json!([{"key": "tls.crt", "path": "server.crt"}, {"key": "tls.key", "path": "server.key"}]);
    let conf = json!([{"key": "konnectivity-server.conf", "path": "konnectivity-server.conf"}]);
    vec![
        json!({"name": "konnectivity-sockets", "emptyDir": {"medium": "Memory"}}),
        json!({"name": "egress-selector", "downwardAPI": {
            "items": [{"path": "selector.yaml", "fieldRef": {"fieldPath": annotation}}],
        }}),
        json!({"name": "konnectivity", "projected": {"defaultMode": 0o440, "sources": [
            {"secret": {"name": format!("{tenant}-apiserver"), "items": certificate}},
            {"secret": {"name": format!("{tenant}-konnectivity-kubeconfig"), "items": conf}},
        ]}}),
    ]
}

/// The container.
pub(super) fn container(wanted: &Wanted<'_>) -> Result<Option<Value>, RenderError> {
    let Some(port) = agent_port(&wanted.spec.addons) else { return Ok(None) };
    let own = server(wanted.spec);
    let [admin, health] = OWN_PORTS;
    let flags = Flags::default()
        .fixed("uds-name", socket())
        .fixed("delete-existing-uds-file", "true")
        .fixed("mode", "grpc")
        .fixed("server-port", "0")
        .fixed("agent-port", port.to_string())
        .fixed("admin-port", admin.to_string())
        .fixed("health-port", health.to_string())
        .fixed("agent-namespace", inside::KONNECTIVITY_NAMESPACE)
        .fixed("agent-service-account", inside::KONNECTIVITY_AGENT)
        .fixed("authentication-audience", inside::KONNECTIVITY_SERVER)
        .fixed("kubeconfig", format!("{FILES}/konnectivity-server.conf"))
        .fixed("cluster-cert", format!("{FILES}/server.crt"))
        .fixed("cluster-key", format!("{FILES}/server.key"))
        .fixed("server-count", wanted.replicas().max(1).to_string());
    let args = flags.with_extra(&own.extra_args);
    let args = args.map_err(|Refused(arguments)| RenderError::Arguments { field: FIELD, arguments })?;
    let settings = wanted.spec.control_plane.deployment.registry_settings.clone().unwrap_or_default();
    let registry = settings.registry.unwrap_or_else(|| "registry.k8s.io".to_owned());
    let image = own.image.unwrap_or_else(|| format!("{registry}/kas-network-proxy/proxy-server"));
    let version = own.version.unwrap_or_else(|| inside::konnectivity_version(wanted.version));
    Ok(Some(json!({
        "name": "konnectivity-server",
        "image": format!("{image}:{version}"),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/proxy-server"],
        "args": args,
        "ports": [{"name": "konnectivity", "containerPort": port, "protocol": "TCP"}],
        "resources": match &own.resources {
            Some(resources) => resources_json(resources),
            None => json!({"requests": {"cpu": "10m", "memory": "32Mi"}}),
        },
        "securityContext": match own.security_context {
            Some(raw) => Value::Object(raw.0),
            None => json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            }),
        },
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": health, "scheme": "HTTP"},
            "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 8,
        },
        "volumeMounts": [
            {"name": "konnectivity", "mountPath": FILES, "readOnly": true},
            {"name": "konnectivity-sockets", "mountPath": SOCKETS},
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    })))
}

fn socket() -> String {
    format!("{SOCKETS}/konnectivity-server.socket")
}

fn server(spec: &TenantControlPlaneSpec) -> KonnectivityServer {
    spec.addons.konnectivity.as_ref().and_then(|konnectivity| konnectivity.server.clone()).unwrap_or_default()
}
