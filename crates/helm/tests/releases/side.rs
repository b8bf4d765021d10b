//! One of two sides that live the same lives: an API of its own, and somebody who acts on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conformance::embedded::EmbeddedServer;
use helm::action::{ActionError, Actions, MANAGER, Options, PriorValues};
use helm::chart::Chart;
use helm::release::Release;
use helm::values::{self, Values};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::process::Command;

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const RELEASE: &str = "rel";

/// An API with somebody who runs Jobs and Pods.
pub(crate) struct Side {
    pub(crate) client: Client,
    home: tempfile::TempDir,
    _server: EmbeddedServer,
    _runner: tokio::task::JoinSet<()>,
}

impl Side {
    pub(crate) async fn start() -> Self {
        let server = EmbeddedServer::start().await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let text = server.target.kubeconfig("admin", NAMESPACE).unwrap();
        std::fs::write(home.path().join("config"), &text).unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let mut runner = tokio::task::JoinSet::new();
        runner.spawn(run_kind(client.clone(), kind("batch", "Job", "jobs")));
        runner.spawn(run_kind(client.clone(), kind("", "Pod", "pods")));
        Self { client, home, _server: server, _runner: runner }
    }

    pub(crate) fn actions(&self) -> Actions {
        actions(self.client.clone())
    }

    /// Does a step with this crate: `upgrade --set a=b`.
    pub(crate) async fn ours(&self, chart: &Chart, step: &str) -> Result<Option<Release>, ActionError> {
        act(&self.actions(), chart, NAMESPACE, step).await
    }

    /// Does a step with real helm: what it printed, or its complaint.
    pub(crate) async fn helm(&self, program: &Path, chart: &Path, step: &str) -> Result<String, String> {
        let mut words: Vec<&str> = step.split_whitespace().collect();
        let verb = words.remove(0);
        let mut arguments = vec![verb, RELEASE];
        let chart = chart.display().to_string();
        if matches!(verb, "install" | "upgrade") {
            arguments.push(&chart);
        }
        arguments.extend(words);
        if verb == "install" {
            arguments.push("--create-namespace");
        }
        self.run(program, &arguments).await
    }

    /// Runs real helm.
    pub(crate) async fn run(&self, program: &Path, arguments: &[&str]) -> Result<String, String> {
        let home = self.home.path();
        let output = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .env("KUBECONFIG", home.join("config"))
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Everything there is, made comparable.
    pub(crate) async fn objects(&self) -> Vec<Value> {
        let mut found = Vec::new();
        for (group, name, plural) in [
            ("", "Namespace", "namespaces"),
            ("", "ConfigMap", "configmaps"),
            ("", "Secret", "secrets"),
            ("", "Service", "services"),
            ("", "ServiceAccount", "serviceaccounts"),
            ("", "Pod", "pods"),
            ("apps", "Deployment", "deployments"),
            ("batch", "Job", "jobs"),
            ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles"),
            ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings"),
            ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions"),
            ("shop.example.com", "Bell", "bells"),
            ("shop.example.com", "Whistle", "whistles"),
        ] {
            let resource = kind(group, name, plural);
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let Ok(listed) = api.list(&ListParams::default()).await else { continue };
            for item in listed.items {
                let mut object = serde_json::to_value(item).unwrap();
                object["kind"] = resource.kind.as_str().into();
                found.extend(comparable(object));
            }
        }
        found
    }

    /// The history, as far as two clocks allow.
    pub(crate) async fn history(&self) -> Vec<Value> {
        let history = self.actions().history(NAMESPACE, RELEASE).await.unwrap();
        history.iter().map(|release| serde_json::to_value(release).unwrap()).map(without_times).collect()
    }
}

pub(crate) fn actions(client: Client) -> Actions {
    Actions::new(client, MANAGER, Arc::new(jiff::Timestamp::now))
}

/// Does a step with this crate.
pub(crate) async fn act(
    actions: &Actions,
    chart: &Chart,
    namespace: &str,
    step: &str,
) -> Result<Option<Release>, ActionError> {
    let (verb, given, revision, options) = read(step, namespace);
    match verb {
        "install" => actions.install(RELEASE, chart, &given, &options).await.map(Some),
        "upgrade" => actions.upgrade(RELEASE, chart, &given, &options).await.map(Some),
        "rollback" => actions.rollback(RELEASE, revision, &options).await.map(Some),
        "test" => actions.test(RELEASE, &options).await.map(Some),
        "uninstall" => actions.uninstall(RELEASE, &options).await,
        other => panic!("no such step: {other}"),
    }
}

/// How the tests act if they have no reason to do otherwise.
pub(crate) fn options(namespace: &str) -> Options {
    Options {
        namespace: namespace.to_owned(),
        create_namespace: true,
        prior_values: PriorValues::IfNoneGiven,
        timeout: Duration::from_secs(20),
        ..Options::default()
    }
}

/// A step: its verb, values, revision and options.
pub(crate) fn read<'a>(step: &'a str, namespace: &str) -> (&'a str, Values, Option<u32>, Options) {
    let mut given = Values::new();
    let mut options = options(namespace);
    let mut words = step.split_whitespace();
    let verb = words.next().unwrap();
    let mut revision = None;
    while let Some(word) = words.next() {
        match word {
            "--set" => values::set(&mut given, words.next().unwrap()).unwrap(),
            "--set-string" => values::set_string(&mut given, words.next().unwrap()).unwrap(),
            "--atomic" => options.atomic = true,
            "--keep-history" => options.keep_history = true,
            "--reuse-values" => options.prior_values = PriorValues::Reuse,
            "--reset-values" => options.prior_values = PriorValues::Reset,
            "--reset-then-reuse-values" => options.prior_values = PriorValues::ResetThenReuse,
            number => revision = Some(number.parse().unwrap()),
        }
    }
    (verb, given, revision, options)
}

pub(crate) fn kind(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

/// Runs what is there to run: Jobs and Pods end well, unless they are called `fail`.
async fn run_kind(client: Client, kind: ApiResource) {
    use futures::StreamExt as _;
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let mut changes = Box::pin(watcher(api, watcher::Config::default()).default_backoff().applied_objects());
    while let Some(change) = changes.next().await {
        let Ok(object) = change else { continue };
        let fails = object.metadata.name.as_deref() == Some("fail");
        let status = match kind.kind.as_str() {
            "Pod" => json!({"phase": if fails { "Failed" } else { "Succeeded" }}),
            _ => {
                let at = "2030-01-01T00:00:00Z";
                let condition =
                    |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at, "reason": "Ran"});
                match fails {
                    false => json!({"startTime": at, "completionTime": at, "succeeded": 1,
                                    "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}),
                    true => json!({"startTime": at, "failed": 1,
                                   "conditions": [condition("FailureTarget"), condition("Failed")]}),
                }
            }
        };
        let has_ended =
            object.data["status"]["conditions"].is_array() || object.data["status"]["phase"] == status["phase"];
        if has_ended && (kind.kind == "Pod" || object.data["status"]["conditions"].is_array()) {
            continue;
        }
        let namespace = object.metadata.namespace.unwrap_or_default();
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
        let name = object.metadata.name.unwrap_or_default();
        // It may be deleted already.
        let _ = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await;
    }
}

/// What there is in a namespace, made comparable.
pub(crate) async fn comparable_in(side: &Side, namespace: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let bells = kind(&format!("{namespace}.example.com"), "Bell", "bells");
    let plain = [("", "ConfigMap", "configmaps"), ("apps", "Deployment", "deployments"), ("batch", "Job", "jobs")];
    let plain = plain.map(|(group, name, plural)| kind(group, name, plural));
    for resource in plain.into_iter().chain([bells]) {
        let api: Api<DynamicObject> = Api::namespaced_with(side.client.clone(), namespace, &resource);
        // Only some charts have bells.
        let Ok(listed) = api.list(&ListParams::default()).await else { continue };
        found.extend(listed.items.into_iter().filter_map(|item| comparable(serde_json::to_value(item).unwrap())));
    }
    found
}

/// An object without what differs between any two APIs; nothing if it is none of the release's doing.
fn comparable(mut object: Value) -> Option<Value> {
    let is_bootstrap = object["metadata"]["labels"]["kubernetes.io/bootstrapping"].is_string()
        || object["metadata"]["namespace"] == "kube-system";
    if is_bootstrap || object["type"] == "helm.sh/release.v1" {
        return None;
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"] {
        metadata.remove(field);
    }
    without(
        &mut object,
        &["clusterIP", "clusterIPs", "controller-uid", "batch.kubernetes.io/controller-uid", "lastTransitionTime"],
    );
    Some(object)
}

pub(crate) fn without_times(mut release: Value) -> Value {
    without(
        &mut release,
        &[
            "first_deployed",
            "last_deployed",
            "deleted",
            "started_at",
            "completed_at",
            "modtime",
            "schemamodtime",
            "apply_method",
        ],
    );
    release
}

fn without(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|value| without(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| without(value, names)),
        _ => {}
    }
}

/// A chart in a folder.
pub(crate) struct Unpacked {
    pub(crate) chart: Chart,
    pub(crate) path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Unpacked {
    pub(crate) fn new(case: &crate::common::Case) -> Self {
        let folder = tempfile::tempdir().unwrap();
        case.write(folder.path());
        Self { chart: Chart::load(folder.path()).unwrap(), path: folder.path().to_owned(), _folder: folder }
    }
}
