//! Answers to questions: the chain of authorizers.

use std::sync::Arc;

use kapi_schema::field::aggregate;

use crate::{Attributes, Binding, NodeGraph, PolicyRule, RbacIndex, RuleSource, User, node};

/// What an authorizer says.
#[derive(Debug, Clone)]
pub enum Decision {
    /// Yes.
    Allow(AllowedBy),
    /// Not by me; the reason is empty when there is nothing to tell.
    NoOpinion {
        /// Why not.
        reason: String,
    },
}

/// Who allowed it. Turned into text only when somebody asks, since most requests never do.
#[derive(Debug, Clone)]
pub enum AllowedBy {
    /// The group `system:masters`, or the node rules.
    Default,
    /// A role or cluster role binding.
    Binding(Arc<Binding>),
}

impl Decision {
    /// Whether the answer is yes.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    /// The reason, as `status.reason` of an access review; maybe empty.
    pub fn reason(&self, user: &User) -> String {
        match self {
            Self::Allow(AllowedBy::Binding(binding)) => binding.allows_because(user),
            Self::Allow(AllowedBy::Default) => String::new(),
            Self::NoOpinion { reason } => reason.clone(),
        }
    }
}

/// All that is known about the rights of a user in a namespace.
#[derive(Debug, Default)]
pub struct RuleList {
    /// The rules, by binding.
    pub rules: Vec<Arc<Vec<PolicyRule>>>,
    /// Whether there are rights that cannot be listed.
    pub incomplete: bool,
    /// What went wrong, or nothing.
    pub evaluation_error: String,
}

/// Decides whether users may do things.
pub trait Authorizer {
    /// Answers one question.
    fn authorize(&self, asked: &Attributes<'_>) -> Decision;
    /// Lists the rights of a user.
    fn rules_for(&self, user: &User, namespace: &str) -> RuleList;
}

/// The authorizers of a cluster in order: `system:masters`, nodes, RBAC.
#[derive(Clone)]
pub struct ClusterAuthorizer {
    /// Which objects each node may read.
    pub nodes: Arc<NodeGraph>,
    /// Roles and bindings.
    pub rbac: Arc<RbacIndex>,
}

impl Authorizer for ClusterAuthorizer {
    fn authorize(&self, asked: &Attributes<'_>) -> Decision {
        if asked.user.is_master() {
            return Decision::Allow(AllowedBy::Default);
        }
        let node_reason = match node::authorize(&self.nodes, asked) {
            Decision::NoOpinion { reason } => reason,
            allowed => return allowed,
        };
        match self.rbac.authorize(asked) {
            Decision::NoOpinion { reason } => {
                let reasons: Vec<_> = [node_reason, reason].into_iter().filter(|r| !r.is_empty()).collect();
                Decision::NoOpinion { reason: reasons.join("\n") }
            }
            allowed => allowed,
        }
    }

    fn rules_for(&self, user: &User, namespace: &str) -> RuleList {
        let found = self.rbac.rules_for(user, namespace);
        let mut errors = vec![found.evaluation_error()];
        let incomplete = user.node_name().is_some();
        if incomplete {
            errors.insert(0, "node authorizer does not support user rule resolution".to_owned());
        }
        errors.retain(|error| !error.is_empty());
        let evaluation_error = if errors.is_empty() { String::new() } else { aggregate(&errors) };
        RuleList { rules: found.rules, incomplete, evaluation_error }
    }
}
