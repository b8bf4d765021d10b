//! Disruption budgets: how many pods may be evicted now.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use runtime::{Failure, Key, Next, Queue, Reconcile};

use super::Controller;
use super::claim::controller;
use super::pods::{is_active, is_ready};
use super::rounding::{Round, resolve, until};
use super::world::World;

/// An eviction that was allowed but not followed by a deletion counts no longer after this time.
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_secs(120);

/// The controller of disruption budgets.
pub(super) struct Budgets {
    world: Arc<World>,
}

impl Budgets {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    /// How many pods the controllers of these pods want: a pod of nobody counts for itself.
    fn wanted(&self, pods: &[Arc<Pod>]) -> i32 {
        let mut wanted: HashMap<String, i32> = HashMap::new();
        for pod in pods {
            let own = controller(&**pod).map_or_else(|| pod.uid(), |owner| Some(owner.uid.clone()));
            let (uid, count) = self.scale(pod).unwrap_or_else(|| (own.unwrap_or_default(), 1));
            wanted.insert(uid, count);
        }
        wanted.values().sum()
    }

    fn scale(&self, pod: &Pod) -> Option<(String, i32)> {
        let world = &*self.world;
        if let Some(key) = Key::of_controller::<StatefulSet>(pod) {
            let set = world.stateful_sets.get(&key)?;
            return Some((set.uid()?, set.spec.as_ref()?.replicas.unwrap_or(1)));
        }
        let set = world.replica_sets.get(&Key::of_controller::<ReplicaSet>(pod)?)?;
        match Key::of_controller::<Deployment>(&*set).and_then(|key| world.deployments.get(&key)) {
            Some(deployment) => Some((deployment.uid()?, deployment.spec.as_ref()?.replicas.unwrap_or(1))),
            None => Some((set.uid()?, set.spec.as_ref()?.replicas.unwrap_or(1))),
        }
    }
}

impl Controller for Budgets {
    const NAME: &'static str = "disruption-budgets";

    fn subscribe(&self, queue: &Queue) {
        self.world.budgets.queue_each(queue);
        let budgets = self.world.budgets.clone();
        self.world.pods.queue_mapped(queue, move |pod| {
            let all = budgets.in_namespace(pod.metadata.namespace.as_deref().unwrap_or_default());
            all.iter().filter(|budget| selects(budget, pod)).map(|budget| Key::of(&**budget)).collect::<Vec<_>>()
        });
    }
}

impl Reconcile for Budgets {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(budget) = world.budgets.get(key) else { return Ok(Next::Rest) };
        let pods = world.pods.in_namespace(&key.namespace);
        let pods: Vec<_> = pods.into_iter().filter(|pod| selects(&budget, pod) && is_active(pod)).collect();
        let now = world.now();
        let status = status(&budget, &pods, self.wanted(&pods), now);
        let expires = status.disrupted_pods.iter().flatten().map(|(_, at)| at.0 + FORGOTTEN_AFTER).min();
        if budget.status.as_ref() != Some(&status) {
            world.budgets.report(&PodDisruptionBudget { status: Some(status), ..(*budget).clone() }).await?;
        }
        Ok(expires.map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}

/// Unlike elsewhere an empty selector selects everything here.
fn selects(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
    selector.is_some_and(|selector| selector.matches(pod.labels()))
}

fn status(budget: &PodDisruptionBudget, pods: &[Arc<Pod>], wanted: i32, now: Timestamp) -> PodDisruptionBudgetStatus {
    let before = budget.status.clone().unwrap_or_default();
    let disrupted: BTreeMap<String, Time> = before
        .disrupted_pods
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, at)| at.0 + FORGOTTEN_AFTER > now && pods.iter().any(|pod| pod.name_any() == *name))
        .collect();
    let healthy = pods.iter().filter(|pod| is_ready(pod) && !disrupted.contains_key(&pod.name_any())).count();
    let healthy = i32::try_from(healthy).unwrap_or(i32::MAX);
    let (expected, desired) = goal(budget, i32::try_from(pods.len()).unwrap_or(i32::MAX), wanted);
    let allowed = if expected == 0 { 0 } else { (healthy - desired).max(0) };
    PodDisruptionBudgetStatus {
        current_healthy: healthy,
        desired_healthy: desired,
        disrupted_pods: (!disrupted.is_empty()).then_some(disrupted),
        disruptions_allowed: allowed,
        expected_pods: expected,
        observed_generation: budget.metadata.generation,
        conditions: Some(vec![condition(before.conditions.as_deref(), allowed > 0, budget.metadata.generation, now)]),
    }
}

/// How many pods there should be, and how many of them healthy.
fn goal(budget: &PodDisruptionBudget, present: i32, wanted: i32) -> (i32, i32) {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
    let Some(spec) = &budget.spec else { return (present, present) };
    match (&spec.max_unavailable, &spec.min_available) {
        (Some(unavailable), _) => (wanted, (wanted - resolve(unavailable, wanted, Round::Up)).max(0)),
        (None, Some(IntOrString::Int(count))) => (present, *count),
        (None, Some(share)) => (wanted, resolve(share, wanted, Round::Up)),
        (None, None) => (present, 1),
    }
}

fn condition(before: Option<&[Condition]>, allowed: bool, generation: Option<i64>, now: Timestamp) -> Condition {
    let (status, reason) = if allowed { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let known = before.into_iter().flatten().find(|known| known.type_ == "DisruptionAllowed" && known.status == status);
    Condition {
        type_: "DisruptionAllowed".into(),
        status: status.into(),
        reason: reason.into(),
        message: String::new(),
        observed_generation: generation,
        last_transition_time: known.map_or(Time(now), |known| known.last_transition_time.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, ready: bool) -> Arc<Pod> {
        let ready = if ready { "True" } else { "False" };
        let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]});
        Arc::new(serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap())
    }

    fn budget(spec: Value, status: Value) -> PodDisruptionBudget {
        serde_json::from_value(json!({"metadata": {"name": "b", "generation": 2}, "spec": spec, "status": status}))
            .unwrap()
    }

    #[test]
    fn budgets_are_counted() {
        let pods = [pod("a", true), pod("b", true), pod("c", false)];
        for (spec, expected, desired, allowed) in [
            (json!({"minAvailable": 1}), 3, 1, 1),
            (json!({"minAvailable": 2}), 3, 2, 0),
            (json!({"minAvailable": "50%"}), 4, 2, 0),
            (json!({"maxUnavailable": 1}), 4, 3, 0),
            (json!({"maxUnavailable": "60%"}), 4, 1, 1),
            (json!({}), 3, 1, 1),
        ] {
            let now = Timestamp::from_second(1000).unwrap();
            let status = status(&budget(spec.clone(), Value::Null), &pods, 4, now);
            let got =
                (status.expected_pods, status.desired_healthy, status.disruptions_allowed, status.current_healthy);
            assert_eq!(got, (expected, desired, allowed, 2), "{spec}");
            let condition = &status.conditions.unwrap()[0];
            assert_eq!(condition.status, if allowed > 0 { "True" } else { "False" }, "{spec}");
        }
    }

    #[test]
    fn an_eviction_counts_until_its_pod_is_gone_or_it_is_forgotten() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let before = json!({"disruptedPods": {"a": at(1000).to_string(), "gone": at(1000).to_string()},
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
        let budget = budget(json!({"minAvailable": 1}), before);
        let pods = [pod("a", true), pod("b", true)];
        let soon = status(&budget, &pods, 2, at(1060));
        assert_eq!((soon.current_healthy, soon.disrupted_pods.map(|pods| pods.len())), (1, Some(1)));
        let late = status(&budget, &pods, 2, at(1121));
        assert_eq!((late.current_healthy, late.disrupted_pods), (2, None));
    }
}
