//! Objects of kinds that only their references name: control planes, infrastructure, bootstrap configurations.

use std::sync::Arc;
use std::time::Duration;

use capi::ObjectReference;
use capi::core::Cluster;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::{Mutex, RwLock};
use runtime::{Failure, Key, Retry, Watched, Watches};
use serde_json::{Value, json};

use super::MANAGER;

/// An API that has not said by then whether it serves a kind does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

type Listener = Box<dyn Fn(&DynamicObject) + Send + Sync>;

/// Objects of any kind, each kind watched from its first mention on. Clones share them.
#[derive(Clone)]
pub(super) struct Externals {
    shared: Arc<Shared>,
}

struct Shared {
    watches: Watches,
    /// Kinds whose changes are told already.
    told: Mutex<Vec<ApiResource>>,
    listeners: RwLock<Vec<Listener>>,
}

impl Externals {
    pub(super) fn new(watches: Watches) -> Self {
        Self { shared: Arc::new(Shared { watches, told: Mutex::default(), listeners: RwLock::default() }) }
    }

    fn client(&self) -> Client {
        self.shared.watches.client().clone()
    }

    /// Calls `listener` with every object that changes. To be said before the first kind is asked for.
    pub(super) fn on_change(&self, listener: impl Fn(&DynamicObject) + Send + Sync + 'static) {
        self.shared.listeners.write().push(Box::new(listener));
    }

    /// The object a reference in `namespace` means, if it is there.
    pub(super) async fn get(
        &self,
        namespace: &str,
        reference: &ObjectReference,
    ) -> Result<Option<Arc<DynamicObject>>, Failure> {
        let kind = kind(reference)?;
        let watched = self.watched(&kind);
        if !tokio::time::timeout(PATIENCE, watched.is_served()).await.unwrap_or(false) {
            let message = format!("{} {} is not served", kind.api_version, kind.kind);
            return Err(Failure::new(Retry::Backoff, "KindMissing", message));
        }
        Ok(watched.get(&Key::new(namespace, reference.name.clone().unwrap_or_default())))
    }

    /// The same, asked for only once and not watched: templates do not change.
    pub(super) async fn read(
        &self,
        namespace: &str,
        reference: &ObjectReference,
    ) -> Result<Option<DynamicObject>, Failure> {
        Ok(self.api(namespace, &kind(reference)?).get_opt(reference.name.as_deref().unwrap_or_default()).await?)
    }

    /// Creates an object, unless it is there.
    pub(super) async fn create(&self, object: &DynamicObject) -> Result<(), Failure> {
        let kind = kind(&reference(object))?;
        let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        match self.api(&object.namespace().unwrap_or_default(), &kind).create(&params, object).await {
            Ok(created) => self.watched(&kind).wrote(created),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Changes an object by a merge patch, if it is still the one that was looked at.
    pub(super) async fn patch(&self, object: &DynamicObject, change: Value) -> Result<(), Failure> {
        let kind = kind(&reference(object))?;
        self.watched(&kind).wrote(self.change(object, &kind, change).await?);
        Ok(())
    }

    /// Makes an object that is not watched belong to a cluster, and go with it.
    pub(super) async fn adopt(&self, object: &DynamicObject, cluster: &Cluster) -> Result<(), Failure> {
        match owning(object, &cluster.name_any(), json!(cluster.owner_ref(&()))) {
            Some(change) => self.change(object, &kind(&reference(object))?, change).await.map(drop),
            None => Ok(()),
        }
    }

    async fn change(
        &self,
        object: &DynamicObject,
        kind: &ApiResource,
        mut change: Value,
    ) -> Result<DynamicObject, Failure> {
        change["metadata"]["uid"] = object.uid().into();
        change["metadata"]["resourceVersion"] = object.resource_version().into();
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let api = self.api(&object.namespace().unwrap_or_default(), kind);
        Ok(api.patch(&object.name_any(), &params, &Patch::Merge(change)).await?)
    }

    /// Deletes an object, unless that is under way.
    pub(super) async fn delete(&self, object: &DynamicObject) -> Result<(), Failure> {
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let kind = kind(&reference(object))?;
        let api = self.api(&object.namespace().unwrap_or_default(), &kind);
        match api.delete(&object.name_any(), &DeleteParams::background()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn api(&self, namespace: &str, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client(), namespace, kind)
    }

    fn watched(&self, kind: &ApiResource) -> Watched<DynamicObject> {
        let watched = self.shared.watches.of_kind(kind);
        let mut told = self.shared.told.lock();
        if !told.contains(kind) {
            told.push(kind.clone());
            let shared = Arc::downgrade(&self.shared);
            watched.on_change(move |before, after| {
                if let (Some(shared), Some(object)) = (shared.upgrade(), after.or(before)) {
                    shared.listeners.read().iter().for_each(|listener| listener(object));
                }
            });
        }
        watched
    }
}

fn kind(reference: &ObjectReference) -> Result<ApiResource, Failure> {
    let unusable = || Failure::new(Retry::Terminal, "BadReference", format!("{reference:?} names no kind"));
    let (api_version, kind) = reference.api_version.as_deref().zip(reference.kind.as_deref()).ok_or_else(unusable)?;
    let (group, version) = api_version.split_once('/').ok_or_else(unusable)?;
    // What a reference names is relabelled, owned and deleted in Butler's name: only what is Cluster API's may be.
    if group != capi::names::GROUP && !group.ends_with(".cluster.x-k8s.io") {
        let message =
            format!("{api_version} {kind} is no kind of Cluster API: name one of a group below {}", capi::names::GROUP);
        return Err(Failure::new(Retry::Terminal, "BadReference", message));
    }
    Ok(ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)))
}

/// A reference to this object.
pub(super) fn reference(object: &DynamicObject) -> ObjectReference {
    let types = object.types.clone().unwrap_or_default();
    ObjectReference::new(&types.api_version, &types.kind, &object.name_any())
}

/// Whether this object is what a reference of another in its namespace means, whatever version either speaks.
pub(super) fn is_meant(object: &DynamicObject, reference: &ObjectReference) -> bool {
    let types = object.types.as_ref();
    let group =
        |version: Option<&str>| version.and_then(|version| version.split_once('/')).map(|(group, _)| group.to_owned());
    reference.name.as_deref() == object.metadata.name.as_deref()
        && reference.kind.as_deref() == types.map(|types| types.kind.as_str())
        && group(reference.api_version.as_deref()) == group(types.map(|types| types.api_version.as_str()))
}

/// A field of an object.
pub(super) fn field<'a>(object: &'a DynamicObject, pointer: &str) -> Option<&'a Value> {
    object.data.pointer(pointer)
}

/// A text of an object.
pub(super) fn text(object: &DynamicObject, pointer: &str) -> Option<String> {
    field(object, pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether an object says that something is true.
pub(super) fn says(object: &DynamicObject, pointer: &str) -> bool {
    field(object, pointer).and_then(Value::as_bool).unwrap_or(false)
}

/// The merge patch that makes `owner` an owner of an object beside those it has; nothing when it is one.
pub(super) fn owning(object: &DynamicObject, cluster: &str, owner: Value) -> Option<Value> {
    let mut owners: Vec<Value> =
        object.owner_references().iter().filter_map(|known| serde_json::to_value(known).ok()).collect();
    let labelled = object.labels().get(capi::names::labels::CLUSTER_NAME).map(String::as_str) == Some(cluster);
    if labelled && owners.iter().any(|known| known["uid"] == owner["uid"]) {
        return None;
    }
    owners.retain(|known| known["uid"] != owner["uid"]);
    owners.push(owner);
    Some(json!({"metadata": {
        "labels": {capi::names::labels::CLUSTER_NAME: cluster},
        "ownerReferences": owners,
    }}))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn a_kind_that_nobody_serves_keeps_nobody_waiting() {
        let nobody = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            let status =
                json!({"kind": "Status", "status": "Failure", "message": "no", "reason": "NotFound", "code": 404});
            let body = Full::new(bytes::Bytes::from(status.to_string()));
            Ok::<_, Infallible>(http::Response::builder().status(404).body(body).unwrap())
        });
        let externals = Externals::new(Watches::new(Client::new(nobody, "default")));
        let reference = ObjectReference::new("infrastructure.cluster.x-k8s.io/v1", "Cloud", "c");
        let begun = tokio::time::Instant::now();
        for _ in 0..3 {
            let failure = externals.get("n", &reference).await.unwrap_err();
            assert_eq!((failure.reason, failure.retry), ("KindMissing", Retry::Backoff));
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        let foreign = externals.get("n", &ObjectReference::new("apps/v1", "Deployment", "d")).await.unwrap_err();
        assert_eq!((foreign.reason, foreign.retry), ("BadReference", Retry::Terminal));
    }
}
