//! What to do next for a MachineDeployment, and what is told of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use capi::IntOrPercent;
use capi::core::{
    Cluster, MachineDeployment, MachineDeploymentStatus, MachineSet, MachineSetSpec, MachineTemplate, RollingUpdate,
};
use capi::names::{annotations, conditions, finalizers::MACHINE_DEPLOYMENT, labels, phases};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::{size, template};
use crate::cluster_api::conditions::{judged, since};
use crate::cluster_api::world::{held, is_held, is_leaving, is_paused};
use crate::workloads::deployment::proportional::{self, Share};
use crate::workloads::deployment::rolling::{self, Counted, Limits};
use crate::workloads::rounding::{Round, resolve};
use crate::workloads::template::owned_by;

/// What a pass knows.
pub(super) struct Observed {
    pub(super) deployment: Arc<MachineDeployment>,
    /// The sets it is the controller of.
    pub(super) sets: Vec<Arc<MachineSet>>,
    /// How many machines of a set are on their way out, by its name.
    pub(super) going: BTreeMap<String, i32>,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Step {
    /// A merge patch of the MachineDeployment itself.
    Change(Value),
    Create(Box<MachineSet>),
    /// A merge patch of a set.
    ChangeSet(Arc<MachineSet>, Value),
    DeleteSet(Arc<MachineSet>),
    Release,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<MachineDeploymentStatus>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let deployment = &observed.deployment;
    if is_paused(&**deployment, observed.cluster.as_deref()) {
        return Plan { steps: Vec::new(), status: deployment.status.clone() };
    }
    let status = Some(report(observed));
    if is_leaving(&**deployment) {
        let mut steps: Vec<Step> = Vec::new();
        if observed.sets.is_empty() && is_held(&**deployment, MACHINE_DEPLOYMENT) {
            steps.push(Step::Release);
        }
        let there = observed.sets.iter().filter(|set| !is_leaving(&***set));
        steps.extend(there.map(|set| Step::DeleteSet(Arc::clone(set))));
        return Plan { steps, status };
    }
    if let Some(change) = completion(observed) {
        return Plan { steps: vec![Step::Change(change)], status };
    }
    let steps = match deployment.spec.paused {
        true => resized(observed),
        false => rollout(observed),
    };
    Plan { steps, status }
}

/// What is left out in a MachineDeployment and said by Cluster API's webhooks and manager elsewhere.
fn completion(observed: &Observed) -> Option<Value> {
    let deployment = &observed.deployment;
    let mut change = json!({});
    if !is_held(&**deployment, MACHINE_DEPLOYMENT) {
        change["metadata"]["finalizers"] = json!(held(&**deployment, MACHINE_DEPLOYMENT));
    }
    let own = [
        (labels::CLUSTER_NAME, deployment.spec.cluster_name.clone()),
        (labels::DEPLOYMENT_NAME, deployment.name_any()),
    ];
    let given = deployment.spec.template.metadata.clone().unwrap_or_default().labels;
    for (name, value) in &own {
        if given.get(*name) != Some(value) {
            change["spec"]["template"]["metadata"]["labels"][*name] = value.clone().into();
        }
    }
    if deployment.spec.selector == LabelSelector::default() {
        change["spec"]["selector"]["matchLabels"] = json!(BTreeMap::from(own));
    }
    if deployment.labels().get(labels::CLUSTER_NAME) != Some(&deployment.spec.cluster_name) {
        change["metadata"]["labels"][labels::CLUSTER_NAME] = deployment.spec.cluster_name.clone().into();
    }
    let cluster = observed.cluster.as_ref();
    let owned =
        |uid: &Option<String>| deployment.owner_references().iter().any(|owner| Some(&owner.uid) == uid.as_ref());
    if let Some(cluster) = cluster.filter(|cluster| !owned(&cluster.uid()))
        && let Some(owner) = cluster.owner_ref(&())
    {
        let owners: Vec<_> = deployment.owner_references().iter().cloned().chain([owner]).collect();
        change["metadata"]["ownerReferences"] = json!(owners);
    }
    (change != json!({})).then_some(change)
}

fn rollout(observed: &Observed) -> Vec<Step> {
    let deployment = &observed.deployment;
    let sets: Vec<_> = observed.sets.iter().filter(|set| !is_leaving(&***set)).collect();
    let (new, mut old) = split(deployment, &sets, observed.now);
    old.sort_by_key(|set| revision(set));
    let limits = limits(deployment);
    let total: i32 = old.iter().map(|set| there(set)).sum();
    let Some(new) = new else {
        let first = match replaces_by_itself(deployment) {
            _ if old.is_empty() => limits.wanted,
            true => limits.grown(0, total),
            false => (limits.wanted - total).max(0),
        };
        return vec![Step::Create(Box::new(new_set(deployment, first, &old)))];
    };
    let mut steps = Vec::new();
    let latest = old.iter().map(|set| revision(set)).max().unwrap_or(0);
    let numbered = if revision(new) > latest { revision(new) } else { latest + 1 }.to_string();
    if deployment.annotations().get(annotations::REVISION) != Some(&numbered) {
        steps.push(Step::Change(json!({"metadata": {"annotations": {annotations::REVISION: numbered}}})));
    }
    let counted = |set: &MachineSet| Counted {
        size: size(set),
        available: set.status.as_ref().map_or(0, |status| status.available_replicas),
    };
    let counts: Vec<Counted> = old.iter().map(|set| counted(set)).collect();
    let settled = sets
        .iter()
        .all(|set| set.status.as_ref().and_then(|status| status.observed_generation) >= set.metadata.generation);
    // Machines that go already are there as long as they are, and no new ones come in their place meanwhile.
    let leaving: i32 = sets.iter().map(|set| there(set) - size(set)).sum();
    let (grown, shrunk) = match settled {
        true if !replaces_by_itself(deployment) => on_delete(observed, limits.wanted, new, &old),
        true => rolling::step(Limits { surge: limits.surge - leaving, ..limits }, counted(new), &counts),
        false => (size(new), counts.iter().map(|count| count.size).collect()),
    };
    let wanted = wanted_template(deployment, new);
    steps.extend(set_change(deployment, new, grown, &wanted, Some(&numbered)));
    for (set, to) in old.iter().zip(shrunk) {
        steps.extend(set_change(deployment, set, to, &set.spec.template, None));
    }
    if old.iter().all(|set| size(set) == 0) {
        let kept = usize::try_from(deployment.spec.revision_history_limit.unwrap_or(1)).unwrap_or(0);
        let empty =
            |set: &&&Arc<MachineSet>| size(set) == 0 && set.status.as_ref().is_some_and(|status| status.replicas == 0);
        let excess = old.len().saturating_sub(kept);
        steps.extend(old.iter().take(excess).filter(empty).map(|set| Step::DeleteSet(Arc::clone(set))));
    }
    steps
}

/// The machines a set has or is to have, whichever are more.
fn there(set: &MachineSet) -> i32 {
    size(set).max(set.status.as_ref().map_or(0, |status| status.replicas))
}

/// Whether machines of a former template are replaced before somebody deletes them.
fn replaces_by_itself(deployment: &MachineDeployment) -> bool {
    deployment.spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref()) != Some("OnDelete")
}

/// Sizes of the new set and of the old ones where machines are replaced only when somebody deletes them.
fn on_delete(observed: &Observed, wanted: i32, new: &Arc<MachineSet>, old: &[&Arc<MachineSet>]) -> (i32, Vec<i32>) {
    let going = |set: &MachineSet| observed.going.get(&set.name_any()).copied().unwrap_or(0);
    let mut sizes: Vec<i32> = old.iter().map(|set| (size(set) - going(set)).max(0)).collect();
    let mut excess = size(new).min(wanted) + sizes.iter().sum::<i32>() - wanted;
    for size in &mut sizes {
        let dispensable = excess.clamp(0, *size);
        *size -= dispensable;
        excess -= dispensable;
    }
    let total = there(new) + old.iter().map(|set| there(set)).sum::<i32>();
    let grown = if size(new) > wanted { wanted } else { size(new) + (wanted - total).max(0) };
    (grown, sizes)
}

/// Another number of machines while replacing stands still: the sets keep their proportions.
fn resized(observed: &Observed) -> Vec<Step> {
    let deployment = &observed.deployment;
    let mut sets: Vec<_> = observed.sets.iter().filter(|set| !is_leaving(&***set)).collect();
    sets.sort_by_key(|set| revision(set));
    let limits = limits(deployment);
    let active: Vec<_> = sets.iter().filter(|set| size(set) > 0).collect();
    let sizes = match active.as_slice() {
        [] | [_] => {
            let only = active.first().or(sets.last().as_ref()).map(|set| (**set, limits.wanted));
            only.into_iter().collect::<Vec<_>>()
        }
        several => {
            let allowed = |set: &MachineSet| set.annotations().get(annotations::MAX_REPLICAS)?.parse().ok();
            let shares = several.iter().enumerate().map(|(youth, set)| Share {
                size: size(set),
                of: allowed(set).unwrap_or(limits.max_total()),
                youth,
            });
            let sizes = proportional::sizes(limits, &shares.collect::<Vec<_>>());
            several.iter().map(|set| **set).zip(sizes).collect()
        }
    };
    sizes.into_iter().filter_map(|(set, to)| set_change(deployment, set, to, &set.spec.template, None)).collect()
}

/// The set of the template, and all others.
fn split<'a>(
    deployment: &MachineDeployment,
    sets: &[&'a Arc<MachineSet>],
    now: Timestamp,
) -> (Option<&'a Arc<MachineSet>>, Vec<&'a Arc<MachineSet>>) {
    let is_new = |set: &&&'a Arc<MachineSet>| {
        template::same_machines(&set.spec.template, &deployment.spec.template) && !is_too_old(deployment, set, now)
    };
    // Of several, the one that is in use.
    let new = sets.iter().filter(is_new).max_by_key(|set| (size(set), revision(set))).copied();
    let old = sets.iter().filter(|set| new.is_none_or(|new| !Arc::ptr_eq(new, set))).copied().collect();
    (new, old)
}

/// Whether a set was made before all machines were to be replaced.
fn is_too_old(deployment: &MachineDeployment, set: &MachineSet, now: Timestamp) -> bool {
    let made = set.metadata.creation_timestamp.as_ref();
    let due = deployment.spec.rollout_after.as_ref().filter(|after| after.0 <= now);
    due.zip(made).is_some_and(|(after, made)| made.0 < after.0)
}

fn rolling_update(deployment: &MachineDeployment) -> RollingUpdate {
    deployment.spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.clone()).unwrap_or_default()
}

/// One more and none less, unless said otherwise.
fn limits(deployment: &MachineDeployment) -> Limits {
    let wanted = deployment.spec.replicas;
    let given = rolling_update(deployment);
    let value = |value: Option<IntOrPercent>, usual: i32| match value {
        None => IntOrString::Int(usual),
        Some(IntOrPercent::Int(count)) => IntOrString::Int(i32::try_from(count).unwrap_or(i32::MAX)),
        Some(IntOrPercent::Text(text)) => IntOrString::String(text),
    };
    let surge = resolve(&value(given.max_surge, 1), wanted, Round::Up);
    let unavailable = match resolve(&value(given.max_unavailable, 0), wanted, Round::Down) {
        // Neither more nor less would never move.
        0 if surge == 0 => 1,
        count => count,
    };
    Limits { wanted, surge, unavailable: unavailable.min(wanted) }
}

fn revision(set: &MachineSet) -> i64 {
    set.annotations().get(annotations::REVISION).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn size_annotations(limits: Limits) -> BTreeMap<String, String> {
    [(annotations::DESIRED_REPLICAS, limits.wanted), (annotations::MAX_REPLICAS, limits.max_total())]
        .map(|(name, count)| (name.to_owned(), count.to_string()))
        .into()
}

fn new_set(deployment: &MachineDeployment, size: i32, old: &[&Arc<MachineSet>]) -> MachineSet {
    let hash = template::hash(&deployment.spec.template);
    // A former set of the same template that is too old keeps its name.
    let taken = |name: &str| old.iter().any(|set| set.name_any() == name);
    let number = old.iter().map(|set| revision(set)).max().unwrap_or(0) + 1;
    let plain = format!("{}-{hash}", deployment.name_any());
    let name = if taken(&plain) { format!("{plain}-{number}") } else { plain };
    let mut template = deployment.spec.template.clone();
    template.metadata.get_or_insert_default().labels.insert(labels::TEMPLATE_HASH.into(), hash.clone());
    let mut selector = deployment.spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(labels::TEMPLATE_HASH.into(), hash);
    let mut annotations = size_annotations(limits(deployment));
    annotations.insert(annotations::REVISION.into(), number.to_string());
    let spec = MachineSetSpec {
        cluster_name: deployment.spec.cluster_name.clone(),
        replicas: size,
        min_ready_seconds: deployment.spec.min_ready_seconds,
        delete_policy: rolling_update(deployment).delete_policy,
        selector,
        template: template.clone(),
    };
    let mut set = MachineSet::new(&name, spec);
    set.metadata = ObjectMeta {
        namespace: deployment.namespace(),
        labels: template.metadata.map(|metadata| metadata.labels),
        annotations: Some(annotations),
        owner_references: Some(owned_by(deployment)),
        ..set.metadata
    };
    set
}

/// The template of the set, with what can be changed on machines as the MachineDeployment says it now.
fn wanted_template(deployment: &MachineDeployment, set: &MachineSet) -> MachineTemplate {
    let mut template = deployment.spec.template.clone();
    let hash = set.spec.template.metadata.as_ref().and_then(|metadata| metadata.labels.get(labels::TEMPLATE_HASH));
    if let Some(hash) = hash {
        template.metadata.get_or_insert_default().labels.insert(labels::TEMPLATE_HASH.into(), hash.clone());
    }
    template
}

/// What is not as it should be in a set, if anything.
fn set_change(
    deployment: &MachineDeployment,
    set: &Arc<MachineSet>,
    to: i32,
    template: &MachineTemplate,
    revision: Option<&str>,
) -> Option<Step> {
    let mut change = json!({});
    if size(set) != to {
        change["spec"]["replicas"] = to.into();
        change["metadata"]["annotations"] = json!(size_annotations(limits(deployment)));
    }
    if let Some(revision) = revision {
        let policy = rolling_update(deployment).delete_policy;
        if set.spec.min_ready_seconds != deployment.spec.min_ready_seconds {
            change["spec"]["minReadySeconds"] = deployment.spec.min_ready_seconds.into();
        }
        if set.spec.delete_policy != policy {
            change["spec"]["deletePolicy"] = json!(policy);
        }
        if set.annotations().get(annotations::REVISION).map(String::as_str) != Some(revision) {
            change["metadata"]["annotations"][annotations::REVISION] = revision.into();
        }
        if set.spec.template != *template {
            change["spec"]["template"] = replaced(&json!(set.spec.template), &json!(template));
        }
    }
    (change != json!({})).then(|| Step::ChangeSet(Arc::clone(set), change))
}

/// The merge patch that turns one value into another.
fn replaced(from: &Value, to: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (from, to) else { return to.clone() };
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
    let changed =
        changed.map(|(name, value)| (name.clone(), replaced(before.get(name).unwrap_or(&Value::Null), value)));
    gone.chain(changed).collect()
}

fn report(observed: &Observed) -> MachineDeploymentStatus {
    let deployment = &observed.deployment;
    let sets: Vec<_> = observed.sets.iter().collect();
    let (new, _) = split(deployment, &sets, observed.now);
    let count = |of: fn(&capi::core::MachineSetStatus) -> i32| -> i32 {
        sets.iter().filter_map(|set| set.status.as_ref()).map(of).sum()
    };
    let (replicas, ready) = (count(|status| status.replicas), count(|status| status.ready_replicas));
    let available = count(|status| status.available_replicas);
    let updated = new.and_then(|set| set.status.as_ref()).map_or(0, |status| status.replicas);
    let limits = limits(deployment);
    let phase = match () {
        () if limits.wanted > ready => phases::SCALING_UP,
        () if available > limits.wanted || replicas > limits.wanted => phases::SCALING_DOWN,
        () => phases::RUNNING,
    };
    let enough = available >= limits.min_available();
    let message = format!("{available} of at least {} machines are available", limits.min_available());
    let verdicts = vec![
        judged(conditions::READY, enough, "WaitingForAvailableMachines", message.clone()),
        judged(conditions::AVAILABLE, enough, "WaitingForAvailableMachines", message),
    ];
    let before = deployment.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    MachineDeploymentStatus {
        observed_generation: deployment.metadata.generation,
        selector: Some(selector_text(&deployment.spec.selector)),
        replicas,
        updated_replicas: updated,
        ready_replicas: ready,
        available_replicas: available,
        unavailable_replicas: (replicas.max(limits.wanted) - available).max(0),
        phase: Some(phase.to_owned()),
        conditions: since(before, verdicts, observed.now),
    }
}

/// A selector as text.
pub(in crate::cluster_api) fn selector_text(selector: &LabelSelector) -> String {
    kube::core::Selector::try_from(selector.clone()).map(|selector| selector.to_string()).unwrap_or_default()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
