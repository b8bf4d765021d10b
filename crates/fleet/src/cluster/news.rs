//! What people are told when a cluster changes.

use butler_api::butler::tenant_cluster::{ClusterPhase, TenantClusterStatus};
use butler_api::shared::{Blocker, BlockerOwner};
use runtime::events::News;

use super::addons::ADDON_PAUSED;
use super::health::ASLEEP;
use crate::addon::PAUSED;
use crate::names::MANAGER;

/// Blockers that somebody wants.
const DELIBERATE: [&str; 3] = [PAUSED, ADDON_PAUSED, ASLEEP];

/// What is new in `after`. What only Butler waits for is no news: it is in the status while it lasts.
pub(super) fn news(before: &TenantClusterStatus, after: &TenantClusterStatus) -> Vec<News> {
    let mut all = Vec::new();
    if before.phase != after.phase
        && let Some(phase) = after.phase
    {
        all.push(of_phase(before.phase, phase, after));
    }
    let version = |status: &TenantClusterStatus| {
        status.observed_state.as_ref().and_then(|state| state.kubernetes_version.clone())
    };
    if let (Some(old), Some(new)) = (version(before), version(after))
        && old != new
    {
        all.push(News::normal(MANAGER, "ControlPlaneUpgraded", format!("the control plane went from {old} to {new}")));
    }
    let is_news = |blocker: &Blocker| blocker.owner != Some(BlockerOwner::Butler);
    let is_known = |new: &Blocker| before.blockers.iter().any(|known| known.reason == new.reason && is_news(known));
    let blocked = after.blockers.iter().filter(|blocker| is_news(blocker) && !is_known(blocker));
    all.extend(blocked.map(|blocker| {
        let text = format!("{}: {}", blocker.reason, blocker.message);
        match DELIBERATE.contains(&blocker.reason.as_str()) {
            true => News::normal(MANAGER, "Blocked", text),
            false => News::warning(MANAGER, "Blocked", text),
        }
    }));
    all
}

fn of_phase(was: Option<ClusterPhase>, phase: ClusterPhase, after: &TenantClusterStatus) -> News {
    let normal = |reason, message: String| News::normal(MANAGER, reason, message);
    match phase {
        ClusterPhase::Pending if was == Some(ClusterPhase::Failed) => {
            normal("Retried", "another try begins".to_owned())
        }
        ClusterPhase::Pending => normal("Accepted", "the cluster is looked after".to_owned()),
        ClusterPhase::Provisioning => {
            let chosen = after.resolved.as_ref().and_then(|resolved| resolved.provider_config_ref.as_ref());
            let place = chosen.map(|chosen| format!(" on ProviderConfig {}/{}", chosen.namespace, chosen.name));
            normal("Provisioning", format!("control plane and machines are being made{}", place.unwrap_or_default()))
        }
        ClusterPhase::Installing => normal("Installing", "addons are being installed".to_owned()),
        ClusterPhase::Ready if was == Some(ClusterPhase::Updating) => {
            normal("Updated", "the cluster is what its spec says".to_owned())
        }
        ClusterPhase::Ready => {
            let nodes = after.worker_nodes_ready.unwrap_or_default();
            let endpoint = after.control_plane_endpoint.as_deref().unwrap_or("its address");
            let nodes = if nodes == 1 { "1 worker node".to_owned() } else { format!("{nodes} worker nodes") };
            normal("Ready", format!("the cluster serves at {endpoint} with {nodes}"))
        }
        ClusterPhase::Updating => normal("Updating", format!("left to do: {}", after.remaining.join("; "))),
        ClusterPhase::Deleting => {
            normal("Deleting", "addons go first, then machines, then the control plane".to_owned())
        }
        ClusterPhase::Failed => {
            let cause = after.blockers.first().map(|blocker| blocker.message.clone()).unwrap_or_default();
            News::warning(MANAGER, "Failed", cause)
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::events::Tone;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_changed_is_told_once() {
        let blocked =
            |owner: &str| json!({"phase": "Pending", "blockers": [{"reason": "X", "message": "y", "owner": owner}]});
        let running = |version: &str| json!({"phase": "Ready", "observedState": {"kubernetesVersion": version}});
        let phase = |phase: &str| json!({"phase": phase});
        let table: Vec<(Value, Value, Vec<&str>)> = vec![
            (json!({}), phase("Pending"), vec!["Accepted"]),
            (phase("Pending"), phase("Provisioning"), vec!["Provisioning"]),
            (phase("Installing"), phase("Ready"), vec!["Ready"]),
            (phase("Updating"), phase("Ready"), vec!["Updated"]),
            (phase("Failed"), phase("Pending"), vec!["Retried"]),
            (phase("Ready"), phase("Ready"), vec![]),
            (running("v1.30.0"), running("v1.31.0"), vec!["ControlPlaneUpgraded"]),
            (phase("Pending"), blocked("User"), vec!["Blocked"]),
            (phase("Pending"), blocked("Butler"), vec![]),
            (blocked("User"), blocked("User"), vec![]),
            // What Butler was at work on is somebody's now.
            (blocked("Butler"), blocked("User"), vec!["Blocked"]),
        ];
        for (before, after, expected) in table {
            let told = news(&serde_json::from_value(before).unwrap(), &serde_json::from_value(after).unwrap());
            assert_eq!(told.iter().map(|news| news.reason).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_somebody_wants_is_no_alarm() {
        for (reason, expected) in [
            ("Paused", Tone::Normal),
            ("AddonPaused", Tone::Normal),
            ("Asleep", Tone::Normal),
            ("RepairHeld", Tone::Warning),
        ] {
            let blocker = json!({"reason": reason, "message": "m", "owner": "User"});
            let after = json!({"phase": "Ready", "blockers": [blocker]});
            let before = json!({"phase": "Ready"});
            let told = news(&serde_json::from_value(before).unwrap(), &serde_json::from_value(after).unwrap());
            assert_eq!(told.iter().map(|news| news.tone).collect::<Vec<_>>(), [expected], "{reason}");
        }
    }
}
