//! Jobs.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Map, Value, json};

use super::super::apps::{immutable_selector, name_warnings, refuse_labels, show_selector};
use super::super::check::{Errors, immutable, invalid_shown};
use super::super::pod::spec_warnings;
use super::super::value::{default_zero, dig, entries, flag, int, keep, map_mut, present, reach_mut, same, set, text};
use super::super::{Behaviour, status};
use super::{job_spec, job_status};
use crate::meta;

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: |job| {
            let shared = shares_labels(job);
            generate_selector(job);
            if shared {
                share_labels(job);
            }
            status::reset(job);
        },
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate: |job| validate(job, true),
        validate_update,
        validate_status: job_status::validate,
        fields: |job| {
            let succeeded = int(dig(job, &["status"]), "succeeded").unwrap_or(0);
            vec![("status.successful", succeeded.to_string())]
        },
        warnings: |job| {
            let mut warnings = name_warnings(job);
            warnings.extend(spec_warnings(dig(job, &["spec", "template"]), &Path::new("spec.template")));
            warnings
        },
        generation: true,
        ..Behaviour::builtin()
    }
}

fn defaults(job: &mut Value) {
    let labels = dig(job, &["spec", "template", "metadata", "labels"]).clone();
    let manual = flag(dig(job, &["spec"]), "manualSelector");
    if labels.is_object()
        && let Some(meta) = job.get_mut("metadata")
        && entries(meta, "labels").next().is_none()
    {
        let (name, uid) = (text(meta, "name").to_owned(), text(meta, "uid").to_owned());
        default_zero(meta, "labels", labels);
        // In Kubernetes the two are one map from here on, so what the template gets the Job gets.
        if let Some(labels) = map_mut(meta, "labels").filter(|_| !manual && !uid.is_empty()) {
            add_generated(labels, &name, &uid);
        }
    }
    if let Some(spec) = job.get_mut("spec") {
        job_spec::defaults(spec);
        job_spec::job_defaults(spec);
    }
}

/// Whether a Job has no labels but its template's: in Kubernetes the two are one map then.
fn shares_labels(job: &Value) -> bool {
    let (own, template) = (dig(job, &["metadata", "labels"]), dig(job, &["spec", "template", "metadata", "labels"]));
    own == template || own.as_object().is_none_or(serde_json::Map::is_empty)
}

fn share_labels(job: &mut Value) {
    let labels = dig(job, &["spec", "template", "metadata", "labels"]).clone();
    if labels.is_object()
        && let Some(meta) = job.get_mut("metadata").and_then(Value::as_object_mut)
    {
        meta.insert("labels".to_owned(), labels);
    }
}

/// A Job finds its pods by its own uid, unless its author insists on another way. Needs `metadata.uid`.
fn generate_selector(job: &mut Value) {
    if flag(dig(job, &["spec"]), "manualSelector") {
        return;
    }
    let meta = dig(job, &["metadata"]);
    let (name, uid) = (text(meta, "name").to_owned(), text(meta, "uid").to_owned());
    let Some(spec) = job.get_mut("spec") else { return };
    let labels = reach_mut(spec, &["template", "metadata"]).and_then(|meta| map_mut(meta, "labels"));
    if let Some(labels) = labels {
        add_generated(labels, &name, &uid);
    }
    if let Some(selector) = reach_mut(spec, &["selector", "matchLabels"])
        && selector.get(UID_LABELS[1]).is_none()
    {
        set(selector, UID_LABELS[1], uid);
    }
}

fn add_generated(labels: &mut Map<String, Value>, name: &str, uid: &str) {
    for key in NAME_LABELS {
        labels.entry(key).or_insert_with(|| name.into());
    }
    for key in UID_LABELS {
        labels.entry(key).or_insert_with(|| uid.into());
    }
}

fn validate(job: &Value, prefixed_labels: bool) -> Errors {
    let mut errors = Vec::new();
    let spec = job.get("spec").unwrap_or(&Value::Null);
    validate_generated_selector(job, prefixed_labels, &mut errors);
    validate_spec(spec, &mut errors);
    if text(spec, "completionMode") == "Indexed"
        && let Some(completions) = int(spec, "completions").filter(|completions| *completions > 0)
    {
        let name = text(dig(job, &["metadata"]), "name");
        let longest = format!("{name}-{}", completions - 1);
        if !meta::is_dns_label(&longest).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {longest}");
            errors.push(FieldError::invalid(&Path::new("metadata.name"), &name.into(), detail));
        }
    }
    errors
}

fn validate_spec(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    job_spec::validate(spec, &path, errors);
    let template = dig(spec, &["template"]);
    let selector = present(spec, "selector");
    match selector {
        None => errors.push(FieldError::required(&path.child("selector"), "")),
        Some(selector) => meta::validate_selector(selector, &path.child("selector"), errors),
    }
    let labels = dig(template, &["metadata", "labels"]);
    if selector.map_or(Some(false), |selector| meta::matches(selector, labels)) == Some(false) {
        refuse_labels(template, &path.child("template"), errors);
    }
}

fn validate_generated_selector(job: &Value, prefixed_labels: bool, errors: &mut Errors) {
    let spec = dig(job, &["spec"]);
    let Some(selector) = present(spec, "selector").filter(|_| !flag(spec, "manualSelector")) else { return };
    let (name, uid) = (text(dig(job, &["metadata"]), "name"), text(dig(job, &["metadata"]), "uid"));
    if uid.is_empty() {
        errors.push(FieldError::required(&Path::new("metadata.uid"), ""));
    }
    let labels = dig(spec, &["template", "metadata", "labels"]);
    let path = Path::new("spec.template.metadata.labels");
    let mut expected = Map::new();
    let checked = if prefixed_labels { 2 } else { 1 };
    for i in 0..checked {
        for (key, value) in [(UID_LABELS.get(i), uid), (NAME_LABELS.get(i), name)] {
            let Some(key) = key else { continue };
            expected.insert((*key).to_owned(), value.into());
            match labels.get(key).and_then(Value::as_str) {
                None => errors.push(FieldError::required(&path.key(key), format!("must be '{value}'"))),
                Some(actual) if actual != value => {
                    errors.push(FieldError::invalid(&path.key(key), labels, format!("must be '{value}'")));
                }
                Some(_) => {}
            }
        }
    }
    if meta::matches(selector, &Value::Object(expected)) == Some(false) {
        let detail = "`selector` not auto-generated";
        errors.push(invalid_shown(&Path::new("spec.selector"), show_selector(selector), detail));
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let was_labels = dig(old, &["spec", "template", "metadata", "labels"]);
    let prefixed = was_labels.get(NAME_LABELS[1]).is_some() && was_labels.get(UID_LABELS[1]).is_some();
    let mut errors = validate(new, prefixed);
    let path = Path::new("spec");
    let (spec, was) = (dig(new, &["spec"]), dig(old, &["spec"]));
    validate_completions(spec, was, &path, &mut errors);
    immutable_selector(new, old, &mut errors);
    validate_template_change(new, old, &path, &mut errors);
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        immutable(dig(spec, &[field]), dig(was, &[field]), &path.child(field), &mut errors);
    }
    errors
}

fn validate_completions(spec: &Value, was: &Value, path: &Path, errors: &mut Errors) {
    let at = path.child("completions");
    let (new, old) = (dig(spec, &["completions"]), dig(was, &["completions"]));
    if text(spec, "completionMode") != "Indexed" {
        immutable(new, old, &at, errors);
    } else if !new.is_null() && new != old && new != dig(spec, &["parallelism"]) {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid(&at, new, detail));
    }
}

/// Pods of a suspended Job that never started may still be told where to run.
fn validate_template_change(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let template = dig(new, &["spec", "template"]);
    let mut was = dig(old, &["spec", "template"]).clone();
    let suspended = flag(dig(old, &["spec"]), "suspend");
    if suspended && present(dig(old, &["status"]), "startTime").is_none() {
        let now = dig(template, &["spec"]);
        if let Some(spec) = was.get_mut("spec") {
            for field in ["nodeSelector", "tolerations", "schedulingGates"] {
                keep(spec, now, field);
            }
            let node_affinity = dig(now, &["affinity", "nodeAffinity"]);
            if node_affinity.is_null() {
                if let Some(affinity) = spec.get_mut("affinity") {
                    super::super::value::remove(affinity, "nodeAffinity");
                }
            } else if let Some(affinity) = reach_mut(spec, &["affinity"]) {
                set(affinity, "nodeAffinity", node_affinity.clone());
            }
        }
        let meta = dig(template, &["metadata"]);
        if let Some(was) = reach_mut(&mut was, &["metadata"]) {
            keep(was, meta, "labels");
            keep(was, meta, "annotations");
        }
    }
    if !same(template, &was) {
        let shown = json!(template);
        errors.push(FieldError::invalid(&path.child("template"), &shown, meta::IMMUTABLE));
    }
}
