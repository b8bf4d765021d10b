//! The template of pods inside workloads.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::annotations::validate_pod_annotations;
use super::spec::{Whose, validate_spec};
use crate::behaviour::check::{Errors, unsupported_shown};
use crate::behaviour::value::{dig, list, present, text};
use crate::meta;

/// Checks a template of pods.
pub(crate) fn validate_template(template: &Value, path: &Path, errors: &mut Errors) {
    let labels = dig(template, &["metadata", "labels"]);
    let annotations = dig(template, &["metadata", "annotations"]);
    let spec = template.get("spec").unwrap_or(&Value::Null);
    meta::validate_labels(Some(labels), &path.child("labels"), errors);
    meta::validate_annotations(Some(annotations), &path.child("annotations"), errors);
    validate_pod_annotations(dig(template, &["metadata"]), spec, &path.child("annotations"), errors);
    validate_spec(spec, &path.child("spec"), Whose::Template, errors);
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("spec").child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        ));
    }
}

/// How a long-running workload uses its template.
pub(crate) struct TemplateOf<'a> {
    /// The kind, as its errors name it.
    pub(crate) kind: &'a str,
    pub(crate) template: &'a Value,
    pub(crate) path: &'a Path,
}

/// Checks the template of a workload whose pods run until they are replaced.
pub(crate) fn validate_template_of(of: &TemplateOf<'_>, errors: &mut Errors) {
    validate_template(of.template, of.path, errors);
    validate_runs_forever(of, errors);
}

/// Pods of such a workload restart always and have no deadline.
pub(crate) fn validate_runs_forever(of: &TemplateOf<'_>, errors: &mut Errors) {
    let spec = dig(of.template, &["spec"]);
    let path = of.path.child("spec");
    let policy = text(spec, "restartPolicy");
    if policy != "Always" {
        let shown = kapi_schema::field::go_quote(policy);
        errors.push(unsupported_shown(&path.child("restartPolicy"), shown, &["Always"]));
    }
    if present(spec, "activeDeadlineSeconds").is_some() {
        let detail = format!("activeDeadlineSeconds in {} is not Supported", of.kind);
        errors.push(FieldError::forbidden(&path.child("activeDeadlineSeconds"), detail));
    }
}
