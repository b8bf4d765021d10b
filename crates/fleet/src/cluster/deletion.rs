//! How a cluster goes: addons that may make something inside, what was made inside, addons that serve that, machines and control
//! plane, namespace, and then the object itself. Each is seen gone before the next is touched.

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler::TenantAddon;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::SignedDuration;
use kube::ResourceExt;

use super::observed::Observed;
use super::phase::Facts;
use super::plan::{Kind, Plan, Step, holds};
use super::{health, motion};
use crate::blockers::{blocker, waiting};
use crate::names;

/// Condition: what was made inside the cluster, and lives outside of it, is removed.
pub(crate) const CONTENTS_REMOVED: &str = "ContentsRemoved";

/// The control plane has to answer once more before the cluster can go.
pub(crate) const WAKING: &str = "ControlPlaneWaking";

/// What was made inside the cluster is being removed.
pub(super) const CONTENTS_REMOVING: &str = "ContentsRemoving";

/// What lives on outside of a cluster that is gone.
const CONTENTS: &str = "load balancers and volumes that were made inside";

/// Addons that remove load balancers and volumes, or without which nothing in the cluster could.
const SERVING: [&str; 6] = ["cilium", "metallb", "metallb-addresses", "longhorn", "linstor", "cert-manager"];

/// Load balancers and volumes take no longer to go where somebody removes them.
const CONTENTS_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// What to do next for a cluster that is to go.
pub(super) fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { facts: Facts { leaving: true, ..Facts::default() }, ..Plan::default() };
    if !observed.is_held() {
        return plan;
    }
    if !observed.cluster.annotations().contains_key(names::RECEIPT) {
        plan.steps.push(Step::Record);
        return plan;
    }
    if observed.capi.as_ref().is_some_and(|capi| capi.spec.paused == Some(true)) {
        plan.steps.push(Step::Pause(false));
    }
    // One that never answered has made nothing, and one that is going already was asked before.
    let is_going = observed.capi.as_ref().is_none_or(|capi| capi.metadata.deletion_timestamp.is_some());
    let abandoned = observed.cluster.annotations().contains_key(names::ABANDON_CONTENTS);
    let could_answer = observed.has_answered() && !is_going && !abandoned;
    let has_contents = could_answer && !holds(observed, CONTENTS_REMOVED);
    // Addons that served what was inside go after it.
    let is_needed = has_contents || (could_answer && !observed.addons.is_empty());
    if is_needed && !observed.answers() {
        wake(observed, if has_contents { CONTENTS } else { "its last addons" }, &mut plan);
    }
    let serving = if has_contents { serving(&observed.addons) } else { BTreeSet::new() };
    let addons: Vec<String> =
        observed.addons.iter().map(|addon| addon.name_any()).filter(|name| !serving.contains(name)).collect();
    if !addons.is_empty() {
        plan.steps.extend(addons.iter().map(|name| Step::Delete(Kind::Addon, name.clone())));
        let evidence = addons.iter().map(|name| format!("TenantAddon {name} is there")).collect();
        plan.blockers.push(waiting("AddonsUninstalling", "addons are being uninstalled", evidence));
        plan.blockers.extend(stuck(observed).filter(|_| observed.answers()));
        return plan;
    }
    if has_contents {
        if observed.answers() {
            match observed.kubeconfig {
                Some(_) => plan.steps.push(Step::ClearContents),
                None => plan.blockers.push(unreachable("there is no kubeconfig of the cluster", CONTENTS)),
            }
        }
        return plan;
    }
    if observed.capi.is_some() || !observed.machines.is_empty() {
        if observed.capi.is_some() {
            plan.steps.push(Step::Delete(Kind::Cluster, observed.name()));
        }
        let message = match (observed.machines.len(), observed.control_plane.is_some()) {
            (0, true) => "the control plane is being removed".to_owned(),
            (0, false) => "the infrastructure is being removed".to_owned(),
            (1, _) => "1 machine is being removed".to_owned(),
            (machines, _) => format!("{machines} machines are being removed"),
        };
        let evidence = observed.machines.iter().filter_map(|machine| motion::of_machine(machine)).take(5);
        plan.blockers.push(waiting("MachinesDeleting", message, evidence.collect()));
        return plan;
    }
    if !observed.allocations.is_empty() {
        let names: Vec<String> = observed.allocations.iter().map(|allocation| allocation.name_any()).collect();
        plan.steps.extend(names.iter().map(|name| Step::Delete(Kind::Allocation, name.clone())));
        let evidence = names.iter().map(|name| format!("IPAllocation {name} is there")).collect();
        plan.blockers.push(waiting("AddressesReleasing", "its addresses are being given back", evidence));
        return plan;
    }
    if let Some(namespace) = &observed.namespace {
        plan.steps.push(Step::Delete(Kind::Namespace, namespace.name_any()));
        let evidence = vec![format!("Namespace {} is there", namespace.name_any())];
        plan.blockers.push(waiting("NamespaceTerminating", "what is left of its internals is being removed", evidence));
        return plan;
    }
    plan.steps.extend([Step::Receipt, Step::Release]);
    plan
}

/// Addons without which load balancers and volumes could not be removed, and those that these build on. All others go first, as they
/// may make more of them.
fn serving(addons: &[Arc<TenantAddon>]) -> BTreeSet<String> {
    let serves = |addon: &&Arc<TenantAddon>| addon.spec.addon.as_deref().is_some_and(|name| SERVING.contains(&name));
    let mut known: BTreeSet<String> = addons.iter().filter(serves).map(|addon| addon.name_any()).collect();
    let mut new: Vec<String> = known.iter().cloned().collect();
    while let Some(name) = new.pop() {
        let needs = addons.iter().filter(|addon| addon.name_any() == name).flat_map(|addon| &addon.spec.depends_on);
        new.extend(needs.map(|need| need.name.clone()).filter(|need| known.insert(need.clone())));
    }
    known
}

/// What is still there of what was made inside. After a while somebody has to look.
pub fn removing(observed: &Observed, left: Vec<String>) -> Blocker {
    let told = observed.status().blockers.into_iter().find(|known| known.reason == CONTENTS_REMOVING);
    let since = told.and_then(|told| told.since).map_or(observed.now, |since| since.0);
    let evidence = left.into_iter().map(|what| format!("{what} is there")).collect();
    if observed.now.duration_since(since) < CONTENTS_PATIENCE {
        let message = "load balancers and volumes that were made inside are being removed";
        return waiting(CONTENTS_REMOVING, message, evidence);
    }
    let message = "load balancers and volumes that were made inside do not go";
    let remedy = format!(
        "bring back inside the cluster what removes them, such as their storage driver, or leave them behind: annotate the \
         TenantCluster with {}=true",
        names::ABANDON_CONTENTS
    );
    Blocker { evidence, ..blocker(CONTENTS_REMOVING, message, BlockerOwner::User, remedy) }
}

/// Nobody but the cluster itself can remove what is inside. One that sleeps, or was to become what does not start, is woken for
/// that in the version that has answered.
fn wake(observed: &Observed, left: &str, plan: &mut Plan) {
    let step = observed.control_plane.as_ref().filter(|_| observed.standalone.is_none()).and_then(|plane| {
        let version = observed.answered_version()?;
        let is_asked = plane.spec.replicas > 0 && plane.spec.kubernetes_version().parse().ok() == Some(version);
        (!is_asked).then_some(Step::Wake(version))
    });
    let is_woken = step.is_some() || is_woken(observed);
    // What was told before it is woken was about something else.
    let told = match step.is_none() && is_told_of_spec(observed) {
        true => health::told_of_control_plane(observed),
        false => Vec::new(),
    };
    plan.steps.extend(step);
    let (coming, stuck): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|known| known.owner == Some(BlockerOwner::Butler));
    if is_woken && stuck.is_empty() {
        let message =
            "the control plane is being woken: what is inside the cluster can only be removed while it answers";
        let evidence = coming.into_iter().map(|known| known.message).collect();
        plan.blockers.push(waiting(WAKING, message, evidence));
    } else {
        plan.blockers.extend(stuck);
        plan.blockers.push(unreachable("the cluster's API does not answer", left));
    }
}

/// Whether the control plane is asked for something else than the TenantCluster asks for: it was woken to remove what is inside.
fn is_woken(observed: &Observed) -> bool {
    let chosen = observed.status().resolved.and_then(|resolved| resolved.kubernetes_version);
    let asked = chosen.or_else(|| observed.cluster.spec.kubernetes_version.clone());
    observed.control_plane.as_ref().filter(|_| observed.standalone.is_none()).is_some_and(|plane| {
        plane.spec.replicas != observed.cluster.spec.control_plane.replicas()
            || asked.is_some_and(|asked| asked != plane.spec.kubernetes_version())
    })
}

/// Whether those who make the control plane have seen what it is asked to be.
fn is_told_of_spec(observed: &Observed) -> bool {
    let Some(plane) = &observed.control_plane else { return false };
    let has_seen = |seen: Option<i64>, generation: Option<i64>| seen.is_none() || seen == generation;
    let seen = plane.status.as_ref().and_then(|status| status.observed_generation);
    let is_passed_on = observed.hosted.as_ref().is_none_or(|hosted| {
        let seen = hosted.status.as_ref().and_then(|status| status.observed_generation);
        hosted.spec.kubernetes.version == plane.spec.kubernetes_version()
            && hosted.spec.control_plane.deployment.replicas == plane.spec.replicas
            && has_seen(seen, hosted.metadata.generation)
    });
    is_passed_on && has_seen(seen, plane.metadata.generation)
}

/// Why addons cannot be uninstalled, in their own words.
fn stuck(observed: &Observed) -> Option<Blocker> {
    let blockers = observed.addons.iter().filter_map(|addon| addon.status.as_ref()).flat_map(|status| &status.blockers);
    blockers.into_iter().find(|blocker| blocker.owner != Some(BlockerOwner::Butler)).cloned()
}

/// Nobody but the cluster itself can say what was made inside.
fn unreachable(why: &str, left: &str) -> Blocker {
    blocker(
        "ContentsUnreachable",
        format!("{why}, so {left} cannot be removed"),
        BlockerOwner::User,
        format!(
            "repair its control plane, or leave them behind: annotate the TenantCluster with {}=true",
            names::ABANDON_CONTENTS
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_serves_contents_outlives_them_and_whatever_may_make_more_does_not() {
        let addon = |name: &str, of: Option<&str>, needs: &[&str]| -> Arc<TenantAddon> {
            let needs: Vec<_> = needs.iter().map(|need| json!({"name": need})).collect();
            let spec = json!({"clusterRef": {"name": "c"}, "addon": of, "dependsOn": needs});
            let object = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {"name": name}, "spec": spec,
            });
            Arc::new(serde_json::from_value(object).unwrap())
        };
        let addons = [
            addon("c-cilium", Some("cilium"), &[]),
            addon("c-longhorn", Some("longhorn"), &["keys"]),
            addon("keys", None, &["base"]),
            addon("base", None, &[]),
            addon("c-flux", Some("flux"), &["c-cilium"]),
            addon("c-prometheus", Some("prometheus"), &[]),
        ];
        let kept: Vec<String> = serving(&addons).into_iter().collect();
        assert_eq!(kept, ["base", "c-cilium", "c-longhorn", "keys"]);
    }
}
