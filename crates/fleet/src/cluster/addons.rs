//! Addons of a cluster, as far as the cluster itself waits for them.

use std::sync::Arc;

use butler_api::butler::TenantAddon;
use butler_api::butler::addon_install::AddonPhase;
use butler_api::butler::tenant_cluster::{
    CniProvider, IngressProvider, LoadBalancerProvider, MonitoringProvider, StorageProvider, TenantAddons,
};
use butler_api::shared::{Blocker, BlockerOwner};
use kube::ResourceExt;

use super::observed::Observed;
use super::resolve::Wanted;
use crate::blockers::{blocker, waiting};

/// Whether every addon of the cluster is installed.
pub(crate) fn are_installed(observed: &Observed, wanted: &Wanted) -> bool {
    let installed = |addon: &Arc<TenantAddon>| phase_of(addon) == Some(AddonPhase::Installed);
    asked(&wanted.spec.addons).is_empty() && observed.addons.iter().all(installed)
}

/// What addons wait for, once it is their turn.
pub(crate) fn blockers(observed: &Observed, wanted: &Wanted, is_their_turn: bool) -> Vec<Blocker> {
    if !is_their_turn {
        return Vec::new();
    }
    let asked = asked(&wanted.spec.addons);
    let mut blockers = Vec::new();
    if !asked.is_empty() {
        blockers.push(Blocker {
            evidence: asked.iter().map(|field| format!("spec.addons.{field} asks for one")).collect(),
            ..blocker(
                "AddonsUnsupported",
                "the addons of spec.addons cannot be installed yet",
                BlockerOwner::User,
                "remove them from spec.addons and install them by hand, or wait for a later release",
            )
        });
    }
    let missing = observed.addons.iter().filter(|addon| phase_of(addon) != Some(AddonPhase::Installed));
    blockers.extend(missing.map(|addon| not_installed(addon)));
    blockers
}

fn not_installed(addon: &TenantAddon) -> Blocker {
    let name = addon.name_any();
    let status = addon.status.clone().unwrap_or_default();
    match status.phase {
        Some(AddonPhase::Failed) => Blocker {
            evidence: status.message.into_iter().collect(),
            ..blocker(
                "AddonFailed",
                format!("addon {name} could not be installed"),
                BlockerOwner::User,
                format!("correct spec.values of TenantAddon {name}, or remove it"),
            )
        },
        phase => {
            let evidence = phase.map(|phase| format!("TenantAddon {name} is {phase}")).into_iter().collect();
            waiting("AddonsInstalling", format!("addon {name} is not installed yet"), evidence)
        }
    }
}

/// The fields of `spec.addons` that ask for something.
fn asked(addons: &TenantAddons) -> Vec<&'static str> {
    let fields = [
        ("cni", addons.cni.as_ref().is_some_and(|addon| addon.provider != Some(CniProvider::None))),
        (
            "loadBalancer",
            addons.load_balancer.as_ref().is_some_and(|addon| addon.provider != Some(LoadBalancerProvider::None)),
        ),
        ("storage", addons.storage.as_ref().is_some_and(|addon| addon.provider != Some(StorageProvider::None))),
        ("certManager", addons.cert_manager.as_ref().is_some_and(|addon| addon.enabled != Some(false))),
        (
            "ingress",
            addons
                .ingress
                .as_ref()
                .is_some_and(|addon| addon.enabled != Some(false) && addon.provider != Some(IngressProvider::None)),
        ),
        (
            "monitoring",
            addons.monitoring.as_ref().is_some_and(|addon| addon.provider != Some(MonitoringProvider::None)),
        ),
        ("gitops", addons.gitops.is_some()),
    ];
    fields.into_iter().filter(|(_, asks)| *asks).map(|(field, _)| field).collect()
}

fn phase_of(addon: &Arc<TenantAddon>) -> Option<AddonPhase> {
    addon.status.as_ref().and_then(|status| status.phase)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_ask_for_something_are_found() {
        for (addons, expected) in [
            (json!({}), vec![]),
            (json!({"cni": {"provider": "none"}, "certManager": {"enabled": false}}), vec![]),
            (json!({"cni": {"provider": "cilium"}, "storage": {"provider": "longhorn"}}), vec!["cni", "storage"]),
            (json!({"ingress": {"enabled": false}, "monitoring": {}, "gitops": {}}), vec!["monitoring", "gitops"]),
        ] {
            assert_eq!(asked(&serde_json::from_value(addons).unwrap()), expected);
        }
    }
}
