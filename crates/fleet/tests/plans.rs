//! What the planners decide, in tables.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler::{IPAllocation, NetworkPool};
use butler_api::names::finalizers::{IP_ALLOCATION, NETWORK_POOL, TEAM};
use butler_api::names::{annotations, labels};
use fleet::{network, team};
use jiff::Timestamp;
use kube::ResourceExt;
use runtime::Key;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn object<K: DeserializeOwned>(kind: &str, metadata: Value, spec: Value, status: Value) -> Arc<K> {
    let version = if kind == "Namespace" { "v1" } else { "butler.butlerlabs.dev/v1alpha1" };
    let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status});
    Arc::new(serde_json::from_value(object).unwrap())
}

/// Fourteen addresses, of which some were given.
fn pool(grants: Value) -> Arc<NetworkPool> {
    let metadata = json!({"name": "rack", "namespace": "butler-system", "uid": "rack", "finalizers": [NETWORK_POOL]});
    object("NetworkPool", metadata, json!({"cidr": "10.0.0.0/28"}), json!({"grants": grants}))
}

fn allocation(uid: &str, second: u8, spec: Value, status: Value, leaving: bool) -> Arc<IPAllocation> {
    let mut asked = json!({
        "poolRef": {"name": "rack"}, "tenantClusterRef": {"name": "c", "namespace": "t"}, "type": "loadbalancer",
    });
    asked.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let mut metadata = json!({
        "name": format!("a-{uid}"), "namespace": "butler-system", "uid": uid, "finalizers": [IP_ALLOCATION],
        "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z"),
    });
    if leaving {
        metadata["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    object("IPAllocation", metadata, asked, status)
}

fn observed(pool: Arc<NetworkPool>, allocations: Vec<Arc<IPAllocation>>) -> network::Observed {
    network::Observed { name: "rack".into(), pool: Some(pool), allocations, ..network::Observed::default() }
}

/// Steps in words; what is recorded as who has what.
fn told(steps: &[network::Step]) -> Vec<String> {
    let range = |start: &Option<String>, end: &Option<String>| match (start, end) {
        (Some(start), Some(end)) => format!(" {start}-{end}"),
        _ => String::new(),
    };
    let step = |step: &network::Step| match step {
        network::Step::HoldPool(_) => "hold pool".to_owned(),
        network::Step::ReleasePool(_) => "release pool".to_owned(),
        network::Step::Hold(one) => format!("hold {}", one.name_any()),
        network::Step::Release(one) => format!("release {}", one.name_any()),
        network::Step::Delete(one) => format!("delete {}", one.name_any()),
        network::Step::Tell(one, status) => {
            let reason = status.blockers.first().map(|blocker| format!(" {}", blocker.reason)).unwrap_or_default();
            let range = range(&status.start_address, &status.end_address);
            format!("tell {} {}{range}{reason}", one.name_any(), status.phase.unwrap())
        }
        network::Step::Record(_, status) => {
            let grants = status.grants.iter().map(|grant| format!(" {} {}-{}", grant.uid, grant.start, grant.end));
            format!("record{}", grants.collect::<String>())
        }
    };
    steps.iter().map(step).collect()
}

#[test]
fn addresses_are_given_in_the_order_of_asking() {
    let ask = |uid: &str, second, count: i32| allocation(uid, second, json!({"count": count}), Value::Null, false);
    let has = |uid: &str| allocation(uid, 0, json!({"count": 4}), Value::Null, false);
    let grant = |uid: &str| json!([{"name": format!("a-{uid}"), "uid": uid, "start": "10.0.0.1", "end": "10.0.0.4"}]);
    let allocated = json!({"phase": "Allocated", "startAddress": "10.0.0.1", "endAddress": "10.0.0.4"});
    let released = json!({"phase": "Released"});
    let leaving = |status: Value| allocation("x", 0, json!({"count": 4}), status, true);
    for (pool, allocations, expected) in [
        // The first comes first, and whoever fits is not held up by who does not.
        (
            pool(json!([])),
            vec![ask("c", 3, 2), ask("b", 2, 9), ask("a", 1, 8)],
            vec!["tell a-b Pending PoolExhausted", "record a 10.0.0.1-10.0.0.8 c 10.0.0.9-10.0.0.10"],
        ),
        // Of two of one second the UID decides.
        (
            pool(json!([])),
            vec![ask("b", 1, 14), ask("a", 1, 14)],
            vec!["tell a-b Pending PoolExhausted", "record a 10.0.0.1-10.0.0.14"],
        ),
        // What is written down is told.
        (pool(grant("x")), vec![has("x")], vec!["tell a-x Allocated 10.0.0.1-10.0.0.4", "record x 10.0.0.1-10.0.0.4"]),
        // Who leaves is told first, then its grant goes, then it may go.
        (pool(grant("x")), vec![leaving(allocated)], vec!["tell a-x Released", "record x 10.0.0.1-10.0.0.4"]),
        (pool(json!([])), vec![leaving(released)], vec!["release a-x", "record"]),
        // Pinned addresses lie where they lie.
        (
            pool(grant("x")),
            vec![
                allocation(
                    "p",
                    1,
                    json!({"pinnedRange": {"startAddress": "10.0.0.7", "endAddress": "10.0.0.9"}}),
                    Value::Null,
                    false,
                ),
                allocation(
                    "q",
                    2,
                    json!({"pinnedRange": {"startAddress": "10.0.0.9", "endAddress": "10.0.0.9"}}),
                    Value::Null,
                    false,
                ),
                allocation(
                    "r",
                    3,
                    json!({"pinnedRange": {"startAddress": "10.0.0.15", "endAddress": "10.0.0.15"}}),
                    Value::Null,
                    false,
                ),
            ],
            vec![
                "tell a-q Pending RangeTaken",
                "tell a-r Failed RangeOutsidePool",
                "record x 10.0.0.1-10.0.0.4 p 10.0.0.7-10.0.0.9",
            ],
        ),
    ] {
        assert_eq!(told(&network::plan(&observed(pool, allocations))), expected);
    }
}

#[test]
fn what_a_live_cluster_uses_is_kept_although_it_is_deleted() {
    let status = json!({"phase": "Allocated", "startAddress": "10.0.0.1", "endAddress": "10.0.0.4"});
    let grants = json!([{"name": "a-x", "uid": "x", "start": "10.0.0.1", "end": "10.0.0.4"}]);
    let deleted = |status: &Value, made_by: &str, unwanted: bool| {
        let mut one = (*allocation("x", 0, json!({"count": 4}), status.clone(), true)).clone();
        one.labels_mut().insert(labels::MANAGED_BY.into(), made_by.into());
        if unwanted {
            one.annotations_mut().insert(fleet::names::UNWANTED.into(), "true".into());
        }
        Arc::new(one)
    };
    let kept = "tell a-x Allocated 10.0.0.1-10.0.0.4 AddressesInUse";
    for (one, is_orphan, expected) in [
        (deleted(&status, "butler", false), false, kept),
        (deleted(&status, "butler", true), false, "tell a-x Released"),
        (deleted(&status, "butler", false), true, "tell a-x Released"),
        (deleted(&status, "somebody", false), false, "tell a-x Released"),
        // There is no way back.
        (deleted(&json!({"phase": "Released"}), "butler", false), false, "tell a-x Released"),
    ] {
        let orphans = is_orphan.then(|| "x".to_owned()).into_iter().collect();
        let world = network::Observed { orphans, ..observed(pool(grants.clone()), vec![Arc::clone(&one)]) };
        let steps = told(&network::plan(&world));
        assert_eq!(steps.first().map(String::as_str), Some(expected));
        let without_pool = network::Observed { pool: None, ..world };
        let is_released = expected != kept;
        assert_eq!(
            told(&network::plan(&without_pool)).first().map(String::as_str),
            is_released.then_some("release a-x")
        );
    }
    let world = observed(pool(grants), vec![deleted(&status, "butler", false)]);
    let steps = network::plan(&world);
    let Some(network::Step::Tell(_, status)) = steps.first() else { panic!("{:?}", told(&steps)) };
    assert_eq!(status.blockers[0].message, "TenantCluster t/c uses 10.0.0.1-10.0.0.4, so they are not given back");
}

#[test]
fn who_has_pinned_addresses_is_told() {
    let grants = json!([{"name": "a-x", "uid": "x", "start": "10.0.0.1", "end": "10.0.0.4"}]);
    let range = json!({"pinnedRange": {"startAddress": "10.0.0.3", "endAddress": "10.0.0.6"}});
    let status = json!({"phase": "Allocated", "startAddress": "10.0.0.1", "endAddress": "10.0.0.4"});
    let has = allocation("x", 0, json!({}), status, false);
    let world = observed(pool(grants), vec![has, allocation("p", 1, range, Value::Null, false)]);
    let steps = network::plan(&world);
    let told = steps.iter().find_map(|step| match step {
        network::Step::Tell(one, status) if one.name_any() == "a-p" => status.blockers.first(),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!(told.message, "not all of 10.0.0.3-10.0.0.6 are free in NetworkPool rack");
    assert_eq!(told.evidence, ["IPAllocation a-x of TenantCluster t/c has some"]);
}

#[test]
fn what_a_copy_does_not_know_is_not_taken_for_gone() {
    let grants = json!([{"name": "a-x", "uid": "x", "start": "10.0.0.1", "end": "10.0.0.4"}]);
    let unknown = observed(pool(grants.clone()), Vec::new());
    assert_eq!(told(&network::plan(&unknown)), ["record x 10.0.0.1-10.0.0.4"]);
    let gone = network::Observed { gone: BTreeSet::from(["x".into()]), ..unknown };
    assert_eq!(told(&network::plan(&gone)), ["record"]);

    // Told of addresses without a grant: believed when the API says so too, and nobody else has them.
    let status = json!({"phase": "Allocated", "startAddress": "10.0.0.3", "endAddress": "10.0.0.6"});
    let old = allocation("old", 0, json!({}), status, false);
    let stale = observed(pool(json!([])), vec![Arc::clone(&old)]);
    assert_eq!(told(&network::plan(&stale)), ["record"]);
    let believed = network::Observed { unwritten: BTreeSet::from(["old".into()]), ..stale };
    assert_eq!(told(&network::plan(&believed)), ["record old 10.0.0.3-10.0.0.6"]);
    let doubled = network::Observed { pool: Some(pool(grants)), ..believed };
    let steps = network::plan(&doubled);
    let Some(network::Step::Record(_, status)) = steps.last() else { panic!("{:?}", told(&steps)) };
    assert_eq!(status.blockers[0].reason, "AddressesDoubled");
    assert_eq!(status.blockers[0].evidence, ["a-old has 10.0.0.3-10.0.0.6"]);
}

#[test]
fn how_full_a_pool_is_shows_at_three_marks() {
    // Ten addresses.
    let spec = json!({"cidr": "10.0.0.0/24", "tenantAllocation": {"start": "10.0.0.10", "end": "10.0.0.29"}});
    let metadata = json!({"name": "rack", "namespace": "butler-system", "uid": "rack", "finalizers": [NETWORK_POOL]});
    for (given, expected, fragmentation) in
        [(13, [false; 3], 0), (14, [true, false, false], 0), (17, [true, true, false], 0), (19, [true; 3], 0)]
    {
        let grant = json!([{"name": "x", "uid": "x", "start": "10.0.0.10", "end": format!("10.0.0.{}", 9 + given)}]);
        let pool = object("NetworkPool", metadata.clone(), spec.clone(), json!({"grants": grant}));
        let steps = network::plan(&observed(pool, Vec::new()));
        let Some(network::Step::Record(_, status)) = steps.last() else { panic!("{:?}", told(&steps)) };
        let marks: Vec<bool> = status.conditions.iter().take(3).map(|one| one.status.as_str() == "True").collect();
        assert_eq!(marks, expected, "{given}");
        assert_eq!(status.fragmentation_percent, Some(fragmentation));
    }
    let grant = json!([{"name": "x", "uid": "x", "start": "10.0.0.15", "end": "10.0.0.24"}]);
    let pool = object("NetworkPool", metadata, spec, json!({"grants": grant}));
    let steps = network::plan(&observed(pool, Vec::new()));
    let Some(network::Step::Record(_, status)) = steps.last() else { panic!("{:?}", told(&steps)) };
    assert_eq!((status.largest_free_block, status.fragmentation_percent), (Some(5), Some(50)));
}

fn team_world(finalizers: Value, leaving: bool, namespace: Option<Value>, clusters: usize) -> team::Observed {
    let mut metadata = json!({"name": "t", "uid": "t", "finalizers": finalizers});
    if leaving {
        metadata["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    let namespace = namespace.map(|mut metadata| {
        metadata["name"] = json!("t");
        object("Namespace", metadata, json!({}), json!({}))
    });
    team::Observed {
        team: object("Team", metadata, json!({}), Value::Null),
        platform: None,
        namespace,
        roles: Vec::new(),
        bindings: Vec::new(),
        providers: BTreeSet::new(),
        clusters: (0..clusters).map(|index| (Key::new("t", format!("c{index}")), Default::default())).collect(),
        now: Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn a_team_comes_and_goes_step_by_step() {
    let ours = || json!({"labels": {labels::TEAM: "t", labels::MANAGED_BY: "butler"}});
    let adopted = || json!({"labels": {labels::TEAM: "t"}, "annotations": {annotations::ADOPTED: "true"}});
    let theirs = || json!({"labels": {labels::TEAM: "u"}});
    let going = || json!({"labels": {labels::TEAM: "t"}, "deletionTimestamp": "2026-01-02T00:00:00Z"});
    let held = || json!([TEAM]);
    let all = vec!["namespace", "role", "binding", "role", "binding", "role", "binding", "sight"];
    for (world, steps, blockers) in [
        (team_world(json!([]), false, None, 0), vec!["hold"], vec![]),
        (team_world(held(), false, None, 0), vec!["namespace"], vec![]),
        (team_world(held(), false, Some(ours()), 0), all.clone(), vec![]),
        (team_world(held(), false, Some(json!({})), 0), all, vec![]),
        (team_world(held(), false, Some(theirs()), 0), vec![], vec!["NamespaceTaken"]),
        (team_world(held(), false, Some(going()), 0), vec![], vec!["NamespaceLeaving"]),
        (team_world(held(), true, Some(ours()), 1), vec![], vec!["InUse"]),
        (team_world(held(), true, Some(ours()), 0), vec!["drop namespace"], vec!["NamespaceLeaving"]),
        (team_world(held(), true, Some(going()), 0), vec![], vec!["NamespaceLeaving"]),
        (team_world(held(), true, Some(adopted()), 0), vec!["disown"], vec![]),
        (team_world(held(), true, Some(theirs()), 0), vec!["release"], vec![]),
        (team_world(held(), true, None, 0), vec!["release"], vec![]),
        (team_world(json!([]), true, None, 0), vec![], vec![]),
    ] {
        let plan = team::plan(&world);
        let name = |step: &team::Step| match step {
            team::Step::Hold => "hold",
            team::Step::Release => "release",
            team::Step::Namespace(_) => "namespace",
            team::Step::DropNamespace(_) => "drop namespace",
            team::Step::Disown(_) => "disown",
            team::Step::Role(_) => "role",
            team::Step::Binding(_) => "binding",
            team::Step::Sight(..) => "sight",
            team::Step::DropRole(_) => "drop role",
            team::Step::DropBinding(_) => "drop binding",
        };
        assert_eq!(plan.steps.iter().map(name).collect::<Vec<_>>(), steps);
        assert_eq!(plan.blockers.iter().map(|blocker| blocker.reason.as_str()).collect::<Vec<_>>(), blockers);
    }
}
