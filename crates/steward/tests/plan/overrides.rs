//! Single resources in stores of their own.

use butler_api::shared::BlockerOwner;
use butler_api::steward::data_store::Driver;
use serde_json::{Value, json};
use steward::store::{Access, Connection, StoreError};
use steward::tenant::Shared;

use crate::world::{World, at};

fn store(name: &str, kind: Driver) -> Shared {
    Shared {
        name: name.into(),
        kind,
        access: Access { endpoints: vec![format!("{name}:2379")], tls: None },
        connection: Connection { servers: vec![format!("https://{name}:2379")], certificate: false },
    }
}

fn world(overrides: &Value) -> World {
    let mut world = World::new(json!({"kubernetes": {"version": "v1.34.4"}, "dataStoreOverrides": overrides}));
    world.observed.overrides.insert("fast".into(), Ok(store("fast", Driver::Etcd)));
    world.observed.overrides.insert("inside".into(), Ok(store("inside", Driver::Embedded)));
    let gone = StoreError {
        reason: "DataStoreMissing",
        message: "DataStore gone does not exist".into(),
        owner: BlockerOwner::PlatformAdmin,
        remedy: "create DataStore gone".into(),
    };
    world.observed.overrides.insert("gone".into(), Err(gone));
    world
}

fn arguments(world: &World) -> Vec<String> {
    let pod = world.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap().template.spec.clone().unwrap();
    pod.containers[0].args.clone().unwrap()
}

#[test]
fn resources_go_to_other_stores_and_leave_nothing_there() {
    let both = json!([
        {"resource": "/events", "dataStore": "fast"}, {"resource": "coordination.k8s.io/leases", "dataStore": "fast"},
    ]);
    let mut world = world(&both);
    world.make_ready();
    let flag = "--etcd-servers-overrides=/events#https://fast:2379,coordination.k8s.io/leases#https://fast:2379";
    assert!(arguments(&world).contains(&flag.to_owned()), "{:?}", arguments(&world));
    assert!(world.others.contains("fast"));
    // No longer asked for, it holds what was in it until the end.
    world.spec(|tenant| tenant.spec.data_store_overrides.clear());
    world.make_ready();
    assert!(!arguments(&world).iter().any(|argument| argument.contains("overrides")));
    assert!(world.others.contains("fast"));
    world.observed.now = at("2026-02-01T00:00:00Z");
    world.delete();
    world.settle();
    assert!(world.gone && world.others.is_empty());
}

#[test]
fn stores_that_do_not_fit_are_said() {
    for (wanted, reason) in [
        (json!({"resource": "/events", "dataStore": "inside"}), "OverrideUnfit"),
        (json!({"resource": "/events", "dataStore": "gone"}), "DataStoreMissing"),
        (json!({"resource": "events", "dataStore": "fast"}), "FieldInvalid"),
    ] {
        let mut world = world(&json!([wanted]));
        for _ in 0..3 {
            world.settle();
            world.cluster_works();
        }
        assert_eq!(world.reasons(), [reason]);
        assert!(world.observed.deployment.is_none());
    }
}
