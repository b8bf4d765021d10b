//! What to do next for a KubeadmConfig, and what is told of it.

use std::sync::Arc;
use std::time::Duration;

use capi::bootstrap::{BootstrapTokenDiscovery, Discovery, KubeadmConfig, KubeadmConfigSpec, KubeadmConfigStatus};
use capi::core::{Cluster, Machine};
use capi::names::conditions;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use pki::{BootstrapToken, Certificate};

use super::token::LIFETIME;
use crate::cluster_api::conditions::{judged, since};
use crate::cluster_api::world::{is_leaving, is_paused};

/// What a pass knows.
pub(super) struct Observed {
    pub(super) config: Arc<KubeadmConfig>,
    pub(super) machine: Option<Arc<Machine>>,
    pub(super) cluster: Option<Arc<Cluster>>,
    /// The cluster's authority, as PEM.
    pub(super) authority: Option<String>,
    /// Whether the Secret with the data is there.
    pub(super) has_data: bool,
    /// When the token ends; nothing when the cluster does not know it, or nobody needs it any more.
    pub(super) expires: Option<Timestamp>,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Step {
    /// Make a token, and say how the cluster is found by it.
    Discover(Discovery),
    /// Write the data.
    Data,
    /// Let the token live on.
    Refresh(BootstrapToken),
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<KubeadmConfigStatus>,
    /// When the token has to be refreshed.
    pub(super) again: Option<Duration>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let config = &observed.config;
    if is_paused(&**config, observed.cluster.as_deref()) || is_leaving(&**config) {
        return Plan { steps: Vec::new(), status: config.status.clone(), again: None };
    }
    match obstacle(observed) {
        Some((reason, message)) => {
            Plan { steps: Vec::new(), status: Some(report(observed, Some((reason, message)))), again: None }
        }
        None => joining(observed),
    }
}

/// What a machine's data has to wait for.
fn obstacle(observed: &Observed) -> Option<(&'static str, String)> {
    let spec = &observed.config.spec;
    if spec.format.as_deref().is_some_and(|format| format != "cloud-config") {
        return Some(("Unsupported", "only cloud-config is written here".into()));
    }
    let Some(cluster) = observed.cluster.as_ref().filter(|_| observed.machine.is_some()) else {
        return Some(("WaitingForOwner", "no machine of a cluster owns it yet".into()));
    };
    if !cluster.status.as_ref().is_some_and(|status| status.infrastructure_ready) {
        return Some(("WaitingForClusterInfrastructure", "the cluster's infrastructure is not ready yet".into()));
    }
    if !begins(spec) && !cluster.is_control_plane_initialized() {
        return Some(("WaitingForControlPlaneAvailable", "the control plane has not answered yet".into()));
    }
    if observed.authority.is_none() || endpoint(cluster).is_none() {
        return Some((
            "WaitingForControlPlaneAvailable",
            "the cluster's authority or endpoint is not known yet".into(),
        ));
    }
    None
}

fn endpoint(cluster: &Cluster) -> Option<String> {
    let endpoint = cluster.spec.control_plane_endpoint.as_ref().filter(|known| !known.host.is_empty())?;
    let host = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
    Some(format!("{host}:{}", endpoint.port))
}

/// Whether a machine begins its cluster, and so needs nobody to let it in.
pub(super) fn begins(spec: &KubeadmConfigSpec) -> bool {
    spec.init_configuration.is_some()
}

fn joining(observed: &Observed) -> Plan {
    if begins(&observed.config.spec) {
        let steps = if observed.has_data { Vec::new() } else { vec![Step::Data] };
        return Plan { steps, status: Some(report(observed, None)), again: None };
    }
    let Some(token) = token(&observed.config) else {
        let discovery = discovery(observed).map(Step::Discover);
        return Plan { steps: discovery.into_iter().collect(), status: Some(report(observed, None)), again: None };
    };
    let mut steps = Vec::new();
    if !observed.has_data {
        steps.push(Step::Data);
    }
    if !needs_token(observed) {
        return Plan { steps, status: Some(report(observed, None)), again: None };
    }
    // Refreshed in the middle of its life, it never ends before its machine has joined.
    let half = LIFETIME / 2;
    let left = observed.expires.map_or(SignedDuration::ZERO, |expires| expires.duration_since(observed.now));
    let again = match left <= half {
        true => {
            steps.push(Step::Refresh(token));
            half
        }
        false => left - half,
    };
    let again = Duration::try_from(again).unwrap_or_default() + Duration::from_secs(1);
    Plan { steps, status: Some(report(observed, None)), again: Some(again) }
}

/// Whether a machine may still join with the token.
pub(super) fn needs_token(observed: &Observed) -> bool {
    let has_joined = |machine: &Machine| machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    observed.machine.as_ref().is_some_and(|machine| !is_leaving(&**machine) && !has_joined(machine))
}

/// The token in a configuration.
pub(super) fn token(config: &KubeadmConfig) -> Option<BootstrapToken> {
    let discovery = config.spec.join_configuration.as_ref()?.discovery.as_ref()?;
    let (id, secret) = discovery.bootstrap_token.as_ref()?.token.split_once('.')?;
    BootstrapToken::from_parts(id, secret)
}

/// How the cluster is found, but for the token; what the user said of it stays.
fn discovery(observed: &Observed) -> Option<Discovery> {
    let given =
        observed.config.spec.join_configuration.as_ref().and_then(|join| join.discovery.clone()).unwrap_or_default();
    let mut found = given.bootstrap_token.clone().unwrap_or_default();
    found.api_server_endpoint = found.api_server_endpoint.or(endpoint(observed.cluster.as_ref()?));
    if found.ca_cert_hashes.is_empty() {
        let authorities = Certificate::all_from_pem(observed.authority.as_ref()?).ok()?;
        found.ca_cert_hashes = authorities.iter().map(|authority| authority.public_key().pin()).collect();
    }
    let bootstrap_token = Some(BootstrapTokenDiscovery { token: String::new(), ..found });
    Some(Discovery { bootstrap_token, ..given })
}

fn report(observed: &Observed, obstacle: Option<(&str, String)>) -> KubeadmConfigStatus {
    let config = &observed.config;
    let before = config.status.clone().unwrap_or_default();
    let is_complete = begins(&config.spec) || token(config).is_some();
    let ready = before.ready || observed.has_data && is_complete;
    let (reason, message) = obstacle.unwrap_or(("Working", "the data is being made".into()));
    let verdicts = vec![
        judged(conditions::READY, ready, reason, message.clone()),
        judged(conditions::DATA_SECRET_AVAILABLE, ready, reason, message),
    ];
    KubeadmConfigStatus {
        observed_generation: config.metadata.generation,
        ready,
        data_secret_name: ready.then(|| config.name_any()),
        failure_reason: None,
        failure_message: None,
        conditions: since(&before.conditions, verdicts, observed.now),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CA: &str = include_str!("../../../../pki/fixtures/rsa-ca.crt");
    const TOKEN: &str = "abcdef.0123456789abcdef";

    fn observed(spec: Value, status: Value) -> Observed {
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}},
            "status": {"infrastructureReady": true, "conditions": [{"type": conditions::CONTROL_PLANE_INITIALIZED, "status": "True"}]},
        });
        let machine = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"},
            "spec": {"clusterName": "c", "infrastructureRef": {}},
        });
        let config = json!({
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfig", "metadata": {"name": "m"},
            "spec": spec, "status": status,
        });
        Observed {
            config: Arc::new(serde_json::from_value(config).unwrap()),
            machine: Some(Arc::new(serde_json::from_value(machine).unwrap())),
            cluster: Some(Arc::new(serde_json::from_value(cluster).unwrap())),
            authority: Some(CA.to_owned()),
            has_data: false,
            expires: Some("2026-01-01T01:15:00Z".parse().unwrap()),
            now: "2026-01-01T01:00:00Z".parse().unwrap(),
        }
    }

    fn with_token() -> Value {
        json!({"joinConfiguration": {"discovery": {"bootstrapToken": {"token": TOKEN}}}})
    }

    #[test]
    fn a_token_is_made_then_the_data() {
        let first = plan(&observed(json!({"joinConfiguration": {"nodeRegistration": {"name": "x"}}}), json!({})));
        let [Step::Discover(discovery)] = first.steps.as_slice() else { panic!("{:?}", first.steps) };
        let found = discovery.bootstrap_token.as_ref().unwrap();
        assert_eq!(found.api_server_endpoint.as_deref(), Some("10.0.0.1:6443"));
        assert!(found.ca_cert_hashes[0].starts_with("sha256:984a1e17"), "{:?}", found.ca_cert_hashes);

        let mut known = observed(with_token(), json!({}));
        assert!(matches!(plan(&known).steps.as_slice(), [Step::Data]));
        known.has_data = true;
        let done = plan(&known);
        assert!(done.steps.is_empty());
        let status = done.status.unwrap();
        assert_eq!((status.ready, status.data_secret_name.as_deref()), (true, Some("m")));
    }

    #[test]
    fn a_token_lives_until_its_machine_has_joined() {
        for (expires, joined, refreshed, again) in [
            (Some("2026-01-01T01:14:00Z"), false, false, Some(6 * 60 + 31)),
            (Some("2026-01-01T01:07:00Z"), false, true, Some(7 * 60 + 31)),
            (Some("2026-01-01T00:59:00Z"), false, true, Some(7 * 60 + 31)),
            (None, false, true, Some(7 * 60 + 31)),
            (Some("2026-01-01T00:59:00Z"), true, false, None),
        ] {
            let mut known = observed(with_token(), json!({"ready": true}));
            known.has_data = true;
            known.expires = expires.map(|time| time.parse().unwrap());
            if joined {
                let mut machine = (**known.machine.as_ref().unwrap()).clone();
                machine.status = serde_json::from_value(json!({"nodeRef": {"name": "m"}})).unwrap();
                known.machine = Some(Arc::new(machine));
            }
            let plan = plan(&known);
            assert_eq!(
                matches!(plan.steps.as_slice(), [Step::Refresh(token)] if token.id == "abcdef"),
                refreshed,
                "{expires:?}"
            );
            assert_eq!(plan.again.map(|again| again.as_secs()), again, "{expires:?}");
        }
    }

    #[test]
    fn the_machine_that_begins_a_cluster_waits_for_nobody() {
        let mut first = observed(json!({"initConfiguration": {}, "clusterConfiguration": {}}), json!({}));
        let mut cluster = (**first.cluster.as_ref().unwrap()).clone();
        cluster.status.as_mut().unwrap().conditions.clear();
        first.cluster = Some(Arc::new(cluster));
        assert!(matches!(plan(&first).steps.as_slice(), [Step::Data]));
        first.has_data = true;
        let done = plan(&first);
        assert!(done.steps.is_empty() && done.status.unwrap().ready && done.again.is_none());
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut lonely = observed(json!({}), json!({}));
        lonely.machine = None;
        let mut early = observed(json!({}), json!({}));
        let mut cluster = (**early.cluster.as_ref().unwrap()).clone();
        cluster.status = None;
        early.cluster = Some(Arc::new(cluster));
        let mut blind = observed(json!({}), json!({}));
        blind.authority = None;
        for (known, reason) in [
            (lonely, "WaitingForOwner"),
            (early, "WaitingForClusterInfrastructure"),
            (blind, "WaitingForControlPlaneAvailable"),
            (observed(json!({"format": "ignition"}), json!({})), "Unsupported"),
        ] {
            let plan = plan(&known);
            assert!(plan.steps.is_empty());
            assert_eq!(plan.status.unwrap().conditions[0].reason.as_deref(), Some(reason));
        }
    }
}
