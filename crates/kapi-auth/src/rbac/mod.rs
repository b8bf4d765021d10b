//! Role-based access control: an index of roles and bindings, and the checks on writing them.

mod aggregation;
mod binding;
mod cover;
mod escalation;
mod index;
mod pool;
mod rule;

pub use aggregation::aggregated_rules;
pub use binding::Binding;
pub use cover::rules_cover;
pub use escalation::{RbacResource, RbacWrite, check_rbac_write};
pub use index::{FoundRules, MissingRole, RbacIndex, RoleLookup, RuleSource};
pub use rule::{PolicyRule, rule_allows};

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
