//! Who is asking, and may they: authentication and authorisation as kube-apiserver does them.
//!
//! Everything here is pure. Objects are read through [`ObjectReader`], time and random identifiers are parameters, and
//! the two indexes ([`RbacIndex`], [`NodeGraph`]) are fed with the objects of watch events.
//!
//! ```text
//! request ─▶ Authenticator ─▶ User ─▶ impersonate ─▶ Attributes ─▶ Authorizer ─▶ Decision
//!             certificates                                          system:masters
//!             static, ServiceAccount and bootstrap tokens            node graph
//!             anonymous                                             RBAC index
//! ```
//!
//! Around that stand the checks that need an authorizer: escalation ([`check_rbac_write`]), node restriction
//! ([`restrict_node`]), certificate requests ([`csr`]), and the review kinds ([`review`]).

mod attributes;
mod authn;
mod authorizer;
pub mod csr;
mod impersonation;
mod node;
mod objects;
mod rbac;
mod recent;
pub mod review;
mod service_account;
mod status;
mod token;
mod user;

pub use attributes::{Attributes, forbidden, forbidden_message};
pub use authn::{
    Authenticated, Authenticator, ClientCertificates, Credentials, StaticTokens, authenticate_bootstrap_token,
};
pub use authorizer::{AllowedBy, Authorizer, ClusterAuthorizer, Decision, RuleList};
pub use impersonation::{ImpersonationError, ImpersonationHeaders, impersonate};
pub use node::{NodeGraph, NodeWrite, Operation, restrict_node};
pub use objects::ObjectReader;
pub use rbac::{
    Binding, FoundRules, MissingRole, PolicyRule, RbacIndex, RbacResource, RbacWrite, RoleLookup, RuleSource,
    aggregated_rules, check_rbac_write, rule_allows, rules_cover,
};
pub use service_account::{service_account_groups, service_account_name, split_service_account_name};
pub use status::{FieldError, StatusError};
pub use token::{LegacyToken, TokenIssuer, TokenRequest, TokenRequestOutcome, TokenVerifier, create_token};
pub use user::User;
