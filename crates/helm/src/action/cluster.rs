//! Objects in the cluster: reading, applying, deleting, waiting for them.

use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Client};
use serde_json::{Map, Value as Json, json};

use super::error::ActionError;
use super::kinds::Located;

/// The cluster that is acted on, under one name.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) manager: String,
}

/// How an object is written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Writing {
    /// Take fields over that others have written.
    pub(super) force: bool,
    /// Only find out what would come of it.
    pub(super) dry_run: bool,
}

/// How far an object is that was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    Gone,
    OnItsWay,
}

impl Cluster {
    fn api(&self, located: &Located) -> Api<DynamicObject> {
        match located.name.namespace.as_str() {
            "" => Api::all_with(self.client.clone(), &located.resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &located.resource),
        }
    }

    /// An object as it is.
    pub(super) async fn get(&self, located: &Located) -> Result<Option<Json>, ActionError> {
        match self.api(located).get(&located.name.name).await {
            Ok(object) => json(&object, located).map(Some),
            // Either of an object, or of a kind that is about to be defined.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(failed("read", located)(error)),
        }
    }

    /// Makes an object what it should be.
    pub(super) async fn apply(&self, located: &Located, writing: Writing) -> Result<Json, ActionError> {
        let mut params = PatchParams::apply(&self.manager).validation_strict();
        params.force = writing.force;
        params.dry_run = writing.dry_run;
        let patch = Patch::Apply(&located.json);
        let applied = self.api(located).patch(&located.name.name, &params, &patch).await;
        json(&applied.map_err(failed("apply", located))?, located)
    }

    /// Deletes an object, and says whether it takes its time.
    pub(super) async fn delete(&self, located: &Located) -> Result<Leaving, ActionError> {
        match self.api(located).delete(&located.name.name, &DeleteParams::background()).await {
            Ok(deleted) if deleted.is_left() => Ok(Leaving::OnItsWay),
            Ok(_) => Ok(Leaving::Gone),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Leaving::Gone),
            Err(error) => Err(failed("delete", located)(error)),
        }
    }

    /// Follows an object until `found` finds something in it. What it finds missing, `missing` at first, is told if time is
    /// up.
    pub(super) async fn until<T>(
        &self,
        located: &Located,
        patience: Duration,
        missing: &str,
        mut found: impl FnMut(Option<&Json>) -> Result<T, String>,
    ) -> Result<T, ActionError> {
        let mut missing = missing.to_owned();
        let mut changes = Box::pin(watch_object(self.api(located), &located.name.name));
        let following = async {
            while let Some(change) = changes.next().await {
                let object = match change {
                    Ok(object) => object.map(|object| json(&object, located)).transpose()?,
                    Err(watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) => {
                        return Err(failed("watch", located)(error));
                    }
                    // The stream ended or is too old: it begins anew by itself.
                    Err(_) => continue,
                };
                match found(object.as_ref()) {
                    Ok(found) => return Ok(Some(found)),
                    Err(still) => missing = still,
                }
            }
            Ok(None)
        };
        if let Some(found) = tokio::time::timeout(patience, following).await.unwrap_or(Ok(None))? {
            return Ok(found);
        }
        Err(ActionError::NotReady { object: Box::new(located.name.clone()), reason: missing, after: patience })
    }

    /// Waits until an object is gone.
    pub(super) async fn until_gone(&self, located: &Located, patience: Duration) -> Result<(), ActionError> {
        let still = "it is still there";
        let is_gone = |object: Option<&Json>| object.map_or(Ok(()), |_| Err(still.to_owned()));
        self.until(located, patience, still, is_gone).await
    }

    /// Makes fields that Helm wrote by updates our applied ones, so that those we wish no more go.
    pub(super) async fn adopt_fields(&self, located: &Located) -> Result<(), ActionError> {
        for _ in 0..ADOPTIONS {
            let Some(live) = self.get(located).await? else { return Ok(()) };
            let entries = live.pointer("/metadata/managedFields").and_then(Json::as_array);
            let Some(adopted) = entries.and_then(|entries| adopted(entries, &self.manager)) else { return Ok(()) };
            let seen = live.pointer("/metadata/resourceVersion");
            let patch = json!({"metadata": {"resourceVersion": seen, "managedFields": adopted}});
            let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
            match self.api(located).patch(&located.name.name, &params, &Patch::Merge(patch)).await {
                Ok(_) => return Ok(()),
                // It changed meanwhile.
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(failed("take over the fields of", located)(error)),
            }
        }
        Ok(())
    }
}

/// How often fields are tried to be taken over while others write.
const ADOPTIONS: usize = 5;

/// The entries of managedFields in which all that Helm updated is applied by `manager`; nothing if there is no such.
fn adopted(entries: &[Json], manager: &str) -> Option<Vec<Json>> {
    let is_whole = |entry: &Json| entry.get("subresource").and_then(Json::as_str).unwrap_or_default().is_empty();
    let is_updated = |entry: &&Json| is_whole(entry) && entry["manager"] == HELM && entry["operation"] == "Update";
    let is_applied = |entry: &&Json| is_whole(entry) && entry["manager"] == manager && entry["operation"] == "Apply";
    let mut ours = entries.iter().find(is_updated)?.clone();
    let mut fields = Json::Object(Map::new());
    for entry in entries.iter().filter(|entry| is_updated(entry) || is_applied(entry)) {
        union(&mut fields, &entry["fieldsV1"]);
    }
    ours["fieldsV1"] = fields;
    ours["manager"] = manager.into();
    ours["operation"] = "Apply".into();
    let others = entries.iter().filter(|entry| !is_updated(entry) && !is_applied(entry)).cloned();
    Some(others.chain([ours]).collect())
}

/// What Helm calls itself as a field manager.
const HELM: &str = "helm";

fn union(under: &mut Json, over: &Json) {
    let (Json::Object(under), Json::Object(over)) = (under, over) else { return };
    for (key, value) in over {
        union(under.entry(key.clone()).or_insert_with(|| Json::Object(Map::new())), value);
    }
}

/// An object as JSON, with its kind, which members of lists do not carry.
fn json(object: &DynamicObject, located: &Located) -> Result<Json, ActionError> {
    let mut json =
        serde_json::to_value(object).map_err(|error| ActionError::Manifest(format!("{}: {error}", located.name)))?;
    json["apiVersion"] = located.name.api_version.as_str().into();
    json["kind"] = located.name.kind.as_str().into();
    Ok(json)
}

fn failed(verb: &'static str, located: &Located) -> impl Fn(kube::Error) -> ActionError {
    let object = Box::new(located.name.clone());
    move |error| ActionError::Api { verb, object: object.clone(), source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helm_updated_is_ours() {
        let entry = |manager: &str, operation: &str, fields: Json| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let status = json!({"manager": "helm", "operation": "Update", "subresource": "status", "fieldsV1": {}});
        let updated = entry("helm", "Update", json!({"f:data": {"f:a": {}}}));
        let applied = entry("us", "Apply", json!({"f:data": {"f:b": {}}}));
        let other = entry("kubectl", "Update", json!({"f:data": {"f:c": {}}}));
        let both = entry("us", "Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}));
        assert_eq!(adopted(&[other.clone(), applied.clone(), status.clone()], "us"), None);
        assert_eq!(adopted(&[updated, other.clone(), applied, status.clone()], "us"), Some(vec![other, status, both]));
    }
}
