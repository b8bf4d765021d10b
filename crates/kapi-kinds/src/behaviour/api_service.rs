//! APIServices.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::check::{Errors, each, subdomain, supported};
use super::scalar::decode_base64;
use super::value::{default, dig, flag, int, list, present, text};
use super::{Behaviour, status};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "APIService").then(|| Behaviour {
        default: |service| {
            if let Some(service) = service.get_mut("spec").and_then(|spec| spec.get_mut("service")) {
                default(service, "port", 443);
            }
        },
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, _| validate(new),
        validate_status: |new, _| {
            let mut errors = Vec::new();
            for (i, condition) in list(dig(new, &["status"]), "conditions").iter().enumerate() {
                let path = Path::new("status.conditions").index(i).child("status");
                supported(text(condition, "status"), &path, &["True", "False", "Unknown"], &mut errors);
            }
            errors
        },
        validate_name: meta::path_segment,
        standard_finalizers: false,
        ..Behaviour::builtin()
    })
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(object, &["spec"]);
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let name = text(dig(object, &["metadata"]), "name");
    let required = format!("{version}.{group}");
    if !name.is_empty() && meta::path_segment(name, false).is_empty() && name != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: \"{required}\"");
        errors.push(FieldError::invalid(&Path::new("metadata.name"), &name.into(), detail));
    }
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        errors.push(FieldError::required(&path.child("group"), detail));
    }
    if !group.is_empty() {
        subdomain(group, &path.child("group"), &mut errors);
    }
    each(meta::is_dns_1035_label(version), &path.child("version"), version, &mut errors);
    for (field, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let value = int(spec, field).unwrap_or(0);
        if !(1..=most).contains(&value) {
            let detail = format!("must be positive and less than {most}");
            errors.push(FieldError::invalid(&path.child(field), &value.into(), detail));
        }
    }
    let skip = flag(spec, "insecureSkipTLSVerify");
    let bundle = decode_base64(text(spec, "caBundle")).map_or(0, |bundle| bundle.len());
    let Some(service) = present(spec, "service") else {
        if bundle > 0 {
            let detail = "local APIServices may not have a caBundle";
            errors.push(FieldError::invalid(&path.child("caBundle"), &format!("{bundle} bytes").into(), detail));
        }
        if skip {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::invalid(&path.child("insecureSkipTLSVerify"), &true.into(), detail));
        }
        return errors;
    };
    let at = path.child("service");
    for field in ["namespace", "name"] {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(&at.child(field), ""));
        }
    }
    let port = int(service, "port").unwrap_or(0);
    let messages = meta::is_port_number(port);
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        errors.push(FieldError::invalid(&at.child("port"), &port.into(), detail));
    }
    if skip && bundle > 0 {
        let detail = "may not be true if caBundle is present";
        errors.push(FieldError::invalid(&path.child("insecureSkipTLSVerify"), &true.into(), detail));
    }
    errors
}
