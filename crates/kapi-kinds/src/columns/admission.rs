//! What checks requests, and where APIs come from.

use std::fmt::Write as _;

use serde_json::Value;

use super::cell::{Row, condition, list, sorted, text};
use super::{AGE, Def, NAME, Printer, integer, string};

const WEBHOOKS: &[Def] = &[NAME, integer("Webhooks", "How many webhooks it registers."), AGE];

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "admissionregistration.k8s.io",
        kind: "MutatingWebhookConfiguration",
        columns: WEBHOOKS,
        row: webhooks,
    },
    Printer {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingWebhookConfiguration",
        columns: WEBHOOKS,
        row: webhooks,
    },
    Printer {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingAdmissionPolicy",
        columns: &[
            NAME,
            integer("Validations", "How many rules it has."),
            string("ParamKind", "The kind of the objects its rules take values from."),
            AGE,
        ],
        row: |it| vec![it.name(), it.count("spec.validations").into(), param_kind(it).into(), it.age()],
    },
    Printer {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingAdmissionPolicyBinding",
        columns: &[
            NAME,
            string("PolicyName", "The policy it puts to use."),
            string("ParamRef", "The object the policy takes values from."),
            AGE,
        ],
        row: |it| vec![it.name(), it.text("spec.policyName").into(), param_ref(it).into(), it.age()],
    },
    Printer {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        columns: &[
            NAME,
            string("Service", "The service behind this API; Local when the server itself is."),
            string("Available", "Whether the API answers."),
            AGE,
        ],
        row: api_service,
    },
];

fn webhooks(it: Row<'_>) -> Vec<Value> {
    vec![it.name(), it.count("webhooks").into(), it.age()]
}

fn param_kind(it: Row<'_>) -> String {
    let kind = it.at("spec.paramKind").map(|kind| format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")));
    kind.unwrap_or_else(|| "<unset>".to_owned())
}

fn param_ref(it: Row<'_>) -> String {
    let Some(reference) = it.at("spec.paramRef") else { return "<unset>".to_owned() };
    match (text(reference, "namespace"), text(reference, "name"), reference.get("selector")) {
        ("", "", Some(selector)) | (_, "", Some(selector)) if !selector.is_null() => go_selector(selector),
        (_, "", _) => "<unset>".to_owned(),
        ("", name, _) => format!("*/{name}"),
        (namespace, name, _) => format!("{namespace}/{name}"),
    }
}

/// A label selector as Go prints the structure, which is what the real server puts here.
fn go_selector(selector: &Value) -> String {
    let mut out = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in sorted(selector["matchLabels"].as_object()) {
        let _ = write!(out, "{key}: {},", value.as_str().unwrap_or_default());
    }
    out.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in list(selector, "matchExpressions") {
        let values: Vec<&str> = list(expression, "values").iter().filter_map(Value::as_str).collect();
        let (key, operator) = (text(expression, "key"), text(expression, "operator"));
        let _ =
            write!(out, "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "));
    }
    out.push_str("},}");
    out
}

fn api_service(it: Row<'_>) -> Vec<Value> {
    let service = it.at("spec.service").map(|to| format!("{}/{}", text(to, "namespace"), text(to, "name")));
    let available = match condition(it.list("status.conditions"), "Available") {
        None => "Unknown".to_owned(),
        Some(found) => match (text(found, "status"), text(found, "reason")) {
            ("True", _) => "True".to_owned(),
            (status, "") => status.to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        },
    };
    vec![it.name(), service.unwrap_or_else(|| "Local".to_owned()).into(), available.into(), it.age()]
}
