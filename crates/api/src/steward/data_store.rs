//! DataStore: where hosted control planes keep their data.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Blocker, Condition},
    string_enum::string_enum,
};

/// A store that many control planes share.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "steward.butlerlabs.dev",
    version = "v1alpha1",
    kind = "DataStore",
    status = "DataStoreStatus",
    derive = "PartialEq",
    category = "butler",
    category = "steward",
    doc = "DataStore is a store that hosted control planes share, each with a user and a prefix of its own.",
    printcolumn(name = "Driver", type_ = "string", json_path = ".spec.driver"),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Tenants", type_ = "integer", json_path = ".status.tenants"),
    printcolumn(
        name = "Used",
        type_ = "integer",
        json_path = ".status.usedBytes",
        description = "Bytes of all tenants",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::rule(
        "self.driver != 'etcd' || (has(self.tlsConfig) && has(self.tlsConfig.certificateAuthority.privateKey) && \
         has(self.tlsConfig.clientCertificate))",
        "tlsConfig is incomplete: driver etcd needs the CA with its private key, and a client certificate",
    ),
    rules::rule(
        "self.driver in ['etcd', 'embedded'] || has(self.tlsConfig) || has(self.basicAuth)",
        "tlsConfig or basicAuth is missing: the store must know who asks",
    ),
])))]
pub struct DataStoreSpec {
    /// Kind of store.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("driver", "make another DataStore")))]
    pub driver: Driver,
    /// Addresses, as host:port.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 317)), extend("x-kubernetes-validations" = rules::rule(
        r"self.all(e, e.matches('^(\\[[0-9a-fA-F:.]+\\]|[^:/ ]+):[0-9]{1,5}$'))",
        "endpoints must be host:port, without https://",
    )))]
    pub endpoints: Vec<String>,
    /// User and password.
    pub basic_auth: Option<BasicAuth>,
    /// Certificates.
    pub tls_config: Option<TlsConfig>,
}

string_enum! {
    /// Kind of store.
    pub enum Driver {
        /// etcd.
        Etcd = "etcd",
        /// MySQL, through kine.
        MySql = "MySQL",
        /// PostgreSQL, through kine.
        PostgreSql = "PostgreSQL",
        /// NATS, through kine.
        Nats = "NATS",
        /// The store of the embedded API on the same machine.
        Embedded = "embedded",
    }
}

/// User and password.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BasicAuth {
    /// The user.
    pub username: ContentRef,
    /// The password.
    pub password: ContentRef,
}

/// Certificates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsConfig {
    /// Authority of the store.
    pub certificate_authority: CertificateAuthority,
    /// Certificate Steward shows.
    pub client_certificate: Option<ClientCertificate>,
}

/// A certificate authority.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateAuthority {
    /// Its certificate.
    pub certificate: ContentRef,
    /// Its private key, from which tenants get their certificates.
    pub private_key: Option<ContentRef>,
}

/// A certificate with its key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCertificate {
    /// The certificate.
    pub certificate: ContentRef,
    /// Its private key.
    pub private_key: ContentRef,
}

/// Something written here, or in a Secret.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::at_least_one(
    &["content", "secretReference"], "write it here in base64, or name the Secret it is in",
)))]
pub struct ContentRef {
    /// The thing itself, in base64; wins over the Secret.
    #[schemars(length(max = 65_536))]
    pub content: Option<String>,
    /// The Secret it is in.
    pub secret_reference: Option<SecretKey>,
}

/// A key of a Secret.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the Secret; Steward's own when left out.
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Key in the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key_path: String,
}

/// What is known of a store.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataStoreStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Whether it can be used.
    pub ready: Option<bool>,
    /// Control planes that use it, as namespace/name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used_by: Vec<String>,
    /// How many those are.
    pub tenants: Option<i32>,
    /// Bytes of all tenants together.
    pub used_bytes: Option<i64>,
    /// Bytes the store takes on disk.
    pub size_bytes: Option<i64>,
    /// Bytes the store may take.
    pub quota_bytes: Option<i64>,
    /// Version the store reports.
    pub version: Option<String>,
    /// Its members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["endpoint"]))]
    pub members: Vec<MemberReport>,
    /// When the numbers were taken.
    pub measured_at: Option<Time>,
    /// Aspects: CredentialsValid, Reachable, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What stands in the way, for example of its deletion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

/// A member of a store.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberReport {
    /// Its address.
    pub endpoint: String,
    /// Whether it answers.
    #[serde(default)]
    pub healthy: bool,
    /// Whether it leads.
    pub leader: Option<bool>,
    /// Why it does not answer.
    pub message: Option<String>,
}
