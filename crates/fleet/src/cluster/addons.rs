//! Addons of a cluster, as far as the cluster itself waits for them.

use std::sync::Arc;

use butler_api::butler::TenantAddon;
use butler_api::butler::addon_install::AddonPhase;
use butler_api::shared::{Blocker, BlockerOwner};
use kube::ResourceExt;

use super::observed::Observed;
use super::resolve::Wanted;
use crate::blockers::{blocker, waiting};

/// Whether every addon of the cluster is installed.
pub(crate) fn are_installed(observed: &Observed, _wanted: &Wanted) -> bool {
    observed.addons.iter().all(|addon| phase_of(addon) == Some(AddonPhase::Installed))
}

/// What addons wait for, once it is their turn.
pub(crate) fn blockers(observed: &Observed, _wanted: &Wanted, is_their_turn: bool) -> Vec<Blocker> {
    if !is_their_turn {
        return Vec::new();
    }
    let missing = observed.addons.iter().filter(|addon| phase_of(addon) != Some(AddonPhase::Installed));
    missing
        .map(|addon| {
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
        })
        .collect()
}

fn phase_of(addon: &Arc<TenantAddon>) -> Option<AddonPhase> {
    addon.status.as_ref().and_then(|status| status.phase)
}
