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
    let roles: Vec<Value> = watched
        .api
        .collection_named(COLLECTION)
        .list("", None, usize::MAX)
        .items
        .iter()
        .filter_map(|item| serde_json::from_slice(&item.bytes).ok())
        .collect();
    let all: Vec<&Value> = roles.iter().collect();
    let mut changed = Vec::new();
    for role in &roles {
        let Some(rules) = aggregated_rules(role, &all) else { continue };
        if role.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() != rules.as_slice() {
            changed.push(set_rules(watched, object::name(role), rules));
        }
    }
    futures::future::join_all(changed).await;
}

async fn set_rules(watched: &Watched, name: &str, rules: Vec<Value>) {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}");
    if let Err(failure) = watched.client.send(AGENT, Method::PATCH, &path, Some(&json!({"rules": rules}))).await {
        tracing::warn!(%failure, name, "cannot aggregate a cluster role");
    }
}
