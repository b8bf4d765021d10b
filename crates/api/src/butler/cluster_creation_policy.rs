//! ClusterCreationPolicy: what people may choose when they make a cluster.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Condition, LocalRef, Provider},
    string_enum::string_enum,
};

/// What people may choose. The narrowest scope that says something about an option decides it.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ClusterCreationPolicy",
    plural = "clustercreationpolicies",
    status = "ClusterCreationPolicyStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "ccp",
    category = "butler",
    doc = "ClusterCreationPolicy says which images, networks and other options people may choose for their clusters.",
    printcolumn(name = "Team", type_ = "string", json_path = ".spec.scope.team.teamRef.name"),
    printcolumn(name = "Env", type_ = "string", json_path = ".spec.scope.teamAndEnvironment.environmentName"),
    printcolumn(name = "Providers", type_ = "string", json_path = ".spec.targetProviders"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ClusterCreationPolicySpec {
    /// Whom it binds.
    pub scope: PolicyScope,
    /// Infrastructures it is about; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub target_providers: Vec<Provider>,
    /// Options by name: image, network, cluster, storageContainer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 16))]
    pub options: BTreeMap<String, PolicyOption>,
}

/// Whom a policy binds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::exactly_one(
    &["platformWide", "team", "teamAndEnvironment"], "say whom the policy binds",
)))]
pub struct PolicyScope {
    /// Everybody.
    pub platform_wide: Option<PlatformWide>,
    /// A team.
    pub team: Option<TeamScope>,
    /// An environment of a team.
    pub team_and_environment: Option<EnvironmentScope>,
}

/// Everybody; an empty object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformWide {}

/// A team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamScope {
    /// The team.
    pub team_ref: LocalRef,
}

/// An environment of a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentScope {
    /// The team.
    pub team_ref: LocalRef,
    /// The environment.
    #[schemars(length(min = 1, max = 63))]
    pub environment_name: String,
}

string_enum! {
    /// How strict an option is.
    pub enum OptionMode {
        /// The one value.
        Pin = "pin",
        /// One of the values.
        AllowList = "allowList",
        /// Any value; the default is chosen beforehand.
        Default = "default",
        /// Any value; the listed ones are recommended.
        Recommended = "recommended",
    }
}

/// What may be chosen for one option.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::rule(
        "self.mode != 'pin' || (has(self.values) && self.values.size() == 1)",
        "options.values must be exactly one for mode pin: list the one value",
    ),
    rules::rule(
        "!(self.mode in ['allowList', 'recommended']) || (has(self.values) && self.values.size() > 0)",
        "options.values is missing: modes allowList and recommended need at least one",
    ),
    rules::rule(
        "self.mode != 'default' || (has(self.default) && self.default != '')",
        "options.default is missing: mode default needs it",
    ),
])))]
pub struct PolicyOption {
    /// How strict it is.
    pub mode: OptionMode,
    /// The values, as the provider calls them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(length(min = 1, max = 512)))]
    pub values: Vec<String>,
    /// The value that is chosen beforehand.
    #[schemars(length(max = 512))]
    pub default: Option<String>,
    /// Why the values are recommended.
    #[schemars(length(max = 120))]
    pub recommended_reason: Option<String>,
}

/// What is known of a policy.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCreationPolicyStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Values that no longer exist at the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale_references: Vec<String>,
    /// Aspects: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
