//! Whose fields a remedy names. Pure.

use butler_api::butler::AddonDefinition;

use super::observed::Observed;
use crate::cluster::addon_fields;

/// Remedies are written about the addon's own object.
const VERSION: &str = "spec.version";
const VALUES: &str = "spec.values";

/// A remedy as it helps whoever owns the addon. Where a cluster asks for it, the cluster takes back what is changed in the
/// addon's own object: then it is about the cluster's spec, or, for what that cannot say, the catalogue.
pub(super) fn of_owner(observed: &Observed, remedy: &str) -> String {
    let is_tenants = !observed.key.namespace.is_empty();
    if !(observed.is_clusters_own && is_tenants) {
        return remedy.to_owned();
    }
    let addon = observed.ask.addon.clone().unwrap_or_default();
    let cluster = format!(" of TenantCluster {}", observed.ground.title);
    let (version, values) = addon_fields(&addon);
    let named = |field: Option<String>, otherwise: &str| match field {
        Some(field) => format!("{field}{cluster}"),
        None => format!("{otherwise} of AddonDefinition {addon}"),
    };
    let version = named(version, usual_version(observed.definition.as_deref()));
    let told = remedy.replace(VERSION, &version).replace(VALUES, &named(values, "spec.defaults.values"));
    // Whose they are is said once, at the end.
    let times = told.matches(&cluster).count();
    told.replacen(&cluster, "", times.saturating_sub(1))
}

fn usual_version(definition: Option<&AddonDefinition>) -> &'static str {
    match definition.is_some_and(|definition| definition.spec.manifests.is_some()) {
        true => "spec.manifests.version",
        false => "spec.chart.defaultVersion",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::addon::plan::tests::observed;

    #[test]
    fn remedies_name_what_the_owner_of_the_addon_changes() {
        let values_or_version = "correct spec.values or spec.version; spec.onUpgradeFailure Keep leaves it there";
        for (addon, is_own, remedy, expected) in [
            ("longhorn", false, values_or_version, values_or_version),
            (
                "longhorn",
                true,
                values_or_version,
                "correct spec.addons.storage.values or spec.addons.storage.version of TenantCluster c; \
                 spec.onUpgradeFailure Keep leaves it there",
            ),
            (
                "cilium",
                true,
                "set spec.version to one of 1.0.0",
                "set spec.addons.cni.version of TenantCluster c to one of 1.0.0",
            ),
            (
                "flux",
                true,
                "correct spec.values, or choose another spec.version",
                "correct spec.defaults.values of AddonDefinition flux, or choose another spec.addons.gitops.version of \
                 TenantCluster c",
            ),
            (
                "vault",
                true,
                "set spec.version to one that there is",
                "set spec.chart.defaultVersion of AddonDefinition vault to one that there is",
            ),
            ("longhorn", true, "wait: it is tried again", "wait: it is tried again"),
        ] {
            let mut observed = observed(json!({}));
            (observed.is_clusters_own, observed.ask.addon) = (is_own, Some(addon.to_owned()));
            assert_eq!(of_owner(&observed, remedy), expected);
            observed.key = runtime::Key::cluster("c-l");
            assert_eq!(of_owner(&observed, remedy), remedy, "of the management cluster");
        }
    }
}
