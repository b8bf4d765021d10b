//! References to other objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// An object in the same namespace, or a cluster-scoped one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// An object whose namespace has a usual value.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NameRef {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the object; the platform namespace (butler-system) when left out.
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
}

/// An object in a stated namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedRef {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the object.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
}

/// A Secret, and which of its keys to read.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the Secret; the namespace of the referring object when left out.
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Key in the Secret; the usual key of its kind when left out.
    #[schemars(length(max = 253))]
    pub key: Option<String>,
}

impl From<&str> for LocalRef {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
}
