//! One kind as controllers read and write it: what they write, they know of at once.

use std::fmt::Debug;
use std::ops::Deref;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use kube::core::request::Error as RequestError;
use kube::{Client, Resource, ResourceExt};
use runtime::{Failure, Retry, Watched, Watches};
use serde::Serialize;
use serde_json::{Value, json};

/// The objects of one kind in one API.
pub(crate) struct Objects<K> {
    watched: Watched<K>,
    client: Client,
    /// Who writes, as managedFields name it.
    manager: &'static str,
}

impl<K> Clone for Objects<K> {
    fn clone(&self) -> Self {
        Self { watched: self.watched.clone(), client: self.client.clone(), manager: self.manager }
    }
}

impl<K> Deref for Objects<K> {
    type Target = Watched<K>;

    fn deref(&self) -> &Watched<K> {
        &self.watched
    }
}

impl<K> Objects<K>
where
    K: Resource<DynamicType = ()> + runtime::Object + Debug,
{
    /// All objects of the kind, written in the name of `manager`.
    pub(crate) fn watch(watches: &Watches, manager: &'static str) -> Self {
        Self { watched: watches.of(), client: watches.client().clone(), manager }
    }

    /// Creates an object.
    pub(crate) async fn create(&self, object: &K) -> Result<K, Failure> {
        let params = PostParams { field_manager: Some(self.manager.into()), ..PostParams::default() };
        let request = requests_for(object).create(&params, body(object)?).map_err(unsendable)?;
        let created: K = self.client.request(request).await?;
        self.watched.wrote(created.clone());
        Ok(created)
    }

    /// Creates many objects: one, then two, then four at a time, so that a refusal is met before it is met often.
    pub(crate) async fn create_all(&self, objects: &[K], mut created: impl FnMut(&K)) -> Result<(), Failure> {
        let (mut rest, mut size) = (objects, 1);
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            let mut refusal = None;
            for outcome in futures::future::join_all(batch.iter().map(|object| self.create(object))).await {
                match outcome {
                    Ok(object) => created(&object),
                    Err(failure) => refusal = Some(failure),
                }
            }
            if let Some(failure) = refusal {
                // What refuses now, such as a quota, may not do so later.
                return Err(Failure { retry: Retry::Backoff, ..failure });
            }
            (rest, size) = (later, size * 2);
        }
        Ok(())
    }

    /// Changes an object by a merge patch, if it is still the one that was looked at.
    pub(crate) async fn patch(&self, object: &K, mut change: Value) -> Result<K, Failure> {
        if !change["metadata"].is_object() {
            change["metadata"] = json!({});
        }
        change["metadata"]["uid"] = object.uid().into();
        change["metadata"]["resourceVersion"] = object.resource_version().into();
        let params = PatchParams { field_manager: Some(self.manager.into()), ..PatchParams::default() };
        let request = requests_for(object).patch(&object.name_any(), &params, &Patch::Merge(change));
        let changed: K = self.client.request(request.map_err(unsendable)?).await?;
        self.watched.wrote(changed.clone());
        Ok(changed)
    }

    /// Replaces an object, if it is still the one that was looked at.
    pub(crate) async fn replace(&self, object: &K) -> Result<K, Failure> {
        let params = PostParams { field_manager: Some(self.manager.into()), ..PostParams::default() };
        let request = requests_for(object).replace(&object.name_any(), &params, body(object)?);
        let changed: K = self.client.request(request.map_err(unsendable)?).await?;
        self.watched.wrote(changed.clone());
        Ok(changed)
    }

    /// Writes the status of an object that was otherwise left as it was looked at.
    pub(crate) async fn report(&self, object: &K) -> Result<K, Failure> {
        let params = PostParams { field_manager: Some(self.manager.into()), ..PostParams::default() };
        let request = requests_for(object).replace_subresource("status", &object.name_any(), &params, body(object)?);
        let changed: K = self.client.request(request.map_err(unsendable)?).await?;
        self.watched.wrote(changed.clone());
        Ok(changed)
    }

    /// Changes entries of the status by a strategic merge patch, whatever others write there.
    pub(crate) async fn patch_status(&self, object: &K, status: Value) -> Result<K, Failure> {
        let change = json!({"metadata": {"uid": object.uid()}, "status": status});
        let params = PatchParams { field_manager: Some(self.manager.into()), ..PatchParams::default() };
        let request =
            requests_for(object).patch_subresource("status", &object.name_any(), &params, &Patch::Strategic(change));
        let changed: K = self.client.request(request.map_err(unsendable)?).await?;
        self.watched.wrote(changed.clone());
        Ok(changed)
    }

    /// Deletes an object, unless that is under way.
    pub(crate) async fn delete(&self, object: &K, grace_seconds: Option<u32>) -> Result<(), Failure> {
        if object.meta().deletion_timestamp.is_some() && grace_seconds.is_none() {
            return Ok(());
        }
        let preconditions = Preconditions { uid: object.uid(), resource_version: None };
        let params = DeleteParams { grace_period_seconds: grace_seconds, ..DeleteParams::background() };
        let request = requests_for(object).delete(&object.name_any(), &params.preconditions(preconditions));
        match self.client.request_status::<K>(request.map_err(unsendable)?).await.map(|answer| answer.left()) {
            // Still there, and waiting for its grace period or its finalizers.
            Ok(Some(after)) if after.resource_version() != object.resource_version() => {
                self.watched.wrote(after);
            }
            Ok(_) => self.watched.deleted(object),
            Err(kube::Error::Api(status)) if status.code == 404 => self.watched.deleted(object),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn requests_for<K: Resource<DynamicType = ()>>(object: &K) -> Request {
    Request::new(K::url_path(&(), object.meta().namespace.as_deref()))
}

fn body<K: Serialize>(object: &K) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(object).map_err(|error| unsendable(RequestError::SerializeBody(error)))
}

fn unsendable(error: RequestError) -> Failure {
    Failure::new(Retry::Terminal, "Internal", "a request cannot be made").caused_by(error)
}
