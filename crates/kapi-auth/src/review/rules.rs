//! SelfSubjectRulesReview: all that I may do.

use serde_json::{Map, Value, json};

use crate::{Authorizer, PolicyRule, StatusError, User, objects::text};

/// Lists the rights of the requestor in the namespace the review names.
pub fn self_subject_rules_review(
    review: &Value,
    requestor: &User,
    authorizer: &dyn Authorizer,
) -> Result<Value, StatusError> {
    let namespace = text(review, &["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(StatusError::bad_request("no namespace on request"));
    }
    let found = authorizer.rules_for(requestor, namespace);
    let rules = || found.rules.iter().flat_map(|rules| rules.iter());
    let resource_rules: Vec<_> = rules().filter(|rule| !rule.resources.is_empty()).map(resource_rule).collect();
    let non_resource_rules: Vec<_> = rules()
        .filter(|rule| !rule.non_resource_urls.is_empty())
        .map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}))
        .collect();
    let mut status = json!({
        "resourceRules": resource_rules,
        "nonResourceRules": non_resource_rules,
        "incomplete": found.incomplete,
    });
    if !found.evaluation_error.is_empty() {
        status["evaluationError"] = found.evaluation_error.into();
    }
    Ok(json!({
        "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1",
        "metadata": {}, "spec": {}, "status": status,
    }))
}

fn resource_rule(rule: &PolicyRule) -> Value {
    let mut out = Map::new();
    out.insert("verbs".to_owned(), rule.verbs.clone().into());
    for (field, values) in
        [("apiGroups", &rule.api_groups), ("resources", &rule.resources), ("resourceNames", &rule.resource_names)]
    {
        if !values.is_empty() {
            out.insert(field.to_owned(), values.clone().into());
        }
    }
    out.into()
}
