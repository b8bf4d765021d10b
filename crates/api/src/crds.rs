//! All CRDs, in one order, tidied for Kubernetes.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::{
    butler::{
        AddonDefinition, ButlerConfig, ClusterBootstrap, ClusterCreationPolicy, IPAllocation, IdentityProvider,
        ImageSync, LoadBalancerRequest, MachineRequest, ManagementAddon, NetworkPool, ProviderConfig, Team,
        TenantAddon, TenantCluster, User, butler_config, team, tenant_cluster,
    },
    controlplane::{self, StewardControlPlane, StewardControlPlaneTemplate},
    rules::Rules,
    steward::{DataStore, TenantControlPlane, tenant_control_plane},
};

/// Every CRD of the Butler API, ordered by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    // Schemas pass through several rewriters, which takes longer than anybody should wait for twice.
    static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(make);
    CRDS.clone()
}

fn make() -> Vec<CustomResourceDefinition> {
    let none = Rules::new;
    let mut crds = vec![
        finish::<AddonDefinition>(none()),
        finish::<ButlerConfig>(butler_config::root_rules()),
        finish::<ClusterBootstrap>(none()),
        finish::<ClusterCreationPolicy>(none()),
        finish::<IPAllocation>(none()),
        finish::<IdentityProvider>(none()),
        finish::<ImageSync>(none()),
        finish::<LoadBalancerRequest>(none()),
        finish::<MachineRequest>(none()),
        finish::<ManagementAddon>(none()),
        finish::<NetworkPool>(none()),
        finish::<ProviderConfig>(none()),
        finish::<Team>(team::root_rules()),
        finish::<TenantAddon>(none()),
        finish::<TenantCluster>(tenant_cluster::root_rules()),
        finish::<User>(none()),
        finish::<DataStore>(none()),
        finish::<TenantControlPlane>(tenant_control_plane::root_rules()),
        finish::<StewardControlPlane>(controlplane::root_rules()),
        finish::<StewardControlPlaneTemplate>(none()),
    ];
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// The CRD of a kind, tidied.
pub fn tidied<K: CustomResourceExt>() -> CustomResourceDefinition {
    finish::<K>(Rules::new())
}

/// The CRD of a kind, tidied, with the rules on its whole object (which see its name, as the derive's rules on the spec do not).
fn finish<K: CustomResourceExt>(root_rules: Rules) -> CustomResourceDefinition {
    let mut crd = K::crd();
    let schemas =
        crd.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    for schema in schemas {
        tidy_schema(schema);
        if !root_rules.is_empty() {
            schema.x_kubernetes_validations = Some(root_rules.iter().map(Into::into).collect());
        }
    }
    crd
}

/// Removes what the derive adds and Kubernetes' own generator does not: an explicit null then counts as left out, and CEL never
/// meets one.
fn tidy_schema(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    if let Some(words) = &mut schema.enum_ {
        words.retain(|word| !word.0.is_null());
    }
    for property in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        tidy_schema(property);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => tidy_schema(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy_schema),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &mut schema.additional_properties {
        tidy_schema(value);
    }
}
