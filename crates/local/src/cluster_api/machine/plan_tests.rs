use super::*;

fn machine(spec: Value, status: Value) -> Machine {
    let mut object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "m", "namespace": "n", "uid": "1", "finalizers": [MACHINE],
            "labels": {labels::CLUSTER_NAME: "c"},
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "name": "s", "uid": "2", "controller": true}]},
        "spec": {"clusterName": "c", "bootstrap": {"configRef": {"name": "m"}}, "infrastructureRef": {"name": "m"}},
        "status": status,
    });
    for (name, value) in spec.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

fn templates() -> Templates {
    let named = |name: &str| Some(ObjectReference { name: Some(name.to_owned()), ..ObjectReference::default() });
    Templates { bootstrap: named("boots"), infrastructure: named("metal") }
}

fn cluster(leaving: bool) -> Cluster {
    let mut object = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "n", "uid": "3"}, "spec": {}});
    if leaving {
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    serde_json::from_value(object).unwrap()
}

fn external(kind: &str, spec: Value, status: Value) -> Option<Arc<DynamicObject>> {
    let object = json!({"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "m", "uid": kind}, "spec": spec, "status": status});
    Some(Arc::new(serde_json::from_value(object).unwrap()))
}

fn node(ready: &str) -> Option<Arc<Node>> {
    let object = json!({"metadata": {"name": "m", "uid": "4"}, "spec": {"providerID": "p"},
        "status": {"conditions": [{"type": "Ready", "status": ready}]}});
    Some(Arc::new(serde_json::from_value(object).unwrap()))
}

fn observed(machine: Machine) -> Observed {
    Observed {
        machine: Arc::new(machine),
        cluster: Some(Arc::new(cluster(false))),
        templates: templates(),
        bootstrap: None,
        infrastructure: None,
        node: None,
        now: "2026-01-01T00:01:00Z".parse().unwrap(),
    }
}

fn named(steps: &[Step]) -> Vec<String> {
    let name = |step: &Step| match step {
        Step::Change(change) => format!("change {change}"),
        Step::Clone { template, name } => format!("clone {} as {name}", template.name.as_deref().unwrap()),
        Step::Own(object) => format!("own {}", object.types.as_ref().unwrap().kind),
        Step::MarkNode(..) => "mark".into(),
        Step::Drain(_) => "drain".into(),
        Step::Delete(object) => format!("delete {}", object.types.as_ref().unwrap().kind),
        Step::DeleteNode(name) => format!("delete node {name}"),
        Step::Release => "release".into(),
    };
    steps.iter().map(name).collect()
}

#[test]
fn a_machine_comes_to_life() {
    let provided = json!({"providerID": "p", "bootstrap": {"configRef": {"name": "m"}, "dataSecretName": "d"}});
    let booted = json!({"bootstrap": {"configRef": {"name": "m"}, "dataSecretName": "d"}});
    let ready = || {
        external(
            "Infra",
            json!({"providerID": "p"}),
            json!({"ready": true, "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}),
        )
    };
    let config = || external("Config", json!({}), json!({"dataSecretName": "d"}));
    for (why, spec, bootstrap, infrastructure, node, steps, phase) in [
        ("it is asked for", json!({}), None, None, None, vec!["clone boots as m", "clone metal as m"], "Pending"),
        (
            "both are its own",
            json!({}),
            external("Config", json!({}), json!({})),
            external("Infra", json!({}), json!({})),
            None,
            vec!["own Config", "own Infra"],
            "Pending",
        ),
        (
            "what it boots is there",
            json!({}),
            config(),
            external("Infra", json!({}), json!({})),
            None,
            vec!["own Config", "own Infra", "change {\"spec\":{\"bootstrap\":{\"dataSecretName\":\"d\"}}}"],
            "Pending",
        ),
        (
            "it is made",
            booted.clone(),
            config(),
            external("Infra", json!({}), json!({})),
            None,
            vec!["own Config", "own Infra"],
            "Provisioning",
        ),
        (
            "it has an id",
            booted,
            config(),
            ready(),
            None,
            vec!["own Config", "own Infra", "change {\"spec\":{\"providerID\":\"p\"}}"],
            "Provisioning",
        ),
        ("it runs", provided.clone(), config(), ready(), None, vec!["own Config", "own Infra"], "Provisioned"),
        (
            "its node joined",
            provided,
            config(),
            ready(),
            super::tests::node("True"),
            vec!["own Config", "own Infra", "mark"],
            "Running",
        ),
    ] {
        let known = Observed { bootstrap, infrastructure, node, ..observed(machine(spec, json!({}))) };
        let plan = plan(&known);
        assert_eq!(named(&plan.steps), steps, "{why}");
        assert_eq!(plan.status.unwrap().phase.as_deref(), Some(phase), "{why}");
    }
}

#[test]
fn a_machine_goes_step_by_step() {
    let status = json!({"infrastructureReady": true, "nodeRef": {"name": "m"}});
    let leaving = |spec: Value, status: Value| {
        let mut machine = machine(spec, status);
        machine.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
        observed(machine)
    };
    let done =
        json!({"nodeRef": {"name": "m"}, "conditions": [{"type": conditions::DRAINING_SUCCEEDED, "status": "True"}]});
    let begun = json!({"nodeRef": {"name": "m"}, "deletion": {"nodeDrainStartTime": "2026-01-01T00:00:00Z"}});
    let infra = || external("Infra", json!({}), json!({}));
    let config = || external("Config", json!({}), json!({}));
    let timeout = |text: &str| json!({"nodeDrainTimeout": text});
    for (why, spec, status, infrastructure, bootstrap, node, cluster_leaves, steps) in [
        ("its node is emptied", json!({}), status.clone(), infra(), config(), node("True"), false, vec!["drain"]),
        ("there is time left", timeout("5m"), begun.clone(), infra(), config(), node("True"), false, vec!["drain"]),
        ("there is none left", timeout("30s"), begun, infra(), config(), node("True"), false, vec!["delete Infra"]),
        ("all goes", json!({}), status.clone(), infra(), config(), node("True"), true, vec!["delete Infra"]),
        ("it is empty", json!({}), done.clone(), infra(), config(), node("True"), false, vec!["delete Infra"]),
        ("it never joined", json!({}), json!({}), infra(), config(), None, false, vec!["delete Infra"]),
        ("it is off", json!({}), done.clone(), None, config(), node("True"), false, vec!["delete Config"]),
        (
            "only its node is left",
            json!({}),
            done,
            None,
            None,
            node("Unknown"),
            false,
            vec!["delete node m", "release"],
        ),
        ("nobody will miss the node", json!({}), status, None, None, None, true, vec!["release"]),
    ] {
        let known = Observed {
            infrastructure,
            bootstrap,
            node,
            cluster: Some(Arc::new(cluster(cluster_leaves))),
            ..leaving(spec, status)
        };
        let plan = plan(&known);
        assert_eq!(named(&plan.steps), steps, "{why}");
        let status = plan.status.unwrap();
        assert_eq!(status.phase.as_deref(), Some("Deleting"));
        let ready = status.conditions.iter().find(|known| known.type_ == conditions::READY).unwrap();
        let told = (ready.reason.as_deref(), ready.message.as_deref());
        assert_eq!(told, (Some("Deleting"), Some("it is being removed")), "{why}");
        if steps == ["drain"] {
            assert!(status.deletion.is_some_and(|deletion| deletion.node_drain_start_time.is_some()), "{why}");
            assert!(Condition::holds(&drained(&known, None).conditions, conditions::DRAINING_SUCCEEDED), "{why}");
            let waiting = drained(&known, Some("n/p must stay")).conditions;
            let told = waiting.iter().find(|known| known.type_ == conditions::DRAINING_SUCCEEDED);
            assert_eq!(told.and_then(|told| told.message.as_deref()), Some("n/p must stay"), "{why}");
        }
    }
}

#[test]
fn others_can_hold_a_machine_and_its_volumes_are_waited_for() {
    let drained =
        json!({"nodeRef": {"name": "m"}, "conditions": [{"type": conditions::DRAINING_SUCCEEDED, "status": "True"}]});
    let detaching = json!({"nodeRef": {"name": "m"}, "conditions": [{"type": conditions::DRAINING_SUCCEEDED, "status": "True"}],
        "deletion": {"waitForNodeVolumeDetachStartTime": "2026-01-01T00:00:00Z"}});
    let with_volume = |ready: &str| {
        let mut node = (*node(ready).unwrap()).clone();
        node.status.as_mut().unwrap().volumes_attached =
            Some(vec![k8s_openapi::api::core::v1::AttachedVolume { name: "disk".into(), device_path: "d".into() }]);
        Some(Arc::new(node))
    };
    let before_drain = || vec![format!("{}/backup", annotations::PRE_DRAIN_HOOK)];
    let before_end = || vec![format!("{}/storage", annotations::PRE_TERMINATE_HOOK)];
    let excluded = || vec![annotations::EXCLUDE_VOLUME_DETACH.to_owned()];
    let limit = json!({"nodeVolumeDetachTimeout": "30s"});
    let waits = |type_: &'static str| (Vec::<&str>::new(), Some(type_));
    let ends = (vec!["delete Infra"], None);
    for (why, spec, status, marks, node, cluster_leaves, (steps, waiting)) in [
        (
            "held before",
            json!({}),
            json!({}),
            before_drain(),
            node("True"),
            false,
            waits(conditions::PRE_DRAIN_HOOK_SUCCEEDED),
        ),
        ("not for a cluster that goes", json!({}), json!({}), before_drain(), node("True"), true, ends.clone()),
        (
            "volumes",
            json!({}),
            drained.clone(),
            vec![],
            with_volume("True"),
            false,
            waits(conditions::VOLUME_DETACH_SUCCEEDED),
        ),
        ("volumes of a silent node", json!({}), drained.clone(), vec![], with_volume("Unknown"), false, ends.clone()),
        ("volumes nobody waits for", json!({}), drained.clone(), excluded(), with_volume("True"), false, ends.clone()),
        ("for long enough", limit, detaching, vec![], with_volume("True"), false, ends.clone()),
        (
            "held after",
            json!({}),
            drained.clone(),
            before_end(),
            node("True"),
            false,
            waits(conditions::PRE_TERMINATE_HOOK_SUCCEEDED),
        ),
        (
            "held as the cluster goes",
            json!({}),
            drained,
            before_end(),
            node("True"),
            true,
            waits(conditions::PRE_TERMINATE_HOOK_SUCCEEDED),
        ),
    ] {
        let mut machine = machine(spec, status);
        machine.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
        machine.metadata.annotations = Some(marks.into_iter().map(|mark| (mark, "me".to_owned())).collect());
        let known = Observed {
            infrastructure: external("Infra", json!({}), json!({})),
            node,
            cluster: Some(Arc::new(cluster(cluster_leaves))),
            ..observed(machine)
        };
        let plan = plan(&known);
        assert_eq!(named(&plan.steps), steps, "{why}");
        let own = [
            conditions::PRE_DRAIN_HOOK_SUCCEEDED,
            conditions::VOLUME_DETACH_SUCCEEDED,
            conditions::PRE_TERMINATE_HOOK_SUCCEEDED,
        ];
        let status = plan.status.unwrap();
        let told = status.conditions.iter().filter(|known| own.contains(&known.type_.as_str()));
        let told: Vec<_> = told.map(|known| (known.type_.as_str(), known.message.is_some())).collect();
        assert_eq!(told, waiting.map(|type_| (type_, true)).into_iter().collect::<Vec<_>>(), "{why}");
    }
}

#[test]
fn a_node_that_joined_at_the_last_moment_goes_too() {
    let mut machine = machine(json!({"providerID": "p"}), json!({}));
    machine.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
    let known = Observed { node: node("True"), ..observed(machine) };
    assert_eq!(named(&plan(&known).steps), ["delete node m", "release"]);
}

#[test]
fn what_is_lost_or_broken_has_failed() {
    let lost = observed(machine(json!({"providerID": "p"}), json!({"infrastructureReady": true})));
    let broken = Observed {
        infrastructure: external("Infra", json!({}), json!({"failureReason": "NoQuota", "failureMessage": "full"})),
        ..observed(machine(json!({}), json!({})))
    };
    for (known, reason) in [(lost, "InvalidConfiguration"), (broken, "NoQuota")] {
        let status = plan(&known).status.unwrap();
        assert_eq!((status.phase.as_deref(), status.failure_reason.as_deref()), (Some("Failed"), Some(reason)));
    }
}

#[test]
fn nodes_get_the_labels_meant_for_them() {
    let mut machine = machine(json!({}), json!({}));
    for name in ["node-role.kubernetes.io/worker", "team.node-restriction.kubernetes.io/x", "other.io/y"] {
        machine.metadata.labels.as_mut().unwrap().insert(name.into(), "v".into());
    }
    let change = marks(&machine, &node("True").unwrap()).unwrap();
    assert_eq!(
        change["metadata"]["labels"],
        json!({"node-role.kubernetes.io/worker": "v", "team.node-restriction.kubernetes.io/x": "v"})
    );
    assert_eq!(change["metadata"]["annotations"][annotations::NODE_OWNER_NAME], "s");
}
