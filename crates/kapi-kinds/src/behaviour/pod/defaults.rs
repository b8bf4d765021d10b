//! Defaults of pods and pod templates.

use serde_json::{Map, Value, json};

use super::resources;
use crate::behaviour::value::{
    default, default_zero, dig, flag, int, items_mut, list, map_mut, present, remove, set, sync_plural, text,
};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Defaults of a pod template, wherever it stands.
pub(crate) fn default_template(template: &mut Value) {
    if let Some(spec) = template.get_mut("spec") {
        default_spec(spec);
    }
}

/// Defaults of a pod: those of its template, and some that would break stored templates if they had them.
pub(super) fn default_pod(pod: &mut Value) {
    if let Some(status) = pod.get_mut("status") {
        sync_plural(status, "podIP", "podIPs", |ip| json!({"ip": ip}));
    }
    let Some(spec) = pod.get_mut("spec") else { return };
    default_spec(spec);
    // Kubernetes takes a negative grace period for the shortest there is.
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        set(spec, "terminationGracePeriodSeconds", 1);
    }
    for kind in ["containers", "initContainers"] {
        for container in items_mut(spec, kind) {
            requests_from_limits(container);
        }
    }
    default_pod_resources(spec);
    default(spec, "enableServiceLinks", true);
    if flag(spec, "hostNetwork") {
        for kind in ["containers", "initContainers"] {
            for container in items_mut(spec, kind) {
                for port in items_mut(container, "ports") {
                    let number = int(port, "containerPort").unwrap_or(0);
                    default_zero(port, "hostPort", number);
                }
            }
        }
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    if let Some(requests) = map_mut(resources, "requests") {
        for (name, amount) in limits {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// Pod-level requests: the sum of what containers ask for, else the pod-level limits.
fn default_pod_resources(spec: &mut Value) {
    let Some(limits) = dig(spec, &["resources", "limits"]).as_object().filter(|limits| !limits.is_empty()).cloned()
    else {
        return;
    };
    let asked = resources::sum_of_requests(spec);
    let Some(requests) = spec.get_mut("resources").and_then(|resources| map_mut(resources, "requests")) else { return };
    for (name, amount) in asked {
        if matches!(name.as_str(), "cpu" | "memory") {
            requests.entry(name).or_insert_with(|| amount.to_string().into());
        }
    }
    for (name, amount) in limits {
        if resources::is_pod_level(&name) {
            requests.entry(name).or_insert(amount);
        }
    }
}

fn default_spec(spec: &mut Value) {
    drop_disabled(spec);
    default_zero(spec, "dnsPolicy", "ClusterFirst");
    default_zero(spec, "restartPolicy", "Always");
    default(spec, "securityContext", Value::Object(Map::new()));
    default(spec, "terminationGracePeriodSeconds", 30);
    default_zero(spec, "schedulerName", "default-scheduler");
    sync_service_account(spec);
    for volume in items_mut(spec, "volumes") {
        default_volume(volume);
    }
    for kind in CONTAINERS {
        for container in items_mut(spec, kind) {
            default_container(container);
        }
    }
    resources::round_up(spec.get_mut("overhead"));
    for kind in ["limits", "requests"] {
        resources::round_up(spec.get_mut("resources").and_then(|resources| resources.get_mut(kind)));
    }
}

/// What is behind feature gates that are closed is dropped before anybody looks at it: restart rules of containers
/// (but for sidecars), and volumes made of images.
fn drop_disabled(spec: &mut Value) {
    for kind in CONTAINERS {
        for container in items_mut(spec, kind) {
            if kind != "initContainers" || text(container, "restartPolicy") != "Always" {
                remove(container, "restartPolicy");
            }
            remove(container, "restartPolicyRules");
        }
    }
    let images: Vec<String> = list(spec, "volumes")
        .iter()
        .filter(|volume| present(volume, "image").is_some())
        .map(|volume| text(volume, "name").to_owned())
        .collect();
    if images.is_empty() {
        return;
    }
    let drop_named = |of: &mut Value, field: &str| {
        if let Some(items) = of.get_mut(field).and_then(Value::as_array_mut) {
            items.retain(|item| !images.iter().any(|image| image == text(item, "name")));
            if items.is_empty() {
                remove(of, field);
            }
        }
    };
    drop_named(spec, "volumes");
    for kind in CONTAINERS {
        items_mut(spec, kind).for_each(|container| drop_named(container, "volumeMounts"));
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`; both are served with one value.
fn sync_service_account(spec: &mut Value) {
    let new = text(spec, "serviceAccountName").to_owned();
    let name = if new.is_empty() { text(spec, "serviceAccount").to_owned() } else { new };
    if !name.is_empty() {
        for field in ["serviceAccountName", "serviceAccount"] {
            if let Some(map) = spec.as_object_mut() {
                map.insert(field.to_owned(), name.clone().into());
            }
        }
    }
}

fn default_container(container: &mut Value) {
    let policy = pull_policy(text(container, "image"));
    default_zero(container, "imagePullPolicy", policy);
    default_zero(container, "terminationMessagePath", "/dev/termination-log");
    default_zero(container, "terminationMessagePolicy", "File");
    default(container, "resources", Value::Object(Map::new()));
    for port in items_mut(container, "ports") {
        default_zero(port, "protocol", "TCP");
    }
    for variable in items_mut(container, "env") {
        if let Some(from) = variable.get_mut("valueFrom") {
            default_field_refs(from);
        }
    }
    for kind in ["limits", "requests"] {
        resources::round_up(container.get_mut("resources").and_then(|resources| resources.get_mut(kind)));
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            default_probe(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = container.get_mut("lifecycle").and_then(|lifecycle| lifecycle.get_mut(hook)) {
            default_http_get(hook);
        }
    }
}

fn default_probe(probe: &mut Value) {
    default_http_get(probe);
    if let Some(grpc) = probe.get_mut("grpc").filter(|grpc| grpc.is_object()) {
        default(grpc, "service", "");
    }
    default_zero(probe, "timeoutSeconds", 1);
    default_zero(probe, "periodSeconds", 10);
    default_zero(probe, "successThreshold", 1);
    default_zero(probe, "failureThreshold", 3);
}

fn default_http_get(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet").filter(|get| get.is_object()) {
        default_zero(get, "path", "/");
        default_zero(get, "scheme", "HTTP");
    }
}

fn default_field_refs(source: &mut Value) {
    if let Some(reference) = source.get_mut("fieldRef").filter(|reference| reference.is_object()) {
        default_zero(reference, "apiVersion", "v1");
    }
    if let Some(reference) = source.get_mut("resourceFieldRef").filter(|reference| reference.is_object()) {
        default(reference, "divisor", "0");
    }
}

fn default_volume(volume: &mut Value) {
    let Some(map) = volume.as_object_mut() else { return };
    if !map.iter().any(|(field, source)| field != "name" && !source.is_null()) {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    for kind in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(kind).filter(|source| source.is_object()) {
            default(source, "defaultMode", 0o644);
        }
    }
    if let Some(source) = volume.get_mut("downwardAPI") {
        items_mut(source, "items").for_each(default_field_refs);
    }
    if let Some(projected) = volume.get_mut("projected") {
        for source in items_mut(projected, "sources") {
            if let Some(token) = source.get_mut("serviceAccountToken").filter(|token| token.is_object()) {
                default(token, "expirationSeconds", 3600);
            }
            if let Some(source) = source.get_mut("downwardAPI") {
                items_mut(source, "items").for_each(default_field_refs);
            }
        }
    }
    default_volume_source(volume);
    if let Some(spec) = volume.get_mut("ephemeral").and_then(|e| e.get_mut("volumeClaimTemplate")?.get_mut("spec")) {
        default(spec, "volumeMode", "Filesystem");
    }
}

/// Defaults of the sources that pods and persistent volumes share.
pub(crate) fn default_volume_source(source: &mut Value) {
    if let Some(path) = source.get_mut("hostPath").filter(|path| path.is_object()) {
        default(path, "type", "");
    }
    if let Some(iscsi) = source.get_mut("iscsi").filter(|iscsi| iscsi.is_object()) {
        default_zero(iscsi, "iscsiInterface", "default");
    }
    if let Some(rbd) = source.get_mut("rbd").filter(|rbd| rbd.is_object()) {
        default_zero(rbd, "pool", "rbd");
        default_zero(rbd, "user", "admin");
        default_zero(rbd, "keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = source.get_mut("azureDisk").filter(|disk| disk.is_object()) {
        default(disk, "cachingMode", "ReadWrite");
        default(disk, "kind", "Shared");
        default(disk, "fsType", "ext4");
        default(disk, "readOnly", false);
    }
    if let Some(scale) = source.get_mut("scaleIO").filter(|scale| scale.is_object()) {
        default_zero(scale, "storageMode", "ThinProvisioned");
        default_zero(scale, "fsType", "xfs");
    }
}

/// Images are pulled always when they are `latest`, else when they are missing.
fn pull_policy(image: &str) -> &'static str {
    if image_tag_is_latest(image) { "Always" } else { "IfNotPresent" }
}

/// Whether an image reference means the tag `latest`: said, or for lack of both tag and digest.
fn image_tag_is_latest(image: &str) -> bool {
    if image.is_empty() || image.trim() != image {
        return false;
    }
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.chars().any(|c| c.is_ascii_uppercase()) && !last.contains(':') || name.chars().any(char::is_whitespace) {
        return false;
    }
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_tags() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.2", false),
            ("registry:5000/nginx", true),
            ("registry:5000/a/nginx:1", false),
            ("nginx@sha256:abc", false),
            ("nginx:latest@sha256:abc", true),
            ("", false),
        ] {
            assert_eq!(image_tag_is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn defaulting_twice_changes_nothing() {
        let mut pod =
            json!({"spec": {"containers": [{"name": "a", "image": "b", "livenessProbe": {"httpGet": {"port": 1}}}]}});
        default_pod(&mut pod);
        let once = pod.clone();
        default_pod(&mut pod);
        assert_eq!(pod, once);
        assert_eq!(pod["spec"]["enableServiceLinks"], true);
    }
}
