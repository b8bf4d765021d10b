//! Aggregated ClusterRoles: their rules are those of the roles their selectors find.

use http::Method;
use kapi_auth::aggregated_rules;
use serde_json::{Value, json};

use super::Watched;
use crate::object;

const AGENT: &str = "kube-controller-manager/clusterrole-aggregation-controller";
pub(super) const COLLECTION: &str = "clusterroles.rbac.authorization.k8s.io";

/// A role changed: roles that aggregate may have to change too.
pub(super) async fn aggregate(watched: &Watched) {
    let changed = outdated(watched);
    futures::future::join_all(changed.iter().map(|(name, rules)| set_rules(watched, name, rules))).await;
}

/// The roles whose rules are not what they aggregate, and what they should be.
fn outdated(watched: &Watched) -> Vec<(String, Vec<Value>)> {
    let items = watched.api.collection_named(COLLECTION).list("", None, usize::MAX).items;
    let roles: Vec<Value> = items.iter().filter_map(|item| serde_json::from_slice(&item.bytes()).ok()).collect();
    let all: Vec<&Value> = roles.iter().collect();
    let rules_of = |role: &Value| Some((object::name(role).to_owned(), aggregated_rules(role, &all)?));
    roles.iter().filter_map(rules_of).collect()
}

async fn set_rules(watched: &Watched, name: &str, rules: &[Value]) {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}");
    if let Err(failure) = watched.client.send(AGENT, Method::PATCH, &path, Some(&json!({"rules": rules}))).await {
        tracing::warn!(%failure, name, "cannot aggregate a cluster role");
    }
}
