//! Endpoints.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::Behaviour;
use super::super::check::{Errors, PROTOCOLS, endpoint_ip, ip, label, one_of, port_number, qualified_name, subdomain};
use super::super::value::{default_zero, dig, int, items_mut, list, present, same, text};

pub(in super::super) fn behaviour() -> Behaviour {
    Behaviour {
        default: |object| {
            for subset in items_mut(object, "subsets") {
                for port in items_mut(subset, "ports") {
                    default_zero(port, "protocol", "TCP");
                }
            }
        },
        validate,
        validate_update: |new, old| {
            if same(dig(new, &["subsets"]), dig(old, &["subsets"])) { Vec::new() } else { validate(new) }
        },
        warnings: |_| vec!["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned()],
        ..Behaviour::builtin()
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    for (i, subset) in list(object, "subsets").iter().enumerate() {
        let path = Path::new("subsets").index(i);
        if list(subset, "addresses").is_empty() && list(subset, "notReadyAddresses").is_empty() {
            errors.push(FieldError::required(&path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for kind in ["addresses", "notReadyAddresses"] {
            for (i, address) in list(subset, kind).iter().enumerate() {
                validate_address(address, &path.child(kind).index(i), &mut errors);
            }
        }
        let ports = list(subset, "ports");
        for (i, port) in ports.iter().enumerate() {
            validate_port(port, ports.len() > 1, &path.child("ports").index(i), &mut errors);
        }
    }
    errors
}

fn validate_address(address: &Value, path: &Path, errors: &mut Errors) {
    let value = text(address, "ip");
    ip(value, &path.child("ip"), errors);
    if !text(address, "hostname").is_empty() {
        label(text(address, "hostname"), &path.child("hostname"), errors);
    }
    if let Some(node) = present(address, "nodeName").and_then(Value::as_str) {
        subdomain(node, &path.child("nodeName"), errors);
    }
    endpoint_ip(value, &path.child("ip"), errors);
}

fn validate_port(port: &Value, needs_name: bool, path: &Path, errors: &mut Errors) {
    let name = text(port, "name");
    if !name.is_empty() {
        label(name, &path.child("name"), errors);
    } else if needs_name {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    port_number(int(port, "port").unwrap_or(0), &path.child("port"), errors);
    one_of(text(port, "protocol"), &path.child("protocol"), &PROTOCOLS, errors);
    if let Some(protocol) = present(port, "appProtocol").and_then(Value::as_str) {
        qualified_name(protocol, &path.child("appProtocol"), errors);
    }
}
