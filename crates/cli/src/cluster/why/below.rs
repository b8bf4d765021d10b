//! The objects below a cluster: reading those the user may read, and what they have to say.

use butler_api::butler::addon_install::AddonPhase;
use butler_api::butler::{TenantAddon, TenantCluster};
use butler_api::shared::{Blocker, Condition};
use butler_api::steward::TenantControlPlane;
use fleet::addon::{NO_WORKERS, PAUSED};
use fleet::cluster::ASLEEP;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::chain::{Link, Stage, failing, of_blocker, of_condition};
use super::said::{Said, is_owned};
use crate::failure::{Failure, Outcome};
use crate::lookup::Found;
use crate::session::Session;

/// Versions of Cluster API's group, the one of the seeds first.
const CLUSTER_API: [&str; 2] = ["v1beta1", "v1beta2"];

/// What a machine that runs may still lack: a node that is well.
const OF_NODE: [&str; 2] = ["NodeHealthy", "HealthCheckSucceeded"];

/// What was read below a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Below {
    pub(crate) control_planes: Vec<TenantControlPlane>,
    /// Machines of Cluster API, whatever its version.
    pub(crate) machines: Vec<Value>,
    pub(crate) addons: Vec<TenantAddon>,
    /// What could not be read.
    pub(crate) unread: Vec<String>,
}

/// Reads what the user may read.
pub(crate) async fn read(session: &Session, found: &Found, cluster: &TenantCluster) -> Outcome<Below> {
    let mut below = Below::default();
    let addons: Api<TenantAddon> = Api::namespaced(session.client.clone(), &found.namespace);
    let addons = list(&addons, &found.namespace, "TenantAddons", &mut below.unread).await?;
    below.addons = addons.into_iter().filter(|addon| addon.spec.cluster_ref.name == found.name).collect();
    let Some(namespace) = cluster.status.as_ref().and_then(|status| status.tenant_namespace.as_ref()) else {
        return Ok(below);
    };
    let control_planes: Api<TenantControlPlane> = Api::namespaced(session.client.clone(), namespace);
    below.control_planes = list(&control_planes, namespace, "TenantControlPlanes", &mut below.unread).await?;
    for version in CLUSTER_API {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.x-k8s.io", version, "Machine"));
        let machines: Api<DynamicObject> = Api::namespaced_with(session.client.clone(), namespace, &kind);
        let machines = list(&machines, namespace, "Machines", &mut below.unread).await?;
        if !machines.is_empty() {
            below.machines = machines.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
            break;
        }
    }
    below.unread.dedup();
    Ok(below)
}

/// Lists objects; a kind that is not served has none, and what is forbidden is put on record.
async fn list<K>(api: &Api<K>, namespace: &str, what: &str, unread: &mut Vec<String>) -> Outcome<Vec<K>>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    match api.list(&ListParams::default()).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.code == 404 => Ok(Vec::new()),
        Err(error) if Failure::is_forbidden(&error) => {
            unread.push(format!("{what} in {namespace} (you may not)"));
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

/// What the objects below have to say that are not as they should be. Nodes of a cluster that sleeps have nobody to tell how
/// they are.
pub(crate) fn links(below: &Below, asleep: bool, said: &Said<'_>) -> Vec<Link> {
    let control_planes = below.control_planes.iter().flat_map(|plane| of_control_plane(plane, said));
    let machines = below.machines.iter().filter_map(|machine| of_machine(machine, asleep));
    let addons = below.addons.iter().flat_map(|addon| of_addon(addon, said));
    folded(control_planes.chain(machines).chain(addons))
}

/// Addons that wait for workers and that the cluster does not know, because somebody installed them beside its spec.
pub(crate) fn beside(below: &Below, cluster: &TenantCluster) -> Vec<String> {
    let awaits = |addon: &&TenantAddon| {
        let blockers = addon.status.iter().flat_map(|status| &status.blockers);
        blockers.into_iter().any(|blocker| blocker.reason == NO_WORKERS)
    };
    let beside = below.addons.iter().filter(awaits).filter(|addon| !is_owned(addon, cluster));
    beside.map(|addon| addon.spec.addon.clone().unwrap_or_else(|| addon.name_any())).collect()
}

/// Those that say the same together. Subjects begin with kind and name.
fn folded(links: impl Iterator<Item = Link>) -> Vec<Link> {
    fn parts(subject: &str) -> (&str, &str) {
        let (kind, rest) = subject.split_once(' ').unwrap_or((subject, ""));
        (kind, rest.split_once(' ').map_or("", |(_, how)| how))
    }
    let alike = |a: &Link, b: &Link| {
        parts(&a.subject) == parts(&b.subject)
            && (&a.message, &a.evidence, a.owner, &a.remedy) == (&b.message, &b.evidence, b.owner, &b.remedy)
    };
    let mut groups: Vec<(Link, usize)> = Vec::new();
    for link in links {
        match groups.iter_mut().find(|(first, _)| alike(first, &link)) {
            Some((_, more)) => *more += 1,
            None => groups.push((link, 0)),
        }
    }
    let told = |(mut link, more): (Link, usize)| {
        let kind = parts(&link.subject).0.to_owned();
        match more {
            0 => {}
            1 => link.subject += &format!(", and 1 more {kind} like it"),
            _ => link.subject += &format!(", and {more} more {kind}s like it"),
        }
        link
    };
    groups.into_iter().map(told).collect()
}

fn of_control_plane(control_plane: &TenantControlPlane, said: &Said<'_>) -> Vec<Link> {
    let Some(status) = &control_plane.status else { return Vec::new() };
    let name = format!("TenantControlPlane {}", control_plane.name_any());
    if !status.blockers.is_empty() {
        let unsaid = status.blockers.iter().filter(|blocker| !said.has_told(blocker));
        return unsaid.map(|blocker| of_blocker(Stage::Object, &name, blocker)).collect();
    }
    let is_wrong = |condition: &&Condition| condition.reason.as_deref() != Some(ASLEEP);
    failing(&status.conditions)
        .filter(is_wrong)
        .map(|condition| named(&name, of_condition(Stage::Object, condition)))
        .collect()
}

fn of_addon(addon: &TenantAddon, said: &Said<'_>) -> Vec<Link> {
    let Some(status) = &addon.status else { return Vec::new() };
    let name = format!("TenantAddon {}", addon.name_any());
    if said.has_told_of(addon) {
        return Vec::new();
    }
    if said.is_excused(addon) {
        let mut link = Link::new(Stage::Object, format!("{name} is Degraded"));
        link.message = Some("it does not run while workers are missing, and may follow their repair".to_owned());
        link.evidence = status.blockers.iter().map(|blocker| blocker.message.clone()).take(1).collect();
        return vec![link];
    }
    if !status.blockers.is_empty() {
        let is_own = |blocker: &Blocker| blocker.reason == PAUSED && addon.spec.paused == Some(true);
        let is_unsaid = |blocker: &&Blocker| is_own(blocker) || !said.reasons.contains(&blocker.reason.as_str());
        let unsaid = status.blockers.iter().filter(is_unsaid);
        return unsaid.map(|blocker| of_blocker(Stage::Object, &name, blocker)).collect();
    }
    match status.phase {
        Some(phase @ (AddonPhase::Failed | AddonPhase::Degraded)) => {
            let mut link = Link::new(Stage::Object, format!("{name} is {phase}"));
            link.message = status.message.clone();
            link.since = status.last_transition_time.clone();
            vec![link]
        }
        _ => Vec::new(),
    }
}

/// A machine that failed, hangs, or waits for something.
fn of_machine(machine: &Value, asleep: bool) -> Option<Link> {
    let text = |pointer: &str| machine.pointer(pointer).and_then(Value::as_str);
    let name = format!("Machine {}", text("/metadata/name").unwrap_or_default());
    let phase = text("/status/phase").unwrap_or("Pending");
    // The second place is where the newer version of the kind keeps them.
    let failure = |field: &str| {
        text(&format!("/status/{field}")).or_else(|| text(&format!("/status/deprecated/v1beta1/{field}")))
    };
    let (reason, message) = (failure("failureReason"), failure("failureMessage"));
    if reason.is_some() || message.is_some() {
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let mut link = Link::new(Stage::Object, format!("{name} is {phase}{reason}"));
        link.message = message.map(str::to_owned);
        return Some(link);
    }
    let runs = phase == "Running" && text("/metadata/deletionTimestamp").is_none();
    let conditions = machine.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let field = |condition: &Value, name: &str| condition.get(name).and_then(Value::as_str).map(str::to_owned);
    let waits = conditions.filter(|condition| {
        let type_ = field(condition, "type").unwrap_or_default();
        field(condition, "status").as_deref() == Some("False") && (!runs || OF_NODE.contains(&type_.as_str()))
    });
    let evidence = waits.map(|condition| {
        let [type_, reason, message] =
            ["type", "reason", "message"].map(|name| field(condition, name).unwrap_or_default());
        format!("{type_} is False: {reason} {message}").trim_end().to_owned()
    });
    let evidence: Vec<String> = evidence.collect();
    if runs && (evidence.is_empty() || asleep) {
        return None;
    }
    let mut link = Link::new(Stage::Object, format!("{name} is {phase}"));
    link.evidence = evidence;
    Some(link)
}

fn named(name: &str, link: Link) -> Link {
    Link { subject: format!("{name}: {}", link.subject), ..link }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn machines_tell_what_is_wrong_in_both_versions() {
        let told = |status: Value| {
            let machine = json!({"metadata": {"name": "m"}, "status": status});
            of_machine(&machine, false).map(|link| (link.subject, link.message, link.evidence))
        };
        let failed = Some(("Machine m is Failed: CreateError".to_owned(), Some("no room".to_owned()), Vec::new()));
        let failure = json!({"failureReason": "CreateError", "failureMessage": "no room"});
        assert_eq!(
            told(json!({"phase": "Failed", "failureReason": "CreateError", "failureMessage": "no room"})),
            failed
        );
        assert_eq!(told(json!({"phase": "Failed", "deprecated": {"v1beta1": failure}})), failed);
        assert_eq!(told(json!({"phase": "Running"})), None);
        let waiting = json!({"phase": "Provisioning", "conditions": [
            {"type": "InfrastructureReady", "status": "False", "reason": "WaitingForIP", "message": "no lease yet"},
            {"type": "BootstrapReady", "status": "True"},
        ]});
        let dead = json!({"phase": "Running", "conditions": [
            {"type": "NodeHealthy", "status": "False", "reason": "NodeConditionsFailed", "message": "its node says Ready is Unknown"},
            {"type": "Ready", "status": "False"},
        ]});
        let evidence = vec!["NodeHealthy is False: NodeConditionsFailed its node says Ready is Unknown".to_owned()];
        assert_eq!(told(dead), Some(("Machine m is Running".to_owned(), None, evidence)));
        let evidence = vec!["InfrastructureReady is False: WaitingForIP no lease yet".to_owned()];
        assert_eq!(told(waiting), Some(("Machine m is Provisioning".to_owned(), None, evidence)));
    }
}
