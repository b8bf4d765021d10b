//! SelfSubjectReview: who am I?

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::User;

/// Tells the requestor who it is.
pub fn self_subject_review(requestor: &User, now: Timestamp) -> Value {
    json!({
        "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()},
        "status": {"userInfo": requestor.to_user_info()},
    })
}
