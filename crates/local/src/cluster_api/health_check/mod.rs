//! MachineHealthChecks: machines whose nodes are lost are given up, and whoever owns them replaces them.

mod plan;

use std::sync::Arc;

use capi::core::{Cluster, Machine, MachineHealthCheck};
use capi::names::labels::CLUSTER_NAME;
use kube::core::{Selector, SelectorExt};
use kube::{Resource, ResourceExt};
use runtime::events::News;
use runtime::{Failure, Key, Next, Queue, Reconcile};
use serde_json::{Value, json};

use super::world::{World, cluster_of_secret, of_cluster};
use crate::controller::Controller;
use crate::workloads::rounding::until;
use plan::{Observed, Target, marked, plan};

const BY: &str = "machinehealthcheck-controller";

/// The controller of MachineHealthChecks.
pub(super) struct Checks {
    world: Arc<World>,
}

impl Checks {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn observe(&self, check: &Arc<MachineHealthCheck>) -> Result<Observed, Failure> {
        let world = &self.world;
        let namespace = check.namespace().unwrap_or_default();
        let cluster = world.cluster(&namespace, &check.spec.cluster_name);
        let mut targets = Vec::new();
        for machine in world.machines.in_namespace(&namespace).into_iter().filter(|machine| looks_after(check, machine))
        {
            let joined = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
            let node = match (&machine.spec.provider_id, joined) {
                (Some(id), true) => {
                    let cluster = Key::new(&namespace, &check.spec.cluster_name);
                    world.tenants.node(&cluster, id).await?
                }
                _ => None,
            };
            targets.push(Target { machine, node });
        }
        Ok(Observed { check: Arc::clone(check), cluster, targets, now: world.now() })
    }

    /// Says on a machine whether it is given up.
    async fn mark(&self, machine: &Machine, reason: Option<&str>) -> Result<(), Failure> {
        let status = Some(marked(machine, reason, self.world.now()));
        self.world.machines.report(&Machine { status, ..machine.clone() }).await.map(drop)
    }
}

fn looks_after(check: &MachineHealthCheck, machine: &Machine) -> bool {
    let selector = Selector::try_from(check.spec.selector.clone());
    machine.spec.cluster_name == check.spec.cluster_name
        && selector.is_ok_and(|chosen| chosen.matches(machine.labels()))
}

/// What makes a check go with its cluster, unless it does.
fn belonging(check: &MachineHealthCheck, cluster: &Cluster) -> Option<Value> {
    let owner = cluster.owner_ref(&())?;
    let known = check.owner_references();
    let is_owned = known.iter().any(|known| known.uid == owner.uid) || check.metadata.deletion_timestamp.is_some();
    let owners: Vec<_> = known.iter().cloned().chain([owner]).collect();
    (!is_owned).then(|| {
        json!({"metadata": {
            "labels": {CLUSTER_NAME: cluster.name_any()}, "ownerReferences": owners,
        }})
    })
}

impl Reconcile for Checks {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &self.world;
        let Some(check) = world.checks.get(key) else { return Ok(Next::Rest) };
        let observed = self.observe(&check).await?;
        if let Some(change) = observed.cluster.as_ref().and_then(|cluster| belonging(&check, cluster)) {
            // The change leads to the next pass.
            world.checks.patch(&check, change).await?;
            return Ok(Next::Rest);
        }
        let plan = plan(&observed);
        for (machine, reason) in &plan.lost {
            let note = format!("Machine {} is to be replaced: {reason}", machine.name_any());
            world.events.tell(&**machine, News::warning(BY, "MachineMarkedUnhealthy", note));
            self.mark(machine, Some(reason)).await?;
        }
        for machine in &plan.recovered {
            self.mark(machine, None).await?;
        }
        if plan.status != check.status {
            world.checks.report(&MachineHealthCheck { status: plan.status, ..(*check).clone() }).await?;
        }
        Ok(plan.due.map_or(Next::Rest, |at| Next::After(until(at, observed.now) + std::time::Duration::from_secs(1))))
    }
}

impl Controller for Checks {
    const NAME: &'static str = "capi-machinehealthcheck";

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.checks.queue_each(queue);
        let checks = world.checks.clone();
        world.machines.queue_mapped(queue, move |machine| {
            let here = checks.in_namespace(&machine.namespace().unwrap_or_default());
            here.into_iter()
                .filter(|check| looks_after(check, machine))
                .map(|check| Key::of(&*check))
                .collect::<Vec<_>>()
        });
        let checks = world.checks.clone();
        world
            .clusters
            .queue_mapped(queue, move |cluster| of_cluster(&checks, cluster, |check| &check.spec.cluster_name));
        // Before its kubeconfig is there, a cluster's nodes cannot be looked at.
        let checks = world.checks.clone();
        world.secrets.queue_mapped(queue, move |secret| {
            let cluster = cluster_of_secret(secret);
            let here = cluster.iter().flat_map(|cluster| checks.in_namespace(&cluster.namespace));
            let own = here.filter(|check| Some(&check.spec.cluster_name) == cluster.as_ref().map(|key| &key.name));
            own.map(|check| Key::of(&*check)).collect::<Vec<_>>()
        });
        let (checks, queue) = (world.checks.clone(), queue.clone());
        world.tenants.on_node(move |cluster, _| {
            let here = checks.in_namespace(&cluster.namespace);
            here.iter()
                .filter(|check| check.spec.cluster_name == cluster.name)
                .for_each(|check| queue.add(Key::of(&**check)));
        });
    }
}
