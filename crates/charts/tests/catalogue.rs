//! The embedded API takes the whole catalogue, and all that the charts and manifests in it make.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

#[path = "../../helm/tests/common/mod.rs"]
mod common;

use butler_api::butler::AddonDefinition;
use common::run_ours;
use conformance::embedded::EmbeddedServer;
use helm::source::{Access, ChartRef, Sources};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{Discovery, Scope};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::{Value, json};

async fn client(server: &EmbeddedServer) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&server.target.kubeconfig("admin", "default").unwrap()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Applies, and refuses fields that nobody knows.
fn strict() -> PatchParams {
    PatchParams { field_validation: Some(ValidationDirective::Strict), ..PatchParams::apply("test") }
}

async fn install_kinds(client: &Client, kinds: Vec<butler_api::CustomResourceDefinition>) {
    let api: Api<butler_api::CustomResourceDefinition> = Api::all(client.clone());
    for kind in kinds {
        let name = kind.name_any();
        api.create(&PostParams::default(), &kind).await.unwrap();
        await_condition(api.clone(), &name, is_crd_established()).await.unwrap();
    }
}

#[tokio::test]
async fn definitions_are_accepted_as_they_are() {
    let server = EmbeddedServer::start().await.unwrap();
    let client = client(&server).await;
    install_kinds(&client, butler_api::crds()).await;
    let api: Api<AddonDefinition> = Api::all(client);
    for definition in charts::definitions() {
        let params = PatchParams {
            field_validation: Some(kube::api::ValidationDirective::Strict),
            ..PatchParams::apply("test")
        };
        let written = api.patch(&definition.name_any(), &params, &Patch::Apply(&definition)).await.unwrap();
        assert_eq!(written.spec, definition.spec, "nothing is dropped, and defaults are those of the type");
    }
    assert_eq!(api.list(&Default::default()).await.unwrap().items.len(), charts::definitions().len());
}

/// All documents of an addon, with definitions of kinds first.
async fn documents(sources: &Sources, definition: &AddonDefinition) -> Vec<Value> {
    let spec = definition.spec.clone();
    let text = match (spec.chart, spec.manifests) {
        (Some(chart), _) => {
            let wanted = ChartRef {
                repository: chart.repository,
                name: chart.name,
                version: chart.default_version,
                digest: None,
            };
            let chart = sources.fetch(&wanted, &Access::default()).await.unwrap().chart;
            let values = spec.defaults.unwrap_or_default().values.unwrap_or_default().0;
            run_ours(&chart, &values).unwrap().manifests().unwrap().printed(true)
        }
        (None, Some(manifests)) => {
            let text = match (manifests.inline, manifests.url) {
                (Some(text), _) => text,
                (None, url) => {
                    let url = url.unwrap().replace("${version}", &manifests.version);
                    String::from_utf8(sources.file(&url, None, &Access::default()).await.unwrap()).unwrap()
                }
            };
            let values = [("version", "v1"), ("address", "10.0.0.9"), ("interface", "eth0"), ("port", "6443")];
            values.iter().fold(text, |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
        }
        (None, None) => String::new(),
    };
    kernel::yaml::values(&text).unwrap()
}

#[tokio::test]
async fn what_the_catalogue_installs_is_accepted() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    charts::write_repository(folder.path()).unwrap();
    let mirrors = charts::mirrors(&format!("file://{}", folder.path().display()));
    let sources = Sources::new(cache.path().to_owned(), mirrors);
    let server = EmbeddedServer::start().await.unwrap();
    let client = client(&server).await;
    for namespace in ["ns", "capi-system", "capi-kubeadm-bootstrap-system"] {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(&client, &object, false).await;
    }
    for definition in charts::definitions() {
        let documents = documents(&sources, &definition).await;
        assert!(documents.len() > 2, "{}", definition.name_any());
        let is_kind = |document: &&Value| document["kind"] == "CustomResourceDefinition";
        for document in documents.iter().filter(is_kind) {
            apply(&client, document, false).await;
            let api: Api<butler_api::CustomResourceDefinition> = Api::all(client.clone());
            await_condition(api, document["metadata"]["name"].as_str().unwrap(), is_crd_established()).await.unwrap();
        }
        for document in documents.iter().filter(|document| !is_kind(document)) {
            // Addons that exclude each other may have objects of the same name.
            apply(&client, document, true).await;
        }
    }
}

/// Applies an object; what the API does not know or does not take fails.
async fn apply(client: &Client, object: &Value, dry_run: bool) {
    let types: TypeMeta = serde_json::from_value(object.clone()).unwrap();
    let kind = GroupVersionKind::try_from(&types).unwrap();
    let discovery = Discovery::new(client.clone()).filter(&[kind.group.as_str()]).run().await.unwrap();
    let (resource, capabilities): (ApiResource, _) = discovery.resolve_gvk(&kind).unwrap();
    let api: Api<DynamicObject> = match (&capabilities.scope, object["metadata"]["namespace"].as_str()) {
        (Scope::Namespaced, namespace) => Api::namespaced_with(client.clone(), namespace.unwrap_or("ns"), &resource),
        (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams { dry_run, ..strict() };
    let name = object["metadata"]["name"].as_str().unwrap();
    api.patch(name, &params, &Patch::Apply(object)).await.unwrap_or_else(|error| panic!("{object:#}: {error}"));
}
