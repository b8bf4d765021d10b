//! Writing what should be, when it is not.

use aws_lc_rs::digest;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Failure, Retry};

/// Annotation with the digest of what was last applied, by which a removed wish is noticed.
pub const APPLIED: &str = "butler.butlerlabs.dev/applied";

/// Writes objects by server-side apply under one name, and only those that are not as they should be.
#[derive(Clone)]
pub struct Applier {
    client: Client,
    manager: &'static str,
}

impl Applier {
    /// Writes through `client` as the field manager `manager`.
    pub fn new(client: Client, manager: &'static str) -> Self {
        Self { client, manager }
    }

    /// The client below.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The API of a kind in the namespace of an object.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Makes a namespaced object what `desired` says, if `observed` is not. Gives back what was written.
    pub async fn apply<K>(&self, observed: Option<&K>, desired: K) -> Result<Option<K>, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize + DeserializeOwned + Clone,
        K: std::fmt::Debug,
    {
        let Some(wanted) = changed(observed, desired)? else { return Ok(None) };
        let api: Api<K> = self.api(wanted.namespace().as_deref().unwrap_or_default());
        self.patch(&api, &wanted).await.map(Some)
    }

    /// The same for an object of any scope, through its own API.
    pub async fn apply_in<K>(&self, api: &Api<K>, observed: Option<&K>, desired: K) -> Result<Option<K>, Failure>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
    {
        let Some(wanted) = changed(observed, desired)? else { return Ok(None) };
        self.patch(api, &wanted).await.map(Some)
    }

    /// The same for a namespaced object of a kind that has no type.
    pub async fn apply_kind(
        &self,
        kind: &ApiResource,
        observed: Option<&DynamicObject>,
        desired: DynamicObject,
    ) -> Result<Option<DynamicObject>, Failure> {
        let Some(wanted) = changed(observed, desired)? else { return Ok(None) };
        let namespace = wanted.namespace().unwrap_or_default();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &namespace, kind);
        self.patch(&api, &wanted).await.map(Some)
    }

    async fn patch<K>(&self, api: &Api<K>, wanted: &K) -> Result<K, Failure>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
    {
        let params = PatchParams::apply(self.manager).force();
        let written = api.patch(&wanted.name_any(), &params, &Patch::Apply(wanted)).await;
        written.map_err(|error| {
            let subject = format!("cannot write {}", object_name(api.resource_url(), wanted));
            let failure = Failure::from(error);
            Failure { message: format!("{subject}: {}", failure.message), ..failure }
        })
    }

    /// Writes the status of an object if it differs from the one it has.
    pub async fn report<K, S>(
        &self,
        api: &Api<K>,
        object: &K,
        before: Option<&S>,
        status: &S,
    ) -> Result<Option<K>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
        S: Serialize + PartialEq,
    {
        if before == Some(status) {
            return Ok(None);
        }
        let body = serde_json::json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            // Of this very object: a status is never written to a namesake that came after it.
            "metadata": { "name": object.name_any(), "uid": object.uid() },
            "status": status,
        });
        let params = PatchParams::apply(self.manager).force();
        Ok(Some(api.patch_status(&object.name_any(), &params, &Patch::Apply(&body)).await?))
    }

    /// Deletes an object that is there and not on its way out yet.
    pub async fn delete<K>(&self, api: &Api<K>, object: &K) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
    {
        if object.meta().deletion_timestamp.is_some() {
            return Ok(());
        }
        let preconditions = Preconditions { uid: object.uid(), resource_version: None };
        let params = DeleteParams::background().preconditions(preconditions);
        match api.delete(&object.name_any(), &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What has to be written: nothing when the object is as it should be. Pure.
pub fn changed<K>(observed: Option<&K>, mut desired: K) -> Result<Option<K>, Failure>
where
    K: Resource + Serialize,
{
    let wanted = encode(&desired)?;
    let digest = fingerprint(&wanted);
    if let Some(observed) = observed
        && observed.annotations().get(APPLIED) == Some(&digest)
        && holds(&encode(observed)?, &wanted)
    {
        return Ok(None);
    }
    desired.annotations_mut().insert(APPLIED.to_owned(), digest);
    Ok(Some(desired))
}

/// What people call an object, out of the path of its collection: `machinedeployments my-cluster-workers`.
fn object_name<K: Resource>(collection: &str, object: &K) -> String {
    format!("{} {}", collection.rsplit('/').next().unwrap_or_default(), object.name_any())
}

fn encode<K: Serialize>(object: &K) -> Result<Value, Failure> {
    serde_json::to_value(object)
        .map_err(|error| Failure::new(Retry::Terminal, "Internal", "an object cannot be encoded").caused_by(error))
}

/// A digest of a value: the first 16 bytes of a hash, in hexadecimal.
pub fn fingerprint(value: &Value) -> String {
    let digest = digest::digest(&digest::SHA256, value.to_string().as_bytes());
    digest.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether everything that is wanted is there. The API adds fields of its own to maps, never members to our lists.
fn holds(observed: &Value, wanted: &Value) -> bool {
    match (observed, wanted) {
        (Value::Object(observed), Value::Object(wanted)) => wanted.iter().all(|(name, value)| {
            match observed.get(name) {
                // A reference may come back in another version of the same group, where several are served.
                Some(observed) if name == "apiVersion" && wanted.contains_key("name") => {
                    group(observed) == group(value)
                }
                Some(observed) => holds(observed, value),
                // Empty things are dropped on the way.
                None => is_empty(value),
            }
        }),
        (Value::Array(observed), Value::Array(wanted)) => {
            observed.len() == wanted.len() && observed.iter().zip(wanted).all(|(o, w)| holds(o, w))
        }
        _ => observed == wanted,
    }
}

fn group(api_version: &Value) -> Option<&str> {
    Some(api_version.as_str()?.rsplit_once('/')?.0)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_wanted_is_compared() {
        for (observed, wanted, expected) in [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 2}), json!({"a": 1}), false),
            (json!({}), json!({"a": {}}), true),
            (json!({}), json!({"a": []}), true),
            (json!({}), json!({"a": 1}), false),
            (json!({"l": [{"n": 1, "x": 1}]}), json!({"l": [{"n": 1}]}), true),
            (json!({"l": [1, 2]}), json!({"l": [1]}), false),
            (json!({"apiVersion": "g/v2", "name": "n"}), json!({"apiVersion": "g/v1", "name": "n"}), true),
            (json!({"apiVersion": "h/v1", "name": "n"}), json!({"apiVersion": "g/v1", "name": "n"}), false),
        ] {
            assert_eq!(holds(&observed, &wanted), expected, "{observed} {wanted}");
        }
    }

    #[test]
    fn an_object_is_written_when_it_or_the_wish_changed() {
        let object = |data: Value| -> ConfigMap {
            serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "b"}, "data": data})).unwrap()
        };
        let first = changed(None, object(json!({"x": "1", "y": "2"}))).unwrap().unwrap();
        assert!(changed(Some(&first), object(json!({"x": "1", "y": "2"}))).unwrap().is_none());
        // Somebody else changed it.
        let mut edited = first.clone();
        edited.data.as_mut().unwrap().insert("x".into(), "3".into());
        assert!(changed(Some(&edited), object(json!({"x": "1", "y": "2"}))).unwrap().is_some());
        // A wish was dropped.
        assert!(changed(Some(&first), object(json!({"x": "1"}))).unwrap().is_some());
    }
}
