//! IdentityProvider: where people log in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Condition, SecretRef},
    string_enum::string_enum,
};

/// An OpenID Connect provider.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "IdentityProvider",
    status = "IdentityProviderStatus",
    derive = "PartialEq",
    shortname = "idp",
    category = "butler",
    doc = "IdentityProvider is an OpenID Connect provider people log in through.",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Issuer", type_ = "string", json_path = ".spec.oidc.issuerURL"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "self.type != 'oidc' || has(self.oidc)",
    "oidc is missing: type oidc needs it, with issuerURL, clientID, clientSecretRef and redirectURL",
)))]
pub struct IdentityProviderSpec {
    /// Protocol.
    #[serde(rename = "type", default = "oidc")]
    pub type_: IdentityProviderType,
    /// Name on the login button.
    #[schemars(length(max = 128))]
    pub display_name: Option<String>,
    /// Settings of OpenID Connect.
    pub oidc: Option<Oidc>,
    /// Groups whose members get a role on the whole platform; the highest counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub platform_role_groups: Vec<PlatformRoleGroup>,
}

string_enum! {
    /// Protocol of an identity provider.
    pub enum IdentityProviderType {
        /// OpenID Connect.
        Oidc = "oidc",
    }
}

fn oidc() -> IdentityProviderType {
    IdentityProviderType::Oidc
}

/// Settings of OpenID Connect.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Oidc {
    /// Address of the issuer, https only.
    #[serde(rename = "issuerURL")]
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^https://.+')", "oidc.issuerURL must begin with https://",
    )))]
    pub issuer_url: String,
    /// Client id Butler is registered under.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1, max = 512))]
    pub client_id: String,
    /// Secret with the client secret, under the key client-secret.
    pub client_secret_ref: SecretRef,
    /// Where the provider sends people back to.
    #[serde(rename = "redirectURL")]
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^https?://.+')", "oidc.redirectURL must begin with https:// or http://",
    )))]
    pub redirect_url: String,
    /// What to ask for; openid, email and profile when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub scopes: Vec<String>,
    /// Claim with the e-mail address.
    #[serde(default = "email_claim")]
    #[schemars(length(max = 128))]
    pub email_claim: String,
    /// Claim with the groups.
    #[serde(default = "groups_claim")]
    #[schemars(length(max = 128))]
    pub groups_claim: String,
    /// Google only: the one domain people may come from.
    #[schemars(length(max = 253))]
    pub hosted_domain: Option<String>,
    /// Google only: how to look groups up.
    pub google_workspace: Option<GoogleWorkspace>,
    /// Accept any certificate. For trials only.
    #[serde(default)]
    pub insecure_skip_verify: bool,
}

fn email_claim() -> String {
    "email".to_owned()
}

fn groups_claim() -> String {
    "groups".to_owned()
}

/// How to look groups up at Google.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoogleWorkspace {
    /// Administrator to act as.
    #[schemars(length(min = 3, max = 320))]
    pub admin_email: String,
    /// Secret with the service account, under the key service-account.json.
    pub service_account_secret_ref: SecretRef,
}

/// A group whose members get a role on the whole platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformRoleGroup {
    /// Name of the group.
    #[schemars(length(min = 1, max = 320))]
    pub name: String,
    /// The role.
    pub role: GroupPlatformRole,
}

string_enum! {
    /// Role a group can give.
    pub enum GroupPlatformRole {
        /// May do everything.
        Admin = "admin",
        /// May see everything.
        Viewer = "viewer",
    }
}

string_enum! {
    /// Whether people can log in through it.
    pub enum IdentityProviderPhase {
        /// Not asked yet.
        Pending = "Pending",
        /// They can.
        Ready = "Ready",
        /// They cannot.
        Failed = "Failed",
    }
}

/// What is known of an identity provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProviderStatus {
    /// Whether people can log in through it.
    pub phase: Option<IdentityProviderPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// What its discovery document says.
    pub discovered_endpoints: Option<DiscoveredEndpoints>,
    /// When it last answered.
    pub last_validated_time: Option<Time>,
    /// Why it fails.
    pub message: Option<String>,
    /// Aspects: Discovered, SecretValid, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// What a discovery document says.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredEndpoints {
    /// Where people log in.
    pub authorization_endpoint: Option<String>,
    /// Where tokens come from.
    pub token_endpoint: Option<String>,
    /// Where claims come from.
    pub user_info_endpoint: Option<String>,
    /// Where signing keys come from.
    #[serde(rename = "jwksURI")]
    pub jwks_uri: Option<String>,
}
