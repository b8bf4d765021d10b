//! What people are told when an addon changes.

use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use butler_api::shared::ConditionStatus;
use runtime::events::News;

use super::plan::NO_WORKERS;
use super::report::{HEALTHY, installed_words};
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
        // What stands in the way of something else is no part of what has come about.
        let told = match after.phase {
            Some(AddonPhase::Installed) => {
                let version = after.installed_version.as_deref().unwrap_or_default();
                installed_words(version, holds(after, HEALTHY))
            }
            _ => message.clone(),
        };
        all.extend(reason.map(|reason| News::normal(MANAGER, reason, told)));
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

fn holds(status: &AddonInstallStatus, aspect: &str) -> bool {
    status.conditions.iter().any(|known| known.type_ == aspect && known.status == ConditionStatus::True)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_installed_is_told_without_what_stands_in_the_way_of_something_else() {
        let status = |phase: &str, healthy: &str, blockers: Value| -> AddonInstallStatus {
            serde_json::from_value(json!({
                "phase": phase, "installedVersion": "1.0.0", "message": "cannot read Deployment a",
                "conditions": [{"type": "Healthy", "status": healthy}], "blockers": blockers,
            }))
            .unwrap()
        };
        let error = json!([{"reason": "Forbidden", "message": "cannot read Deployment a"}]);
        let idle = json!([{"reason": "NoWorkers", "message": "c has no workers for it to run on"}]);
        let before = status("Installing", "False", json!([]));
        for (after, expected) in [
            (status("Installed", "True", error), vec!["Installed: 1.0.0 is installed, and its workloads run"]),
            (
                status("Installed", "False", idle),
                vec!["Installed: 1.0.0 is installed", "NoWorkers: c has no workers for it to run on"],
            ),
            (status("Failed", "False", json!([])), vec!["Failed: cannot read Deployment a"]),
        ] {
            let told: Vec<String> =
                news(&before, &after).into_iter().map(|one| format!("{}: {}", one.reason, one.message)).collect();
            assert_eq!(told, expected);
        }
    }
}
