//! Mirror pods: the only pods a node may create, and only if they need nothing from the API.

use serde_json::Value;

use super::{graph::Kind, pod::visit_references};
use crate::objects::{at, list, text};

/// Volume sources that need no object of the API.
const LOCAL_VOLUMES: &[&str] = &[
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Volume sources that need one, and how the refusal calls it.
const API_VOLUMES: &[(&str, &str)] = &[
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];

const API_PROJECTIONS: &[(&str, &str)] = &[
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

/// What the pod needs from the API, in the words of the refusal; none when it needs nothing.
pub(super) fn api_reference(pod: &Value) -> Option<&'static str> {
    if !text(pod, &["spec", "serviceAccountName"]).is_empty() {
        return Some("serviceaccounts");
    }
    let mut refers_to = (false, false);
    visit_references(pod, |kind, _| match kind {
        Kind::Secret => refers_to.0 = true,
        Kind::ConfigMap => refers_to.1 = true,
        _ => {}
    });
    if refers_to.0 {
        return Some("secrets");
    }
    if refers_to.1 {
        return Some("configmaps");
    }
    if !list(pod, &["spec", "resourceClaims"]).is_empty() {
        return Some("resourceclaims");
    }
    list(pod, &["spec", "volumes"]).iter().find_map(volume_reference)
}

fn volume_reference(volume: &Value) -> Option<&'static str> {
    let has = |field: &str| at(volume, &[field]).is_some();
    if LOCAL_VOLUMES.iter().any(|source| has(source)) {
        return None;
    }
    if let Some((_, what)) = API_VOLUMES.iter().find(|(source, _)| has(source)) {
        return Some(what);
    }
    if !has("projected") {
        return Some("an unknown volume type");
    }
    list(volume, &["projected", "sources"]).iter().find_map(|source| {
        API_PROJECTIONS.iter().find(|(field, _)| at(source, &[field]).is_some()).map(|(_, what)| *what)
    })
}
