//! Pods, and the template of a pod that workloads carry.

mod affinity;
mod annotations;
mod container;
mod defaults;
mod env;
mod qos;
mod resources;
mod scheduling;
mod security;
mod spec;
mod template;
mod update;
mod volume;
mod warnings;

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

pub(super) use affinity::validate_node_selector;
pub(super) use defaults::{default_template, default_volume_source};
pub(super) use resources::{
    is_extended, is_hugepage, is_native, is_standard_container, validate_amount, validate_requirements,
    validate_resource_name,
};
pub(super) use scheduling::{validate_taint_effect, validate_tolerations};
pub(super) use template::{TemplateOf, validate_runs_forever, validate_template, validate_template_of};
pub(super) use volume::validate_kind as validate_volume_kind;
pub(super) use warnings::spec_warnings;

use super::Behaviour;
use super::check::Errors;
use super::status;
use super::value::{dig, flag, int, keep, list, set, text};

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults::default_pod,
        prepare_create,
        prepare_update: |new, old| {
            status::keep_status(new, old);
            scheduling::tolerate_sick_nodes(new);
        },
        prepare_status,
        validate,
        validate_update: update::validate_update,
        validate_status: update::validate_status,
        fields,
        warnings: warnings::pod_warnings,
        generation: true,
        ..Behaviour::builtin()
    }
}

pub(super) fn template_behaviour() -> Behaviour {
    Behaviour {
        default: |object| {
            if let Some(template) = object.get_mut("template") {
                default_template(template);
            }
        },
        validate: validate_pod_template,
        validate_update: |new, _| validate_pod_template(new),
        generation: true,
        ..Behaviour::builtin()
    }
}

pub(super) fn binding_behaviour() -> Behaviour {
    Behaviour { validate: validate_binding, validate_name: crate::meta::any, ..Behaviour::builtin() }
}

fn validate_pod_template(object: &Value) -> Errors {
    let mut errors = Vec::new();
    validate_template(object.get("template").unwrap_or(&Value::Null), &Path::new("template"), &mut errors);
    errors
}

fn validate_binding(binding: &Value) -> Errors {
    let target = binding.get("target").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    let kind = text(target, "kind");
    if !kind.is_empty() && kind != "Node" {
        errors.push(FieldError::not_supported(&Path::new("target.kind"), &kind.into(), &["Node", "<empty>"]));
    }
    if text(target, "name").is_empty() {
        errors.push(FieldError::required(&Path::new("target.name"), ""));
    }
    errors
}

fn prepare_create(pod: &mut Value) {
    let mut status = json!({"phase": "Pending", "qosClass": qos::class(pod)});
    if !list(dig(pod, &["spec"]), "schedulingGates").is_empty() {
        set(
            &mut status,
            "conditions",
            json!([{
                "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
                "lastTransitionTime": null, "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]),
        );
    }
    set(pod, "status", status);
    affinity::merge_label_keys(pod);
    scheduling::tolerate_sick_nodes(pod);
}

fn prepare_status(new: &mut Value, old: &Value) {
    status::keep_spec(new, old);
    let old_meta = old.get("metadata").unwrap_or(&Value::Null);
    if let Some(meta) = new.get_mut("metadata") {
        keep(meta, old_meta, "ownerReferences");
        keep(meta, old_meta, "deletionTimestamp");
    }
    let was = dig(old, &["status"]);
    if let Some(status) = new.get_mut("status") {
        if text(status, "qosClass").is_empty() {
            keep(status, was, "qosClass");
        }
        if int(status, "observedGeneration").unwrap_or(0) == 0 {
            keep(status, was, "observedGeneration");
        }
    }
}

fn validate(pod: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    validate_pod(pod, &mut errors);
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(&path.child("ephemeralContainers"), "cannot be set on create"));
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("nodeName"),
            "cannot be set until all schedulingGates have been cleared",
        ));
    }
    errors
}

/// What holds for a new and for a changed pod alike.
fn validate_pod(pod: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let meta = pod.get("metadata").unwrap_or(&Value::Null);
    annotations::validate_pod_annotations(meta, spec, &Path::new("metadata.annotations"), errors);
    spec::validate_spec(spec, &path, spec::Whose::Pod { name: text(meta, "name") }, errors);
    if text(spec, "serviceAccountName").is_empty() {
        for (i, volume) in list(spec, "volumes").iter().enumerate() {
            for (j, source) in list(dig(volume, &["projected"]), "sources").iter().enumerate() {
                if source.get("serviceAccountToken").is_some() {
                    let path = path.child("volumes").index(i).child("projected").child("sources").index(j);
                    errors.push(FieldError::forbidden(
                        &path.child("serviceAccountToken"),
                        "must not be specified when serviceAccountName is not set",
                    ));
                }
            }
        }
    }
    for kind in ["containers", "initContainers"] {
        for (i, container) in list(spec, kind).iter().enumerate() {
            let image = text(container, "image");
            if image.trim().len() != image.len() {
                errors.push(FieldError::invalid(
                    &path.child(kind).index(i).child("image"),
                    &image.into(),
                    "must not have leading or trailing whitespace",
                ));
            }
        }
    }
}

fn fields(pod: &Value) -> Vec<(&'static str, String)> {
    let spec = dig(pod, &["spec"]);
    let status = dig(pod, &["status"]);
    let ip = list(status, "podIPs").first().map_or("", |ip| text(ip, "ip"));
    vec![
        ("spec.nodeName", text(spec, "nodeName").to_owned()),
        ("spec.restartPolicy", text(spec, "restartPolicy").to_owned()),
        ("spec.schedulerName", text(spec, "schedulerName").to_owned()),
        ("spec.serviceAccountName", text(spec, "serviceAccountName").to_owned()),
        ("spec.hostNetwork", flag(spec, "hostNetwork").to_string()),
        ("status.phase", text(status, "phase").to_owned()),
        ("status.podIP", ip.to_owned()),
        ("status.nominatedNodeName", text(status, "nominatedNodeName").to_owned()),
    ]
}
