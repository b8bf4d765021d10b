//! The cluster addresses of a Service and their families.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{Errors, ip, supported};
use super::super::value::{dig, list, present, remove, set, text, texts};
use super::service::is_headless;

/// Fills plural from singular addresses, and families from what is known. Clusters here speak IPv4 first.
pub(super) fn infer(service: &mut Value, old: Option<&Value>) {
    let Some(spec) = service.get_mut("spec") else { return };
    let address = text(spec, "clusterIP").to_owned();
    if !address.is_empty() && list(spec, "clusterIPs").is_empty() {
        set(spec, "clusterIPs", vec![address.clone()]);
    }
    if text(spec, "type") == "ExternalName" {
        // Kubernetes defaults it by mistake and hides it when reading.
        remove(spec, "internalTrafficPolicy");
        return;
    }
    let selectorless = address == "None" && list_is_empty_map(spec, "selector");
    if present(spec, "ipFamilyPolicy").is_none() {
        let before = old.map(|old| text(dig(old, &["spec"]), "ipFamilyPolicy")).filter(|policy| !policy.is_empty());
        let policy = before.unwrap_or(if selectorless { "RequireDualStack" } else { "SingleStack" }).to_owned();
        set(spec, "ipFamilyPolicy", policy);
    }
    if list(spec, "ipFamilies").is_empty() {
        let given: Vec<Value> = texts(spec, "clusterIPs")
            .iter()
            .filter(|address| **address != "None")
            .map(|address| if address.contains(':') { "IPv6".into() } else { "IPv4".into() })
            .collect();
        let dual = selectorless && text(spec, "ipFamilyPolicy") != "SingleStack";
        let families = match given.as_slice() {
            [] if dual => json!(["IPv4", "IPv6"]),
            [] => json!(["IPv4"]),
            _ => Value::Array(given),
        };
        set(spec, "ipFamilies", families);
    }
}

fn list_is_empty_map(spec: &Value, field: &str) -> bool {
    dig(spec, &[field]).as_object().is_none_or(serde_json::Map::is_empty)
}

pub(super) fn validate(spec: &Value, path: &Path, errors: &mut Errors) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let at = path.child("clusterIPs");
    let shown = dig(spec, &["clusterIPs"]);
    let (one, many) = (text(spec, "clusterIP"), texts(spec, "clusterIPs"));
    match (one.is_empty(), many.first()) {
        (false, None) => errors.push(FieldError::required(&at, "")),
        (false, Some(first)) if *first != one => {
            errors.push(FieldError::invalid(&at, shown, "first value must match `clusterIP`"));
        }
        (true, Some(_)) => {
            errors.push(FieldError::invalid(&at, shown, "must be empty when `clusterIP` is not specified"));
        }
        _ => {}
    }
    let families = texts(spec, "ipFamilies");
    for (i, family) in families.iter().enumerate() {
        let path = path.child("ipFamilies").index(i);
        supported(family, &path, &["IPv4", "IPv6"], errors);
        if families.iter().take(i).any(|other| other == family) {
            errors.push(FieldError::duplicate(&path, &(*family).into()));
        }
    }
    if let Some(policy) = present(spec, "ipFamilyPolicy").and_then(Value::as_str) {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        supported(policy, &path.child("ipFamilyPolicy"), &policies, errors);
    }
    let before = errors.len();
    for (i, address) in many.iter().enumerate() {
        if i == 0 && *address == "None" {
            if many.len() > 1 {
                errors.push(FieldError::invalid(&at, shown, "'None' must be the first and only value"));
            }
            continue;
        }
        ip(address, &at.index(i), errors);
    }
    let bad = errors.len() > before;
    if many.len() > 2 {
        errors.push(FieldError::invalid(&at, shown, "may only hold up to 2 values"));
    }
    if bad {
        return;
    }
    let is_v6 = |address: &str| address.contains(':');
    if matches!(many.as_slice(), [a, b, ..] if is_v6(a) == is_v6(b)) {
        errors.push(FieldError::invalid(&at, shown, "may specify no more than one IP for each IP family"));
    }
    if is_headless(spec) {
        return;
    }
    for (i, (address, family)) in many.iter().zip(&families).enumerate() {
        if matches!(*family, "IPv4" | "IPv6") && is_v6(address) != (*family == "IPv6") {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.push(FieldError::invalid(&at.index(i), &(*address).into(), detail));
        }
    }
}
