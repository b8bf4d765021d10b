//! What may change about a Service, and what follows from a change of its type.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{Errors, ip, parse_ip, subdomain, supported};
use super::super::value::{dig, int, items_mut, list, present, remove, same, set, text, texts};
use super::service::{clear, copy, is_external, is_headless, needs_health_check};

fn needs_address(spec: &Value) -> bool {
    text(spec, "type") != "ExternalName"
}

fn needs_node_port(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn node_ports(spec: &Value) -> Vec<i64> {
    list(spec, "ports").iter().filter_map(|port| int(port, "nodePort")).filter(|port| *port != 0).collect()
}

/// A change of type takes along the values that only the old type has, unless the client changed them too.
pub(super) fn drop_type_dependent(new: &mut Value, old: &Value) {
    let was = dig(old, &["spec"]);
    let Some(spec) = new.get_mut("spec") else { return };
    let unchanged = |spec: &Value, field: &str| same(dig(spec, &[field]), dig(was, &[field]));
    if needs_address(was) && !needs_address(spec) {
        if unchanged(spec, "clusterIP") && unchanged(spec, "clusterIPs") {
            clear(spec, &["clusterIP", "clusterIPs"]);
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if unchanged(spec, field) {
                remove(spec, field);
            }
        }
    }
    if needs_node_port(was) && !needs_node_port(spec) {
        let had = node_ports(was);
        if node_ports(spec).iter().all(|port| had.contains(port)) {
            items_mut(spec, "ports").for_each(|port| clear(port, &["nodePort"]));
        }
    }
    if needs_health_check(was) && !needs_health_check(spec) && unchanged(spec, "healthCheckNodePort") {
        remove(spec, "healthCheckNodePort");
    }
    let balanced = |spec: &Value| text(spec, "type") == "LoadBalancer";
    if balanced(was) && !balanced(spec) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if unchanged(spec, field) {
                remove(spec, field);
            }
        }
    }
    if is_external(was) && !is_external(spec) && unchanged(spec, "externalTrafficPolicy") {
        remove(spec, "externalTrafficPolicy");
    }
    if !balanced(spec)
        && let Some(status) = new.get_mut("status")
    {
        set(status, "loadBalancer", json!({}));
    }
}

/// Clients that leave out what was allocated keep what they have.
pub(super) fn patch_allocated(new: &mut Value, old: &Value) {
    let was = dig(old, &["spec"]);
    let Some(spec) = new.get_mut("spec") else { return };
    if needs_address(was) && needs_address(spec) {
        if text(spec, "clusterIP").is_empty() {
            copy(spec, was, "clusterIP");
        }
        if list(spec, "clusterIPs").is_empty() {
            copy(spec, was, "clusterIPs");
        } else if text(spec, "clusterIP") != text(was, "clusterIP")
            && same(dig(spec, &["clusterIPs"]), dig(was, &["clusterIPs"]))
        {
            let address = text(spec, "clusterIP").to_owned();
            set(spec, "clusterIPs", vec![address]);
        }
    }
    if needs_node_port(was) && needs_node_port(spec) {
        let (had, has) = (node_ports(was), node_ports(spec));
        let kept: Vec<i64> = had.into_iter().filter(|port| has.contains(port)).collect();
        for port in items_mut(spec, "ports").filter(|port| int(port, "nodePort").unwrap_or(0) == 0) {
            let before = list(was, "ports").iter().find(|old| text(old, "name") == text(port, "name"));
            let before = before.and_then(|old| int(old, "nodePort")).unwrap_or(0);
            if before != 0 && !kept.contains(&before) {
                set(port, "nodePort", before);
            }
        }
    }
    if needs_health_check(was) && needs_health_check(spec) && int(spec, "healthCheckNodePort").unwrap_or(0) == 0 {
        copy(spec, was, "healthCheckNodePort");
    }
}

pub(super) fn validate(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    let (spec, was) = (dig(new, &["spec"]), dig(old, &["spec"]));
    if needs_address(spec) && needs_address(was) {
        validate_addresses(spec, was, &mut errors);
        validate_families(spec, was, &mut errors);
    }
    let class = |spec: &Value| present(spec, "loadBalancerClass").cloned().unwrap_or_default();
    if text(spec, "type") == "LoadBalancer" && text(was, "type") == "LoadBalancer" && class(spec) != class(was) {
        let path = Path::new("spec.loadBalancerClass");
        errors.push(FieldError::invalid(&path, &class(spec), "may not change once set"));
    }
    if needs_health_check(spec)
        && needs_health_check(was)
        && int(spec, "healthCheckNodePort") != int(was, "healthCheckNodePort")
    {
        errors.push(FieldError::forbidden(&Path::new("spec.healthCheckNodePort"), "field is immutable"));
    }
    errors
}

fn validate_addresses(spec: &Value, was: &Value, errors: &mut Errors) {
    if is_headless(spec) && is_headless(was) {
        return;
    }
    let path = Path::new("spec.clusterIPs");
    let shown = dig(spec, &["clusterIPs"]);
    let (new, old) = (texts(spec, "clusterIPs"), texts(was, "clusterIPs"));
    let once = "may not change once set";
    if new.len() == old.len() {
        for (i, _) in new.iter().zip(&old).enumerate().filter(|(_, (new, old))| new != old) {
            errors.push(FieldError::invalid(&path.index(i), shown, once));
        }
        return;
    }
    if new.is_empty() {
        errors.push(FieldError::invalid(&path.index(0), shown, "primary clusterIP can not be unset"));
    }
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && new != old
    {
        errors.push(FieldError::invalid(&path.index(0), shown, once));
    }
    if old.len() > new.len() && new.len() == 1 && text(spec, "ipFamilyPolicy") != "SingleStack" {
        let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        errors.push(FieldError::invalid(&Path::new("spec.ipFamilyPolicy"), dig(spec, &["ipFamilyPolicy"]), detail));
    }
}

fn validate_families(spec: &Value, was: &Value, errors: &mut Errors) {
    if is_headless(spec) || is_headless(was) {
        return;
    }
    let (new, old) = (texts(spec, "ipFamilies"), texts(was, "ipFamilies"));
    let path = Path::new("spec.ipFamilies").index(0);
    if let (Some(first), Some(before)) = (new.first(), old.first())
        && first != before
    {
        errors.push(FieldError::invalid(&path, dig(spec, &["ipFamilies"]), "may not change once set"));
    }
}

pub(super) fn validate_status(new: &Value, _old: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("status.loadBalancer.ingress");
    let ingress = list(dig(new, &["status", "loadBalancer"]), "ingress");
    if !ingress.is_empty() && text(dig(new, &["spec"]), "type") != "LoadBalancer" {
        errors.push(FieldError::forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'"));
        return errors;
    }
    for (i, entry) in ingress.iter().enumerate() {
        let path = path.index(i);
        let address = text(entry, "ip");
        if !address.is_empty() {
            ip(address, &path.child("ip"), &mut errors);
        }
        match present(entry, "ipMode").and_then(Value::as_str) {
            None if !address.is_empty() => {
                errors.push(FieldError::required(&path.child("ipMode"), "must be specified when `ip` is set"));
            }
            Some(_) if address.is_empty() => {
                let detail = "may not be specified when `ip` is not set";
                errors.push(FieldError::forbidden(&path.child("ipMode"), detail));
            }
            Some(mode) => supported(mode, &path.child("ipMode"), &["Proxy", "VIP"], &mut errors),
            None => {}
        }
        let host = text(entry, "hostname");
        if !host.is_empty() {
            subdomain(host, &path.child("hostname"), &mut errors);
            if parse_ip(host).is_some() {
                let detail = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(&path.child("hostname"), &host.into(), detail));
            }
        }
    }
    errors
}
