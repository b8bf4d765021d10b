//! Services. Addresses and node ports are allocated by the server; everything else about them is here.

use kapi_schema::field::{ErrorKind, FieldError, Path};
use serde_json::Value;

use super::super::check::{
    Errors, PROTOCOLS, cidr, endpoint_ip, invalid_shown, ip, label, one_of, parse_ip, port_number, port_or_name,
    qualified_name, subdomain, supported,
};
use super::super::value::{
    default, default_zero, dig, int, items_mut, list, present, reach_mut, remove, set, text, texts,
};
use super::super::{Behaviour, status};
use super::{service_ips, service_update};
use crate::meta;

const MAX_AFFINITY_SECONDS: i64 = 86400;

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: |service| {
            status::reset(service);
            service_ips::infer(service, None);
        },
        prepare_update: |new, old| {
            status::keep_status(new, old);
            service_update::drop_type_dependent(new, old);
            service_update::patch_allocated(new, old);
            service_ips::infer(new, Some(old));
        },
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            service_ips::validate(dig(new, &["spec"]), &Path::new("spec"), &mut errors);
            if !errors.is_empty() {
                return errors;
            }
            errors.extend(service_update::validate(new, old));
            errors.extend(validate(new));
            errors
        },
        validate_status: |new, old| service_update::validate_status(new, old),
        validate_name: meta::dns_1035_label,
        fields: |service| {
            let spec = dig(service, &["spec"]);
            vec![("spec.clusterIP", text(spec, "clusterIP").to_owned()), ("spec.type", text(spec, "type").to_owned())]
        },
        warnings,
        ..Behaviour::builtin()
    }
}

/// Whether traffic can reach the service from outside the cluster.
pub(super) fn is_external(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

pub(super) fn needs_health_check(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

pub(super) fn is_headless(spec: &Value) -> bool {
    texts(spec, "clusterIPs") == ["None"]
}

fn defaults(service: &mut Value) {
    let Some(spec) = service.get_mut("spec") else { return };
    default_zero(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            remove(spec, "sessionAffinityConfig");
        }
        "ClientIP" => {
            if let Some(client) = reach_mut(spec, &["sessionAffinityConfig", "clientIP"]) {
                default(client, "timeoutSeconds", 10800);
            }
        }
        _ => {}
    }
    default_zero(spec, "type", "ClusterIP");
    for port in items_mut(spec, "ports") {
        default_zero(port, "protocol", "TCP");
        let number = int(port, "port").unwrap_or(0);
        default_zero(port, "targetPort", number);
    }
    if is_external(spec) {
        default_zero(spec, "externalTrafficPolicy", "Cluster");
    }
    let kind = text(spec, "type").to_owned();
    if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
        if let Some(balancer) = service.get_mut("status").and_then(|status| status.get_mut("loadBalancer")) {
            for ingress in items_mut(balancer, "ingress") {
                if !text(ingress, "ip").is_empty() {
                    default(ingress, "ipMode", "VIP");
                }
            }
        }
    }
}

fn validate(service: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = service.get("spec").unwrap_or(&Value::Null);
    // Addresses are allocated before anything else is looked at, so what is wrong with them stands alone.
    service_ips::validate(spec, &path, &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let kind = text(spec, "type");
    let headless = is_headless(spec);
    let ports = list(spec, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    validate_type(spec, kind, headless, &path, &mut errors);
    let mut names = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        validate_port(port, ports.len() > 1, &mut names, &path.child("ports").index(i), &mut errors);
    }
    meta::validate_labels(present(spec, "selector"), &path.child("selector"), &mut errors);
    validate_affinity(spec, &path, &mut errors);
    for (i, address) in texts(spec, "externalIPs").iter().enumerate() {
        let path = path.child("externalIPs").index(i);
        if parse_ip(address).is_none() {
            ip(address, &path, &mut errors);
        } else {
            endpoint_ip(address, &path, &mut errors);
        }
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(kind, &path.child("type"), &kinds, &mut errors);
    validate_unique_ports(ports, kind, &path.child("ports"), &mut errors);
    validate_balancer(service, spec, kind, &path, &mut errors);
    validate_traffic(spec, kind, &path, &mut errors);
    errors
}

fn validate_type(spec: &Value, kind: &str, headless: bool, path: &Path, errors: &mut Errors) {
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid(&path.child("clusterIPs").index(0), &"None".into(), detail));
        }
        "ExternalName" => {
            let detail = "may not be set for ExternalName services";
            for (field, set) in [
                ("clusterIPs", !list(spec, "clusterIPs").is_empty()),
                ("ipFamilies", !list(spec, "ipFamilies").is_empty()),
                ("ipFamilyPolicy", present(spec, "ipFamilyPolicy").is_some()),
            ] {
                if set {
                    errors.push(FieldError::forbidden(&path.child(field), detail));
                }
            }
            let name = text(spec, "externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() {
                errors.push(FieldError::required(&path.child("externalName"), ""));
            } else {
                subdomain(name, &path.child("externalName"), errors);
            }
        }
        _ => {}
    }
}

fn validate_port<'a>(port: &'a Value, needs_name: bool, names: &mut Vec<&'a str>, path: &Path, errors: &mut Errors) {
    let name = text(port, "name");
    if needs_name && name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else if !name.is_empty() {
        label(name, &path.child("name"), errors);
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        }
        names.push(name);
    }
    port_number(int(port, "port").unwrap_or(0), &path.child("port"), errors);
    one_of(text(port, "protocol"), &path.child("protocol"), &PROTOCOLS, errors);
    port_or_name(port.get("targetPort"), &path.child("targetPort"), errors);
    if let Some(protocol) = present(port, "appProtocol").and_then(Value::as_str) {
        qualified_name(protocol, &path.child("appProtocol"), errors);
    }
}

fn validate_affinity(spec: &Value, path: &Path, errors: &mut Errors) {
    let affinity = text(spec, "sessionAffinity");
    one_of(affinity, &path.child("sessionAffinity"), &["ClientIP", "None"], errors);
    let path = path.child("sessionAffinityConfig");
    let seconds = int(dig(spec, &["sessionAffinityConfig", "clientIP"]), "timeoutSeconds");
    if affinity == "ClientIP" {
        let path = path.child("clientIP").child("timeoutSeconds");
        match seconds {
            None => errors.push(FieldError::required(&path, "when session affinity type is ClientIP")),
            Some(seconds) if !(1..=MAX_AFFINITY_SECONDS).contains(&seconds) => {
                let detail = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
                errors.push(FieldError::invalid(&path, &seconds.into(), detail));
            }
            Some(_) => {}
        }
    } else if affinity == "None" && present(spec, "sessionAffinityConfig").is_some() {
        errors.push(FieldError::forbidden(&path, "must not be set when session affinity is None"));
    }
}

fn validate_unique_ports(ports: &[Value], kind: &str, path: &Path, errors: &mut Errors) {
    let node_port = |port: &Value| int(port, "nodePort").unwrap_or(0);
    if kind == "ClusterIP" {
        for (i, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port) != 0) {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&path.index(i).child("nodePort"), detail));
        }
    }
    for (i, port) in ports.iter().enumerate() {
        let protocol = text(port, "protocol");
        let before = || ports.iter().take(i).filter(|other| text(other, "protocol") == protocol);
        if node_port(port) != 0 && before().any(|other| node_port(other) == node_port(port)) {
            errors.push(FieldError::duplicate(&path.index(i).child("nodePort"), &node_port(port).into()));
        }
    }
    for (i, port) in ports.iter().enumerate() {
        let protocol = text(port, "protocol");
        let number = int(port, "port").unwrap_or(0);
        let same = |other: &Value| text(other, "protocol") == protocol && int(other, "port").unwrap_or(0) == number;
        if ports.iter().take(i).any(same) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                Value::from(protocol)
            );
            let mut error = invalid_shown(&path.index(i), shown, "");
            error.kind = ErrorKind::Duplicate;
            errors.push(error);
        }
    }
}

fn validate_balancer(service: &Value, spec: &Value, kind: &str, path: &Path, errors: &mut Errors) {
    let balancer = kind == "LoadBalancer";
    let only = "may only be used when `type` is 'LoadBalancer'";
    let ranges = texts(spec, "loadBalancerSourceRanges");
    let annotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let at = path.child("LoadBalancerSourceRanges");
    if !ranges.is_empty() {
        if !balancer {
            errors.push(FieldError::forbidden(&at, only));
        }
        for (i, range) in ranges.iter().enumerate() {
            cidr(range.trim(), &at.index(i), errors);
        }
    } else if let Some(value) = present(dig(service, &["metadata", "annotations"]), annotation) {
        let at = Path::new("metadata.annotations").key(annotation);
        if !balancer {
            errors.push(FieldError::forbidden(&at, only));
        }
        let value = value.as_str().unwrap_or("").trim();
        for range in value.split(',').filter(|_| !value.is_empty()) {
            cidr(range.trim(), &at, errors);
        }
    }
    let allocate = present(spec, "allocateLoadBalancerNodePorts").is_some();
    if allocate && !balancer {
        errors.push(FieldError::forbidden(&path.child("allocateLoadBalancerNodePorts"), only));
    }
    if balancer && !allocate {
        errors.push(FieldError::required(&Path::new("allocateLoadBalancerNodePorts"), ""));
    }
    if let Some(class) = present(spec, "loadBalancerClass").and_then(Value::as_str) {
        let at = path.child("loadBalancerClass");
        if balancer {
            qualified_name(class, &at, errors);
        } else {
            errors.push(FieldError::forbidden(&at, only));
        }
    }
}

fn validate_traffic(spec: &Value, kind: &str, path: &Path, errors: &mut Errors) {
    let external = text(spec, "externalTrafficPolicy");
    let at = path.child("externalTrafficPolicy");
    if is_external(spec) {
        one_of(external, &at, &["Cluster", "Local"], errors);
    } else if !external.is_empty() {
        let detail = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(&at, &external.into(), detail));
    }
    // The port itself is allocated after validation when it is missing.
    let port = int(spec, "healthCheckNodePort").unwrap_or(0);
    let at = path.child("healthCheckNodePort");
    if port != 0 && !needs_health_check(spec) {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid(&at, &port.into(), detail));
    } else if port != 0 {
        port_number(port, &at, errors);
    }
    let at = path.child("internalTrafficPolicy");
    match present(spec, "internalTrafficPolicy").and_then(Value::as_str) {
        None if matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") => {
            errors.push(FieldError::required(&at, ""));
        }
        Some(policy) => supported(policy, &at, &["Cluster", "Local"], errors),
        None => {}
    }
    if let Some(distribution) = present(spec, "trafficDistribution").and_then(Value::as_str) {
        supported(
            distribution,
            &path.child("trafficDistribution"),
            &["PreferClose", "PreferSameZone", "PreferSameNode"],
            errors,
        );
    }
}

fn warnings(service: &Value) -> Vec<String> {
    let spec = dig(service, &["spec"]);
    let mut warnings = Vec::new();
    let old = "service.kubernetes.io/topology-aware-hints";
    if dig(service, &["metadata", "annotations"]).get(old).is_some() {
        let new = "service.kubernetes.io/topology-mode";
        warnings.push(format!("annotation {old} is deprecated, please use {new} instead"));
    }
    let headless = text(spec, "type") == "ClusterIP" && text(spec, "clusterIP") == "None";
    for (set, field) in [
        (!text(spec, "loadBalancerIP").is_empty(), "loadBalancerIP"),
        (!list(spec, "externalIPs").is_empty(), "externalIPs"),
        (text(spec, "sessionAffinity") != "None", "SessionAffinity"),
    ] {
        if headless && set {
            warnings.push(format!("spec.{field} is ignored for headless services"));
        }
    }
    let by_name = text(spec, "type") == "ExternalName";
    if by_name && !list(spec, "externalIPs").is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !by_name && !text(spec, "externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    warnings
}

/// Clears what a service without a cluster address does not have.
pub(super) fn clear(spec: &mut Value, fields: &[&str]) {
    for field in fields {
        remove(spec, field);
    }
}

/// Sets a field to what another service has there.
pub(super) fn copy(to: &mut Value, from: &Value, field: &str) {
    if let Some(value) = from.get(field) {
        set(to, field, value.clone());
    }
}
