//! Ingresses, their classes, and network policies.

use std::net::IpAddr;

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{
    Errors, cidr, each, immutable, ip, label, parse_cidr, parse_ip, port_number, port_or_name, subdomain, supported,
};
use super::value::{default, default_zero, dig, int, items_mut, list, present, text, texts};
use super::{Behaviour, batch, status};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    let base = Behaviour { generation: true, ..Behaviour::builtin() };
    Some(match kind {
        "Ingress" => Behaviour {
            prepare_create: status::reset,
            prepare_update: status::keep_status,
            prepare_status: status::keep_spec,
            validate: validate_ingress,
            validate_update: |new, _| validate_ingress(new),
            validate_status: |new, _| validate_ingress_status(new),
            ..base
        },
        "IngressClass" => Behaviour {
            default: |class| {
                if let Some(parameters) = class.get_mut("spec").and_then(|spec| spec.get_mut("parameters")) {
                    default(parameters, "scope", "Cluster");
                }
            },
            validate: validate_class,
            validate_update: |new, old| {
                let mut errors = Vec::new();
                let controller = |class: &Value| Value::from(text(dig(class, &["spec"]), "controller"));
                immutable(&controller(new), &controller(old), &Path::new("spec.controller"), &mut errors);
                errors.extend(validate_class(new));
                errors
            },
            ..base
        },
        "NetworkPolicy" => Behaviour {
            default: default_policy,
            validate: validate_policy,
            validate_update: |new, _| validate_policy(new),
            ..base
        },
        _ => return None,
    })
}

fn validate_ingress(ingress: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(ingress, &["spec"]);
    let rules = list(spec, "rules");
    let backend = present(spec, "defaultBackend");
    if rules.is_empty() && backend.is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(&path, dig(spec, &["rules"]), detail));
    }
    if let Some(backend) = backend {
        validate_backend(backend, &path.child("defaultBackend"), &mut errors);
    }
    for (i, rule) in rules.iter().enumerate() {
        validate_rule(rule, &path.child("rules").index(i), &mut errors);
    }
    for (i, tls) in list(spec, "tls").iter().enumerate() {
        let path = path.child("tls").index(i);
        for (i, host) in texts(tls, "hosts").iter().enumerate() {
            validate_host(host, &path.child("hosts").index(i), &mut errors);
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            subdomain(secret, &path.child("secretName"), &mut errors);
        }
    }
    if let Some(class) = present(spec, "ingressClassName").and_then(Value::as_str) {
        subdomain(class, &path.child("ingressClassName"), &mut errors);
    }
    errors
}

fn validate_host(host: &str, path: &Path, errors: &mut Errors) {
    let messages = if host.contains('*') { meta::is_wildcard_subdomain(host) } else { meta::is_dns_subdomain(host) };
    each(messages, path, host, errors);
}

fn validate_rule(rule: &Value, path: &Path, errors: &mut Errors) {
    let host = text(rule, "host");
    if !host.is_empty() {
        let at = path.child("host");
        if parse_ip(host).is_some() {
            errors.push(FieldError::invalid(&at, &host.into(), "must be a DNS name, not an IP address"));
        }
        validate_host(host, &at, errors);
    }
    let Some(http) = present(rule, "http") else { return };
    let at = path.child("http").child("paths");
    let paths = list(http, "paths");
    if paths.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    for (i, path) in paths.iter().enumerate() {
        validate_path(path, &at.index(i), errors);
    }
}

fn validate_path(path: &Value, at: &Path, errors: &mut Errors) {
    let Some(kind) = present(path, "pathType").and_then(Value::as_str) else {
        errors.push(FieldError::required(&at.child("pathType"), "pathType must be specified"));
        return;
    };
    let target = text(path, "path");
    let mut refuse = |detail: String| errors.push(FieldError::invalid(&at.child("path"), &target.into(), detail));
    let absolute = target.starts_with('/');
    match kind {
        "Exact" | "Prefix" => {
            if !absolute {
                refuse("must be an absolute path".to_owned());
            }
            for bad in ["//", "/./", "/../", "%2f", "%2F"] {
                if target.contains(bad) {
                    refuse(format!("must not contain '{bad}'"));
                }
            }
            for bad in ["/..", "/."] {
                if target.ends_with(bad) {
                    refuse(format!("cannot end with '{bad}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !target.is_empty() && !absolute {
                refuse("must be an absolute path".to_owned());
            }
        }
        other => supported(other, &at.child("pathType"), &["Exact", "ImplementationSpecific", "Prefix"], errors),
    }
    validate_backend(dig(path, &["backend"]), &at.child("backend"), errors);
}

fn validate_backend(backend: &Value, path: &Path, errors: &mut Errors) {
    let invalid = |detail: &str| FieldError::invalid(path, &"".into(), detail);
    match (present(backend, "resource"), present(backend, "service")) {
        (Some(_), Some(_)) => errors.push(invalid("cannot set both resource and service backends")),
        (None, None) => errors.push(invalid("resource or service backend is required")),
        (Some(resource), None) => validate_reference(resource, &path.child("resource"), errors),
        (None, Some(service)) => {
            let at = path.child("service");
            match text(service, "name") {
                "" => errors.push(FieldError::required(&at.child("name"), "")),
                name => each(meta::is_dns_1035_label(name), &at.child("name"), name, errors),
            }
            let port = dig(service, &["port"]);
            let (name, number) = (text(port, "name"), int(port, "number").unwrap_or(0));
            let at = at.child("port");
            match (name.is_empty(), number != 0) {
                (false, true) => errors.push(invalid("cannot set both port name & port number")),
                (false, false) => each(meta::is_port_name(name), &at.child("name"), name, errors),
                (true, true) => port_number(number, &at.child("number"), errors),
                (true, false) => errors.push(FieldError::required(path, "port name or number is required")),
            }
        }
    }
}

fn validate_reference(reference: &Value, path: &Path, errors: &mut Errors) {
    if let Some(group) = present(reference, "apiGroup").and_then(Value::as_str) {
        subdomain(group, &path.child("apiGroup"), errors);
    }
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => errors.push(FieldError::required(&path.child(field), "")),
            value => each(meta::path_segment(value, false), &path.child(field), value, errors),
        }
    }
}

fn validate_ingress_status(ingress: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("status.loadBalancer.ingress");
    for (i, entry) in list(dig(ingress, &["status", "loadBalancer"]), "ingress").iter().enumerate() {
        let path = path.index(i);
        if !text(entry, "ip").is_empty() {
            ip(text(entry, "ip"), &path.child("ip"), &mut errors);
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

fn validate_class(class: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(class, &["spec"]);
    let controller = text(spec, "controller");
    if controller.len() > 250 {
        errors.push(FieldError::too_long(&path.child("controller"), 250));
    }
    batch::validate_domain_path(controller, &path.child("controller"), &mut errors);
    if let Some(parameters) = present(spec, "parameters") {
        let path = path.child("parameters");
        validate_reference(parameters, &path, &mut errors);
        let scope = text(parameters, "scope");
        supported(scope, &path.child("scope"), &["Cluster", "Namespace"], &mut errors);
        let namespace = present(parameters, "namespace").and_then(Value::as_str);
        match (scope, namespace) {
            ("Namespace", None) => {
                let detail = "`parameters.scope` is set to 'Namespace'";
                errors.push(FieldError::required(&path.child("namespace"), detail));
            }
            ("Namespace", Some(namespace)) => label(namespace, &path.child("namespace"), &mut errors),
            ("Cluster", Some(_)) => {
                let detail = "`parameters.scope` is set to 'Cluster'";
                errors.push(FieldError::forbidden(&path.child("namespace"), detail));
            }
            _ => {}
        }
    }
    errors
}

fn default_policy(policy: &mut Value) {
    let Some(spec) = policy.get_mut("spec") else { return };
    let egress = !list(spec, "egress").is_empty();
    default_zero(spec, "policyTypes", if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
    for direction in ["ingress", "egress"] {
        for rule in items_mut(spec, direction) {
            items_mut(rule, "ports").for_each(|port| default(port, "protocol", "TCP"));
        }
    }
}

fn validate_policy(policy: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(policy, &["spec"]);
    meta::validate_selector(dig(spec, &["podSelector"]), &path.child("podSelector"), &mut errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (i, rule) in list(spec, direction).iter().enumerate() {
            let path = path.child(direction).index(i);
            for (i, port) in list(rule, "ports").iter().enumerate() {
                validate_policy_port(port, &path.child("ports").index(i), &mut errors);
            }
            for (i, peer) in list(rule, peers).iter().enumerate() {
                validate_peer(peer, &path.child(peers).index(i), &mut errors);
            }
        }
    }
    let types = texts(spec, "policyTypes");
    let path = path.child("policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid(&path, dig(spec, &["policyTypes"]), detail));
        return errors;
    }
    for (i, kind) in types.iter().enumerate() {
        supported(kind, &path.index(i), &["Ingress", "Egress"], &mut errors);
    }
    errors
}

fn validate_policy_port(port: &Value, path: &Path, errors: &mut Errors) {
    if let Some(protocol) = present(port, "protocol").and_then(Value::as_str) {
        supported(protocol, &path.child("protocol"), &["TCP", "UDP", "SCTP"], errors);
    }
    let end = int(port, "endPort");
    let at = path.child("endPort");
    let first = present(port, "port");
    if let Some(first) = first {
        port_or_name(Some(first), &path.child("port"), errors);
    }
    match (first.map(Value::as_i64), end) {
        (Some(Some(first)), Some(end)) => {
            if end < first {
                errors.push(FieldError::invalid(&at, &first.into(), "must be greater than or equal to `port`"));
            }
            port_number(end, &at, errors);
        }
        (Some(None), Some(end)) => {
            errors.push(FieldError::invalid(&at, &end.into(), "may not be specified when `port` is non-numeric"));
        }
        (None, Some(end)) => {
            errors.push(FieldError::invalid(&at, &end.into(), "may not be specified when `port` is not specified"));
        }
        _ => {}
    }
}

fn validate_peer(peer: &Value, path: &Path, errors: &mut Errors) {
    let mut found = 0;
    for selector in ["podSelector", "namespaceSelector"] {
        if let Some(value) = present(peer, selector) {
            found += 1;
            meta::validate_selector(value, &path.child(selector), errors);
        }
    }
    let block = present(peer, "ipBlock");
    if let Some(block) = block {
        found += 1;
        validate_block(block, &path.child("ipBlock"), errors);
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if found > 1 && block.is_some() {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
}

fn validate_block(block: &Value, path: &Path, errors: &mut Errors) {
    let range = text(block, "cidr");
    if range.is_empty() {
        errors.push(FieldError::required(&path.child("cidr"), ""));
        return;
    }
    let Some((network, length)) = cidr(range, &path.child("cidr"), errors) else { return };
    for (i, except) in texts(block, "except").iter().enumerate() {
        let at = path.child("except").index(i);
        cidr(except, &at, errors);
        if let Some((address, size)) = parse_cidr(except)
            && !(contains(network, length, address) && length < size)
        {
            let detail = "must be a strict subset of `cidr`";
            errors.push(FieldError::invalid(&at, &(*except).into(), detail));
        }
    }
}

fn contains(network: IpAddr, length: u8, address: IpAddr) -> bool {
    ipnet::IpNet::new(network, length).is_ok_and(|net| net.contains(&address))
}
