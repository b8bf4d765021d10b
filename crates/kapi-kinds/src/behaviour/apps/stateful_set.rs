//! StatefulSets.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{Errors, invalid_shown, label, nonnegative, supported};
use super::super::core::claim;
use super::super::pod::{TemplateOf, validate_runs_forever, validate_template};
use super::super::value::{
    default, default_zero, dig, int, items_mut, keep, list, present, reach_mut, remove, same, set, text,
};
use super::super::{Behaviour, shape, status};
use crate::meta;

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: |object| {
            status::reset(object);
            drop_disabled(object);
        },
        prepare_update: |new, old| {
            status::keep_status(new, old);
            drop_disabled(new);
        },
        prepare_status: status::keep_spec,
        validate: |object| validate(object, true),
        validate_update,
        validate_status,
        validate_name: meta::dns_label,
        warnings,
        generation: true,
        ..Behaviour::builtin()
    }
}

/// `maxUnavailable` is behind a gate that is closed.
fn drop_disabled(object: &mut Value) {
    let rolling = object.get_mut("spec").and_then(|spec| spec.get_mut("updateStrategy")?.get_mut("rollingUpdate"));
    if let Some(rolling) = rolling {
        remove(rolling, "maxUnavailable");
    }
}

fn defaults(object: &mut Value) {
    super::default_spec_template(object);
    let Some(spec) = object.get_mut("spec") else { return };
    default_zero(spec, "podManagementPolicy", "OrderedReady");
    if let Some(strategy) = reach_mut(spec, &["updateStrategy"]) {
        if text(strategy, "type").is_empty() {
            set(strategy, "type", "RollingUpdate");
            default(strategy, "rollingUpdate", json!({}));
        }
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = strategy.get_mut("rollingUpdate").filter(|rolling| rolling.is_object())
        {
            default(rolling, "partition", 0);
        }
    }
    if let Some(policy) = reach_mut(spec, &["persistentVolumeClaimRetentionPolicy"]) {
        default_zero(policy, "whenDeleted", "Retain");
        default_zero(policy, "whenScaled", "Retain");
    }
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    for template in items_mut(spec, "volumeClaimTemplates") {
        set(template, "apiVersion", "v1");
        set(template, "kind", "PersistentVolumeClaim");
        shape::decode_as(template, "v1.PersistentVolumeClaim");
        claim::defaults(template);
    }
}

fn validate(object: &Value, create: bool) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = object.get("spec").unwrap_or(&Value::Null);
    validate_strategy(spec, &path, &mut errors);
    for (i, template) in list(spec, "volumeClaimTemplates").iter().enumerate().filter(|_| create) {
        let path = path.child("volumeClaimTemplates").index(i).child("spec");
        claim::validate_spec(dig(template, &["spec"]), &path, &mut errors);
    }
    nonnegative(int(spec, "replicas"), &path.child("replicas"), &mut errors);
    super::validate_min_ready(spec, &path, &mut errors);
    nonnegative(int(dig(spec, &["ordinals"]), "start"), &path.child("ordinals.start"), &mut errors);
    let service = text(spec, "serviceName");
    if create && !service.is_empty() {
        label(service, &path.child("serviceName"), &mut errors);
    }
    validate_selector_and_template(spec, &path, &mut errors);
    errors
}

fn validate_strategy(spec: &Value, path: &Path, errors: &mut Errors) {
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid(&path.child("podManagementPolicy"), &policy.into(), detail));
    }
    let strategy = dig(spec, &["updateStrategy"]);
    let at = path.child("updateStrategy");
    let rolling = present(strategy, "rollingUpdate");
    let show_rolling = || {
        rolling.map_or("null".to_owned(), |rolling| {
            format!("{{\"Partition\":{},\"MaxUnavailable\":null}}", int(rolling, "partition").unwrap_or(0))
        })
    };
    match text(strategy, "type") {
        "" => errors.push(FieldError::required(&at, "")),
        "OnDelete" if rolling.is_some() => errors.push(invalid_shown(
            &at.child("rollingUpdate"),
            show_rolling(),
            "only allowed for updateStrategy 'RollingUpdate'",
        )),
        "OnDelete" => {}
        "RollingUpdate" => {
            let partition = int(dig(strategy, &["rollingUpdate"]), "partition");
            nonnegative(partition, &at.child("rollingUpdate").child("partition"), errors);
        }
        kind => {
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{}}}", Value::from(kind), show_rolling());
            errors.push(invalid_shown(&at, shown, "must be 'RollingUpdate' or 'OnDelete'"));
        }
    }
    let path = path.child("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        let policy = text(dig(spec, &["persistentVolumeClaimRetentionPolicy"]), field);
        supported(policy, &path.child(field), &["Retain", "Delete"], errors);
    }
}

fn validate_selector_and_template(spec: &Value, path: &Path, errors: &mut Errors) {
    let at = path.child("selector");
    let selector = present(spec, "selector");
    match selector {
        None => errors.push(FieldError::required(&at, "")),
        Some(selector) => {
            meta::validate_selector(selector, &at, errors);
            if super::is_empty_selector(selector) {
                let detail = "empty selector is invalid for statefulset";
                errors.push(invalid_shown(&at, super::show_selector(selector), detail));
            }
        }
    }
    let path = path.child("template");
    let template = with_claim_volumes(spec);
    let labels = dig(&template, &["metadata", "labels"]);
    match selector.map_or(Some(false), |selector| meta::matches(selector, labels)) {
        None => {
            errors.push(invalid_shown(&at, super::show_selector(selector.unwrap_or(&Value::Null)), ""));
        }
        matched => {
            if matched == Some(false) {
                super::refuse_labels(&template, &path, errors);
            }
            validate_template(&template, &path, errors);
        }
    }
    validate_runs_forever(&TemplateOf { kind: "StatefulSet", template: &template, path: &path }, errors);
}

/// The template as its pods will be: with a volume for each claim, and names that the controller sets.
fn with_claim_volumes(spec: &Value) -> Value {
    let mut template = spec.get("template").cloned().unwrap_or_default();
    let claims: Vec<&str> =
        list(spec, "volumeClaimTemplates").iter().map(|claim| text(dig(claim, &["metadata"]), "name")).collect();
    if let Some(spec) = template.get_mut("spec") {
        remove(spec, "subdomain");
        remove(spec, "hostname");
        if !claims.is_empty() {
            let made = claims.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
            let kept = list(spec, "volumes").iter().filter(|volume| !claims.contains(&text(volume, "name"))).cloned();
            let volumes: Vec<Value> = made.chain(kept).collect();
            set(spec, "volumes", volumes);
        }
    }
    template
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = validate(new, false);
    let mut spec = dig(new, &["spec"]).clone();
    let was = dig(old, &["spec"]);
    for field in [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ] {
        keep(&mut spec, was, field);
    }
    if !same(&spec, was) {
        errors.push(FieldError::forbidden(
            &Path::new("spec"),
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
    errors
}

fn validate_status(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    let status = dig(new, &["status"]);
    let all = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    super::validate_counts_not_negative(status, &all, &mut errors);
    let counts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    super::validate_replica_counts(status, &counts, "status.readyReplicas", &mut errors);
    super::validate_collisions(new, old, &mut errors);
    errors
}

fn warnings(object: &Value) -> Vec<String> {
    let mut warnings = super::template_warnings(object);
    if int(dig(object, &["spec"]), "revisionHistoryLimit").is_some_and(|limit| limit < 0) {
        let text =
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(text.to_owned());
    }
    warnings
}
