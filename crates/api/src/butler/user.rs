//! User: an account of the platform.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::team::TeamRole;
use crate::{
    rules,
    shared::{Condition, SecretRef},
    string_enum::string_enum,
};

/// An account: who it is, and what it may do on the whole platform. Rights in teams come from the teams.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "User",
    status = "UserStatus",
    derive = "PartialEq",
    shortname = "usr",
    category = "butler",
    doc = "User is a person who may use the platform, with a password of its own or through single sign-on.",
    printcolumn(name = "Email", type_ = "string", json_path = ".spec.email"),
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Auth", type_ = "string", json_path = ".spec.authType"),
    printcolumn(name = "Platform Admin", type_ = "boolean", json_path = ".spec.isPlatformAdmin"),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.platformRole", priority = 1),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Last Login", type_ = "date", json_path = ".status.lastLoginTime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::rule(
        "self.authType == 'sso' || !(has(self.ssoProvider) || has(self.ssoSubject))",
        "ssoProvider and ssoSubject are only for authType sso: remove them, or set authType to sso",
    ),
    rules::kept(&["ssoSubject"], "it is what the account is recognised by"),
])))]
pub struct UserSpec {
    /// E-mail address; also the name to log in with.
    #[schemars(length(max = 320), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^[^@ ]+@[^@ ]+$')",
        "email must be an e-mail address, for example jo@example.com",
    )))]
    pub email: String,
    /// Name for people.
    #[schemars(length(max = 128))]
    pub display_name: Option<String>,
    /// How the person proves who they are.
    #[serde(default = "internal")]
    pub auth_type: AuthType,
    /// IdentityProvider of an sso account.
    #[schemars(length(max = 253))]
    pub sso_provider: Option<String>,
    /// What the identity provider calls the person (OIDC sub).
    #[schemars(length(max = 512), extend("x-kubernetes-validations" = rules::immutable("ssoSubject", "make a new account")))]
    pub sso_subject: Option<String>,
    /// Whether logging in is refused.
    #[serde(default)]
    pub disabled: bool,
    /// Administrator of the platform. The higher of this and platformRole counts; prefer platformRole.
    #[serde(default)]
    pub is_platform_admin: bool,
    /// Role on the whole platform; empty for none.
    pub platform_role: Option<PlatformRole>,
    /// Address of a picture.
    #[schemars(length(max = 131_072))]
    pub avatar: Option<String>,
    /// SSH keys of the person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub ssh_keys: Vec<SshKey>,
}

string_enum! {
    /// How a person proves who they are.
    pub enum AuthType {
        /// Through an identity provider.
        Sso = "sso",
        /// With a password kept by Butler.
        Internal = "internal",
    }
}

fn internal() -> AuthType {
    AuthType::Internal
}

string_enum! {
    /// Role on the whole platform.
    pub enum PlatformRole {
        /// May do everything.
        Admin = "admin",
        /// May see everything.
        Viewer = "viewer",
        /// Nothing beyond the teams.
        None = "",
    }
}

/// An SSH key.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SshKey {
    /// Name of the key.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// The public key.
    #[schemars(length(min = 1, max = 16384))]
    pub public_key: String,
    /// Its fingerprint.
    #[schemars(length(max = 128))]
    pub fingerprint: Option<String>,
    /// When it was added.
    pub added_at: Option<Time>,
}

string_enum! {
    /// Where an account is in its life.
    pub enum UserPhase {
        /// Invited, has not set a password.
        Pending = "Pending",
        /// May log in.
        Active = "Active",
        /// May not log in.
        Disabled = "Disabled",
        /// May not log in for a while, after too many wrong passwords.
        Locked = "Locked",
    }
}

/// What is known of an account.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserStatus {
    /// Where the account is in its life.
    pub phase: Option<UserPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Teams and the role in each, as far as known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<TeamMembership>,
    /// When teams was computed.
    pub teams_resolved_at: Option<Time>,
    /// Groups the identity provider named at the last login.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_seen_groups: Vec<String>,
    /// Last login.
    pub last_login_time: Option<Time>,
    /// Number of logins.
    pub login_count: Option<i64>,
    /// Wrong passwords since the last login.
    pub failed_login_attempts: Option<i32>,
    /// Until when logging in is refused after too many of them.
    pub locked_until: Option<Time>,
    /// Secret with the hash of the password.
    pub password_secret_ref: Option<SecretRef>,
    /// When the password was set.
    pub password_changed_at: Option<Time>,
    /// SHA-256 of the one-time token of an invitation.
    pub invite_token_hash: Option<String>,
    /// When the invitation was sent.
    pub invite_sent_at: Option<Time>,
    /// When it ends.
    pub invite_expires_at: Option<Time>,
    /// Aspects: InvitePending, InviteExpired, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A team and the role in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamMembership {
    /// Name of the team.
    pub name: String,
    /// Role in it.
    pub role: TeamRole,
}
