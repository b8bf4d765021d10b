//! What to warn the authors of pods about.

use kapi_schema::field::{Path, go_quote};
use serde_json::Value;

use crate::behaviour::check::quantity;
use crate::behaviour::value::{dig, int, list, present, text};
use crate::meta;

pub(super) fn pod_warnings(pod: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let messages = meta::is_dns_label(text(dig(pod, &["metadata"]), "name"));
    if !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]",
            messages.join(" ")
        ));
    }
    warnings.extend(spec_warnings(pod, &Path::root()));
    warnings
}

/// Warnings about the specification in a pod or a template of pods.
pub(crate) fn spec_warnings(template: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = dig(template, &["spec"]);
    let at = path.child("spec");
    for (key, message) in DEPRECATED_LABELS {
        if dig(spec, &["nodeSelector"]).get(key).is_some() {
            warnings.push(format!("{}: {message}", at.child("nodeSelector").key(key)));
        }
    }
    for (i, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        if present(constraint, "labelSelector").is_none() {
            let path = at.child("topologySpreadConstraints").index(i).child("labelSelector");
            warnings.push(format!("{path}: a null labelSelector results in matching no pod"));
        }
    }
    for (key, message) in DEPRECATED_ANNOTATIONS {
        if dig(template, &["metadata", "annotations"]).get(key).is_some() {
            warnings.push(format!("{}: {message}", path.child("metadata").child("annotations").key(key)));
        }
    }
    for (i, volume) in list(spec, "volumes").iter().enumerate() {
        for (kind, message) in DEPRECATED_VOLUMES {
            if present(volume, kind).is_some() {
                warnings.push(format!("{}: {message}", at.child("volumes").index(i).child(kind)));
            }
        }
    }
    doubles(list(spec, "hostAliases"), "ip", &at.child("hostAliases"), &mut warnings);
    let secrets = list(spec, "imagePullSecrets");
    doubles(secrets, "name", &at.child("imagePullSecrets"), &mut warnings);
    for (i, secret) in secrets.iter().enumerate() {
        if text(secret, "name").is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", at.child("imagePullSecrets").index(i).child("name")));
        }
    }
    container_warnings(spec, &at, &mut warnings);
    port_warnings(spec, &at, &mut warnings);
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            at.child("terminationGracePeriodSeconds")
        ));
    }
    warnings
}

const DEPRECATED_LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
];
const DEPRECATED_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];
const DEPRECATED_VOLUMES: [(&str, &str); 8] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

fn doubles(items: &[Value], field: &str, path: &Path, warnings: &mut Vec<String>) {
    let mut seen = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let value = text(item, field);
        if seen.contains(&value) {
            warnings.push(format!("{}: duplicate {field} {}", path.index(i).child(field), go_quote(value)));
        }
        seen.push(value);
    }
}

fn containers<'a>(spec: &'a Value, path: &Path) -> Vec<(&'a Value, Path)> {
    let mut all = Vec::new();
    for kind in ["initContainers", "containers", "ephemeralContainers"] {
        all.extend(list(spec, kind).iter().enumerate().map(|(i, container)| (container, path.child(kind).index(i))));
    }
    all
}

fn container_warnings(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    for (container, path) in containers(spec, path) {
        for (kind, name) in [
            ("limits", "memory"),
            ("requests", "memory"),
            ("limits", "ephemeral-storage"),
            ("requests", "ephemeral-storage"),
        ] {
            let amount = dig(container, &["resources", kind, name]);
            if !quantity(amount).is_whole() {
                warnings.push(format!(
                    "{}: fractional byte value {amount} is invalid, must be an integer",
                    path.child("resources").child(kind).key(name)
                ));
            }
        }
        let mut seen = Vec::new();
        for (i, variable) in list(container, "env").iter().enumerate() {
            let name = text(variable, "name");
            if !seen.contains(&name) {
                seen.push(name);
                continue;
            }
            let reference = format!("$({name})");
            let value = text(variable, "value");
            if present(variable, "valueFrom").is_some() || value == reference || !value.contains(&reference) {
                warnings.push(format!(
                    "{}: hides previous definition of {}, which may be dropped when using apply",
                    path.child("env").index(i),
                    go_quote(name)
                ));
            }
        }
    }
}

fn port_warnings(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    let mut seen: Vec<(&Value, Path)> = Vec::new();
    let mut names = Vec::new();
    for (container, path) in containers(spec, path) {
        for (i, port) in list(container, "ports").iter().enumerate() {
            let at = path.child("ports").index(i);
            let host = int(port, "hostPort").unwrap_or(0);
            for (other, other_at) in &seen {
                if int(other, "containerPort") != int(port, "containerPort")
                    || text(other, "protocol") != text(port, "protocol")
                {
                    continue;
                }
                let other_host = int(other, "hostPort").unwrap_or(0);
                let (ip, other_ip) = (text(port, "hostIP"), text(other, "hostIP"));
                if ip == other_ip && host == other_host {
                    warnings.push(format!("{at}: duplicate port definition with {other_at}"));
                } else if host == 0 || other_host == 0 {
                    warnings.push(format!("{at}: overlapping port definition with {other_at}"));
                } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                    warnings.push(format!("{at}: dangerously ambiguous port definition with {other_at}"));
                }
            }
            seen.push((port, at.clone()));
            names.push((text(port, "name"), at));
        }
    }
    for (i, (name, at)) in names.iter().enumerate() {
        let first = names.iter().take(i).find(|(other, _)| !name.is_empty() && other == name);
        if let Some((_, first)) = first {
            warnings.push(format!(
                "{at}: duplicate port name {} with {first}, services and probes that select ports by name will use {first}",
                go_quote(name)
            ));
        }
    }
}
