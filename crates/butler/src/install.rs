//! Installing Butler's own kinds.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kapi::{Api, Peer};
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};

/// It takes milliseconds; longer than this means it will not happen.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Applies Butler's CRDs and waits until they are served. Unchanged ones are not written.
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
            applied.with_context(|| format!("cannot install the CRD {name}"))?;
            let established = await_condition(definitions.clone(), &name, conditions::is_crd_established());
            let waited = tokio::time::timeout(ESTABLISHED_WITHIN, established).await;
            waited.with_context(|| format!("the CRD {name} is not established after {ESTABLISHED_WITHIN:?}"))??;
            Ok::<_, anyhow::Error>(())
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
