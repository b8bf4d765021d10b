//! konnectivity's agents: they connect to the server beside the API server, and requests to nodes come back that way.

use butler_api::steward::tenant_control_plane::{AgentMode, Konnectivity};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::ServiceAccount;
use kernel::version::Version;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::objects::{SYSTEM, label, namespaced, of_addon};
use super::rbac::{bound, user};
use super::{Error, Tenant};

/// Namespace of the agents.
pub const NAMESPACE: &str = SYSTEM;
/// The agents, and their ServiceAccount.
pub const AGENT: &str = "konnectivity-agent";
/// The server as user of the tenant's API, and whom agents' tokens are for.
pub const SERVER: &str = "system:konnectivity-server";

const ADDON: &str = "konnectivity";
const TOKENS: &str = "/var/run/secrets/tokens";
const AUTHORITY: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
const ADMIN_PORT: u16 = 8133;
const HEALTH_PORT: u16 = 8134;
/// Agents of a Deployment, unless their number is given: one may go with its node.
const REPLICAS: i32 = 2;

/// The version of server and agents that goes with a Kubernetes version.
pub fn version(kubernetes: Version) -> String {
    format!("v0.{}.0", kubernetes.minor)
}

/// The version of the agents that run.
pub(super) fn tag(tenant: &Tenant, konnectivity: &Konnectivity) -> String {
    let own = konnectivity.agent.as_ref().and_then(|agent| agent.version.clone());
    own.unwrap_or_else(|| version(tenant.version))
}

pub(super) fn objects(tenant: &Tenant, konnectivity: &Konnectivity) -> Result<Vec<DynamicObject>, Error> {
    let mode = konnectivity.agent.as_ref().map_or(AgentMode::DaemonSet, |agent| agent.mode);
    let objects = vec![
        namespaced::<ServiceAccount>(SYSTEM, AGENT, json!({})),
        // It asks the API who an agent is.
        bound(SERVER, "system:auth-delegator", vec![user(SERVER)]),
        workload(tenant, konnectivity, mode)?,
    ];
    Ok(of_addon(ADDON, objects))
}

/// What the other mode, or any when there is none, would have left behind.
pub(super) fn leftovers(tenant: &Tenant) -> Result<Vec<DynamicObject>, Error> {
    let wanted = tenant.addons.konnectivity.as_ref();
    let plain = Konnectivity::default();
    let mode = wanted.map(|konnectivity| konnectivity.agent.as_ref().map_or(AgentMode::DaemonSet, |agent| agent.mode));
    let mut left = Vec::new();
    if wanted.is_none() {
        left.push(namespaced::<ServiceAccount>(SYSTEM, AGENT, json!({})));
        left.push(bound(SERVER, "system:auth-delegator", vec![user(SERVER)]));
    }
    for other in [AgentMode::DaemonSet, AgentMode::Deployment].into_iter().filter(|other| mode != Some(*other)) {
        let tenant = Tenant { konnectivity_port: tenant.konnectivity_port.or(Some(0)), ..tenant.clone() };
        left.push(workload(&tenant, &plain, other)?);
    }
    Ok(of_addon(ADDON, left))
}

fn workload(tenant: &Tenant, konnectivity: &Konnectivity, mode: AgentMode) -> Result<DynamicObject, Error> {
    let labels = json!({"k8s-app": AGENT});
    let mut spec = json!({
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod(tenant, konnectivity)?},
    });
    let mut object = match mode {
        AgentMode::DaemonSet => namespaced::<DaemonSet>(SYSTEM, AGENT, json!({"spec": spec})),
        AgentMode::Deployment => {
            let replicas = konnectivity.agent.as_ref().and_then(|agent| agent.replicas);
            spec["replicas"] = json!(replicas.unwrap_or(REPLICAS));
            namespaced::<Deployment>(SYSTEM, AGENT, json!({"spec": spec}))
        }
    };
    label(&mut object, "k8s-app", AGENT);
    Ok(object)
}

fn pod(tenant: &Tenant, konnectivity: &Konnectivity) -> Result<Value, Error> {
    let own = konnectivity.agent.as_ref();
    let port = tenant.konnectivity_port.ok_or(Error::Missing("port for konnectivity's agents"))?;
    let mut args = vec![
        format!("--ca-cert={AUTHORITY}"),
        format!("--proxy-server-host={}", tenant.endpoint_host),
        format!("--proxy-server-port={port}"),
        format!("--admin-server-port={ADMIN_PORT}"),
        format!("--health-server-port={HEALTH_PORT}"),
        format!("--service-account-token-path={TOKENS}/{AGENT}-token"),
    ];
    args.extend(own.into_iter().flat_map(|agent| agent.extra_args.clone()));
    let image = own.and_then(|agent| agent.image.clone());
    let image = image.unwrap_or_else(|| format!("{}/kas-network-proxy/proxy-agent", tenant.registry));
    let given: Vec<Value> =
        own.into_iter().flat_map(|agent| &agent.tolerations).map(|raw| Value::Object(raw.0.clone())).collect();
    let usual = || vec![json!({"key": "CriticalAddonsOnly", "operator": "Exists"})];
    let token = json!({"path": format!("{AGENT}-token"), "audience": SERVER, "expirationSeconds": 3600});
    Ok(json!({
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": AGENT,
        "hostNetwork": own.and_then(|agent| agent.host_network).unwrap_or(false),
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": if given.is_empty() { usual() } else { given },
        "containers": [{
            "name": AGENT,
            "image": format!("{image}:{}", tag(tenant, konnectivity)),
            "imagePullPolicy": "IfNotPresent",
            "command": ["/proxy-agent"],
            "args": args,
            "livenessProbe": {
                "httpGet": {"path": "/healthz", "port": HEALTH_PORT},
                "initialDelaySeconds": 15, "timeoutSeconds": 15,
            },
            "volumeMounts": [{"name": "token", "mountPath": TOKENS}],
        }],
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": token}]}}],
    }))
}
