//! Killed at any request, before or after it reached the API: the next call finishes the work, and the end is the same.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use helm::action::{ActionError, Actions};
use helm::chart::Chart;
use helm::release::{Release, Status};
use kube::Client;
use kube::api::DynamicObject;
use kube::runtime::watcher;
use serde_json::Value;

use crate::common::charts;
use crate::side::{RELEASE, Side, Unpacked, act, actions, comparable_in, kind, read, without_times};

const CHART: &str = "\
==== crash
-- templates/objects.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {word: \"{{ .Values.word }}\"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: \"only-{{ .Values.word }}\"}
data: {a: b}
-- templates/hooks.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: before, annotations: {helm.sh/hook: \"pre-install,pre-upgrade,pre-rollback,pre-delete\", helm.sh/hook-delete-policy: \"before-hook-creation,hook-succeeded\"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: after, annotations: {helm.sh/hook: \"post-install,post-upgrade,post-rollback\"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
-- values.yaml --
word: a
";

/// A subchart defines a kind, in a group of its own for each namespace. Records have no subcharts.
const DEFINING: &str = "\
==== defining
-- templates/bell.yaml --
apiVersion: {{ .Release.Namespace }}.example.com/v1
kind: Bell
metadata: {name: bell}
spec: {loud: true}
-- charts/sub/Chart.yaml --
apiVersion: v2
name: sub
version: 1.0.0
-- charts/sub/crds/bells.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bells.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: Bell, plural: bells, singular: bell, listKind: BellList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

/// Whether the request that is cut reaches the API.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    Before,
    After,
}

/// A client that fails from a request on, for ever.
fn cut(client: &Client, at: usize, cut: Cut, sent: &Arc<AtomicUsize>) -> Client {
    let (client, sent) = (client.clone(), sent.clone());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, sent) = (client.clone(), sent.clone());
        async move {
            let number = sent.fetch_add(1, Ordering::SeqCst);
            if number < at {
                return client.send(request).await.map_err(std::io::Error::other);
            }
            if number == at && cut == Cut::After {
                let _ = client.send(request).await;
            }
            Err(std::io::Error::other("killed"))
        }
    });
    Client::new(service, "default")
}

/// Whether a release is what a step was to make of it.
fn is_done(last: Option<&Release>, step: &str, chart: &Chart) -> bool {
    let (verb, values, revision, _) = read(step, "");
    match (verb, last) {
        ("uninstall", last) => last.is_none(),
        (_, None) => false,
        (_, Some(last)) if last.info.status != Status::Deployed => false,
        ("rollback", Some(last)) => last.info.description == format!("Rollback to {}", revision.unwrap_or_default()),
        (_, Some(last)) => last.is_of(chart, &values),
    }
}

/// What is there in the end: objects and history.
async fn end(side: &Side, namespace: &str) -> (Vec<Value>, Vec<Value>) {
    let objects = comparable_in(side, namespace).await;
    let history = side.actions().history(namespace, RELEASE).await.unwrap();
    let history = history.iter().map(|release| without_times(serde_json::to_value(release).unwrap()));
    let unnamed =
        |value: Value| -> Value { serde_json::from_str(&value.to_string().replace(namespace, "NS")).unwrap() };
    (objects.into_iter().map(unnamed).collect(), history.map(unnamed).collect())
}

/// Takes a step with a client that is cut, and then as a controller would with a new one.
async fn interrupted(side: &Side, chart: &Chart, namespace: &str, step: &str, at: usize, how: Cut) -> usize {
    let sent = Arc::new(AtomicUsize::new(0));
    let dying: Actions = actions(cut(&side.client, at, how, &sent));
    let _ = act(&dying, chart, namespace, step).await;
    let alive = side.actions();
    let (_, _, _, options) = read(step, namespace);
    alive.settle(RELEASE, &options).await.unwrap_or_else(|error| panic!("{step}: cut {how:?} {at}: {error}"));
    let last = alive.history(namespace, RELEASE).await.unwrap().pop();
    if !is_done(last.as_ref(), step, chart) {
        act(&alive, chart, namespace, step).await.unwrap_or_else(|error| panic!("{step}: cut {how:?} {at}: {error}"));
    }
    sent.load(Ordering::SeqCst)
}

async fn every_cut(side: &Side, text: &str, before: &[&str], step: &str) {
    let verb = step.split_whitespace().next().unwrap();
    let prepare = async |namespace: &str| {
        let chart = Unpacked::new(&charts(&text.replace("NAMESPACE", namespace))[0]).chart;
        for step in before {
            act(&side.actions(), &chart, namespace, step).await.unwrap();
        }
        chart
    };
    let namespace = format!("{verb}-whole");
    let chart = prepare(&namespace).await;
    let requests = interrupted(side, &chart, &namespace, step, usize::MAX, Cut::Before).await;
    let expected = end(side, &namespace).await;
    assert!(requests > 10, "{step} takes {} requests only", requests);
    // That a request arrived and its answer did not is, for all but the last, as if the next had not arrived.
    let cuts = (0..requests).map(|at| (at, Cut::Before)).chain([(requests - 1, Cut::After)]);
    let runs = cuts.map(|(at, how)| {
        let (expected, prepare) = (&expected, &prepare);
        async move {
            let namespace = format!("{verb}-{}-{at}", if how == Cut::Before { "b" } else { "a" });
            let chart = prepare(&namespace).await;
            interrupted(side, &chart, &namespace, step, at, how).await;
            assert_eq!(end(side, &namespace).await, *expected, "{step}: cut {how:?} request {at}");
        }
    });
    futures::stream::iter(runs).buffer_unordered(4).collect::<Vec<()>>().await;
}

/// Every Job that was ever made, as `namespace/name`, once for each.
async fn jobs(client: Client, seen: Arc<Mutex<BTreeSet<(String, String)>>>) {
    let api: kube::Api<DynamicObject> = kube::Api::all_with(client, &kind("batch", "Job", "jobs"));
    let mut changes = Box::pin(watcher(api, watcher::Config::default()));
    while let Some(change) = changes.next().await {
        if let Ok(watcher::Event::Apply(job) | watcher::Event::InitApply(job)) = change {
            let name =
                format!("{}/{}", job.metadata.namespace.unwrap_or_default(), job.metadata.name.unwrap_or_default());
            seen.lock().unwrap().insert((name, job.metadata.uid.unwrap_or_default()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_killed_is_finished() {
    let side = Side::start().await;
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let watching = tokio::spawn(jobs(side.client.clone(), seen.clone()));
    for (before, step) in [
        (&[][..], "install"),
        (&["install"], "upgrade --set word=b"),
        (&["install", "upgrade --set word=b"], "rollback 1"),
        (&["install"], "uninstall"),
    ] {
        every_cut(&side, CHART, before, step).await;
        // No hook ran twice in an action, whatever happened to it.
        let seen = seen.lock().unwrap();
        for name in ["before", "after"] {
            let runs = |namespace: &str| seen.iter().filter(|(job, _)| *job == format!("{namespace}/{name}")).count();
            let verb = step.split_whitespace().next().unwrap();
            let spaces: BTreeSet<&str> = seen.iter().filter_map(|(job, _)| job.split('/').next()).collect();
            let whole = runs(&format!("{verb}-whole"));
            for namespace in spaces.into_iter().filter(|namespace| namespace.starts_with(&format!("{verb}-"))) {
                assert_eq!(runs(namespace), whole, "{namespace}/{name}");
            }
        }
    }
    watching.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_are_installed_whatever_is_killed() {
    let side = Side::start().await;
    every_cut(&side, DEFINING, &[], "install").await;
}

/// A workload whose shape is the chart's, until a value spoils it.
const SPOILED: &str = "\
==== spoiled
-- templates/objects.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {word: \"{{ .Values.resources }}\"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i, resources: {{ toJson .Values.resources }}}]}
-- values.yaml --
resources: {}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_is_taken_back_whatever_is_killed() {
    let side = Side::start().await;
    let step = "upgrade --atomic --set resources=banana";
    for at in 0.. {
        let namespace = format!("refused-{at}");
        let chart = Unpacked::new(&charts(SPOILED)[0]).chart;
        act(&side.actions(), &chart, &namespace, "install").await.unwrap();
        let before = comparable_in(&side, &namespace).await;
        let sent = Arc::new(AtomicUsize::new(0));
        let first = act(&actions(cut(&side.client, at, Cut::Before, &sent)), &chart, &namespace, step).await;
        let is_over = sent.load(Ordering::SeqCst) <= at;
        let told = if is_over { first } else { act(&side.actions(), &chart, &namespace, step).await }.unwrap_err();
        assert_eq!((told.reason(), told.is_final()), ("Refused", true), "cut {at}: {told}");
        assert_eq!(told.refused_fields(), ["spec.template.spec.containers[name=\"c\"].resources"]);
        let index = side.actions().records(&namespace).index(RELEASE).await.unwrap();
        assert!(index.iter().all(|(_, status)| !status.is_pending()), "cut {at}: {index:?}");
        assert_eq!(index.last().map(|(_, status)| *status), Some(Status::Deployed), "cut {at}: {index:?}");
        assert_eq!(comparable_in(&side, &namespace).await, before, "cut {at}");
        if is_over {
            assert!(at > 20, "an upgrade that is taken back takes {at} requests only");
            return;
        }
    }
}

/// Once it is immutable, there is no way back.
const STUBBORN: &str = "\
==== stubborn
-- templates/objects.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
immutable: {{ ne .Values.word \"a\" }}
data: {word: \"{{ .Values.word }}\"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: \"only-{{ .Values.word }}\"}
data: {a: b}
-- values.yaml --
word: a
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_failed_rollback_left_is_removed_whatever_is_killed() {
    let side = Side::start().await;
    for at in 0.. {
        let namespace = format!("stubborn-{at}");
        let chart = Unpacked::new(&charts(STUBBORN)[0]).chart;
        for step in ["install", "upgrade --set word=b"] {
            act(&side.actions(), &chart, &namespace, step).await.unwrap();
        }
        act(&side.actions(), &chart, &namespace, "rollback 1").await.unwrap_err();
        let index = side.actions().records(&namespace).index(RELEASE).await.unwrap();
        assert_eq!(index, [(1, Status::Superseded), (2, Status::Superseded), (3, Status::Failed)]);
        let sent = interrupted(&side, &chart, &namespace, "uninstall", at, Cut::Before).await;
        assert_eq!(end(&side, &namespace).await, (vec![], vec![]), "cut {at}");
        if sent <= at {
            assert!(at > 10, "a removal takes {at} requests only");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_are_installed_although_the_values_changed_meanwhile() {
    let side = Side::start().await;
    for at in 0.. {
        let namespace = format!("changed-{at}");
        let chart = Unpacked::new(&charts(&DEFINING.replace("NAMESPACE", &namespace))[0]).chart;
        let sent = Arc::new(AtomicUsize::new(0));
        let dying = actions(cut(&side.client, at, Cut::Before, &sent));
        if act(&dying, &chart, &namespace, "install").await.is_ok() {
            assert!(at > 10, "an install takes {at} requests only");
            return;
        }
        // As a controller does whose addon was changed.
        let wish = "--set word=b";
        let done = match act(&side.actions(), &chart, &namespace, &format!("install {wish}")).await {
            Err(ActionError::NameInUse(_)) => {
                act(&side.actions(), &chart, &namespace, &format!("upgrade {wish}")).await
            }
            other => other,
        };
        done.unwrap_or_else(|error| panic!("cut {at}: {error}"));
    }
}
