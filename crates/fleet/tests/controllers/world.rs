//! An embedded API with Butler's kinds, and ways to look at it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use butler_api::butler::TenantCluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kapi::{Controllers, Options, Peer, Plane, User};
use kapi_store::Store;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use runtime::{Clock, Metrics, Watches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Everything here takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) client: Client,
    api: kapi::Api,
    controllers: JoinSet<()>,
    plane: Plane,
}

/// What all objects here are.
pub(crate) trait Object: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<K: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Object for K {}

impl World {
    pub(crate) async fn new() -> Self {
        let plane = Plane::new(Store::in_memory().unwrap());
        plane.run_controllers(Controllers::default());
        let api = plane.api("test", Options::default()).await.unwrap();
        let client = client_of(&api, "admin", "system:masters");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in butler_api::crds() {
            definitions.create(&PostParams::default(), &definition).await.unwrap();
            let established = conditions::is_crd_established();
            await_condition(definitions.clone(), &definition.name_any(), established).await.unwrap();
        }
        let world = Self { client, api, controllers: JoinSet::new(), plane };
        world.namespace("butler-system", json!({})).await;
        world
    }

    /// Runs a controller with watches of its own, as another process would.
    pub(crate) fn start<F>(&mut self, run: impl FnOnce(Watches, Clock, Metrics) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let watches = Watches::new(self.client.clone());
        self.controllers.spawn(run(watches, Arc::new(Timestamp::now), Metrics::default()));
    }

    /// Ends all controllers, as when their process is killed.
    pub(crate) fn stop(&mut self) {
        self.controllers.abort_all();
    }

    /// What other APIs may be made on.
    pub(crate) fn plane(&self) -> &Plane {
        &self.plane
    }

    /// A client of somebody.
    pub(crate) fn client_of(&self, user: &str, group: &str) -> Client {
        client_of(&self.api, user, group)
    }

    pub(crate) fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    pub(crate) fn within<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
        &self,
        namespace: &str,
    ) -> Api<K> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(crate) async fn namespace(&self, name: &str, labels: Value) {
        let object = json!({"metadata": {"name": name, "labels": labels}});
        create(&self.all::<Namespace>(), object).await;
    }

    pub(crate) async fn cluster(&self, namespace: &str, name: &str, spec: Value) {
        create(&self.within::<TenantCluster>(namespace), butler("TenantCluster", name, spec)).await;
    }
}

/// Somebody who may do everything.
pub(crate) fn administrator() -> User {
    user("admin", "system:masters")
}

fn user(name: &str, group: &str) -> User {
    let groups = vec![group.into(), "system:authenticated".into()];
    User { name: name.into(), groups, ..User::default() }
}

pub(crate) fn client_of(api: &kapi::Api, name: &str, group: &str) -> Client {
    let user = user(name, group);
    Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default")
}

/// One of Butler's objects.
pub(crate) fn butler(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

pub(crate) async fn create<K: Object + Resource<DynamicType = ()>>(api: &Api<K>, object: Value) -> K {
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

pub(crate) async fn patch<K: Object + Resource<DynamicType = ()>>(api: &Api<K>, name: &str, change: Value) {
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

pub(crate) async fn delete<K: Object + Resource<DynamicType = ()>>(api: &Api<K>, name: &str) {
    api.delete(name, &DeleteParams::background()).await.unwrap();
}

/// Waits until an object is as it should be.
pub(crate) async fn until<K: Object + Resource<DynamicType = ()>>(
    api: &Api<K>,
    name: &str,
    what: &str,
    holds: impl Fn(&K) -> bool,
) -> K {
    let condition = await_condition(api.clone(), name, |object: Option<&K>| object.is_some_and(&holds));
    match tokio::time::timeout(PATIENCE, condition).await {
        Ok(found) => found.unwrap().unwrap(),
        Err(_) => {
            let last = api.get_opt(name).await.unwrap();
            panic!("{name} is never {what}: {}", serde_json::to_string_pretty(&last).unwrap());
        }
    }
}

/// Waits until an object is gone.
pub(crate) async fn until_gone<K: Object + Resource<DynamicType = ()>>(api: &Api<K>, name: &str) {
    let condition = await_condition(api.clone(), name, |object: Option<&K>| object.is_none());
    if tokio::time::timeout(PATIENCE, condition).await.is_err() {
        let last = api.get_opt(name).await.unwrap();
        panic!("{name} never goes: {}", serde_json::to_string_pretty(&last).unwrap());
    }
}
