//! Whose fields a remedy names. Pure.

use std::fmt;

use butler_api::butler::AddonDefinition;
use butler_api::shared::{Blocker, BlockerOwner};

use super::observed::Observed;
use crate::cluster::addon_fields;

/// What stands in the way of an addon, before it is said whose fields its remedy names.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// All of it but the remedy.
    pub(super) blocker: Blocker,
    remedy: Vec<Part>,
}

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// The field that says which version is wanted.
    Version,
    /// The field that says which values are wanted.
    Values,
}

pub(super) fn words(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}

impl From<Blocker> for Obstacle {
    fn from(mut blocker: Blocker) -> Self {
        let remedy = blocker.remedy.take().map(Part::Text).into_iter().collect();
        Self { blocker, remedy }
    }
}

impl Obstacle {
    pub(super) fn new(reason: &str, message: impl Into<String>, owner: BlockerOwner, remedy: Vec<Part>) -> Self {
        let blocker = Blocker {
            reason: reason.to_owned(),
            message: message.into(),
            evidence: Vec::new(),
            owner: Some(owner),
            remedy: None,
            since: None,
        };
        Self { blocker, remedy }
    }

    pub(super) fn with_evidence(mut self, evidence: Vec<String>) -> Self {
        self.blocker.evidence = evidence;
        self
    }

    /// As it is told to whoever changes the addon's own object.
    pub(super) fn to_author(&self) -> Blocker {
        self.told(&Fields::of_object())
    }

    /// As it is told to whoever owns the addon.
    pub(super) fn to_owner(&self, observed: &Observed) -> Blocker {
        self.told(&Fields::of_owner(observed))
    }

    fn told(&self, fields: &Fields) -> Blocker {
        let (mut remedy, mut named) = (Vec::new(), Vec::new());
        for part in self.remedy.iter().rev() {
            let field = match part {
                Part::Text(text) => {
                    remedy.push(text.clone());
                    continue;
                }
                Part::Version => &fields.version,
                Part::Values => &fields.values,
            };
            // Whose they are is said once, at the end.
            let whose = if named.contains(&&field.whose) { String::new() } else { field.whose.to_string() };
            remedy.push(format!("{}{whose}", field.path));
            named.push(&field.whose);
        }
        let remedy = (!remedy.is_empty()).then(|| remedy.into_iter().rev().collect());
        let mut told = Blocker { remedy, ..self.blocker.clone() };
        // Teams do not change the catalogue.
        let is_platforms = named.iter().any(|whose| matches!(whose, Whose::Definition(_)));
        if is_platforms && told.owner == Some(BlockerOwner::User) {
            told.owner = Some(BlockerOwner::PlatformAdmin);
        }
        told
    }
}

/// The fields by which an addon is changed.
struct Fields {
    version: Field,
    values: Field,
}

struct Field {
    path: String,
    whose: Whose,
}

#[derive(PartialEq)]
enum Whose {
    Object,
    Cluster(String),
    Definition(String),
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object => Ok(()),
            Self::Cluster(name) => write!(f, " of TenantCluster {name}"),
            Self::Definition(name) => write!(f, " of AddonDefinition {name}"),
        }
    }
}

impl Fields {
    fn of_object() -> Self {
        let field = |path: &str| Field { path: path.to_owned(), whose: Whose::Object };
        Self { version: field("spec.version"), values: field("spec.values") }
    }

    /// Where a cluster asks for an addon, it takes back what is changed in the addon's own object: then they are those of the
    /// cluster's spec, or, for what that cannot say, of the catalogue.
    fn of_owner(observed: &Observed) -> Self {
        let is_tenants = !observed.key.namespace.is_empty();
        if !(observed.is_clusters_own && is_tenants) {
            return Self::of_object();
        }
        let addon = observed.ask.addon.clone().unwrap_or_default();
        let (version, values) = addon_fields(&addon);
        let field = |path: Option<String>, otherwise: &str| match path {
            Some(path) => Field { path, whose: Whose::Cluster(observed.ground.title.clone()) },
            None => Field { path: otherwise.to_owned(), whose: Whose::Definition(addon.clone()) },
        };
        let version = field(version, usual_version(observed.definition.as_deref()));
        Self { version, values: field(values, "spec.defaults.values") }
    }
}

fn usual_version(definition: Option<&AddonDefinition>) -> &'static str {
    match definition.is_some_and(|definition| definition.spec.manifests.is_some()) {
        true => "spec.manifests.version",
        false => "spec.chart.defaultVersion",
    }
}

#[cfg(test)]
mod tests {
    use BlockerOwner::{Butler, PlatformAdmin, User};
    use serde_json::json;

    use super::*;
    use crate::addon::plan::tests::observed;

    #[test]
    fn remedies_name_what_the_owner_of_the_addon_changes() {
        let values_or_version = || {
            let keep = words("; spec.onUpgradeFailure Keep leaves it there");
            vec![words("correct "), Part::Values, words(" or "), Part::Version, keep]
        };
        let refused = || {
            let fields = words(" leads to spec.versions[0].schema, spec.valuesFrom, or choose another ");
            vec![words("correct what in "), Part::Values, fields, Part::Version]
        };
        let own = "correct spec.values or spec.version; spec.onUpgradeFailure Keep leaves it there";
        for (addon, is_own, owner, remedy, expected) in [
            ("longhorn", false, User, values_or_version(), (User, own)),
            (
                "longhorn",
                true,
                User,
                values_or_version(),
                (
                    User,
                    "correct spec.addons.storage.values or spec.addons.storage.version of TenantCluster c; \
                     spec.onUpgradeFailure Keep leaves it there",
                ),
            ),
            // Fields of objects that were refused are nobody's to rename.
            (
                "longhorn",
                true,
                User,
                refused(),
                (
                    User,
                    "correct what in spec.addons.storage.values leads to spec.versions[0].schema, spec.valuesFrom, or \
                     choose another spec.addons.storage.version of TenantCluster c",
                ),
            ),
            (
                "cilium",
                true,
                User,
                vec![words("set "), Part::Version, words(" to one of 1.0.0")],
                (User, "set spec.addons.cni.version of TenantCluster c to one of 1.0.0"),
            ),
            (
                "flux",
                true,
                User,
                vec![words("correct "), Part::Values, words(", or choose another "), Part::Version],
                (
                    PlatformAdmin,
                    "correct spec.defaults.values of AddonDefinition flux, or choose another \
                     spec.addons.gitops.version of TenantCluster c",
                ),
            ),
            (
                "flux",
                true,
                User,
                vec![words("set "), Part::Version],
                (User, "set spec.addons.gitops.version of TenantCluster c"),
            ),
            (
                "metallb-addresses",
                true,
                User,
                vec![words("correct "), Part::Values, words(", or choose another "), Part::Version],
                (
                    PlatformAdmin,
                    "correct spec.addons.loadBalancer.addressPool of TenantCluster c, or choose another \
                     spec.chart.defaultVersion of AddonDefinition metallb-addresses",
                ),
            ),
            (
                "vault",
                true,
                User,
                values_or_version(),
                (
                    PlatformAdmin,
                    "correct spec.defaults.values or spec.chart.defaultVersion of AddonDefinition vault; \
                     spec.onUpgradeFailure Keep leaves it there",
                ),
            ),
            ("longhorn", true, Butler, vec![words("wait: it is tried again")], (Butler, "wait: it is tried again")),
        ] {
            let mut observed = observed(json!({}));
            (observed.is_clusters_own, observed.ask.addon) = (is_own, Some(addon.to_owned()));
            let obstacle = Obstacle::new("Reason", "message", owner, remedy);
            let told = |observed: &Observed| {
                let told = obstacle.to_owner(observed);
                (told.owner.unwrap(), told.remedy.unwrap())
            };
            assert_eq!(told(&observed), (expected.0, expected.1.to_owned()));
            observed.key = runtime::Key::cluster("c-l");
            let author = obstacle.to_author();
            assert_eq!(told(&observed), (owner, author.remedy.unwrap()), "of the management cluster");
        }
    }
}
