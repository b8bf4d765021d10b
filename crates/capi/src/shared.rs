//! Shapes that several kinds use.

use std::collections::BTreeMap;

use butler_api::shared::ConditionStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// An object of any kind.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Group and version of its kind.
    pub api_version: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its namespace; that of the referring object when left out.
    pub namespace: Option<String>,
    /// Its unique identifier.
    pub uid: Option<String>,
    /// Its version when it was referred to.
    pub resource_version: Option<String>,
    /// A part of it.
    pub field_path: Option<String>,
}

impl ObjectReference {
    /// An object in the same namespace.
    pub fn new(api_version: &str, kind: &str, name: &str) -> Self {
        let word = |word: &str| Some(word.to_owned());
        Self { api_version: word(api_version), kind: word(kind), name: word(name), ..Self::default() }
    }
}

/// Labels and annotations for what a template makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMeta {
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What a template makes: metadata and a spec.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateResource<S> {
    /// Labels and annotations.
    pub metadata: Option<TemplateMeta>,
    /// The spec.
    pub spec: S,
}

/// One aspect of an object's state, as contract v1beta1 writes it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is judged.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// How bad it is when it does not: Error, Warning or Info.
    pub severity: Option<String>,
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Why, in one CamelCase word.
    pub reason: Option<String>,
    /// Why, in a sentence.
    pub message: Option<String>,
}

/// One address of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineAddress {
    /// Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
    #[serde(rename = "type")]
    pub type_: String,
    /// The address.
    pub address: String,
}

impl Condition {
    /// Whether the condition of this type is among them and holds.
    pub fn holds<'a>(conditions: impl IntoIterator<Item = &'a Self>, type_: &str) -> bool {
        let found = conditions.into_iter().find(|condition| condition.type_ == type_);
        found.is_some_and(|condition| condition.status == ConditionStatus::True)
    }
}
