//! Where an addon is on its cluster. Pure.

use std::fmt;

use butler_api::butler::AddonDefinition;
use butler_api::butler::addon_install::{AddonInstallStatus, HelmRelease};

use super::ask::Ask;

/// Name and namespace of a Helm release: what it is known by on its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Name of the release.
    pub release: String,
    /// Namespace on the cluster.
    pub namespace: String,
}

impl Placement {
    /// Where the addon object of this name goes; nothing where its definition is missing.
    pub(crate) fn asked(ask: &Ask, definition: Option<&AddonDefinition>, object: &str) -> Option<Self> {
        if let Some(chart) = &ask.helm {
            let release = chart.release_name.clone().unwrap_or_else(|| object.to_owned());
            return Some(Self { namespace: chart.namespace.clone().unwrap_or_else(|| release.clone()), release });
        }
        let definition = definition?;
        let name = definition.metadata.name.clone().unwrap_or_default();
        let defaults = definition.spec.defaults.clone().unwrap_or_default();
        Some(Self {
            release: defaults.release_name.unwrap_or_else(|| name.clone()),
            namespace: defaults.namespace.unwrap_or(name),
        })
    }

    /// Where it was put, by what was told.
    pub(crate) fn recorded(told: &AddonInstallStatus) -> Option<Self> {
        let HelmRelease { name, namespace, .. } = told.helm_release.clone()?;
        Some(Self { release: name?, namespace: namespace? })
    }

    /// A release of which nothing else is known yet.
    pub(crate) fn begun(&self) -> HelmRelease {
        HelmRelease {
            name: Some(self.release.clone()),
            namespace: Some(self.namespace.clone()),
            ..HelmRelease::default()
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "release {} in namespace {}", self.release, self.namespace)
    }
}
