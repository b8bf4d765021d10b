//! Installing Butler's own kinds.

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kapi::{Api, Peer};
use kube::api::{Patch, PatchParams};
use kube::{Client, ResourceExt};

/// Applies Butler's CRDs. Unchanged ones are not written.
pub(crate) async fn crds(api: &Api) -> Result<()> {
    let client = client(api);
    let definitions: kube::Api<CustomResourceDefinition> = kube::Api::all(client);
    let params = PatchParams::apply("butler").force();
    // All at once: their commits share a few disk syncs.
    let applied = butler_api::crds().into_iter().map(|definition| {
        let (definitions, params) = (&definitions, &params);
        async move {
            let name = definition.name_any();
            let applied = definitions.patch(&name, params, &Patch::Apply(&definition)).await;
            applied.with_context(|| format!("cannot install the CRD {name}"))
        }
    });
    futures::future::try_join_all(applied).await?;
    Ok(())
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
