//! Installing Butler's own kinds, and Cluster API's, for which this machine stands in.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::TryStreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kapi::{Api, Peer};
use kube::api::{
    ApiResource, ListParams, NotUsed, Object, PartialObjectMeta, Patch, PatchParams, WatchEvent, WatchParams,
};
use kube::{Client, ResourceExt};
use serde_json::value::RawValue;
use tokio::task::JoinSet;

/// The CRDs: name and JSON, as in `crds/`.
const DEFINITIONS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/crds.rs"));

/// Who applies them.
const MANAGER: &str = "butler";

/// The definition that says Cluster API is there.
const CLUSTER_API: &str = "clusters.cluster.x-k8s.io";

/// It takes milliseconds; longer than this means it will not happen.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Enough that commits share disk syncs; the memory that each takes is hard to give back.
const AT_ONCE: usize = 4;

/// A definition as far as it is looked at: without its schemas.
type Definition = Object<NotUsed, CustomResourceDefinitionStatus>;

/// What was found and made.
pub(crate) struct Installed {
    /// Whether Cluster API's kinds are ours, so that we stand in for it.
    pub(crate) cluster_api: bool,
    /// The names of definitions that somebody else brought, and so serves.
    pub(crate) others: BTreeSet<String>,
}

/// Applies the CRDs and waits until they are served. Unchanged ones are not written, and others' are left alone.
pub(crate) async fn crds(client: &Client) -> Result<Installed> {
    let kind = ApiResource::erase::<CustomResourceDefinition>(&());
    let definitions: kube::Api<Definition> = kube::Api::all_with(client.clone(), &kind);
    let there = definitions.list_metadata(&ListParams::default()).await.context("cannot list the CRDs")?;
    let others: BTreeSet<String> = there.iter().filter(|one| !is_ours(one)).map(ResourceExt::name_any).collect();
    let mut applied = JoinSet::new();
    for &(name, json) in DEFINITIONS.iter().filter(|(name, _)| !others.contains(*name)) {
        if applied.len() == AT_ONCE
            && let Some(done) = applied.join_next().await
        {
            done??;
        }
        let definitions = definitions.clone();
        applied.spawn(async move {
            let definition: &RawValue = serde_json::from_str(json)?;
            let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(definition));
            let patched = definitions.patch(name, &params, &patch).await;
            patched.with_context(|| format!("cannot install the CRD {name}"))
        });
    }
    while let Some(done) = applied.join_next().await {
        done??;
    }
    let waited = tokio::time::timeout(ESTABLISHED_WITHIN, established(&definitions)).await;
    waited.with_context(|| format!("the CRDs are not established after {ESTABLISHED_WITHIN:?}"))??;
    Ok(Installed { cluster_api: !others.contains(CLUSTER_API), others })
}

/// Whether a definition is Butler's, or one of Cluster API's that Butler has brought and nobody has replaced since: whoever
/// says what its versions are serves it.
fn is_ours(definition: &PartialObjectMeta<Definition>) -> bool {
    let says_versions = |entry: &ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref();
        entry.manager.as_deref() == Some(MANAGER)
            && fields.is_some_and(|fields| fields.0.pointer("/f:spec/f:versions").is_some())
    };
    definition.name_any().ends_with(".butlerlabs.dev") || definition.managed_fields().iter().any(says_versions)
}

/// Waits until all are served.
async fn established(definitions: &kube::Api<Definition>) -> Result<()> {
    let mut missing: BTreeSet<&str> = DEFINITIONS.iter().map(|(name, _)| *name).collect();
    let mut events = std::pin::pin!(definitions.watch(&WatchParams::default(), "0").await?);
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(definition) | WatchEvent::Modified(definition) if is_established(&definition) => {
                missing.remove(definition.name_any().as_str());
            }
            WatchEvent::Error(status) => bail!("cannot watch the CRDs: {}", status.message),
            _ => {}
        }
        if missing.is_empty() {
            return Ok(());
        }
    }
    bail!("the watch of the CRDs ended early")
}

fn is_established(definition: &Definition) -> bool {
    let conditions = definition.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

/// A client in the same process, as the administrator.
pub(crate) fn client(api: &Api) -> Client {
    let user = kapi::User {
        name: "system:butler".into(),
        groups: vec!["system:masters".into(), "system:authenticated".into()],
        ..kapi::User::default()
    };
    Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_definition_that_somebody_replaced_is_not_ours_any_more() {
        let versions = || json!({"f:spec": {"f:versions": {}}});
        let names = || json!({"f:spec": {"f:names": {"f:kind": {}}}});
        for (name, managers, expected) in [
            ("teams.butler.butlerlabs.dev", vec![], true),
            ("clusters.cluster.x-k8s.io", vec![(MANAGER, versions())], true),
            ("clusters.cluster.x-k8s.io", vec![("clusterctl", versions())], false),
            ("clusters.cluster.x-k8s.io", vec![(MANAGER, names()), ("clusterctl", versions())], false),
        ] {
            let entry = |(manager, fields): &(&str, Value)| json!({"manager": manager, "fieldsV1": fields});
            let metadata = json!({"name": name, "managedFields": managers.iter().map(entry).collect::<Vec<_>>()});
            let definition: PartialObjectMeta<Definition> = serde_json::from_value(json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata,
            }))
            .unwrap();
            assert_eq!(is_ours(&definition), expected, "{name} {managers:?}");
        }
    }
}
