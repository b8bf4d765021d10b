//! The pods of a control plane: one Deployment, surge first.

use butler_api::shared::{ComponentResources, ControlPlaneResources, Metadata, Raw, ResourceAmounts};
use butler_api::steward::tenant_control_plane::{Probe, ProbeSet};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::{Map, Value, json};

use super::flags::{Flags, Refused};
use super::programs::{self, CONF, PKI};
use super::{RenderError, Wanted, agent_port, konnectivity};
use crate::credentials::Root;
use crate::names;

/// Group of the mounted files: readable by the pods and by nobody else.
const GROUP: i64 = 65532;
/// More than an API server takes to finish long requests after it stopped listening.
const GRACE_SECONDS: i64 = 70;
/// A roll-out that makes no progress for so long says so.
const PROGRESS_DEADLINE_SECONDS: i64 = 300;

struct Program {
    name: &'static str,
    image: String,
    args: Vec<String>,
    port: i32,
    /// Paths of liveness and readiness.
    health: [&'static str; 2],
    volumes: Vec<(&'static str, &'static str)>,
    resources: Value,
    probes: ProbeSet,
    security: Option<Raw>,
    mounts: Vec<Raw>,
}

/// The Deployment.
pub fn deployment(wanted: &Wanted<'_>) -> Result<Deployment, RenderError> {
    let spec = &wanted.spec.control_plane.deployment;
    let programs = programs(wanted)?.into_iter().map(|program| container(wanted, program));
    let containers = programs.chain(konnectivity::container(wanted)?);
    let extra = |list: &[Raw]| list.iter().map(|raw| Value::Object(raw.0.clone())).collect::<Vec<_>>();
    let platform = wanted.tolerations.iter().map(|toleration| json!(toleration));
    let tolerations: Vec<Value> = extra(&spec.tolerations).into_iter().chain(platform).collect();
    let labels = |component: &str, extra: &Option<Metadata>| {
        let mut labels = names::labels(wanted.name, component);
        labels.extend(extra.clone().unwrap_or_default().labels);
        labels
    };
    let mut annotations = spec.pod_additional_metadata.clone().unwrap_or_default().annotations;
    for (secret, digest) in &wanted.mounted {
        annotations.insert(names::digest_of(wanted.name, secret), digest.clone());
    }
    if agent_port(&wanted.spec.addons).is_some() {
        annotations.insert(konnectivity::SELECTOR.to_owned(), konnectivity::selector());
    }
    let mut pod = json!({
        "automountServiceAccountToken": spec.automount_service_account_token.unwrap_or(false),
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": match &spec.pod_security_context {
            Some(raw) => Value::Object(raw.0.clone()),
            None => json!({
                "runAsNonRoot": true, "runAsUser": GROUP, "runAsGroup": GROUP, "fsGroup": GROUP,
                "seccompProfile": {"type": "RuntimeDefault"},
            }),
        },
        "initContainers": extra(&spec.additional_init_containers),
        "containers": containers.chain(extra(&spec.additional_containers)).collect::<Vec<_>>(),
        "volumes": volumes(wanted).into_iter().chain(extra(&spec.additional_volumes)).collect::<Vec<_>>(),
        "tolerations": tolerations,
        "topologySpreadConstraints": match spec.topology_spread_constraints.as_slice() {
            // The same for one pod: how many there are must not change what they are.
            [] => spread(wanted),
            given => given.iter().map(|raw| with_selector(raw, wanted)).collect(),
        },
    });
    for (field, value) in [
        ("nodeSelector", (!spec.node_selector.is_empty()).then(|| json!(spec.node_selector))),
        ("affinity", spec.affinity.as_ref().map(|raw| Value::Object(raw.0.clone()))),
        ("priorityClassName", spec.priority_class_name.as_ref().map(|name| json!(name))),
        ("runtimeClassName", spec.runtime_class_name.as_ref().map(|name| json!(name))),
        ("serviceAccountName", spec.service_account_name.as_ref().map(|name| json!(name))),
    ] {
        if let Some(value) = value {
            pod[field] = value;
        }
    }
    let own = spec.additional_metadata.clone().unwrap_or_default();
    let mut metadata = wanted.metadata(wanted.name, "control-plane");
    metadata.labels = Some(labels("control-plane", &spec.additional_metadata));
    metadata.annotations = (!own.annotations.is_empty()).then_some(own.annotations);
    let strategy = match &spec.strategy {
        Some(raw) => Value::Object(raw.0.clone()),
        // The new ones must answer before the old ones go.
        None => json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}),
    };
    let object = json!({
        "metadata": metadata,
        "spec": {
            "replicas": wanted.replicas(),
            "progressDeadlineSeconds": PROGRESS_DEADLINE_SECONDS,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": names::selector(wanted.name)},
            "strategy": strategy,
            "template": {
                "metadata": {
                    "labels": labels("control-plane", &spec.pod_additional_metadata),
                    "annotations": annotations,
                },
                "spec": pod,
            },
        },
    });
    serde_json::from_value(object).map_err(|error| RenderError::Fragment {
        field: "spec.controlPlane.deployment".to_owned(),
        message: error.to_string(),
    })
}

/// The PodDisruptionBudget, where there is more than one pod.
pub fn budget(wanted: &Wanted<'_>) -> Result<Option<PodDisruptionBudget>, RenderError> {
    let spec = &wanted.spec.control_plane.deployment;
    if spec.replicas < 2 {
        return Ok(None);
    }
    let rule = match &spec.min_available {
        Some(count) => json!({"minAvailable": count}),
        None => json!({"maxUnavailable": 1}),
    };
    let mut object = json!({
        "metadata": wanted.metadata(wanted.name, "control-plane"),
        "spec": {"selector": {"matchLabels": names::selector(wanted.name)}},
    });
    if let (Some(into), Value::Object(rule)) = (object["spec"].as_object_mut(), rule) {
        into.extend(rule);
    }
    let read = serde_json::from_value(object).map_err(|error| RenderError::Fragment {
        field: "spec.controlPlane.deployment.minAvailable".to_owned(),
        message: error.to_string(),
    });
    read.map(Some)
}

fn programs(wanted: &Wanted<'_>) -> Result<[Program; 3], RenderError> {
    let spec = &wanted.spec.control_plane.deployment;
    let settings = spec.registry_settings.clone().unwrap_or_default();
    let image = |own: Option<String>, name: &str| {
        let registry = settings.registry.as_deref().unwrap_or("registry.k8s.io");
        let suffix = settings.tag_suffix.as_deref().unwrap_or_default();
        format!("{registry}/{}:{}{suffix}", own.as_deref().unwrap_or(name), wanted.version)
    };
    let extra = spec.extra_args.clone().unwrap_or_default();
    let args = |flags: Flags, extra: &[String], field: &'static str| {
        flags.with_extra(extra).map_err(|Refused(arguments)| RenderError::Arguments { field, arguments })
    };
    let (probes, security, mounts) = (
        spec.probes.clone().unwrap_or_default(),
        spec.container_security_contexts.clone().unwrap_or_default(),
        spec.additional_volume_mounts.clone().unwrap_or_default(),
    );
    let common = ProbeSet { liveness: probes.liveness, readiness: probes.readiness, startup: probes.startup };
    let probes_of = |own: Option<ProbeSet>| {
        let own = own.unwrap_or_default();
        ProbeSet {
            liveness: own.liveness.or_else(|| common.liveness.clone()),
            readiness: own.readiness.or_else(|| common.readiness.clone()),
            startup: own.startup.or_else(|| common.startup.clone()),
        }
    };
    let amounts = |of: fn(&ControlPlaneResources) -> &Option<ComponentResources>, cpu: &str, memory: &str| {
        let chosen = spec.resources.as_ref().and_then(|own| of(own).clone());
        let platform = || wanted.platform_resources.and_then(|platform| of(platform).clone());
        match chosen.or_else(platform) {
            Some(resources) => resources_json(&resources),
            None => json!({"requests": {"cpu": cpu, "memory": memory}}),
        }
    };
    Ok([
        Program {
            name: "kube-apiserver",
            image: image(settings.api_server_image.clone(), "kube-apiserver"),
            args: args(
                programs::api_server(wanted),
                &extra.api_server,
                "spec.controlPlane.deployment.extraArgs.apiServer",
            )?,
            port: wanted.port(),
            health: ["/livez", "/readyz"],
            volumes: match agent_port(&wanted.spec.addons) {
                Some(_) => [("api-server", PKI)].into_iter().chain(konnectivity::API_SERVER_VOLUMES).collect(),
                None => vec![("api-server", PKI)],
            },
            resources: amounts(|r| &r.api_server, "100m", "320Mi"),
            probes: probes_of(probes.api_server),
            security: security.api_server,
            mounts: mounts.api_server,
        },
        Program {
            name: "kube-controller-manager",
            image: image(settings.controller_manager_image.clone(), "kube-controller-manager"),
            args: args(
                programs::controller_manager(wanted),
                &extra.controller_manager,
                "spec.controlPlane.deployment.extraArgs.controllerManager",
            )?,
            port: programs::CONTROLLER_MANAGER_PORT,
            health: ["/healthz", "/healthz"],
            volumes: vec![("controller-manager", PKI), ("controller-manager-conf", CONF)],
            resources: amounts(|r| &r.controller_manager, "25m", "64Mi"),
            probes: probes_of(probes.controller_manager),
            security: security.controller_manager,
            mounts: mounts.controller_manager,
        },
        Program {
            name: "kube-scheduler",
            image: image(settings.scheduler_image.clone(), "kube-scheduler"),
            args: args(programs::scheduler(), &extra.scheduler, "spec.controlPlane.deployment.extraArgs.scheduler")?,
            port: programs::SCHEDULER_PORT,
            health: ["/healthz", "/healthz"],
            volumes: vec![("scheduler-conf", CONF)],
            resources: amounts(|r| &r.scheduler, "25m", "64Mi"),
            probes: probes_of(probes.scheduler),
            security: security.scheduler,
            mounts: mounts.scheduler,
        },
    ])
}

/// Requests and limits, with every amount as text.
pub(super) fn resources_json(resources: &ComponentResources) -> Value {
    let amounts = |amounts: &ResourceAmounts| {
        let named = [("cpu", &amounts.cpu), ("memory", &amounts.memory)];
        let given =
            named.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), json!(amount.as_ref()?.to_string()))));
        Value::Object(given.collect())
    };
    let named = [("requests", &resources.requests), ("limits", &resources.limits)];
    Value::Object(named.into_iter().filter_map(|(name, of)| Some((name.to_owned(), amounts(of.as_ref()?)))).collect())
}

fn container(wanted: &Wanted<'_>, program: Program) -> Value {
    let mut mounts: Vec<Value> = program
        .volumes
        .iter()
        .map(|(volume, path)| json!({"name": volume, "mountPath": path, "readOnly": true}))
        .collect();
    mounts.extend(program.mounts.iter().map(|raw| Value::Object(raw.0.clone())));
    let [liveness, readiness] = program.health;
    let port = program.port;
    let needs_low_port = program.name == "kube-apiserver" && wanted.port() < 1024;
    let added: &[&str] = if needs_low_port { &["NET_BIND_SERVICE"] } else { &[] };
    json!({
        "name": program.name,
        "image": program.image,
        "imagePullPolicy": "IfNotPresent",
        "command": [program.name],
        "args": program.args,
        "ports": [{
            "name": if program.name == "kube-apiserver" { "kube-apiserver" } else { "health" },
            "containerPort": port, "protocol": "TCP",
        }],
        "resources": program.resources,
        "securityContext": match program.security {
            Some(raw) => Value::Object(raw.0),
            None => json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"], "add": added},
            }),
        },
        "startupProbe": probe(port, liveness, program.probes.startup, (1, 180)),
        "livenessProbe": probe(port, liveness, program.probes.liveness, (10, 8)),
        "readinessProbe": probe(port, readiness, program.probes.readiness, (2, 3)),
        "volumeMounts": mounts,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    })
}

fn probe(port: i32, path: &str, own: Option<Probe>, (period, failures): (i32, i32)) -> Value {
    let own = own.unwrap_or_default();
    let mut probe = json!({
        "httpGet": {"path": path, "port": port, "scheme": "HTTPS"},
        "periodSeconds": own.period_seconds.unwrap_or(period),
        "timeoutSeconds": own.timeout_seconds.unwrap_or(5),
        "failureThreshold": own.failure_threshold.unwrap_or(failures),
        "successThreshold": own.success_threshold.unwrap_or(1),
    });
    if let Some(delay) = own.initial_delay_seconds {
        probe["initialDelaySeconds"] = json!(delay);
    }
    probe
}

/// Each container gets the files it needs and no others: only kube-controller-manager holds the authority's key.
fn volumes(wanted: &Wanted<'_>) -> Vec<Value> {
    let tenant = wanted.name;
    let source = |secret: String, items: &[(&str, &str)]| {
        let items: Vec<Value> = items.iter().map(|(key, path)| json!({"key": key, "path": path})).collect();
        json!({"secret": {"name": secret, "items": items}})
    };
    let projected = |name: &str, sources: Vec<Value>| json!({"name": name, "projected": {"defaultMode": 0o440, "sources": sources}});
    let mut api_server = vec![
        source(Root::ClusterCa.secret_name(tenant), &[("tls.crt", "ca.crt")]),
        source(Root::FrontProxyCa.secret_name(tenant), &[("tls.crt", "front-proxy-ca.crt")]),
        source(Root::ServiceAccount.secret_name(tenant), &[("tls.crt", "sa.pub"), ("tls.key", "sa.key")]),
        source(format!("{tenant}-apiserver"), &[("tls.crt", "apiserver.crt"), ("tls.key", "apiserver.key")]),
        source(
            format!("{tenant}-kubelet-client"),
            &[("tls.crt", "kubelet-client.crt"), ("tls.key", "kubelet-client.key")],
        ),
        source(
            format!("{tenant}-front-proxy-client"),
            &[("tls.crt", "front-proxy-client.crt"), ("tls.key", "front-proxy-client.key")],
        ),
    ];
    if wanted.store.certificate {
        api_server.push(source(
            format!("{tenant}-datastore"),
            &[("ca.crt", "etcd/ca.crt"), ("tls.crt", "etcd/client.crt"), ("tls.key", "etcd/client.key")],
        ));
    }
    let controller_manager = vec![
        source(Root::ClusterCa.secret_name(tenant), &[("tls.crt", "ca.crt"), ("tls.key", "ca.key")]),
        source(Root::FrontProxyCa.secret_name(tenant), &[("tls.crt", "front-proxy-ca.crt")]),
        source(Root::ServiceAccount.secret_name(tenant), &[("tls.key", "sa.key")]),
    ];
    let file = |name: &str| (format!("{tenant}-{name}-kubeconfig"), format!("{name}.conf"));
    let conf = |name: &str| {
        let (secret, file) = file(name);
        projected(&format!("{name}-conf"), vec![source(secret, &[(&file, &file)])])
    };
    let mut volumes = vec![
        projected("api-server", api_server),
        projected("controller-manager", controller_manager),
        conf("controller-manager"),
        conf("scheduler"),
    ];
    if agent_port(&wanted.spec.addons).is_some() {
        volumes.extend(konnectivity::volumes(wanted));
    }
    volumes
}

fn spread(wanted: &Wanted<'_>) -> Vec<Value> {
    let over = |key: &str| {
        json!({
            "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": names::selector(wanted.name)},
        })
    };
    vec![over("kubernetes.io/hostname"), over("topology.kubernetes.io/zone")]
}

/// A constraint without a selector means the control plane's own pods.
fn with_selector(raw: &Raw, wanted: &Wanted<'_>) -> Value {
    let mut constraint: Map<String, Value> = raw.0.clone();
    let own = || json!({"matchLabels": names::selector(wanted.name)});
    constraint.entry("labelSelector").or_insert_with(own);
    Value::Object(constraint)
}
