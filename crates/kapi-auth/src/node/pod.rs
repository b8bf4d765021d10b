//! What a pod refers to.

use serde_json::Value;

use super::graph::Kind;
use crate::objects::{list, name, text};

/// Volume sources that name one Secret, with the path to its name.
const SECRET_VOLUMES: &[(&str, &[&str])] = &[
    ("azureFile", &["secretName"]),
    ("cephfs", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("rbd", &["secretRef", "name"]),
    ("secret", &["secretName"]),
    ("scaleIO", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("storageos", &["secretRef", "name"]),
    ("csi", &["nodePublishSecretRef", "name"]),
];

/// Calls `visit` for every object in the pod's namespace that the kubelet must read to run the pod; the same one can
/// come more than once.
pub(super) fn visit_references<'a>(pod: &'a Value, mut visit: impl FnMut(Kind, std::borrow::Cow<'a, str>)) {
    let mut named = |kind, name: &'a str| {
        if !name.is_empty() {
            visit(kind, name.into());
        }
    };
    let Some(spec) = pod.get("spec") else { return };
    named(Kind::ServiceAccount, text(spec, &["serviceAccountName"]));
    for secret in list(spec, &["imagePullSecrets"]) {
        named(Kind::Secret, text(secret, &["name"]));
    }
    for containers in ["initContainers", "containers", "ephemeralContainers"] {
        for container in list(spec, &[containers]) {
            for source in list(container, &["envFrom"]) {
                named(Kind::Secret, text(source, &["secretRef", "name"]));
                named(Kind::ConfigMap, text(source, &["configMapRef", "name"]));
            }
            for variable in list(container, &["env"]) {
                named(Kind::Secret, text(variable, &["valueFrom", "secretKeyRef", "name"]));
                named(Kind::ConfigMap, text(variable, &["valueFrom", "configMapKeyRef", "name"]));
            }
        }
    }
    for volume in list(spec, &["volumes"]) {
        for (source, path) in SECRET_VOLUMES {
            if let Some(source) = volume.get(source) {
                named(Kind::Secret, text(source, path));
            }
        }
        named(Kind::ConfigMap, text(volume, &["configMap", "name"]));
        for source in list(volume, &["projected", "sources"]) {
            named(Kind::Secret, text(source, &["secret", "name"]));
            named(Kind::ConfigMap, text(source, &["configMap", "name"]));
        }
        named(Kind::Claim, text(volume, &["persistentVolumeClaim", "claimName"]));
    }
    for status in list(pod, &["status", "resourceClaimStatuses"]) {
        named(Kind::ResourceClaim, text(status, &["resourceClaimName"]));
    }
    for claim in list(spec, &["resourceClaims"]) {
        named(Kind::ResourceClaim, text(claim, &["resourceClaimName"]));
    }
    named(Kind::ResourceClaim, text(pod, &["status", "extendedResourceClaimStatus", "resourceClaimName"]));
    for volume in list(spec, &["volumes"]) {
        if volume.get("ephemeral").is_some_and(|source| !source.is_null()) {
            visit(Kind::Claim, format!("{}-{}", name(pod), text(volume, &["name"])).into());
        }
    }
}
