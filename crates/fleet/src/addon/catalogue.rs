//! The built-in entries of the catalogue. What an operator changes about them stays changed.

use std::collections::BTreeSet;
use std::time::Duration;

use butler_api::butler::AddonDefinition;
use butler_api::names::GROUP;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// Who writes them.
const MANAGER: &str = "butler-catalogue";
/// The role of those who read it.
const READERS: &str = "butler:addon-catalogue";
/// The API may not be ready for them at once.
const AGAIN: Duration = Duration::from_secs(1);
/// An operator may have changed several fields, and each answer names those that are left.
const ATTEMPTS: usize = 8;

/// Writes the built-in entries, and tries again until all are there.
pub async fn keep(client: Client, definitions: Vec<AddonDefinition>) {
    while let Err(error) = open(&client).await {
        tracing::debug!(%error, "the catalogue cannot be opened yet");
        tokio::time::sleep(AGAIN).await;
    }
    let api: Api<AddonDefinition> = Api::all(client);
    for definition in definitions.iter().chain(&own()) {
        while let Err(error) = write(&api, definition).await {
            tracing::debug!(addon = definition.name_any(), %error, "a definition cannot be written yet");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Lets everybody who is known to the platform read the catalogue.
async fn open(client: &Client) -> kube::Result<()> {
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let params = PatchParams::apply(MANAGER).force();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": READERS},
        "rules": [{"apiGroups": [GROUP], "resources": ["addondefinitions"], "verbs": ["get", "list", "watch"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": READERS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READERS},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
    });
    roles.patch(READERS, &params, &Patch::Apply(&role)).await?;
    bindings.patch(READERS, &params, &Patch::Apply(&binding)).await?;
    Ok(())
}

async fn write(api: &Api<AddonDefinition>, definition: &AddonDefinition) -> kube::Result<()> {
    let name = definition.name_any();
    let mut body = serde_json::to_value(definition).map_err(kube::Error::SerdeError)?;
    let params = PatchParams::apply(MANAGER);
    for _ in 0..ATTEMPTS {
        let status = match api.patch(&name, &params, &Patch::Apply(&body)).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => status,
            Err(error) => return Err(error),
        };
        // These are an operator's now.
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let taken: BTreeSet<&str> = causes.map(|cause| cause.field.as_str()).collect();
        if taken.iter().filter(|field| drop_field(&mut body, field)).count() == 0 {
            return Err(kube::Error::Api(status));
        }
    }
    Ok(())
}

/// Takes a field out, named as in conflicts: `.spec.chart.defaultVersion`. One inside a list goes with its whole list.
fn drop_field(body: &mut Value, field: &str) -> bool {
    let path = field.trim_start_matches('.');
    let names: Vec<&str> = path.split('[').next().unwrap_or_default().split('.').filter(|n| !n.is_empty()).collect();
    let Some((last, parents)) = names.split_last() else { return false };
    let parent = parents.iter().try_fold(body, |found, name| found.get_mut(*name));
    parent.and_then(Value::as_object_mut).is_some_and(|fields| fields.remove(*last).is_some())
}

/// Entries that go with others: objects of kinds that those bring.
fn own() -> Vec<AddonDefinition> {
    let entry = |name: &str, spec: Value| {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "AddonDefinition", "metadata": {"name": name},
            "spec": spec,
        }))
    };
    let addresses = entry(
        "metallb-addresses",
        json!({
            "displayName": "MetalLB addresses", "category": "loadbalancer", "platform": true,
            "description": "The addresses that MetalLB gives to Services of a cluster.",
            "dependsOn": ["metallb"], "order": 25,
            "manifests": {"version": "1.0.0", "inline": include_str!("manifests/metallb-addresses.yaml")},
            "defaults": {"namespace": "metallb-system", "createNamespace": false},
            "configurableValues": [{"path": "addresses", "type": "string", "required": true,
                "description": "First and last address, with a dash between, or a CIDR."}],
        }),
    );
    let repository = entry(
        "flux-repository",
        json!({
            "displayName": "Flux repository", "category": "gitops",
            "description": "The Git repository that Flux follows.",
            "dependsOn": ["flux"], "order": 110,
            "manifests": {"version": "1.0.0", "inline": include_str!("manifests/flux-repository.yaml")},
            "defaults": {"namespace": "flux-system", "createNamespace": false, "values": {"secretRef": "null"}},
            "configurableValues": [
                {"path": "url", "type": "string", "required": true, "description": "Address of the repository."},
                {"path": "branch", "type": "string", "required": true, "description": "Branch to follow."},
                {"path": "path", "type": "string", "required": true, "description": "Directory in it."},
                {"path": "secretRef", "description": "Name of a Secret in flux-system with credentials for it."},
            ],
        }),
    );
    [addresses, repository].into_iter().filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_dropped_by_their_path() {
        let mut body = json!({"spec": {"order": 1, "chart": {"name": "a", "v": "1"}, "list": [{"path": "x"}]}});
        assert!(drop_field(&mut body, ".spec.chart.v"));
        assert!(drop_field(&mut body, ".spec.list[path=\"x\"].type"));
        assert!(!drop_field(&mut body, ".spec.nothing"));
        assert!(!drop_field(&mut body, ""));
        assert_eq!(body, json!({"spec": {"order": 1, "chart": {"name": "a"}}}));
    }

    #[test]
    fn entries_that_go_with_others_can_be_read() {
        let names: Vec<String> = own().iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["metallb-addresses", "flux-repository"]);
    }
}
