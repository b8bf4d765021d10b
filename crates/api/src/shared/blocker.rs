//! What an object waits for.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::string_enum::string_enum;

string_enum! {
    /// Who can do something about it.
    pub enum BlockerOwner {
        /// Butler is at work; waiting is enough.
        Butler = "Butler",
        /// The owner of the object.
        User = "User",
        /// An administrator of the team.
        TeamAdmin = "TeamAdmin",
        /// An operator of the platform.
        PlatformAdmin = "PlatformAdmin",
        /// Whoever runs the infrastructure behind the provider.
        Infrastructure = "Infrastructure",
    }
}

/// One thing an object waits for. Conditions, events, `butlerctl cluster why` and the console all print this.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// What it is, in one CamelCase word that programs can match.
    #[schemars(length(min = 1, max = 128))]
    pub reason: String,
    /// What it is, in a sentence for people.
    #[schemars(length(max = 4096))]
    pub message: String,
    /// What was seen that says so, one fact each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub evidence: Vec<String>,
    /// Who can do something about it.
    pub owner: Option<BlockerOwner>,
    /// What they can do.
    #[schemars(length(max = 4096))]
    pub remedy: Option<String>,
    /// Since when.
    pub since: Option<Time>,
}
