//! What people are told when an addon changes.

use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use runtime::events::News;

use super::plan::NO_WORKERS;
use crate::names::MANAGER;

/// What is new in `after`.
pub(super) fn news(before: &AddonInstallStatus, after: &AddonInstallStatus) -> Vec<News> {
    let mut all = Vec::new();
    let message = after.message.clone().unwrap_or_default();
    if before.phase != after.phase {
        let reason = match after.phase {
            Some(AddonPhase::Installing) => Some("Installing"),
            Some(AddonPhase::Upgrading) => Some("Upgrading"),
            Some(AddonPhase::Uninstalling) => Some("Uninstalling"),
            Some(AddonPhase::Installed) => Some("Installed"),
            _ => None,
        };
        all.extend(reason.map(|reason| News::normal(MANAGER, reason, message.clone())));
        let trouble = match after.phase {
            Some(AddonPhase::Failed) => Some("Failed"),
            Some(AddonPhase::Degraded) => Some("Degraded"),
            _ => None,
        };
        all.extend(trouble.map(|reason| News::warning(MANAGER, reason, message)));
    }
    let idles = |status: &AddonInstallStatus| status.blockers.iter().find(|told| told.reason == NO_WORKERS).cloned();
    if after.phase == Some(AddonPhase::Installed)
        && let (None, Some(idle)) = (idles(before), idles(after))
    {
        all.push(News::normal(MANAGER, NO_WORKERS, idle.message));
    }
    let repaired = |status: &AddonInstallStatus| status.drift.as_ref().and_then(|drift| drift.last_repaired.clone());
    if repaired(after).is_some() && repaired(before) != repaired(after) {
        all.push(News::normal(MANAGER, "Repaired", "objects that were changed or deleted are as they should be again"));
    }
    all
}
