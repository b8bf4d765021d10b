//! The built-in entries of the catalogue. What an operator changes about them stays changed.

use std::collections::BTreeSet;
use std::time::Duration;

use butler_api::butler::AddonDefinition;
use butler_api::names::GROUP;
use helm::source::Mirror;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::names;

/// Who writes them.
const MANAGER: &str = "butler-catalogue";
/// The role of those who read it.
const READERS: &str = "butler:addon-catalogue";
/// The API may not be ready for them at once.
const AGAIN: Duration = Duration::from_secs(1);
/// An operator may have changed several fields, and each answer names those that are left.
const ATTEMPTS: usize = 8;

/// Writes the built-in entries, with where their charts come from instead, and tries again until all are there.
pub async fn keep(client: Client, definitions: Vec<AddonDefinition>, mirrors: Vec<Mirror>) {
    while let Err(error) = open(&client).await {
        tracing::debug!(%error, "the catalogue cannot be opened yet");
        tokio::time::sleep(AGAIN).await;
    }
    let api: Api<AddonDefinition> = Api::all(client);
    for definition in definitions.into_iter().chain(own()) {
        let definition = &mirrored(definition, &mirrors);
        while let Err(error) = write(&api, definition).await {
            tracing::debug!(addon = definition.name_any(), %error, "a definition cannot be written yet");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// An entry that says where its charts come from, if that is not its repository: who looks at charts from outside knows then.
fn mirrored(mut definition: AddonDefinition, mirrors: &[Mirror]) -> AddonDefinition {
    let repository = definition.spec.chart.as_ref().map(|chart| chart.repository.clone());
    let led = repository.and_then(|from| helm::source::mirrored(mirrors, &from).map(|place| format!("{from} {place}")));
    if let Some(led) = led {
        definition.annotations_mut().insert(names::MIRRORED_AT.to_owned(), led);
    }
    definition
}

/// Where the charts of a built-in entry come from instead of its repository. Of another that an operator chose it says nothing.
pub fn mirror(definition: &AddonDefinition) -> Option<Mirror> {
    let (prefix, with) = definition.annotations().get(names::MIRRORED_AT)?.split_once(' ')?;
    Some(Mirror { prefix: prefix.to_owned(), with: with.to_owned() })
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
    let path = field.trim_start_matches('.').split('[').next().unwrap_or_default();
    // The names of annotations have dots themselves.
    if body.as_object_mut().is_some_and(|fields| fields.remove(path).is_some()) {
        return true;
    }
    let Some((parent, rest)) = path.split_once('.') else { return false };
    body.get_mut(parent).is_some_and(|parent| drop_field(parent, rest))
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
        let mut noted = json!({"metadata": {"annotations": {"a.b/c": "d"}}});
        assert!(drop_field(&mut noted, ".metadata.annotations.a.b/c"));
        assert_eq!(noted, json!({"metadata": {"annotations": {}}}));
    }

    #[test]
    fn entries_say_where_their_charts_come_from() {
        let entry = |repository: &str| -> AddonDefinition {
            let chart = json!({"repository": repository, "name": "l", "defaultVersion": "1.0.0"});
            let spec = json!({"displayName": "L", "description": "l", "chart": chart});
            AddonDefinition::new("l", serde_json::from_value(spec).unwrap())
        };
        let mirrors = [Mirror { prefix: "https://a.example/charts".into(), with: "file:///srv".into() }];
        let own = mirrored(entry("https://a.example/charts/stable"), &mirrors);
        let known = mirror(&own).unwrap();
        assert_eq!(
            (known.prefix.as_str(), known.with.as_str()),
            ("https://a.example/charts/stable", "file:///srv/stable")
        );
        assert_eq!(mirror(&mirrored(entry("https://b.example"), &mirrors)), None);
        // An operator's own repository is not led to where the built-in one was.
        let mut changed = own;
        changed.spec.chart.as_mut().unwrap().repository = "https://own.example".into();
        let asked = helm::source::mirrored(&Vec::from_iter(mirror(&changed)), "https://own.example");
        assert_eq!(asked, None);
    }

    #[test]
    fn entries_that_go_with_others_can_be_read() {
        let names: Vec<String> = own().iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["metallb-addresses", "flux-repository"]);
    }
}
