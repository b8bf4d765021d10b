//! EndpointSlices.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::{
    Errors, PROTOCOLS, each, endpoint_ip, immutable, ip, label, one_of, parse_ip, qualified_name, subdomain,
};
use super::value::{default, dig, items_mut, list, present, same, text, texts};
use crate::meta;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_HINTS: usize = 8;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "EndpointSlice").then(|| Behaviour {
        default: |slice| {
            for port in items_mut(slice, "ports") {
                default(port, "name", "");
                default(port, "protocol", "TCP");
            }
        },
        validate: |slice| validate(slice, None),
        validate_update: |new, old| {
            let mut errors = validate(new, Some(old));
            let kind = |slice: &Value| Value::from(text(slice, "addressType"));
            immutable(&kind(new), &kind(old), &Path::new("addressType"), &mut errors);
            errors
        },
        generation: true,
        ..Behaviour::builtin()
    })
}

fn validate(slice: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let kind = text(slice, "addressType");
    one_of(kind, &Path::new("addressType"), &["FQDN", "IPv4", "IPv6"], &mut errors);
    validate_ports(list(slice, "ports"), &Path::new("ports"), &mut errors);
    let endpoints = dig(slice, &["endpoints"]);
    if !old.is_some_and(|old| same(dig(old, &["endpoints"]), endpoints)) {
        validate_endpoints(list(slice, "endpoints"), kind, &Path::new("endpoints"), &mut errors);
    }
    errors
}

fn validate_ports(ports: &[Value], path: &Path, errors: &mut Errors) {
    if ports.len() > MAX_PORTS {
        errors.push(FieldError::too_many(path, ports.len(), MAX_PORTS));
        return;
    }
    let mut names = std::collections::HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(port, "name");
        if !name.is_empty() {
            label(name, &path.child("name"), errors);
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        }
        one_of(text(port, "protocol"), &path.child("protocol"), &PROTOCOLS, errors);
        if let Some(protocol) = present(port, "appProtocol").and_then(Value::as_str) {
            qualified_name(protocol, &path.child("appProtocol"), errors);
        }
    }
}

fn validate_endpoints(endpoints: &[Value], kind: &str, path: &Path, errors: &mut Errors) {
    if endpoints.len() > MAX_ENDPOINTS {
        errors.push(FieldError::too_many(path, endpoints.len(), MAX_ENDPOINTS));
        return;
    }
    for (i, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(i);
        let at = path.child("addresses");
        let addresses = texts(endpoint, "addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(&at, "must contain at least 1 address"));
        } else if addresses.len() > MAX_ADDRESSES {
            errors.push(FieldError::too_many(&at, addresses.len(), MAX_ADDRESSES));
        }
        for (i, address) in addresses.iter().enumerate() {
            validate_address(address, kind, &at, i, errors);
        }
        if let Some(node) = present(endpoint, "nodeName").and_then(Value::as_str) {
            subdomain(node, &path.child("nodeName"), errors);
        }
        if let Some(host) = present(endpoint, "hostname").and_then(Value::as_str) {
            label(host, &path.child("hostname"), errors);
        }
        if let Some(hints) = present(endpoint, "hints") {
            validate_hints(hints, &path.child("hints"), errors);
        }
    }
}

fn validate_address(address: &str, kind: &str, path: &Path, i: usize, errors: &mut Errors) {
    let at = path.index(i);
    match kind {
        "IPv4" | "IPv6" => match parse_ip(address) {
            None => ip(address, &at, errors),
            Some(parsed) => {
                if parsed.is_ipv4() != (kind == "IPv4") {
                    errors.push(FieldError::invalid(path, &address.into(), format!("must be an {kind} address")));
                }
                endpoint_ip(address, &at, errors);
            }
        },
        "FQDN" => validate_domain_name(address, &at, errors),
        _ => {}
    }
}

fn validate_domain_name(name: &str, path: &Path, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = meta::is_dns_subdomain(name);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(path, &name.into(), messages.join(",")));
    } else if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, &name.into(), detail));
    } else if let Some(part) = name.split('.').find(|part| !meta::is_dns_label(part).is_empty()) {
        errors.push(FieldError::invalid(path, &part.into(), meta::is_dns_label(part).join(",")));
    }
}

fn validate_hints(hints: &Value, path: &Path, errors: &mut Errors) {
    for (field, check) in
        [("forZones", meta::is_label_value as fn(&str) -> Vec<String>), ("forNodes", meta::is_dns_subdomain)]
    {
        let at = path.child(field);
        let hints = list(hints, field);
        if hints.len() > MAX_HINTS {
            errors.push(FieldError::too_many(&at, hints.len(), MAX_HINTS));
            return;
        }
        for (i, hint) in hints.iter().enumerate() {
            let name = text(hint, "name");
            let at = at.index(i).child("name");
            if hints.iter().take(i).any(|other| text(other, "name") == name) {
                errors.push(FieldError::duplicate(&at, &name.into()));
            }
            each(check(name), &at, name, errors);
        }
    }
}
