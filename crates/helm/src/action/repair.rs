//! Drift: what of a release is not as it should be, and making it so again.

use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::Value as Json;

use super::Actions;
use super::cluster::Writing;
use super::error::ActionError;
use super::kinds::Located;
use super::object::ObjectRef;
use crate::release::Release;

/// So many objects are looked at at the same time.
const AT_ONCE: usize = 8;

impl Actions {
    /// Makes every object of a release what its manifest says, also where somebody else changed it. Tells which were not.
    pub async fn repair(&self, release: &Release) -> Result<Vec<ObjectRef>, ActionError> {
        self.compare(release, Writing { force: true, dry_run: false }).await
    }

    /// The objects of a release that [`Actions::repair`] would change or make.
    pub async fn drift(&self, release: &Release) -> Result<Vec<ObjectRef>, ActionError> {
        self.compare(release, Writing { force: true, dry_run: true }).await
    }

    async fn compare(&self, release: &Release, writing: Writing) -> Result<Vec<ObjectRef>, ActionError> {
        let objects = self.familiar_objects(release).await?;
        let cluster = &self.cluster();
        let changed: Vec<Option<ObjectRef>> = futures::stream::iter(objects)
            .map(|located| async move {
                let live = cluster.get(&located).await?;
                let applied = cluster.apply(&located, writing).await?;
                let is_same = live.is_some_and(|live| content(live) == content(applied));
                Ok::<_, ActionError>((!is_same).then_some(located.name))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(changed.into_iter().flatten().collect())
    }

    /// The objects of a release, by what is known of the cluster if that will do: drift is looked for often.
    async fn familiar_objects(&self, release: &Release) -> Result<Vec<Located>, ActionError> {
        let known = self.kinds.lock().as_ref().map(|kinds| kinds.objects(release));
        match known {
            Some(Ok(objects)) => Ok(objects),
            _ => self.learn_kinds().await?.objects(release),
        }
    }
}

/// An object without what every write changes, and without its status.
fn content(mut object: Json) -> Json {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}
