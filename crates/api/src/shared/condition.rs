//! Conditions as Kubernetes tools read them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::string_enum::string_enum;

string_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// Nobody can tell now.
        Unknown = "Unknown",
    }
}

/// One aspect of an object's state. Only type and status are required, as in the documents that define Butler.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is judged, in CamelCase.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Generation of the object this was judged from.
    pub observed_generation: Option<i64>,
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Why, in one CamelCase word that programs can match.
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
    /// Why, in a sentence for people.
    #[schemars(length(max = 32768))]
    pub message: Option<String>,
}
