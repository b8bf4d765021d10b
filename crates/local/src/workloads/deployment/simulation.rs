//! Laws of rollouts, on random worlds: a Deployment, its sets with pods, and everybody acting when chance lets them.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use proptest::prelude::*;
use serde_json::json;

use super::plan::{Action, Observed, plan};
use super::rolling::Limits;
use super::sets::size;
use super::status::is_complete;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The Deployment has a pass.
    Pass,
    /// A set makes or deletes its pods and says so.
    SetActs(usize),
    /// A pod of a set becomes ready.
    PodReadies(usize),
    /// The user changes the template.
    Roll,
    /// The user goes back to the first template.
    Undo,
    /// The user wants another number of pods.
    Resize(i32),
}

struct World {
    deployment: Deployment,
    sets: Vec<Arc<ReplicaSet>>,
    /// Readiness of the pods of each set, by its name.
    pods: HashMap<String, Vec<bool>>,
    templates: u32,
    seconds: i64,
}

impl World {
    fn new(replicas: i32, strategy: serde_json::Value) -> Self {
        let deployment = json!({
            "metadata": {"name": "web", "namespace": "d", "uid": "d", "generation": 1},
            "spec": {"replicas": replicas, "strategy": strategy, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 600,
                     "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web", "version": "0"}}}},
        });
        let deployment = serde_json::from_value(deployment).unwrap();
        Self { deployment, sets: Vec::new(), pods: HashMap::new(), templates: 0, seconds: 0 }
    }

    fn happen(&mut self, event: Event) {
        self.seconds += 1;
        match event {
            Event::Pass => self.pass(),
            Event::SetActs(index) => self.set_acts(index),
            Event::PodReadies(index) => {
                let name = self.set(index).map(|set| set.name_any());
                let pods = name.and_then(|name| self.pods.get_mut(&name));
                if let Some(pod) = pods.and_then(|pods| pods.iter_mut().find(|ready| !**ready)) {
                    *pod = true;
                }
            }
            Event::Roll => {
                self.templates += 1;
                self.use_template(self.templates);
            }
            Event::Undo => self.use_template(0),
            Event::Resize(replicas) => {
                self.deployment.spec.as_mut().unwrap().replicas = Some(replicas);
                self.generation();
            }
        }
    }

    fn use_template(&mut self, version: u32) {
        let template = &mut self.deployment.spec.as_mut().unwrap().template;
        let labels = template.metadata.as_mut().unwrap().labels.as_mut().unwrap();
        labels.insert("version".into(), version.to_string());
        self.generation();
    }

    fn generation(&mut self) {
        *self.deployment.metadata.generation.as_mut().unwrap() += 1;
    }

    fn set(&self, index: usize) -> Option<&Arc<ReplicaSet>> {
        self.sets.get(index.checked_rem(self.sets.len())?)
    }

    fn pass(&mut self) {
        let running = self.sets.iter().map(|set| (set.uid().unwrap(), self.pods[&set.name_any()].len())).collect();
        let now = Timestamp::from_second(self.seconds).unwrap();
        let plan = plan(&Observed { deployment: &self.deployment, sets: &self.sets, running: &running, now });
        for action in plan.actions {
            self.act(action);
        }
        self.deployment.status = Some(plan.status);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Create(mut set) => {
                let name = set.name_any();
                assert!(!self.pods.contains_key(&name), "{name} is made twice");
                set.metadata.uid = Some(name.clone());
                set.metadata.generation = Some(1);
                set.metadata.creation_timestamp = Some(Time(Timestamp::from_second(self.seconds).unwrap()));
                self.pods.insert(name, Vec::new());
                self.sets.push(Arc::from(set));
            }
            Action::Change { set, size, annotations, min_ready_seconds } => {
                let set = self.sets.iter_mut().find(|known| known.name_any() == set.name_any()).unwrap();
                let mut changed = (**set).clone();
                changed.annotations_mut().extend(annotations);
                let spec = changed.spec.as_mut().unwrap();
                spec.replicas = size.or(spec.replicas);
                spec.min_ready_seconds = min_ready_seconds.or(spec.min_ready_seconds);
                if size.is_some() || min_ready_seconds.is_some() {
                    *changed.metadata.generation.as_mut().unwrap() += 1;
                }
                *set = Arc::new(changed);
            }
            Action::Delete(set) => {
                assert!(self.pods[&set.name_any()].is_empty(), "a set with pods is deleted");
                self.pods.remove(&set.name_any());
                self.sets.retain(|known| known.name_any() != set.name_any());
            }
            Action::SetRevision(revision) => {
                self.deployment.annotations_mut().insert(super::revision::REVISION.into(), revision);
            }
        }
    }

    fn set_acts(&mut self, index: usize) {
        let Some(set) = self.set(index).cloned() else { return };
        let pods = self.pods.get_mut(&set.name_any()).unwrap();
        let wanted = usize::try_from(size(&set)).unwrap();
        // Those that are not ready go first.
        pods.sort_by_key(|ready| !ready);
        pods.resize(wanted, false);
        let ready = i32::try_from(pods.iter().filter(|ready| **ready).count()).unwrap();
        let mut changed = (*set).clone();
        changed.status = Some(ReplicaSetStatus {
            replicas: size(&set),
            ready_replicas: Some(ready),
            available_replicas: Some(ready),
            observed_generation: set.metadata.generation,
            ..ReplicaSetStatus::default()
        });
        *self.sets.iter_mut().find(|known| known.name_any() == set.name_any()).unwrap() = Arc::new(changed);
    }

    fn pods(&self) -> (i32, i32) {
        let all: Vec<bool> = self.pods.values().flatten().copied().collect();
        let ready = all.iter().filter(|ready| **ready).count();
        (i32::try_from(all.len()).unwrap(), i32::try_from(ready).unwrap())
    }

    /// Lets everybody act in turn until the rollout is complete and nothing moves any more.
    fn settle(&mut self) {
        let largest = usize::try_from(self.pods().0.max(Limits::of(&self.deployment).max_total())).unwrap();
        for _ in 0..20 + 8 * largest {
            self.happen(Event::Pass);
            for index in 0..self.sets.len() {
                self.happen(Event::SetActs(index));
                for _ in 0..largest {
                    self.happen(Event::PodReadies(index));
                }
                self.happen(Event::SetActs(index));
            }
        }
        let before = format!("{:?} {:?}", self.deployment, self.sets);
        self.happen(Event::Pass);
        assert_eq!(before, format!("{:?} {:?}", self.deployment, self.sets), "it does not come to rest");
        assert!(is_complete(&self.deployment), "it does not end: {:?} {:?}", self.deployment.status, self.pods);
        assert!(self.sets.len() <= 2, "history is kept beyond its limit");
    }
}

fn strategies() -> impl Strategy<Value = serde_json::Value> {
    let amount = || prop_oneof![(0..4).prop_map(|count| json!(count)), (0..100).prop_map(|p| json!(format!("{p}%")))];
    (amount(), amount())
        .prop_map(|(surge, unavailable)| json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}))
}

fn steps(resize: bool) -> impl Strategy<Value = Vec<Event>> {
    let step = prop_oneof![
        8 => Just(Event::Pass),
        8 => (0_usize..4).prop_map(Event::SetActs),
        8 => (0_usize..4).prop_map(Event::PodReadies),
        1 => Just(Event::Roll),
        1 => Just(Event::Undo),
        u32::from(resize) => (0..8).prop_map(Event::Resize),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_rollout_keeps_its_limits_and_ends(replicas in 1..8, strategy in strategies(), steps in steps(false)) {
        let mut world = World::new(replicas, strategy);
        world.settle();
        let limits = Limits::of(&world.deployment);
        for step in steps {
            world.happen(step);
            let (all, available) = world.pods();
            prop_assert!(all <= limits.max_total(), "{all} pods after {step:?}, {limits:?}");
            prop_assert!(available >= limits.min_available(), "{available} available after {step:?}, {limits:?}");
        }
        world.settle();
    }

    #[test]
    fn a_rollout_ends_whatever_its_user_does(replicas in 0..8, strategy in strategies(), steps in steps(true)) {
        let mut world = World::new(replicas, strategy);
        steps.into_iter().for_each(|step| world.happen(step));
        world.settle();
    }

    #[test]
    fn one_that_recreates_never_mixes_templates(replicas in 1..5, steps in steps(true)) {
        let mut world = World::new(replicas, json!({"type": "Recreate"}));
        for step in steps {
            world.happen(step);
            prop_assert!(world.pods.values().filter(|pods| !pods.is_empty()).count() <= 1);
        }
        world.settle();
    }
}
