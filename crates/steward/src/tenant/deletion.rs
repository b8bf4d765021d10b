//! The way out: pods, then data, then keys, then the object itself. Each is seen gone before the next begins.

use super::observed::{Observed, Store};
use super::plan::{Plan, Step};
use super::{overrides, support};
use crate::credentials::Root;
use crate::names;

/// What to do next for a control plane that is to go.
pub(super) fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    if !observed.tenant.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == names::FINALIZER) {
        return plan;
    }
    if observed.deployment.is_some() || !observed.pods.is_empty() {
        plan.steps.push(Step::DropDeployment);
        plan.blockers.push(support::waiting("PodsStopping", "the pods of the control plane are stopping"));
        return plan;
    }
    if observed.etcd.stateful_set.is_some() || observed.etcd.has_remains {
        plan.steps.push(Step::DropEtcd);
        plan.blockers.push(support::waiting("EtcdStopping", "its etcd and the volumes of it are being removed"));
        return plan;
    }
    for known in overrides::recorded(observed) {
        match observed.overrides.get(&known.data_store_name) {
            Some(Err(error)) => plan.blockers.push(support::store_trouble(error)),
            _ => plan.steps.push(Step::ClearOverride(known.data_store_name.clone())),
        }
    }
    if !overrides::recorded(observed).is_empty() {
        return plan;
    }
    let storage = observed.tenant.status.as_ref().and_then(|status| status.storage.as_ref());
    let recorded = storage.is_some_and(|storage| storage.setup.is_some());
    match &observed.store {
        Store::Shared(_) if recorded => {
            plan.steps.push(Step::ClearStore);
            return plan;
        }
        Store::Trouble(error) if recorded => {
            plan.blockers.push(support::store_trouble(error));
            return plan;
        }
        Store::Shared(_) | Store::Trouble(_) | Store::Own => {}
    }
    let held = |root: &Root| {
        let finalizers = observed.root(*root).and_then(|secret| secret.metadata.finalizers.as_ref());
        finalizers.into_iter().flatten().any(|finalizer| finalizer == names::KEEP)
    };
    let roots = Root::COMMON.into_iter().chain([Root::EtcdCa]).filter(held);
    plan.steps.extend(roots.map(Step::ReleaseRoot));
    if plan.steps.is_empty() {
        plan.steps.push(Step::Release);
    }
    plan
}
