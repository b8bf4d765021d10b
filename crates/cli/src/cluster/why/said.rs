//! What a cluster has told itself, so that the objects below it need not say it once more.

use butler_api::butler::addon_install::AddonPhase;
use butler_api::butler::tenant_cluster::TenantClusterStatus;
use butler_api::butler::{TenantAddon, TenantCluster};
use butler_api::names::conditions::{READY, WORKERS_READY};
use butler_api::shared::{Blocker, BlockerOwner, ConditionStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

/// What the cluster has told itself.
pub(crate) struct Said<'a> {
    /// Reasons it has told for all below it.
    pub(crate) reasons: &'a [&'a str],
    pub(crate) cluster: &'a TenantCluster,
    pub(crate) status: &'a TenantClusterStatus,
}

impl Said<'_> {
    /// Whether a blocker of an object below is one of the cluster.
    pub(super) fn has_told(&self, blocker: &Blocker) -> bool {
        let is_same = |known: &Blocker| {
            (&known.reason, &known.message, &known.remedy) == (&blocker.reason, &blocker.message, &blocker.remedy)
        };
        self.status.blockers.iter().any(is_same)
    }

    /// Whether all that an addon waits for stands in a blocker of the cluster, with the same way out or none that is needed.
    pub(super) fn has_told_of(&self, addon: &TenantAddon) -> bool {
        let Some([cause]) = addon.status.as_ref().map(|status| status.blockers.as_slice()) else { return false };
        let name = format!("addon {} ", addon.name_any());
        let evidence = format!("{}: {}", cause.reason, cause.message);
        self.status.blockers.iter().filter(|known| known.message.starts_with(&name)).any(|known| {
            let is_told = known.evidence.first() == Some(&evidence)
                || (known.reason == cause.reason && known.message.ends_with(&cause.message));
            is_told && (known.remedy == cause.remedy || known.owner == Some(BlockerOwner::Butler))
        })
    }

    /// Whether an addon fell with workers that are missing, or the cluster serves without it while they are.
    pub(super) fn is_excused(&self, addon: &TenantAddon) -> bool {
        let find = |type_: &str| self.status.conditions.iter().find(|known| known.type_ == type_);
        let lack = find(WORKERS_READY).filter(|known| known.status == ConditionStatus::False);
        let (Some(lack), Some(status)) = (lack, &addon.status) else { return false };
        let second = |time: &Option<Time>| time.as_ref().map(|time| time.0.as_second());
        let fell_with_them = second(&lack.last_transition_time)
            .zip(second(&status.last_transition_time))
            .is_some_and(|(since, fell)| fell >= since);
        let serves = find(READY).is_some_and(|known| known.status == ConditionStatus::True);
        let is_spared = serves && is_owned(addon, self.cluster);
        status.phase == Some(AddonPhase::Degraded) && (fell_with_them || is_spared)
    }
}

/// Whether an addon is one of the cluster's spec.
pub(super) fn is_owned(addon: &TenantAddon, cluster: &TenantCluster) -> bool {
    let uid = cluster.metadata.uid.as_ref();
    addon.owner_references().iter().any(|owner| Some(&owner.uid) == uid)
}
