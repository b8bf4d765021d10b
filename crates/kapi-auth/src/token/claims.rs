//! What a token says. Fields are in alphabetical order, as kube-apiserver writes them.

use serde::{Deserialize, Serialize};

/// The claims of a token that was made on request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims {
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub(super) aud: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_seconds")]
    pub(super) exp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_seconds")]
    pub(super) iat: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) iss: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) jti: String,
    #[serde(default, rename = "kubernetes.io", skip_serializing_if = "Option::is_none")]
    pub(super) kubernetes: Option<Kubernetes>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_seconds")]
    pub(super) nbf: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) sub: String,
}

/// The private part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Kubernetes {
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Reference>,
    #[serde(default)]
    pub(super) serviceaccount: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warnafter: Option<i64>,
}

/// An object by name and UID.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Reference {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
}

/// The claims of a token that lives in a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LegacyClaims {
    pub(super) iss: String,
    #[serde(default, rename = "kubernetes.io/serviceaccount/namespace")]
    pub(super) namespace: String,
    #[serde(default, rename = "kubernetes.io/serviceaccount/secret.name")]
    pub(super) secret: String,
    #[serde(default, rename = "kubernetes.io/serviceaccount/service-account.name")]
    pub(super) name: String,
    #[serde(default, rename = "kubernetes.io/serviceaccount/service-account.uid")]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) sub: String,
}

/// The issuer of tokens that live in Secrets.
pub(super) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// `aud` is a text or a list of texts.
fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audience {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Audience::deserialize(from)? {
        Audience::One(one) => vec![one],
        Audience::Many(many) => many,
    })
}

/// A moment may carry fractions.
fn whole_seconds<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.map(|seconds| seconds as i64))
}
