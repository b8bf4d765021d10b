//! Who may do what, and certificates.

use serde_json::Value;

use super::cell::{Row, condition, text};
use super::{AGE, Def, NAME, Printer, string};

const BINDING: &[Def] = &[
    NAME,
    string("Role", "The role it grants."),
    AGE,
    string("Users", "The users it grants it to.").wide(),
    string("Groups", "The groups it grants it to.").wide(),
    string("ServiceAccounts", "The service accounts it grants it to.").wide(),
];

pub(super) const PRINTERS: &[Printer] = &[
    Printer { group: "rbac.authorization.k8s.io", kind: "RoleBinding", columns: BINDING, row: binding },
    Printer { group: "rbac.authorization.k8s.io", kind: "ClusterRoleBinding", columns: BINDING, row: binding },
    Printer {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        columns: &[
            NAME,
            AGE,
            string("SignerName", "Who is asked to sign."),
            string("Requestor", "Who asks."),
            string("RequestedDuration", "How long the certificate shall be valid."),
            string("Condition", "Whether it was approved or denied, and whether the certificate is there."),
        ],
        row: signing_request,
    },
];

fn binding(it: Row<'_>) -> Vec<Value> {
    let role = it.at("roleRef").unwrap_or(&Value::Null);
    let subjects = |kind: &str, print: fn(&Value) -> String| {
        let of_kind = it.list("subjects").iter().filter(|subject| text(subject, "kind") == kind);
        Value::from(of_kind.map(print).collect::<Vec<_>>().join(", "))
    };
    vec![
        it.name(),
        format!("{}/{}", text(role, "kind"), text(role, "name")).into(),
        it.age(),
        subjects("User", |user| text(user, "name").to_owned()),
        subjects("Group", |group| text(group, "name").to_owned()),
        subjects("ServiceAccount", |it| format!("{}/{}", text(it, "namespace"), text(it, "name"))),
    ]
}

fn signing_request(it: Row<'_>) -> Vec<Value> {
    let has = |ty| condition(it.list("status.conditions"), ty).is_some();
    let mut state = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !it.text("status.certificate").is_empty() {
        state.push_str(",Issued");
    }
    let duration = it.at("spec.expirationSeconds").and_then(Value::as_i64);
    vec![
        it.name(),
        it.age(),
        it.filled("spec.signerName", "<none>"),
        it.text("spec.username").into(),
        duration.map_or_else(|| "<none>".to_owned(), kernel::duration::human).into(),
        state.into(),
    ]
}
