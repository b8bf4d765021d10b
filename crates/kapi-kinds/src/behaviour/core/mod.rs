//! Kinds of the core group that are neither pods nor workloads.

pub(super) mod claim;
mod config;
pub(super) mod endpoints;
pub(super) mod event;
mod limit_range;
mod namespace;
mod node;
mod quota;
mod secret;
mod service;
mod service_ips;
mod service_update;
mod volume;

use serde_json::Value;

pub(super) use volume::validate_driver_name;

use super::value::{dig, text};
use super::{Behaviour, apps, pod};

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    Some(match kind {
        "Pod" => pod::behaviour(),
        "PodTemplate" => pod::template_behaviour(),
        "Binding" => pod::binding_behaviour(),
        "ReplicationController" => apps::replication_controller(),
        "Service" => service::behaviour(),
        "Endpoints" => endpoints::behaviour(),
        "Node" => node::behaviour(),
        "Namespace" => namespace::behaviour(),
        "Secret" => secret::behaviour(),
        "ConfigMap" => config::behaviour(),
        "ServiceAccount" => service_account(),
        "Event" => event::behaviour(),
        "LimitRange" => limit_range::behaviour(),
        "ResourceQuota" => quota::behaviour(),
        "PersistentVolume" => volume::behaviour(),
        "PersistentVolumeClaim" => claim::behaviour(),
        _ => return None,
    })
}

fn service_account() -> Behaviour {
    Behaviour::builtin()
}

/// The object's name.
fn name(object: &Value) -> &str {
    text(dig(object, &["metadata"]), "name")
}
