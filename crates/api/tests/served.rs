//! The CRDs of `crds/`, served: accepted, and they accept and refuse what they should, in the recorded words. By the
//! embedded API, and by a real kube-apiserver where one can be started.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::{io::Write as _, path::Path, sync::Arc, time::Duration};

use butler_api::{CustomResourceDefinition, butler::TenantCluster};
use common::{On, Refused};
use conformance::{
    embedded::EmbeddedServer,
    real::{Programs, RealServer},
    target::Target,
};
use kube::{
    Api, Client, Config, Error, ResourceExt,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::ApiResource,
    runtime::{conditions::is_crd_established, wait::await_condition},
};
use serde_json::{Value, json};

mod common;

const MANAGER: &str = "butler-api-test";

#[tokio::main]
async fn main() {
    let mut out = std::io::stdout();
    let embedded = EmbeddedServer::start().await.unwrap();
    writeln!(out, "{}", agrees(&embedded.target).await).unwrap();
    match Programs::find() {
        Err(why) => writeln!(out, "skipped: the real kube-apiserver: {why}").unwrap(),
        Ok(programs) => {
            let real = RealServer::start(&programs).await.unwrap();
            writeln!(out, "{}", agrees(&real.target).await).unwrap();
        }
    }
}

/// Asserts everything on one server, and says what it was.
async fn agrees(target: &Arc<Target>) -> String {
    let kubeconfig = Kubeconfig::from_yaml(&target.kubeconfig("admin", NAMESPACE).unwrap()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let server = Server { client: Client::try_from(config).unwrap() };
    let kinds = server.accepts_crds().await;
    let accepted = server.accepts_seeds_and_examples().await;
    server.carries_a_cluster_through_the_seeds().await;
    let mut refusals = 0;
    for (file, refused) in common::refused() {
        server.refuses(&file, &refused).await;
        refusals += refused.cases.len();
    }
    format!("{}: {kinds} CRDs, {accepted} objects and {refusals} refusals as they should be", target.name)
}

const NAMESPACE: &str = "default";
/// Of the one object at a time that is really created.
const NAME: &str = "try";

struct Server {
    client: Client,
}

impl Server {
    fn api(&self, object: &Value) -> Api<DynamicObject> {
        let crd = common::crd_of(object).unwrap();
        let names = &crd.spec.names;
        let resource = ApiResource {
            group: crd.spec.group.clone(),
            version: "v1alpha1".to_owned(),
            api_version: object["apiVersion"].as_str().unwrap().to_owned(),
            kind: names.kind.clone(),
            plural: names.plural.clone(),
        };
        match crd.spec.scope.as_str() {
            "Cluster" => Api::all_with(self.client.clone(), &resource),
            _ => Api::namespaced_with(self.client.clone(), NAMESPACE, &resource),
        }
    }

    /// The object, in the namespace of this test if it has one.
    fn place(&self, object: &Value) -> DynamicObject {
        let mut object = object.clone();
        if common::crd_of(&object).unwrap().spec.scope == "Namespaced" {
            object["metadata"]["namespace"] = json!(NAMESPACE);
        }
        serde_json::from_value(object).unwrap()
    }

    /// Installs what users install, and waits until it is served.
    async fn accepts_crds(&self) -> usize {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let apply = PatchParams::apply(MANAGER).force().validation_strict();
        let files = common::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds"));
        for (file, text) in &files {
            let crd: DynamicObject = kernel::yaml::from_str(text).unwrap();
            let name = crd.name_any();
            let outcome = api.patch(&name, &apply, &Patch::Apply(&crd)).await;
            assert!(outcome.is_ok(), "{file}: {}", outcome.unwrap_err());
            let established = await_condition(api.clone(), &name, is_crd_established());
            let waited = tokio::time::timeout(Duration::from_secs(30), established).await;
            waited.unwrap_or_else(|_| panic!("{name} is not served")).unwrap();
        }
        files.len()
    }

    async fn accepts_seeds_and_examples(&self) -> usize {
        let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER).force().validation_strict() };
        let objects = common::accepted_objects();
        for (file, object) in &objects {
            let placed = self.place(object);
            let outcome = self.api(object).patch(&placed.name_any(), &params, &Patch::Apply(&placed)).await;
            assert!(outcome.is_ok(), "{file} {}: {}", object["kind"], outcome.unwrap_err());
        }
        objects.len()
    }

    /// The seeds' cluster: created, given addons, upgraded, given its status, scaled both ways.
    async fn carries_a_cluster_through_the_seeds(&self) {
        let clusters: Api<TenantCluster> = Api::namespaced(self.client.clone(), NAMESPACE);
        let mut seed = common::seed("tenantcluster.yaml");
        seed["metadata"]["name"] = json!(NAME);
        self.api(&seed).create(&PostParams::default(), &self.place(&seed)).await.unwrap();
        let merge = PatchParams::default();
        for fragment in ["fragment-addons.yaml", "fragment-upgrade.yaml"] {
            clusters.patch(NAME, &merge, &Patch::Merge(common::seed(fragment))).await.unwrap();
        }
        let status = common::seed("fragment-status.yaml");
        let cluster = clusters.patch_status(NAME, &merge, &Patch::Merge(&status)).await.unwrap();
        assert_eq!(serde_json::to_value(&cluster.status).unwrap(), status["status"]);

        let scale = json!({ "spec": { "replicas": 5 } });
        let scaled = clusters.patch_scale(NAME, &merge, &Patch::Merge(scale)).await.unwrap();
        assert_eq!(scaled.spec.unwrap().replicas, Some(5));
        let back = json!({ "spec": { "workers": { "replicas": 3 } } });
        let cluster = clusters.patch(NAME, &merge, &Patch::Merge(back)).await.unwrap();
        assert_eq!(cluster.spec.workers.replicas, Some(3));
        assert_eq!(cluster.spec.kubernetes_version.as_deref(), Some("v1.31.0"));
        clusters.delete(NAME, &DeleteParams::default()).await.unwrap();
    }

    async fn refuses(&self, file: &str, refused: &Refused) {
        let api = self.api(&refused.object);
        let dry_create = PostParams { dry_run: true, ..PostParams::default() };
        let dry_update = PatchParams { dry_run: true, ..PatchParams::default() };
        let mut base = refused.object.clone();
        // There is one ButlerConfig, and its name says so.
        if base["kind"] != "ButlerConfig" {
            base["metadata"]["name"] = json!(NAME);
        }
        let name = base["metadata"]["name"].as_str().unwrap().to_owned();
        api.create(&PostParams::default(), &self.place(&base)).await.unwrap();
        if let Some(status) = base.get("status") {
            let told = Patch::Merge(json!({ "status": status }));
            api.patch_status(&name, &PatchParams::default(), &told).await.unwrap();
        }
        for change in &refused.accepted {
            let outcome = api.patch(&name, &dry_update, &Patch::Merge(change)).await;
            assert_eq!(causes(outcome), ["accepted"], "{file}: {change}");
        }
        for case in &refused.cases {
            let outcome = match case.on {
                On::Create => {
                    let mut object = refused.object.clone();
                    common::merge(&mut object, &case.change);
                    api.create(&dry_create, &self.place(&object)).await
                }
                On::Update => api.patch(&name, &dry_update, &Patch::Merge(&case.change)).await,
            };
            assert_eq!(causes(outcome), case.errors, "{file}: {}", case.case);
        }
        api.delete(&name, &DeleteParams::default()).await.unwrap();
    }
}

/// What an answer complains about, as `field: message`, sorted.
fn causes(outcome: Result<DynamicObject, Error>) -> Vec<String> {
    let status = match outcome {
        Ok(_) => return vec!["accepted".to_owned()],
        Err(Error::Api(status)) => status,
        Err(error) => return vec![error.to_string()],
    };
    let causes = status.details.into_iter().flat_map(|details| details.causes);
    let mut lines: Vec<String> = causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    lines.sort();
    lines
}
