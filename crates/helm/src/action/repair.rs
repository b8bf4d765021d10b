//! Drift: what of a release is not as it should be, and making it so again.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::Value as Json;

use super::cluster::{Cluster, Writing};
use super::error::ActionError;
use super::kinds::{Kinds, Located};
use super::object::{self, ObjectRef};
use super::prepare::definitions;
use super::work::{Work, is_ready};
use super::{Actions, Options};
use crate::release::{Release, restored};

/// So many objects are looked at at the same time.
const AT_ONCE: usize = 8;
/// A definition is served within moments, or never.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

impl Actions {
    /// Makes every object of a release what its manifest says, also where somebody else changed it. Tells which were not.
    pub async fn repair(&self, release: &Release) -> Result<Vec<ObjectRef>, ActionError> {
        self.compare(release, true).await
    }

    /// The objects of a release that [`Actions::repair`] would change or make.
    pub async fn drift(&self, release: &Release) -> Result<Vec<ObjectRef>, ActionError> {
        self.compare(release, false).await
    }

    /// By what is known of the cluster, if that will do: drift is looked for often.
    async fn compare(&self, release: &Release, repairs: bool) -> Result<Vec<ObjectRef>, ActionError> {
        let known = self.kinds.lock().clone();
        if let Some(kinds) = known {
            match self.compare_by(kinds, release, repairs).await {
                Err(error) if error.is_missing() => {}
                other => return other,
            }
        }
        self.compare_by(self.learn_kinds().await?, release, repairs).await
    }

    /// Definitions come first: whoever deletes one deletes all objects of its kinds.
    async fn compare_by(
        &self,
        mut kinds: Kinds,
        release: &Release,
        repairs: bool,
    ) -> Result<Vec<ObjectRef>, ActionError> {
        let mut objects = object::parse(&release.manifest).map_err(ActionError::Manifest)?;
        objects.iter_mut().for_each(|json| object::own(json, &release.name, &release.namespace));
        let is_definition = |json: &Json| json["kind"] == "CustomResourceDefinition";
        let (definitions, others): (Vec<Json>, Vec<Json>) = objects.into_iter().partition(is_definition);
        let mut differing = self.differing(kinds.locate_each(definitions, &release.namespace)?, repairs).await?;
        if repairs && others.iter().any(|json| !kinds.knows(json)) {
            kinds = self.restore_definitions(release).await?;
        }
        let (known, unknown): (Vec<Json>, Vec<Json>) = others.into_iter().partition(|json| kinds.knows(json));
        differing.extend(self.differing(kinds.locate_each(known, &release.namespace)?, repairs).await?);
        match unknown.first() {
            Some(lost) if repairs => Err(ActionError::UnknownKind { object: Box::new(ObjectRef::of(lost)) }),
            _ => Ok(differing.into_iter().chain(unknown.iter().map(ObjectRef::of)).collect()),
        }
    }

    async fn differing(&self, objects: Vec<Located>, repairs: bool) -> Result<Vec<ObjectRef>, ActionError> {
        let cluster = &self.cluster();
        let changed: Vec<Option<ObjectRef>> = futures::stream::iter(objects)
            .map(|located| async move {
                let differs = differs(cluster, &located).await?;
                if differs && repairs {
                    let written = cluster.apply(&located, Writing { force: true, dry_run: false }).await?;
                    if written["kind"] == "CustomResourceDefinition" {
                        let outcome = cluster.until(&located, SERVED_WITHIN, "it is not served yet", is_ready).await?;
                        let object = Box::new(located.name.clone());
                        outcome.map_err(|reason| ActionError::Unhealthy { object, reason })?;
                    }
                }
                Ok::<_, ActionError>(differs.then_some(located.name))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(changed.into_iter().flatten().collect())
    }

    /// Installs what the chart's `crds/` define and is gone, and learns what the cluster knows then. Records have no subcharts:
    /// what these define stays away.
    async fn restore_definitions(&self, release: &Release) -> Result<Kinds, ActionError> {
        let options = Options { namespace: release.namespace.clone(), ..Options::default() };
        let definitions: Vec<String> = restored(&release.chart).iter().flat_map(definitions).collect();
        Work::begin(self, &options, &release.name).await?.install_definitions(&definitions).await?;
        self.learn_kinds().await
    }
}

/// Whether applying an object would change it. It is asked twice, because in between the two answers others write what is
/// theirs, as a rollout does with annotations of its own.
async fn differs(cluster: &Cluster, located: &Located) -> Result<bool, ActionError> {
    for _ in 0..2 {
        let live = cluster.get(located).await?;
        let foreseen = cluster.apply(located, Writing { force: true, dry_run: true }).await?;
        if live.is_some_and(|live| content(live) == content(foreseen)) {
            return Ok(false);
        }
    }
    Ok(true)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;

    use super::*;

    /// What comes of a Deployment whose annotation others have written before each of these reads or writes.
    async fn found(written: [bool; 4]) -> bool {
        let object = |is_written: bool| {
            let annotations = if is_written { json!({"deployment.kubernetes.io/revision": "2"}) } else { json!({}) };
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
            })
        };
        let asked = Arc::new(AtomicUsize::new(0));
        let service = tower::service_fn(move |_: Request<Body>| {
            let is_written = written[asked.fetch_add(1, Ordering::Relaxed)];
            let answer = Response::new(Body::from(object(is_written).to_string().into_bytes()));
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        let cluster = Cluster { client: Client::new(service, "shop"), manager: "helm".to_owned() };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
        let located = Located { name: ObjectRef::of(&object(false)), resource, json: object(false) };
        differs(&cluster, &located).await.unwrap()
    }

    #[tokio::test]
    async fn what_others_write_meanwhile_is_no_drift() {
        for (written, expected) in [
            ([false, false, false, false], false),
            ([false, true, true, true], false),
            // They are changed back by us, each time.
            ([true, false, true, false], true),
        ] {
            assert_eq!(found(written).await, expected, "{written:?}");
        }
    }
}
