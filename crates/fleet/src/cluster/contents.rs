//! What people made inside a cluster and what lives outside of it: load balancers and volumes. They are removed while the
//! cluster can still do it.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Service};
use kube::api::{DeleteParams, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use runtime::{Failure, Ways};
use serde::de::DeserializeOwned;

/// On volumes that were made for a claim.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// An API server that does not answer for so long does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A client of the cluster. With a patience, an answer that takes longer is none; watches are silent for longer.
pub(crate) async fn client(ways: &Ways, kubeconfig: &[u8], patience: Option<Duration>) -> Result<Client, Failure> {
    let mut config = runtime::config_of_secret(kubeconfig).await?;
    (config.connect_timeout, config.read_timeout) = (Some(PATIENCE), patience);
    ways.client(config).map_err(Into::into)
}

/// Removes them. Gives back what is still there.
pub(crate) async fn clear(client: &Client) -> Result<Vec<String>, Failure> {
    let mut left = Vec::new();
    let services: Api<Service> = Api::all(client.clone());
    for service in services.list(&ListParams::default()).await? {
        if service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("LoadBalancer") {
            left.push(format!("Service {}/{}", service.namespace().unwrap_or_default(), service.name_any()));
            delete(client, &service).await?;
        }
    }
    // They would make their claims anew.
    let sets: Api<StatefulSet> = Api::all(client.clone());
    for set in sets.list(&ListParams::default()).await? {
        if set.spec.as_ref().is_some_and(|spec| spec.volume_claim_templates.iter().flatten().next().is_some()) {
            left.push(format!("StatefulSet {}/{}", set.namespace().unwrap_or_default(), set.name_any()));
            delete(client, &set).await?;
        }
    }
    let claims: Api<PersistentVolumeClaim> = Api::all(client.clone());
    let mut claimed = BTreeSet::new();
    for claim in claims.list(&ListParams::default()).await? {
        let place = (claim.namespace().unwrap_or_default(), claim.name_any());
        left.push(format!("PersistentVolumeClaim {}/{}", place.0, place.1));
        claimed.insert(place);
        delete(client, &claim).await?;
    }
    if !claimed.is_empty() {
        // A claim stays as long as a pod uses it.
        let pods: Api<Pod> = Api::all(client.clone());
        for pod in pods.list(&ListParams::default()).await? {
            if uses(&pod, &claimed) {
                delete(client, &pod).await?;
            }
        }
    }
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    for volume in volumes.list(&ListParams::default()).await? {
        let spec = volume.spec.as_ref();
        // One that is to be kept is kept, and one that nobody provisioned is nobody's to remove.
        if let Some(driver) = volume.annotations().get(PROVISIONED_BY)
            && spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref()) == Some("Delete")
        {
            left.push(format!("PersistentVolume {} of {driver}", volume.name_any()));
        }
    }
    Ok(left)
}

fn uses(pod: &Pod, claims: &BTreeSet<(String, String)>) -> bool {
    let namespace = pod.namespace().unwrap_or_default();
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes
        .filter_map(|volume| volume.persistent_volume_claim.as_ref())
        .any(|claim| claims.contains(&(namespace.clone(), claim.claim_name.clone())))
}

async fn delete<K>(client: &Client, object: &K) -> Result<(), Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
{
    if object.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    match api.delete(&object.name_any(), &DeleteParams::background()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
