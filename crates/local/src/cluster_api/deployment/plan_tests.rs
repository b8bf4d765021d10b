use super::*;

fn deployment(replicas: i32, version: &str, more: Value) -> MachineDeployment {
    let mut object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment",
        "metadata": {"name": "d", "namespace": "n", "uid": "1", "generation": 1,
            "finalizers": [MACHINE_DEPLOYMENT], "labels": {labels::CLUSTER_NAME: "c"},
            "annotations": {annotations::REVISION: "1"}},
        "spec": {"clusterName": "c", "replicas": replicas,
            "selector": {"matchLabels": {labels::CLUSTER_NAME: "c", labels::DEPLOYMENT_NAME: "d"}},
            "template": {
                "metadata": {"labels": {labels::CLUSTER_NAME: "c", labels::DEPLOYMENT_NAME: "d"}},
                "spec": {"clusterName": "c", "version": version, "infrastructureRef": {"name": "t"}}}},
    });
    for (name, value) in more.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

/// A set that an earlier version of the MachineDeployment made.
fn set(of: &MachineDeployment, revision: i64, size: i32, available: i32) -> Arc<MachineSet> {
    let mut set = new_set(of, size, &[]);
    set.metadata.generation = Some(1);
    set.metadata.annotations.as_mut().unwrap().insert(annotations::REVISION.into(), revision.to_string());
    set.status = serde_json::from_value(json!({
        "observedGeneration": 1, "replicas": size, "readyReplicas": available, "availableReplicas": available,
    }))
    .unwrap();
    Arc::new(set)
}

fn observed(deployment: MachineDeployment, sets: Vec<Arc<MachineSet>>) -> Observed {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    Observed { deployment: Arc::new(deployment), sets, going: BTreeMap::new(), cluster: None, now }
}

fn named(steps: &[Step]) -> Vec<String> {
    let name = |step: &Step| match step {
        Step::Change(_) => "change".to_owned(),
        Step::Create(set) => {
            format!("create {} of {}", set.spec.replicas, set.spec.template.spec.version.as_deref().unwrap())
        }
        Step::ChangeSet(set, change) => {
            let version = set.spec.template.spec.version.as_deref().unwrap();
            format!("{version} {}", change["spec"]["replicas"].as_i64().map_or("other".to_owned(), |to| to.to_string()))
        }
        Step::DeleteSet(set) => format!("delete {}", set.spec.template.spec.version.as_deref().unwrap()),
        Step::Release => "release".to_owned(),
    };
    steps.iter().map(name).collect()
}

#[test]
fn machines_are_replaced_one_at_a_time() {
    let old = deployment(3, "v1", json!({}));
    let new = || deployment(3, "v2", json!({}));
    let more = deployment(5, "v1", json!({}));
    let quick = deployment(3, "v2", json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}}));
    for (why, deployment, sets, expected) in [
        ("the first set", old.clone(), vec![], vec!["create 3 of v1"]),
        ("rest", old.clone(), vec![set(&old, 1, 3, 3)], vec![]),
        ("more machines", more, vec![set(&old, 1, 3, 3)], vec!["v1 5"]),
        ("a new template", new(), vec![set(&old, 1, 3, 3)], vec!["create 1 of v2"]),
        ("the new one is awaited", new(), vec![set(&old, 1, 3, 3), set(&new(), 2, 1, 0)], vec!["change"]),
        ("an old one goes", new(), vec![set(&old, 1, 3, 3), set(&new(), 2, 1, 1)], vec!["change", "v1 2"]),
        ("a new one comes", new(), vec![set(&old, 1, 2, 2), set(&new(), 2, 1, 1)], vec!["change", "v2 2"]),
        ("two at a time", quick, vec![set(&old, 1, 3, 3), set(&new(), 2, 0, 0)], vec!["change", "v1 1"]),
        ("the last set is kept", new(), vec![set(&old, 1, 0, 0), set(&new(), 2, 3, 3)], vec!["change"]),
    ] {
        assert_eq!(named(&plan(&observed(deployment, sets)).steps), expected, "{why}");
    }
}

/// The same set while one of its machines more than it should have is still there.
fn with_one_going(set: Arc<MachineSet>) -> Arc<MachineSet> {
    let mut set = (*set).clone();
    set.status.as_mut().unwrap().replicas += 1;
    Arc::new(set)
}

#[test]
fn machines_that_go_take_the_room_of_those_that_come() {
    let old = deployment(3, "v1", json!({}));
    let new = || deployment(3, "v2", json!({}));
    let wide = || deployment(3, "v2", json!({"strategy": {"rollingUpdate": {"maxSurge": 2}}}));
    for (why, deployment, sets, expected) in [
        (
            "no room before it is gone",
            new(),
            vec![with_one_going(set(&old, 1, 2, 2)), set(&new(), 2, 1, 1)],
            vec!["change"],
        ),
        (
            "room for one",
            wide(),
            vec![with_one_going(set(&old, 1, 2, 2)), set(&new(), 2, 1, 1)],
            vec!["change", "v2 2"],
        ),
        ("no first one either", new(), vec![with_one_going(set(&old, 1, 3, 3))], vec!["create 0 of v2"]),
    ] {
        assert_eq!(named(&plan(&observed(deployment, sets)).steps), expected, "{why}");
    }
}

#[test]
fn replacing_can_be_left_to_people() {
    let old = deployment(3, "v1", json!({}));
    let new = || deployment(3, "v2", json!({"strategy": {"type": "OnDelete"}}));
    let less = deployment(1, "v2", json!({"strategy": {"type": "OnDelete"}}));
    let more = deployment(5, "v2", json!({"strategy": {"type": "OnDelete"}}));
    let shrunk = || with_one_going(set(&old, 1, 2, 2));
    for (why, deployment, sets, going, expected) in [
        ("a set that waits", new(), vec![set(&old, 1, 3, 3)], 0, vec!["create 0 of v2"]),
        ("nobody deletes", new(), vec![set(&old, 1, 3, 3), set(&new(), 2, 0, 0)], 0, vec!["change"]),
        ("one is deleted", new(), vec![set(&old, 1, 3, 3), set(&new(), 2, 0, 0)], 1, vec!["change", "v1 2"]),
        ("it is not gone", new(), vec![shrunk(), set(&new(), 2, 0, 0)], 0, vec!["change"]),
        ("it is gone", new(), vec![set(&old, 1, 2, 2), set(&new(), 2, 0, 0)], 0, vec!["change", "v2 1"]),
        ("less are wanted", less, vec![set(&old, 1, 3, 3), set(&new(), 2, 0, 0)], 0, vec!["change", "v1 1"]),
        ("more are wanted", more, vec![set(&old, 1, 3, 3), set(&new(), 2, 0, 0)], 0, vec!["change", "v2 2"]),
    ] {
        let name = sets[0].name_any();
        let known = Observed { going: [(name, going)].into(), ..observed(deployment, sets) };
        assert_eq!(named(&plan(&known).steps), expected, "{why}");
    }
}

#[test]
fn while_it_stands_still_only_the_size_changes() {
    let old = deployment(3, "v1", json!({}));
    let still = |replicas: i32| deployment(replicas, "v2", json!({"paused": true}));
    let both = || vec![set(&old, 1, 2, 2), set(&still(3), 2, 2, 2)];
    for (why, deployment, sets, expected) in [
        ("no new set", still(3), vec![set(&old, 1, 3, 3)], vec![]),
        ("more of the old ones", still(5), vec![set(&old, 1, 3, 3)], vec!["v1 5"]),
        ("both stay", still(3), both(), vec![]),
        ("both grow", still(7), both(), vec!["v1 4", "v2 4"]),
        ("both go", still(0), both(), vec!["v1 0", "v2 0"]),
    ] {
        assert_eq!(named(&plan(&observed(deployment, sets)).steps), expected, "{why}");
    }
}

#[test]
fn what_can_change_in_place_replaces_nobody() {
    let before = deployment(1, "v1", json!({}));
    let mut after = before.clone();
    after.spec.min_ready_seconds = 5;
    after.spec.template.spec.node_drain_timeout = Some("5m".into());
    after.spec.template.metadata.as_mut().unwrap().labels.insert("a".into(), "b".into());
    let steps = plan(&observed(after, vec![set(&before, 1, 1, 1)])).steps;
    let [Step::ChangeSet(_, change)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(
        *change,
        json!({"spec": {"minReadySeconds": 5, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"nodeDrainTimeout": "5m"}}}})
    );
}

#[test]
fn what_the_seeds_leave_out_is_filled_in() {
    let bare: MachineDeployment = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "d"},
        "spec": {"clusterName": "c", "replicas": 3, "template": {"spec": {"clusterName": "c", "infrastructureRef": {}}}},
    }))
    .unwrap();
    let own = json!({labels::CLUSTER_NAME: "c", labels::DEPLOYMENT_NAME: "d"});
    let steps = plan(&observed(bare, vec![])).steps;
    let [Step::Change(change)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(change["spec"], json!({"selector": {"matchLabels": own}, "template": {"metadata": {"labels": own}}}));
    assert_eq!(change["metadata"]["finalizers"], json!([MACHINE_DEPLOYMENT]));
}

#[test]
fn counts_and_phases_are_told() {
    let old = deployment(3, "v1", json!({}));
    for (sets, phase, updated, unavailable) in [
        (vec![set(&old, 1, 3, 1)], "ScalingUp", 3, 2),
        (vec![set(&old, 1, 3, 3)], "Running", 3, 0),
        (vec![set(&old, 1, 4, 4)], "ScalingDown", 4, 0),
        (vec![set(&deployment(3, "v0", json!({})), 1, 3, 3)], "Running", 0, 0),
    ] {
        let status = plan(&observed(old.clone(), sets)).status.unwrap();
        assert_eq!(status.phase.as_deref(), Some(phase));
        assert_eq!((status.updated_replicas, status.unavailable_replicas), (updated, unavailable), "{phase}");
        assert_eq!(
            status.selector.as_deref(),
            Some("cluster.x-k8s.io/cluster-name=c,cluster.x-k8s.io/deployment-name=d")
        );
    }
}
