//! What a cluster has around it: Secrets, addresses, and what is foretold of it.

use std::collections::BTreeSet;

use butler_api::butler::provider_config::ProviderConfig;
use butler_api::butler::tenant_cluster::TenantClusterSpec;
use butler_api::butler::{IPAllocation, NetworkPool};
use fleet::cluster::{Object, Observed, Step, plan, preview, removal};
use kube::ResourceExt;
use serde_json::json;

use super::chance::Chance;
use super::world::World;
use super::{settle, spec};

#[test]
fn what_is_somebody_elses_is_not_published_over() {
    let (mut world, mut chance) = (World::new(spec()), Chance::of(1));
    settle(&mut world, &mut chance);
    let mut observed = world.observe().unwrap();
    let written = |observed: &Observed| {
        let is_secret = |step: &&Step| matches!(step, Step::Apply(object) if matches!(**object, Object::Secret(_)));
        plan(observed).steps.iter().filter(is_secret).count()
    };
    assert_eq!(written(&observed), 1);
    observed.published = None;
    observed.taken_secrets = vec!["c-kubeconfig".to_owned()];
    assert_eq!(written(&observed), 0);
    let plan = plan(&observed);
    assert!(!plan.facts.provisioned);
    assert_eq!(
        plan.blockers[0].message,
        "Secret c-kubeconfig is there already, and is somebody else's, so the kubeconfig cannot be written there"
    );
    assert_eq!(
        plan.blockers[0].remedy.as_deref(),
        Some("save what is in Secret c-kubeconfig under another name, and delete it")
    );
}

/// A settled cluster that names addresses, on an infrastructure that takes them from a pool, with what it was given so far.
fn naming(addresses: &str, told: Option<&str>, allocation: Option<serde_json::Value>) -> Observed {
    let (mut world, mut chance) = (World::new(spec()), Chance::of(1));
    settle(&mut world, &mut chance);
    let mut cluster = world.cluster.clone().unwrap();
    let balancer = json!({"loadBalancer": {"addressPool": addresses}});
    cluster.spec.addons = serde_json::from_value(balancer).unwrap();
    let chosen = cluster.status.as_mut().unwrap().resolved.as_mut().unwrap();
    chosen.load_balancer_addresses = told.map(str::to_owned);
    let object = |kind: &str, name: &str, spec: serde_json::Value, status: serde_json::Value| {
        json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": kind, "spec": spec, "status": status,
            "metadata": {"name": name, "namespace": "butler-system", "uid": name}})
    };
    let network = json!({"mode": "ipam", "poolRefs": [{"name": "p"}]});
    let provider = object("ProviderConfig", "local", json!({"provider": "local", "network": network}), json!({}));
    let pool = object("NetworkPool", "p", json!({"cidr": "10.50.0.0/24"}), json!({}));
    let pool: NetworkPool = serde_json::from_value(pool).unwrap();
    let provider: ProviderConfig = serde_json::from_value(provider).unwrap();
    let allocation = allocation.map(|status| -> IPAllocation {
        let asked = json!({"poolRef": {"name": "p"}, "type": "loadbalancer",
            "tenantClusterRef": {"name": "c", "namespace": "team-a"}});
        let name = format!("c-12345678-lb-{addresses}");
        serde_json::from_value(object("IPAllocation", &name, asked, status)).unwrap()
    });
    Observed {
        cluster: cluster.into(),
        provider: Some(provider.into()),
        network_pools: vec![pool.into()],
        allocations: allocation.into_iter().map(Into::into).collect(),
        ..world.observe().unwrap()
    }
}

#[test]
fn addresses_that_are_named_are_used_once_the_pool_has_given_them() {
    let named = "10.50.0.18-10.50.0.20";
    let other = "10.50.0.30-10.50.0.31";
    let given = json!({"phase": "Allocated", "startAddress": "10.50.0.18", "endAddress": "10.50.0.20"});
    let taken = json!({"phase": "Pending", "blockers": [{"reason": "RangeTaken", "message": "not all are free"}]});
    for (addresses, told, allocation, asks, used, blocker) in [
        (named, None, None, true, None, Some("AddressesPending")),
        (named, None, Some(&taken), false, None, Some("RangeTaken")),
        (named, None, Some(&given), false, Some(named), None),
        // What was used before is used until there is something else.
        (named, Some(other), Some(&taken), false, Some(other), Some("RangeTaken")),
        // What no pool gives is the user's own.
        ("10.9.0.1-10.9.0.2", None, None, false, Some("10.9.0.1-10.9.0.2"), None),
    ] {
        let plan = plan(&naming(addresses, told, allocation.cloned()));
        let applied = |step: &Step| match step {
            Step::Apply(object) => Some((**object).clone()),
            _ => None,
        };
        let applied: Vec<Object> = plan.steps.iter().filter_map(applied).collect();
        let asked = applied.iter().any(|object| matches!(object, Object::Allocation(_)));
        let found = applied.iter().find_map(|object| match object {
            Object::Addon(addon) if addon.name_any() == "c-metallb-addresses" => addon.spec.values.clone(),
            _ => None,
        });
        let found = found.and_then(|values| values.0["addresses"].as_str().map(str::to_owned));
        let reason = plan.blockers.first().map(|blocker| blocker.reason.clone());
        assert_eq!((asked, found.as_deref()), (asks, used), "{addresses} {told:?} {allocation:?}");
        assert_eq!(reason.as_deref().filter(|reason| !reason.starts_with("Addon")), blocker, "{addresses} {told:?}");
        assert_eq!(plan.wanted.unwrap().chosen.load_balancer_addresses.as_deref(), used);
    }
}

#[test]
fn addresses_that_nobody_uses_any_more_are_given_back_last() {
    let given = json!({"phase": "Allocated", "startAddress": "10.50.0.18", "endAddress": "10.50.0.20"});
    let mut observed = naming("10.50.0.18-10.50.0.20", None, Some(given));
    let cluster = std::sync::Arc::make_mut(&mut observed.cluster);
    cluster.spec.addons = serde_json::from_value(json!({"loadBalancer": {"provider": "none"}})).unwrap();
    let gives_back = |observed: &Observed| {
        plan(observed).steps.iter().any(|step| matches!(step, Step::Delete(fleet::cluster::Kind::Allocation, _)))
    };
    assert!(gives_back(&observed), "nothing inside uses them");
    let old = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {
            "name": "c-metallb-addresses", "namespace": "team-a",
            "ownerReferences": [{"apiVersion": "v1", "kind": "TenantCluster", "name": "c", "uid": "12345678-1111"}]},
        "spec": {"clusterRef": {"name": "c"}, "addon": "metallb-addresses"},
    });
    observed.addons.push(std::sync::Arc::new(serde_json::from_value(old).unwrap()));
    assert!(!gives_back(&observed), "they are used until the addon is gone");
}

/// What a preview says comes, and what it says goes. Steward, which makes kubeconfigs to look with, is not in this world.
fn foretold(previews: &[fleet::cluster::Preview]) -> (BTreeSet<String>, BTreeSet<String>) {
    let name = |object: &serde_json::Value| {
        format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
    };
    let is_modelled = |name: &String| !name.ends_with("-kubeconfig-viewer") && !name.starts_with("Machine c-");
    let come = previews.iter().filter(|one| one.before.is_none()).filter_map(|one| one.after.as_ref());
    let gone = previews.iter().filter(|one| one.after.is_none()).filter_map(|one| one.before.as_ref());
    (come.map(name).filter(is_modelled).collect(), gone.map(name).filter(is_modelled).collect())
}

#[test]
fn what_is_foretold_is_what_happens() {
    let (mut world, mut chance) = (World::new(spec()), Chance::of(1));
    let template = json!({"machineTemplate": {"cpu": 8}, "replicas": 3});
    let more = json!([{"name": "more", "replicas": 1}]);
    let balancer = json!({"loadBalancer": {"addressPool": "10.9.0.1-10.9.0.9"}});
    type Change = fn(&mut TenantClusterSpec, serde_json::Value);
    let changes: [(Change, serde_json::Value); 7] = [
        (|_, _| {}, json!(null)),
        (|spec, value| spec.worker_pools = serde_json::from_value(value).unwrap(), more),
        (|spec, value| spec.addons = serde_json::from_value(value).unwrap(), balancer),
        (|spec, value| spec.workers = serde_json::from_value(value).unwrap(), template),
        (|spec, _| spec.worker_pools.clear(), json!(null)),
        (|spec, _| spec.addons = Default::default(), json!(null)),
        (|spec, _| spec.workers.replicas = Some(5), json!(null)),
    ];
    for (index, (change, value)) in changes.into_iter().enumerate() {
        let cluster = world.cluster.as_mut().unwrap();
        change(&mut cluster.spec, value);
        cluster.metadata.generation = cluster.metadata.generation.map(|generation| generation + 1);
        let (previews, in_the_way) = preview(&world.observe().unwrap()).unwrap();
        assert_eq!(in_the_way, vec![]);
        let before = world.inventory();
        settle(&mut world, &mut chance);
        let after = world.inventory();
        let happened = (&after - &before, &before - &after);
        assert_eq!(foretold(&previews), happened, "change {index}");
    }
    let before = world.inventory();
    let (come, gone) = foretold(&removal(&world.observe().unwrap()));
    assert_eq!((come, gone), (BTreeSet::new(), before));
}

#[test]
fn a_preview_tells_of_addresses_and_of_pools_that_have_none_left() {
    let told = |observed: &Observed| {
        let (previews, in_the_way) = preview(observed).unwrap();
        let allocations = |names: BTreeSet<String>| -> Vec<String> {
            names.into_iter().filter(|name| name.starts_with("IPAllocation")).collect()
        };
        let (come, gone) = foretold(&previews);
        let reasons: Vec<String> = in_the_way.into_iter().map(|blocker| blocker.reason).collect();
        (allocations(come), allocations(gone), reasons)
    };
    let named = "10.50.0.18-10.50.0.20";
    let asked = || vec![format!("IPAllocation c-12345678-lb-{named}")];
    let mut observed = naming(named, None, None);
    assert_eq!(told(&observed), (asked(), vec![], vec![]));
    let grant = json!([{"name": "x", "uid": "x", "start": "10.50.0.1", "end": "10.50.0.254"}]);
    let pool = std::sync::Arc::make_mut(&mut observed.network_pools[0]);
    pool.status = serde_json::from_value(json!({"grants": grant})).unwrap();
    assert_eq!(told(&observed), (asked(), vec![], vec!["RangeTaken".to_owned()]));
    std::sync::Arc::make_mut(&mut observed.cluster).spec.addons = Default::default();
    let some = vec!["IPAllocation c-12345678-lb".to_owned()];
    assert_eq!(told(&observed), (some, vec![], vec!["PoolExhausted".to_owned()]));
    let given = json!({"phase": "Allocated", "startAddress": "10.50.0.18", "endAddress": "10.50.0.20"});
    let has = naming(named, None, Some(given.clone()));
    assert_eq!(told(&has), (vec![], vec![], vec![]));
    let gone = foretold(&removal(&has)).1;
    assert!(gone.contains(&asked()[0]), "{gone:?}");
    let mut moved = has;
    let cluster = std::sync::Arc::make_mut(&mut moved.cluster);
    cluster.spec.addons =
        serde_json::from_value(json!({"loadBalancer": {"addressPool": "10.9.0.1-10.9.0.2"}})).unwrap();
    assert_eq!(told(&moved), (vec![], asked(), vec![]));
}
