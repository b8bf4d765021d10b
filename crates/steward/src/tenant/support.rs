//! What stands in the way of a control plane, each with who can do what about it.

use std::sync::Arc;

use butler_api::shared::{Blocker, BlockerOwner};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition};
use kernel::version::{NEWEST, OLDEST, UpgradeError, Version};

use super::observed::Observed;
use super::plan::butler;
use super::versions::{self, Way};
use crate::credentials::Root;
use crate::inside;
use crate::names;
use crate::store::StoreError;
use crate::workload::programs::{CONTROLLER_MANAGER_PORT, SCHEDULER_PORT};
use crate::workload::{KONNECTIVITY_PORTS, RenderError, agent_port, published};

/// Steward was told to keep off.
pub(super) fn paused() -> Blocker {
    let remedy = format!("remove the annotation {}", names::PAUSED);
    blocker("Paused", "Steward was told to keep off".to_owned(), BlockerOwner::User, &remedy)
}

/// Names are taken.
pub(super) fn taken(message: String, evidence: Vec<String>, remedy: &str) -> Blocker {
    Blocker { evidence, ..blocker("NameTaken", message, BlockerOwner::User, remedy) }
}

/// The API refused a Service because of its port.
pub(super) fn port_taken(observed: &Observed, why: &str) -> Blocker {
    let message = format!("port {} is in use", observed.tenant.spec.network_profile.port);
    let remedy = "set spec.networkProfile.port to one that is free, or delete the Service that has it";
    Blocker { evidence: vec![why.to_owned()], ..blocker("PortTaken", message, BlockerOwner::User, remedy) }
}

/// Two programs of a pod cannot listen on one port.
fn ports_taken(observed: &Observed) -> Option<Blocker> {
    let spec = &observed.tenant.spec;
    let api_server = spec.network_profile.port;
    let mut others = vec![(CONTROLLER_MANAGER_PORT, "kube-controller-manager"), (SCHEDULER_PORT, "kube-scheduler")];
    if let Some(agents) = agent_port(&spec.addons) {
        others.extend(KONNECTIVITY_PORTS.map(|port| (port, "konnectivity")));
        if let Some((port, program)) = others.iter().find(|(port, _)| *port == agents) {
            let message = format!("port {port} is in use by {program} in the same pod");
            let remedy = "set spec.addons.konnectivity.server.port to another port";
            return Some(blocker("PortTaken", message, BlockerOwner::User, remedy));
        }
        others.push((agents, "konnectivity"));
    }
    let (port, program) = others.into_iter().find(|(port, _)| *port == api_server)?;
    Some(port_taken(observed, &format!("{program} listens on port {port} in the same pod")))
}

/// Something that comes by itself.
pub(super) fn waiting(reason: &str, message: &str) -> Blocker {
    butler(reason, message.to_owned())
}

/// Checks the wishes that no schema can refuse.
pub(super) fn check(observed: &Observed) -> Vec<Blocker> {
    let mut blockers = unsupported(observed);
    blockers.extend(unpublishable(observed));
    blockers.extend(ports_taken(observed));
    blockers
}

/// The version is none that can be run.
pub(super) fn version_unusable(text: &str, answered: Option<Version>) -> Blocker {
    let (reason, message) = match text.parse::<Version>() {
        Ok(version) => ("VersionUnsupported", format!("Kubernetes {version} is not supported")),
        Err(error) => ("VersionUnknown", error.to_string()),
    };
    let remedy = match answered {
        Some(answered) if answered.is_supported() => format!("set the version back to {answered}"),
        Some(answered) => format!("set the version to one of {}", answered.next_minor()),
        None => format!("set the version to one of {OLDEST} to {NEWEST}"),
    };
    blocker(reason, message, BlockerOwner::User, &remedy)
}

/// The version is one to which there is no way.
pub(super) fn version_refused(error: &UpgradeError, answered: Version) -> Blocker {
    let remedy = format!("set the version to {answered}");
    blocker("UpgradeRefused", error.to_string(), BlockerOwner::User, &remedy)
}

/// Wishes that the API can express and Steward cannot fulfil: said, not ignored.
fn unsupported(observed: &Observed) -> Vec<Blocker> {
    let spec = &observed.tenant.spec;
    let limited = spec.write_permissions.as_ref();
    let is_published = published(&spec.control_plane).is_some();
    let wishes = [
        ("spec.writePermissions", limited.is_some_and(|w| w.block_creation || w.block_update || w.block_deletion)),
        ("spec.addons.konnectivity behind a host name", spec.addons.konnectivity.is_some() && is_published),
    ];
    let asked = wishes.into_iter().filter(|(_, asked)| *asked).map(|(field, _)| (field, format!("remove {field}")));
    let inside = inside::unsupported(&spec.addons).into_iter().map(|what| (what.field(), what.remedy().to_owned()));
    asked
        .chain(inside)
        .map(|(field, remedy)| {
            let message = format!("{field} cannot be fulfilled yet");
            blocker("FieldUnsupported", message, BlockerOwner::User, &remedy)
        })
        .collect()
}

/// What a publication under a host name lacks.
fn unpublishable(observed: &Observed) -> Vec<Blocker> {
    let control_plane = &observed.tenant.spec.control_plane;
    let is_name = |name: &Option<String>| {
        name.as_deref().is_some_and(|name| name.contains('.') && name.parse::<std::net::IpAddr>().is_err())
    };
    let ingress = control_plane.ingress.as_ref();
    let gateway = control_plane.gateway.as_ref();
    let lacks = [
        ("ingress.hostname", ingress.is_some_and(|i| !is_name(&i.hostname)), "a host name by which clients find it"),
        ("gateway.hostname", gateway.is_some_and(|g| !is_name(&g.hostname)), "a host name by which clients find it"),
        ("gateway.parentRefs", gateway.is_some_and(|g| g.parent_refs.is_empty()), "the gateway that publishes it"),
    ];
    let lacking = lacks.into_iter().filter(|(_, lacking, _)| *lacking);
    let say = |(field, _, what): (&str, bool, &str)| {
        let message = format!("spec.controlPlane.{field} does not name {what}");
        blocker("FieldInvalid", message, BlockerOwner::User, &format!("set spec.controlPlane.{field}"))
    };
    lacking.map(say).collect()
}

/// The management cluster does not know the kind of a route.
pub(super) fn route_unknown(why: &str) -> Blocker {
    let remedy = "install the custom resources of the Gateway API, or of Traefik, in the management cluster";
    blocker("RouteUnknown", why.to_owned(), BlockerOwner::PlatformAdmin, remedy)
}

/// What belongs into the tenant cannot be written down.
pub(super) fn unconfigurable(why: &str) -> Blocker {
    blocker("TenantConfiguration", why.to_owned(), BlockerOwner::User, "correct the field the message names")
}

/// A fragment or argument of the user's does not work.
pub(super) fn unrenderable(error: &RenderError) -> Blocker {
    let (reason, remedy) = match error {
        RenderError::Fragment { field, .. } => ("FieldInvalid", format!("correct {field}")),
        RenderError::Arguments { field, arguments } => {
            ("ArgumentRefused", format!("remove {} from {field}", arguments.join(", ")))
        }
    };
    blocker(reason, error.to_string(), BlockerOwner::User, &remedy)
}

/// The time until which machines are expected is none.
pub(super) fn unreadable_time(text: &str) -> Blocker {
    let message = format!("annotation {} is {text:?}, which is no time", names::JOINING_UNTIL);
    blocker("TimeUnreadable", message, BlockerOwner::User, "write it as 2026-11-15T18:00:00Z")
}

/// Whether a root is known to have been there.
pub(super) fn was_made(observed: &Observed, root: Root) -> bool {
    let allowed = observed.tenant.metadata.annotations.as_ref().and_then(|all| all.get(names::NEW_AUTHORITY));
    if allowed.is_some_and(|value| value == "allow") {
        return false;
    }
    let certificates = observed.tenant.status.as_ref().and_then(|status| status.certificates.as_ref());
    let Some(certificates) = certificates else { return false };
    match root {
        Root::ClusterCa => certificates.ca.is_some(),
        Root::FrontProxyCa => certificates.front_proxy_ca.is_some(),
        Root::ServiceAccount => certificates.sa.is_some(),
        Root::EtcdCa => observed.etcd.stateful_set.is_some(),
    }
}

/// A root was deleted although it was held.
pub(super) fn lost(observed: &Observed, root: Root) -> Blocker {
    let secret = format!("{}/{}", observed.namespace(), root.secret_name(observed.name()));
    let mut blocker = blocker(
        "AuthorityLost",
        format!("the {} is gone, and nothing else can take its place", root.description()),
        BlockerOwner::PlatformAdmin,
        &format!(
            "restore Secret {secret} from a backup; or set the annotation {}=allow to have a new one, after which \
             every node must join again",
            names::NEW_AUTHORITY
        ),
    );
    blocker.evidence = vec![format!("Secret {secret} does not exist; status says it did")];
    blocker
}

/// A root cannot be read.
pub(super) fn damaged(observed: &Observed, root: Root, why: &str) -> Blocker {
    let secret = format!("{}/{}", observed.namespace(), root.secret_name(observed.name()));
    let message = format!("the {} cannot be read", root.description());
    let remedy = format!("restore tls.crt and tls.key of Secret {secret} from a backup");
    let mut blocker = blocker("AuthorityDamaged", message, BlockerOwner::PlatformAdmin, &remedy);
    blocker.evidence = vec![format!("Secret {secret}: {why}")];
    blocker
}

/// The store does not do what it should.
pub(super) fn store_trouble(error: &StoreError) -> Blocker {
    blocker(error.reason, error.message.clone(), error.owner, &error.remedy)
}

/// A store cannot hold single resources.
pub(super) fn override_unfit(store: &str, why: &str) -> Blocker {
    let message = format!("DataStore {store} cannot hold single resources: {why}");
    let remedy = "name another DataStore in spec.dataStoreOverrides, or remove it there";
    blocker("OverrideUnfit", message, BlockerOwner::User, remedy)
}

/// An override is for nothing that there is.
pub(super) fn no_resource(text: &str) -> Blocker {
    let message = format!("spec.dataStoreOverrides: {text:?} is no resource");
    blocker("FieldInvalid", message, BlockerOwner::User, "write it as /events or apps/deployments")
}

/// The store's authority has no key.
pub(super) fn store_key_missing(store: &str) -> Blocker {
    let message = format!("DataStore {store} gives no key of its authority, so tenants get no certificate for it");
    let remedy = format!("set spec.tlsConfig.certificateAuthority.privateKey of DataStore {store}");
    blocker("DataStoreKeyMissing", message, BlockerOwner::PlatformAdmin, &remedy)
}

/// The store's authority cannot be read.
pub(super) fn store_key_useless(store: &str, why: &str) -> Blocker {
    let message = format!("the authority of DataStore {store} cannot be used: {why}");
    let remedy = format!("correct spec.tlsConfig.certificateAuthority of DataStore {store}");
    blocker("DataStoreKeyUseless", message, BlockerOwner::PlatformAdmin, &remedy)
}

/// No node takes pods.
const UNSCHEDULABLE: &str = "PodsUnschedulable";
const NO_ROOM: &str = "no node has room for pods of the control plane";
/// Where it is said how much room they need.
const RESOURCES: &str = "spec.controlPlane.deployment.resources";

/// Why pods are not ready, from what the pods themselves say.
pub(super) fn pods_trouble(observed: &Observed, way: Option<Way>) -> Option<Blocker> {
    let spec = &observed.tenant.spec.control_plane.deployment;
    let deployment = observed.deployment.as_ref()?;
    let status = deployment.status.clone().unwrap_or_default();
    let updated = status.updated_replicas.unwrap_or(0);
    let is_current = status.observed_generation == deployment.metadata.generation;
    let serves = is_current && updated >= spec.replicas && status.available_replicas.unwrap_or(0) >= spec.replicas;
    // Those that serve may be of before, beside new ones that do not start.
    if spec.replicas == 0 || (serves && status.replicas.unwrap_or(0) <= spec.replicas) {
        return None;
    }
    // A pod that does not start, and is not asked for any more, stays until another does.
    let is_meant = |pod: &&Arc<Pod>| {
        pod.metadata.deletion_timestamp.is_none()
            && !way.is_some_and(|way| versions::is_of_another(observed, pod, way.now))
    };
    let evidence: Vec<String> = observed.pods.iter().filter(is_meant).flat_map(|pod| troubles(pod)).collect();
    if evidence.is_empty() && serves {
        return None;
    }
    if evidence.is_empty() {
        let wanted = spec.replicas;
        let (ready, available) = (status.ready_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
        let message = match () {
            () if ready < wanted => format!("{ready} of {wanted} pods are ready"),
            () if !is_current => "the newest change of the pods has not begun yet".to_owned(),
            () if updated < wanted => format!("{updated} of {wanted} pods are of the newest change"),
            () => format!("{available} of {wanted} pods have been ready for long enough"),
        };
        return Some(butler("PodsStarting", message));
    }
    let lacks_room = observed.pods.iter().filter(is_meant).any(|pod| unscheduled(pod).is_some());
    let room = "nodes with more room added to the management cluster";
    let (reason, message, owner, mut remedy) = match (lacks_room, &spec.resources) {
        (false, _) => (
            "PodsFailing",
            "pods of the control plane do not start",
            BlockerOwner::PlatformAdmin,
            "see the evidence, and `kubectl describe pod` and `kubectl logs` of the pods named there".to_owned(),
        ),
        (true, Some(_)) => {
            (UNSCHEDULABLE, NO_ROOM, BlockerOwner::User, format!("ask for less in {RESOURCES}, or have {room}"))
        }
        (true, None) => (UNSCHEDULABLE, NO_ROOM, BlockerOwner::PlatformAdmin, format!("have {room}")),
    };
    if let Some(before) = way.and_then(Way::may_return_to) {
        let meanwhile = if observed.available() > 0 { ", which goes on meanwhile" } else { "" };
        remedy += &format!("; or set the version back to {before}{meanwhile}");
    } else if way.is_some_and(|way| way.answered.is_none()) && versions::lacks_images(observed) {
        remedy += "; or choose another version, as none has answered yet";
    }
    let mut blocker = blocker(reason, message.to_owned(), owner, &remedy);
    blocker.evidence = evidence.into_iter().take(8).collect();
    Some(blocker)
}

/// What a pod says that no node takes.
fn unscheduled(pod: &Pod) -> Option<&PodCondition> {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.find(|told| told.type_ == "PodScheduled" && told.status == "False")
}

/// What keeps a pod from running, one line each.
fn troubles(pod: &Pod) -> Vec<String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let Some(status) = &pod.status else { return Vec::new() };
    let mut lines: Vec<String> = unscheduled(pod)
        .map(|condition| format!("pod {name}: {}", condition.message.as_deref().unwrap_or("cannot be scheduled")))
        .into_iter()
        .collect();
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    lines.extend(containers.filter_map(trouble).map(|trouble| format!("pod {name}: {trouble}")));
    lines
}

/// Reasons of waiting that are part of every start.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

fn trouble(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    let last = container.last_state.as_ref().and_then(|last| last.terminated.as_ref());
    let (reason, message) = match (&state.waiting, &state.terminated) {
        (Some(waiting), _) => (waiting.reason.clone()?, waiting.message.clone()),
        (None, Some(terminated)) if terminated.exit_code != 0 => {
            (format!("exit code {}", terminated.exit_code), terminated.message.clone())
        }
        _ => return None,
    };
    if STARTING.contains(&reason.as_str()) {
        return None;
    }
    let text = message.or_else(|| last.and_then(|last| last.message.clone())).unwrap_or_default();
    let text: String = text.chars().take(400).collect();
    Some(format!("{} {reason}: {}", container.name, text.trim()))
}

fn blocker(reason: &str, message: String, owner: BlockerOwner, remedy: &str) -> Blocker {
    Blocker {
        reason: reason.to_owned(),
        message,
        evidence: Vec::new(),
        owner: Some(owner),
        remedy: Some(remedy.to_owned()),
        since: None,
    }
}
