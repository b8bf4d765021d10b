//! What an addon object asks for, whichever kind it is of.

use std::fmt::Debug;

use butler_api::butler::addon_definition::DriftPolicy;
use butler_api::butler::addon_install::{AddonInstallStatus, HelmChart, UpgradeFailurePolicy};
use butler_api::butler::{ManagementAddon, TenantAddon};
use butler_api::names::finalizers;
use helm::values::Values;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use runtime::Key;

/// What is asked for: an entry of the catalogue, or any chart, on some cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ask {
    /// Name of the AddonDefinition.
    pub addon: Option<String>,
    /// A chart that is not in the catalogue.
    pub helm: Option<HelmChart>,
    /// Version, if not the catalogue's.
    pub version: Option<String>,
    /// Values over the catalogue's.
    pub values: Values,
    /// Names of addon objects that come first.
    pub depends_on: Vec<String>,
    /// What happens to objects that were changed by others, if not what the catalogue says.
    pub drift_policy: Option<DriftPolicy>,
    /// What happens when an upgrade fails.
    pub on_upgrade_failure: Option<UpgradeFailurePolicy>,
    /// Nothing is to be changed.
    pub paused: bool,
}

/// A kind of object that asks for an addon.
pub trait Addon: Resource<DynamicType = ()> + runtime::Object + Debug {
    /// The controller's name in logs and figures.
    const CONTROLLER: &'static str;
    /// What holds it until nothing is left on the cluster.
    const FINALIZER: &'static str;

    /// What it asks for.
    fn ask(&self) -> Ask;
    /// What was last told of it.
    fn told(&self) -> Option<&AddonInstallStatus>;
    /// The TenantCluster it goes to; nothing where that is the management cluster.
    fn cluster(&self) -> Option<Key>;
    /// Whether it goes to tenant clusters.
    fn is_tenants() -> bool;
    /// The API it is written through.
    fn api(client: &Client, namespace: &str) -> Api<Self>;
}

impl Addon for TenantAddon {
    const CONTROLLER: &'static str = "tenant-addon";
    const FINALIZER: &'static str = finalizers::TENANT_ADDON;

    fn ask(&self) -> Ask {
        let spec = &self.spec;
        Ask {
            addon: spec.addon.clone(),
            helm: spec.helm.clone(),
            version: spec.version.clone().filter(|version| !version.is_empty()),
            values: spec.values.clone().unwrap_or_default().0,
            depends_on: spec.depends_on.iter().map(|reference| reference.name.clone()).collect(),
            drift_policy: spec.drift_policy,
            on_upgrade_failure: spec.on_upgrade_failure,
            paused: spec.paused == Some(true),
        }
    }

    fn told(&self) -> Option<&AddonInstallStatus> {
        self.status.as_ref()
    }

    fn cluster(&self) -> Option<Key> {
        Some(Key::new(self.namespace().unwrap_or_default(), self.spec.cluster_ref.name.clone()))
    }

    fn is_tenants() -> bool {
        true
    }

    fn api(client: &Client, namespace: &str) -> Api<Self> {
        within(client, namespace)
    }
}

impl Addon for ManagementAddon {
    const CONTROLLER: &'static str = "management-addon";
    const FINALIZER: &'static str = finalizers::MANAGEMENT_ADDON;

    fn ask(&self) -> Ask {
        let spec = &self.spec;
        Ask {
            addon: Some(spec.addon.clone()),
            version: spec.version.clone().filter(|version| !version.is_empty()),
            values: spec.values.clone().unwrap_or_default().0,
            drift_policy: spec.drift_policy,
            on_upgrade_failure: spec.on_upgrade_failure,
            paused: spec.paused == Some(true),
            ..Ask::default()
        }
    }

    fn told(&self) -> Option<&AddonInstallStatus> {
        self.status.as_ref()
    }

    fn cluster(&self) -> Option<Key> {
        None
    }

    fn is_tenants() -> bool {
        false
    }

    fn api(client: &Client, _: &str) -> Api<Self> {
        everywhere(client)
    }
}

fn within<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(client: &Client, namespace: &str) -> Api<K> {
    Api::namespaced(client.clone(), namespace)
}

fn everywhere<K: Resource<DynamicType = (), Scope = ClusterResourceScope>>(client: &Client) -> Api<K> {
    Api::all(client.clone())
}
