//! The CRDs on a real kube-apiserver: accepted, and they accept and refuse what they should, in the recorded words.
//!
//! Runs when BUTLER_TEST_KUBECONFIG names a kubeconfig with full rights. The CRDs stay on that server; everything else goes.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may stop and may talk")]

use std::time::Duration;

use butler_api::{CustomResourceDefinition, butler::TenantCluster};
use common::{On, Refused};
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

#[tokio::test]
async fn the_real_api_server_agrees() {
    let Some(client) = client().await else {
        println!("skipped: BUTLER_TEST_KUBECONFIG is not set");
        return;
    };
    install_crds(&client).await;
    let server = Server { client };
    server.accepts_seeds_and_examples().await;
    server.carries_a_cluster_through_the_seeds().await;
    for (file, refused) in common::refused() {
        server.refuses(&file, &refused).await;
    }
}

async fn client() -> Option<Client> {
    let path = std::env::var_os("BUTLER_TEST_KUBECONFIG")?;
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Some(Client::try_from(config).unwrap())
}

async fn install_crds(client: &Client) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply(MANAGER).force().validation_strict();
    for crd in butler_api::crds() {
        let name = crd.name_any();
        let outcome = api.patch(&name, &apply, &Patch::Apply(&crd)).await;
        assert!(outcome.is_ok(), "{name}: {}", outcome.unwrap_err());
        let established = await_condition(api.clone(), &name, is_crd_established());
        tokio::time::timeout(Duration::from_secs(30), established)
            .await
            .unwrap_or_else(|_| panic!("{name} is not served"))
            .unwrap();
    }
}

/// A namespace of its own would stay behind on a server without controllers, so names are unique instead.
const NAMESPACE: &str = "default";

fn unique_name() -> String {
    format!("try-{}", std::process::id())
}

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

    async fn accepts_seeds_and_examples(&self) {
        let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER).force().validation_strict() };
        for (file, object) in common::accepted_objects() {
            let placed = self.place(&object);
            let outcome = self.api(&object).patch(&placed.name_any(), &params, &Patch::Apply(&placed)).await;
            assert!(outcome.is_ok(), "{file} {}: {}", object["kind"], outcome.unwrap_err());
        }
    }

    /// The seeds' cluster: created, given addons, upgraded, given its status, scaled both ways.
    async fn carries_a_cluster_through_the_seeds(&self) {
        let clusters: Api<TenantCluster> = Api::namespaced(self.client.clone(), NAMESPACE);
        let mut seed = common::seed("tenantcluster.yaml");
        let name = unique_name();
        seed["metadata"]["name"] = json!(name);
        self.api(&seed).create(&PostParams::default(), &self.place(&seed)).await.unwrap();
        let merge = PatchParams::default();
        for fragment in ["fragment-addons.yaml", "fragment-upgrade.yaml"] {
            clusters.patch(&name, &merge, &Patch::Merge(common::seed(fragment))).await.unwrap();
        }
        let status = common::seed("fragment-status.yaml");
        let cluster = clusters.patch_status(&name, &merge, &Patch::Merge(&status)).await.unwrap();
        assert_eq!(serde_json::to_value(&cluster.status).unwrap(), status["status"]);

        let scale = json!({ "spec": { "replicas": 5 } });
        let scaled = clusters.patch_scale(&name, &merge, &Patch::Merge(scale)).await.unwrap();
        assert_eq!(scaled.spec.unwrap().replicas, Some(5));
        let back = json!({ "spec": { "workers": { "replicas": 3 } } });
        let cluster = clusters.patch(&name, &merge, &Patch::Merge(back)).await.unwrap();
        assert_eq!(cluster.spec.workers.replicas, Some(3));
        assert_eq!(cluster.spec.kubernetes_version.as_deref(), Some("v1.31.0"));
        clusters.delete(&name, &DeleteParams::default()).await.unwrap();
    }

    async fn refuses(&self, file: &str, refused: &Refused) {
        let api = self.api(&refused.object);
        let dry_create = PostParams { dry_run: true, ..PostParams::default() };
        let dry_update = PatchParams { dry_run: true, ..PatchParams::default() };
        let mut base = refused.object.clone();
        // There is one ButlerConfig, which may be in use: it is never created here.
        let singleton = base["kind"] == "ButlerConfig";
        if !singleton {
            base["metadata"]["name"] = json!(unique_name());
            api.create(&PostParams::default(), &self.place(&base)).await.unwrap();
        }
        let name = base["metadata"]["name"].as_str().unwrap().to_owned();
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
        if !singleton {
            api.delete(&name, &DeleteParams::default()).await.unwrap();
        }
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
