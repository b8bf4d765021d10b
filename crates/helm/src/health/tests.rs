use serde_json::{Value as Json, json};

use super::*;

fn object(api_version: &str, kind: &str, rest: Json) -> Json {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "generation": 2}});
    let (Json::Object(fields), Json::Object(rest)) = (&mut object, rest) else { return Json::Null };
    fields.extend(rest);
    object
}

fn waiting(what: &str) -> Health {
    Health::InProgress(what.to_owned())
}

fn failed(why: &str) -> Health {
    Health::Failed(why.to_owned())
}

fn condition(name: &str, status: &str, reason: &str, message: &str) -> Json {
    json!({"type": name, "status": status, "reason": reason, "message": message})
}

#[test]
fn any_object() {
    let conditions = |list: Json| json!({"status": {"conditions": list}});
    for (rest, expected) in [
        (json!({}), Health::Current),
        (json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}), Health::Terminating),
        (json!({"status": {"observedGeneration": 2}}), Health::Current),
        (json!({"status": {"observedGeneration": 1}}), waiting("generation 2 is not seen yet, only 1")),
        (conditions(json!([condition("Ready", "True", "", "")])), Health::Current),
        (conditions(json!([condition("Ready", "False", "Slow", "not yet")])), waiting("not yet")),
        (conditions(json!([condition("Ready", "Unknown", "Slow", "")])), waiting("Slow")),
        (conditions(json!([condition("Reconciling", "True", "", "at work")])), waiting("at work")),
        (conditions(json!([condition("Stalled", "True", "", "no disk")])), failed("no disk")),
        (conditions(json!([condition("Other", "False", "", "x")])), Health::Current),
    ] {
        assert_eq!(health(&object("shop.example.com/v1", "Bell", rest.clone())), expected, "{rest}");
    }
}

#[test]
fn deployments() {
    let done =
        json!([condition("Progressing", "True", "NewReplicaSetAvailable", ""), condition("Available", "True", "", "")]);
    let status = |total, updated, available, ready, conditions: &Json| {
        json!({
            "spec": {"replicas": 2, "progressDeadlineSeconds": 600},
            "status": {"observedGeneration": 2, "replicas": total, "updatedReplicas": updated,
                       "availableReplicas": available, "readyReplicas": ready, "conditions": conditions},
        })
    };
    let late = json!([condition("Progressing", "False", "ProgressDeadlineExceeded", "it took too long")]);
    let going = json!([condition("Progressing", "True", "ReplicaSetUpdated", "")]);
    for (rest, expected) in [
        (json!({"spec": {}}), waiting("0 of 1 pods are there")),
        (status(1, 1, 1, 1, &done), waiting("1 of 2 pods are there")),
        (status(2, 1, 1, 1, &done), waiting("1 of 2 pods are up to date")),
        (status(3, 2, 2, 2, &done), waiting("1 pod is still to go")),
        (status(2, 2, 1, 1, &done), waiting("1 of 2 pods are available")),
        (status(2, 2, 2, 1, &done), waiting("1 of 2 pods are ready")),
        (status(2, 2, 2, 2, &going), waiting("its new ReplicaSet is not available yet")),
        (status(2, 0, 0, 0, &late), failed("it took too long")),
        (status(2, 2, 2, 2, &done), Health::Current),
    ] {
        assert_eq!(health(&object("apps/v1", "Deployment", rest.clone())), expected, "{rest}");
    }
}

#[test]
fn stateful_sets() {
    let status = |total, ready, current, revision: &str| {
        json!({
            "spec": {"replicas": 2},
            "status": {"replicas": total, "readyReplicas": ready, "currentReplicas": current,
                       "currentRevision": "a", "updateRevision": revision},
        })
    };
    let partition = |updated| {
        json!({
            "spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 1}}},
            "status": {"replicas": 3, "readyReplicas": 3, "updatedReplicas": updated},
        })
    };
    for (rest, expected) in [
        (status(1, 1, 1, "a"), waiting("1 of 2 pods are there")),
        (status(2, 1, 2, "a"), waiting("1 of 2 pods are ready")),
        (status(3, 3, 2, "a"), waiting("1 pod is still to go")),
        (status(2, 2, 1, "b"), waiting("1 of 2 pods are up to date")),
        (status(2, 2, 2, "b"), waiting("pods of an older revision are still to be replaced")),
        (status(2, 2, 2, "a"), Health::Current),
        (partition(1), waiting("1 of 2 pods are up to date")),
        (partition(2), Health::Current),
        (json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}), Health::Current),
    ] {
        assert_eq!(health(&object("apps/v1", "StatefulSet", rest.clone())), expected, "{rest}");
    }
}

#[test]
fn daemon_sets_and_replica_sets() {
    let daemons = |scheduled, updated, available, ready| {
        json!({"status": {"observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": scheduled,
                          "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": ready}})
    };
    for (rest, expected) in [
        (json!({}), waiting("nobody has counted its nodes yet")),
        (json!({"status": {"desiredNumberScheduled": 0}}), waiting("nobody has seen it yet")),
        (daemons(1, 2, 2, 2), waiting("1 of 2 pods are scheduled")),
        (daemons(2, 1, 2, 2), waiting("1 of 2 pods are up to date")),
        (daemons(2, 2, 1, 2), waiting("1 of 2 pods are available")),
        (daemons(2, 2, 2, 1), waiting("1 of 2 pods are ready")),
        (daemons(2, 2, 2, 2), Health::Current),
    ] {
        assert_eq!(health(&object("apps/v1", "DaemonSet", rest.clone())), expected, "{rest}");
    }
    let replicas = |labelled, available, ready, total| json!({"status": {"fullyLabeledReplicas": labelled, "availableReplicas": available, "readyReplicas": ready, "replicas": total}});
    let quota = json!({"status": {"conditions": [condition("ReplicaFailure", "True", "", "quota")]}});
    for (rest, expected) in [
        (quota, waiting("quota")),
        (replicas(0, 1, 1, 1), waiting("0 of 1 pods are labelled")),
        (replicas(1, 0, 1, 1), waiting("0 of 1 pods are available")),
        (replicas(1, 1, 0, 1), waiting("0 of 1 pods are ready")),
        (replicas(2, 2, 2, 2), waiting("1 pod is still to go")),
        (replicas(1, 1, 1, 1), Health::Current),
    ] {
        assert_eq!(health(&object("apps/v1", "ReplicaSet", rest.clone())), expected, "{rest}");
    }
}

#[test]
fn pods() {
    let crashing = json!([{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    let ended = json!([{"name": "c", "state": {"terminated": {"exitCode": 3}}}]);
    let ready = json!([condition("Ready", "True", "", "")]);
    let unscheduled = json!([condition("PodScheduled", "False", "Unschedulable", "no nodes")]);
    for (status, expected, end) in [
        (json!({}), waiting("it does not run yet"), None),
        (json!({"phase": "Pending", "conditions": unscheduled}), waiting("no nodes"), None),
        (json!({"phase": "Running"}), waiting("it has no condition Ready yet"), None),
        (json!({"phase": "Running", "conditions": ready}), Health::Current, None),
        (
            json!({"phase": "Running", "containerStatuses": crashing}),
            failed("container c crashes again and again"),
            None,
        ),
        (json!({"phase": "Succeeded"}), Health::Current, Some(Ok(()))),
        (
            json!({"phase": "Failed", "containerStatuses": ended}),
            failed("container c ended with exit code 3"),
            Some(Err("container c ended with exit code 3".to_owned())),
        ),
        (json!({"phase": "Failed", "message": "evicted"}), failed("evicted"), Some(Err("evicted".to_owned()))),
    ] {
        let pod = object("v1", "Pod", json!({"status": status}));
        assert_eq!((health(&pod), completion(&pod)), (expected, end), "{status}");
    }
}

#[test]
fn jobs() {
    let conditions = |kind: &str| json!({"startTime": "x", "conditions": [condition(kind, "True", "Because", "")]});
    for (status, expected, end) in [
        (json!({}), waiting("it has not started yet"), None),
        (json!({"startTime": "x"}), Health::Current, None),
        (conditions("Complete"), Health::Current, Some(Ok(()))),
        (conditions("Failed"), failed("Because"), Some(Err("Because".to_owned()))),
        (conditions("Suspended"), Health::Current, None),
    ] {
        let job = object("batch/v1", "Job", json!({"status": status}));
        assert_eq!((health(&job), completion(&job)), (expected, end), "{status}");
    }
}

#[test]
fn other_kinds() {
    let conditions = |list: Json| json!({"status": {"conditions": list}});
    for (api_version, kind, rest, expected) in [
        ("v1", "ConfigMap", json!({}), Health::Current),
        ("v1", "PersistentVolumeClaim", json!({}), waiting("it has no phase yet")),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"status": {"phase": "Pending"}}),
            waiting("its phase is Pending, not Bound"),
        ),
        ("v1", "PersistentVolumeClaim", json!({"status": {"phase": "Bound"}}), Health::Current),
        ("v1", "Namespace", json!({"status": {"phase": "Active"}}), Health::Current),
        ("v1", "Service", json!({"spec": {"type": "LoadBalancer"}}), waiting("it has no address yet")),
        ("v1", "Service", json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}}), Health::Current),
        ("v1", "Service", json!({"spec": {"type": "ExternalName"}}), Health::Current),
        ("policy/v1", "PodDisruptionBudget", json!({"status": {"observedGeneration": 2}}), Health::Current),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            conditions(json!([condition("NamesAccepted", "False", "", "taken")])),
            failed("taken"),
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            conditions(json!([condition("NamesAccepted", "True", "", "")])),
            waiting("it has no condition Established yet"),
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            conditions(json!([condition("Established", "True", "", "")])),
            Health::Current,
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            conditions(json!([condition("Available", "False", "", "no endpoints")])),
            waiting("no endpoints"),
        ),
    ] {
        assert_eq!(health(&object(api_version, kind, rest.clone())), expected, "{kind} {rest}");
    }
}
