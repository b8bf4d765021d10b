//! Holding on to an object until what it stands for is gone.

use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::Failure;

/// Adds a finalizer, unless it is there. Gives back what was written.
pub async fn add_finalizer<K>(api: &Api<K>, object: &K, finalizer: &str) -> Result<Option<K>, Failure>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    if object.finalizers().iter().any(|known| known == finalizer) {
        return Ok(None);
    }
    let with = object.finalizers().iter().map(String::as_str).chain([finalizer]).collect();
    write(api, object, with).await.map(Some)
}

/// Removes a finalizer, if it is there.
pub async fn remove_finalizer<K>(api: &Api<K>, object: &K, finalizer: &str) -> Result<(), Failure>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    if !object.finalizers().iter().any(|known| known == finalizer) {
        return Ok(());
    }
    let without = object.finalizers().iter().map(String::as_str).filter(|known| *known != finalizer).collect();
    match write(api, object, without).await {
        Ok(_) => Ok(()),
        Err(failure) if is_gone(&failure) => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Writes the whole list, on the very state it was read from.
async fn write<K>(api: &Api<K>, object: &K, finalizers: Vec<&str>) -> Result<K, Failure>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    let body = json!({"metadata": {
        "finalizers": finalizers, "uid": object.uid(), "resourceVersion": object.resource_version(),
    }});
    Ok(api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body)).await?)
}

fn is_gone(failure: &Failure) -> bool {
    let source = failure.source.as_deref().and_then(|source| source.downcast_ref::<kube::Error>());
    matches!(source, Some(kube::Error::Api(status)) if status.code == 404)
}
