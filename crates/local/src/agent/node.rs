//! The Node object of an agent, and the Lease that says it lives.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, OwnerReference, Time};
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use runtime::{Applier, Clock, Failure};

use super::Settings;

/// Where leases of nodes are.
const LEASES: &str = "kube-node-lease";
/// For how long a lease is good, as a kubelet has it.
const LEASE_SECONDS: i32 = 40;
/// How often it is renewed, as a kubelet does.
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// Registers the node, then renews its lease until dropped.
pub(crate) async fn keep(client: Client, clock: Clock, settings: Settings) {
    let mut delay = Duration::from_millis(100);
    let node = loop {
        match register(&client, &settings, clock()).await {
            Ok(node) => break node,
            Err(failure) => {
                tracing::warn!(error = %failure.chain(), node = settings.node, "cannot register the node");
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(RENEW_EVERY);
            }
        }
    };
    loop {
        if let Err(error) = renew(&client, &node, clock()).await {
            tracing::warn!(%error, node = settings.node, "cannot renew the lease");
        }
        tokio::time::sleep(RENEW_EVERY).await;
    }
}

async fn register(client: &Client, settings: &Settings, now: Timestamp) -> Result<Node, Failure> {
    let applier = Applier::new(client.clone(), "butler-agent");
    let api: Api<Node> = Api::all(client.clone());
    let found = api.get_opt(&settings.node).await?;
    let written = applier.apply_in(&api, found.as_ref(), desired(settings)).await?;
    let Some(node) = written.or(found) else { return Ok(desired(settings)) };
    let status = status(settings, node.status.as_ref(), now);
    let before = node.status.as_ref().map(|known| NodeStatus {
        addresses: known.addresses.clone(),
        allocatable: known.allocatable.clone(),
        capacity: known.capacity.clone(),
        conditions: known.conditions.clone(),
        node_info: known.node_info.clone(),
        ..NodeStatus::default()
    });
    let reported = applier.report(&api, &node, before.as_ref(), &status).await?;
    Ok(reported.unwrap_or(node))
}

fn desired(settings: &Settings) -> Node {
    let labels = [
        ("kubernetes.io/hostname", settings.node.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture()),
    ];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Node {
        metadata: ObjectMeta {
            name: Some(settings.node.clone()),
            labels: Some(BTreeMap::from(labels)),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            provider_id: Some(format!("butler://{}", settings.node)),
            taints: settings
                .taint
                .clone()
                .map(|key| vec![Taint { key, effect: "NoSchedule".to_owned(), ..Taint::default() }]),
            ..NodeSpec::default()
        }),
        status: None,
    }
}

/// The status of a node that is well. Conditions that hold as before keep their times.
fn status(settings: &Settings, before: Option<&NodeStatus>, now: Timestamp) -> NodeStatus {
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let condition = |(name, status, reason, message): (&str, &str, &str, &str)| {
        let known = before.and_then(|before| before.conditions.as_ref()).into_iter().flatten();
        let known = known.into_iter().find(|known| known.type_ == name && known.status == status);
        NodeCondition {
            type_: name.into(),
            status: status.into(),
            reason: Some(reason.into()),
            message: Some(message.into()),
            last_heartbeat_time: known.map_or_else(|| Some(now.clone()), |known| known.last_heartbeat_time.clone()),
            last_transition_time: known.map_or_else(|| Some(now.clone()), |known| known.last_transition_time.clone()),
        }
    };
    let conditions = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ];
    let address = |type_: &str, address: String| NodeAddress { type_: type_.into(), address };
    let capacity: BTreeMap<String, Quantity> =
        settings.capacity.iter().map(|(name, amount)| (name.clone(), Quantity(amount.clone()))).collect();
    NodeStatus {
        addresses: Some(vec![
            address("InternalIP", settings.address.to_string()),
            address("Hostname", settings.node.clone()),
        ]),
        allocatable: Some(capacity.clone()),
        capacity: Some(capacity),
        conditions: Some(conditions.map(condition).into()),
        node_info: Some(NodeSystemInfo {
            architecture: architecture().into(),
            container_runtime_version: format!("butler://{}", env!("CARGO_PKG_VERSION")),
            kubelet_version: settings.version.clone(),
            operating_system: "linux".into(),
            ..NodeSystemInfo::default()
        }),
        ..NodeStatus::default()
    }
}

async fn renew(client: &Client, node: &Node, now: Timestamp) -> Result<(), kube::Error> {
    let owner = OwnerReference {
        api_version: Node::api_version(&()).into(),
        kind: Node::kind(&()).into(),
        name: node.name_any(),
        uid: node.uid().unwrap_or_default(),
        ..OwnerReference::default()
    };
    let lease = Lease {
        metadata: ObjectMeta {
            name: Some(node.name_any()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(node.name_any()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    };
    let api: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    let params = PatchParams::apply("butler-agent").force();
    api.patch(&node.name_any(), &params, &Patch::Apply(&lease)).await.map(drop)
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
