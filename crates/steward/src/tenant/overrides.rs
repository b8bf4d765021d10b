//! Stores of single resources beside the main one. kube-apiserver has one certificate for all of them.

use std::collections::BTreeSet;

use butler_api::steward::data_store::Driver;
use butler_api::steward::tenant_control_plane::OverrideReport;

use super::observed::{Observed, Shared, Store};
use super::plan::{Plan, Step};
use super::report::Done;
use super::support;

/// Places in them: on record first, then made. Nothing runs before all are there.
pub(super) fn plan(observed: &Observed, plan: &mut Plan) {
    for wanted in &observed.tenant.spec.data_store_overrides {
        if !is_resource(&wanted.resource) {
            plan.blockers.push(support::no_resource(&wanted.resource));
            plan.store_ready = false;
        }
    }
    for name in wanted(observed) {
        let ready = match (&observed.store, observed.overrides.get(name)) {
            (Store::Trouble(_), _) | (_, None) => false,
            (_, Some(Err(error))) => {
                plan.blockers.push(support::store_trouble(error));
                false
            }
            (main, Some(Ok(shared))) => match unfit(main, shared) {
                Some(why) => {
                    plan.blockers.push(support::override_unfit(name, why));
                    false
                }
                None => match recorded(observed).iter().find(|known| known.data_store_name == *name) {
                    Some(known) if known.last_update.is_some() => true,
                    Some(_) => {
                        plan.steps.push(Step::SetUpOverride(name.to_owned()));
                        false
                    }
                    // The report of this pass puts it on record; the next one goes on.
                    None => false,
                },
            },
        };
        plan.store_ready &= ready;
    }
}

/// The servers of single resources, as kube-apiserver is told of them.
pub(super) fn servers(observed: &Observed) -> Vec<(String, Vec<String>)> {
    let servers =
        |name: &str| observed.overrides.get(name)?.as_ref().ok().map(|store| store.connection.servers.clone());
    let all = observed.tenant.spec.data_store_overrides.iter();
    all.filter_map(|wanted| Some((wanted.resource.clone(), servers(&wanted.data_store)?))).collect()
}

/// The names of stores that hold something, or may.
pub(super) fn recorded(observed: &Observed) -> &[OverrideReport] {
    let storage = observed.tenant.status.as_ref().and_then(|status| status.storage.as_ref());
    storage.map_or(&[], |storage| storage.overrides.as_slice())
}

/// What is on record after a pass. A store that is no longer asked for stays there until it was cleared.
pub(super) fn report(observed: &Observed, done: &Done) -> Vec<OverrideReport> {
    let known = recorded(observed);
    let leaving = observed.tenant.metadata.deletion_timestamp.is_some();
    let wanted = wanted(observed).into_iter().filter(|_| !leaving);
    let names: BTreeSet<&str> = known.iter().map(|known| known.data_store_name.as_str()).chain(wanted).collect();
    let report = |name: &str| {
        let since =
            known.iter().find(|known| known.data_store_name == name).and_then(|known| known.last_update.clone());
        let made = done.overrides_set_up.contains(name).then(|| observed.time());
        OverrideReport { data_store_name: name.to_owned(), last_update: since.or(made) }
    };
    names.into_iter().filter(|name| !done.overrides_cleared.contains(*name)).map(report).collect()
}

fn wanted(observed: &Observed) -> BTreeSet<&str> {
    observed.tenant.spec.data_store_overrides.iter().map(|wanted| wanted.data_store.as_str()).collect()
}

/// `/events` or `apps/deployments`.
fn is_resource(text: &str) -> bool {
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    text.split_once('/').is_some_and(|(group, resource)| plain(group) && plain(resource) && !resource.is_empty())
}

fn unfit(main: &Store, other: &Shared) -> Option<&'static str> {
    let authority = |shared: &Shared| shared.access.tls.as_ref().map(|tls| tls.authority.trim().to_owned());
    match main {
        Store::Shared(main) if main.kind != Driver::Etcd => Some("only beside an etcd there can be others"),
        Store::Shared(_) if other.kind != Driver::Etcd => Some("it is no etcd"),
        Store::Shared(main) if authority(main) != authority(other) => {
            Some("its authority is not that of the main store, and an API server has one certificate for all")
        }
        Store::Shared(_) => None,
        Store::Own | Store::Trouble(_) => {
            Some("the control plane has an etcd of its own, with an authority of its own")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_a_group_and_a_name() {
        for (text, expected) in [
            ("/events", true),
            ("apps/deployments", true),
            ("events.k8s.io/events", true),
            ("events", false),
            ("apps/", false),
            ("/events#https://x", false),
            ("/a,/b", false),
        ] {
            assert_eq!(is_resource(text), expected, "{text}");
        }
    }
}
