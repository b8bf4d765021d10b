//! Addons: asking for them, changing, looking, removing.

use std::sync::Arc;

use butler_api::butler::{AddonDefinition, TenantAddon};
use helm::action::{Actions, Options};
use helm::chart::{Chart, File};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use crate::plane::{Plane, ended, failed};

const NAME: &str = "tenantaddon.butler.butlerlabs.dev/my-cluster-longhorn";

async fn with_catalogue() -> Plane {
    let plane = Plane::start().await;
    plane.cluster("team-a", "my-cluster", json!({}), json!({"phase": "Ready"})).await;
    let charts = plane.folder().join("charts");
    charts::write_repository(&charts).unwrap();
    let mirrored =
        json!({"butler.butlerlabs.dev/mirrored-at": format!("https://charts.longhorn.io file://{}", charts.display())});
    let definition = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "AddonDefinition",
        "metadata": {"name": "longhorn", "annotations": mirrored},
        "spec": {
            "displayName": "Longhorn", "description": "Volumes.", "category": "storage", "dependsOn": ["cilium"],
            "chart": {"repository": "https://charts.longhorn.io", "name": "longhorn", "defaultVersion": "1.7.2"},
            "defaults": {"values": {"ui": {"replicas": 2}}},
            "configurableValues": [
                {"path": "ui.replicas", "type": "integer", "description": "Copies of the UI."},
                {"path": "extra", "type": "boolean"}, {"path": "own", "type": "integer"},
            ],
        },
    });
    plane.make::<AddonDefinition>(definition, None).await;
    plane
}

fn addons(plane: &Plane) -> Api<TenantAddon> {
    Api::namespaced(plane.client.clone(), "team-a")
}

#[tokio::test]
async fn an_addon_is_asked_for_changed_and_removed() {
    let plane = with_catalogue().await;
    assert_eq!(
        plane.done("addon catalog").await,
        "NAME       CATEGORY   VERSION   NEEDS    DESCRIPTION\nlonghorn   storage    1.7.2     cilium   Volumes.\n"
    );
    let entry = plane.done("addon catalog longhorn").await;
    assert!(entry.contains("ui.replicas   integer   no         Copies of the UI."), "{entry}");

    let asked = plane.done("addon install longhorn -c my-cluster --set ui.replicas=3,extra=true").await;
    assert_eq!(asked, format!("{NAME} asked for\n"));
    let made = addons(&plane).get("my-cluster-longhorn").await.unwrap().spec;
    assert_eq!((made.cluster_ref.name.as_str(), made.addon.as_deref()), ("my-cluster", Some("longhorn")));
    assert_eq!(json!(made.values), json!({"ui": {"replicas": 3}, "extra": true}));

    // By its name in the catalogue, and by its own.
    let changed = plane.done("addon upgrade longhorn -c my-cluster --version 1.7.1 --set extra=false").await;
    assert_eq!(changed, format!("{NAME} changed\n"));
    let made = addons(&plane).get("my-cluster-longhorn").await.unwrap().spec;
    assert_eq!(made.version.as_deref(), Some("1.7.1"));
    assert_eq!(plane.done("addon values my-cluster-longhorn").await, "extra: false\nui:\n  replicas: 3\n");
    let idle = plane.run("addon upgrade my-cluster-longhorn").await;
    assert_eq!(idle, failed(2, "nothing to change: name a --version, or values with --set or --values"));
    let unsure = "Addon my-cluster-longhorn of cluster my-cluster will be removed, with all objects of its release.\n\
        my-cluster-longhorn is not removed: there is nobody to ask here, add --yes if you are sure";
    assert_eq!(plane.run("addon uninstall my-cluster-longhorn").await, failed(2, unsure));
    assert_eq!(plane.run("addon uninstall nosuch").await.code, 3);
    let gone = plane.done("addon uninstall my-cluster-longhorn --yes --wait").await;
    assert_eq!(gone, format!("{NAME} is being removed\n"));
    assert!(addons(&plane).get_opt("my-cluster-longhorn").await.unwrap().is_none());
    let missing = plane.run("addon status longhorn -c my-cluster").await;
    assert_eq!(missing.code, 3, "{missing:?}");
}

#[tokio::test]
async fn what_the_catalogue_does_not_have_is_refused_at_once() {
    let plane = with_catalogue().await;
    plane.done("addon install longhorn -c my-cluster").await;
    // Of a chart that is offered in every version, the repository says which there are.
    let there = "chart longhorn 9.9.9 of https://charts.longhorn.io: there is no such version; there are 1.7.2, 1.7.1";
    for command in [
        "addon install longhorn -c my-cluster --name other --version 9.9.9",
        "addon upgrade longhorn -c my-cluster --version 9.9.9",
    ] {
        assert_eq!(plane.run(command).await, failed(6, there), "{command}");
    }
    // Who may not read which mirrors there are leaves it to Butler.
    let resources = ["tenantclusters", "tenantaddons", "addondefinitions"];
    plane.grant_everywhere("alice", &resources, &["get", "list", "create", "patch", "update"]).await;
    let mut alices = plane.command("addon upgrade longhorn -c my-cluster -n team-a --version 9.9.9");
    alices.env("KUBECONFIG", plane.kubeconfig("alice", "team-a"));
    let said = ended(alices).await;
    assert_eq!(said.code, 0, "{said:?}");
    // One that cannot be asked from here is left to Butler.
    let definitions: Api<AddonDefinition> = Api::all(plane.client.clone());
    let nowhere = json!({"butler.butlerlabs.dev/mirrored-at": "https://charts.longhorn.io file:///nowhere"});
    let nowhere = json!({"metadata": {"annotations": nowhere}});
    definitions.patch("longhorn", &PatchParams::default(), &Patch::Merge(nowhere)).await.unwrap();
    plane.done("addon upgrade longhorn -c my-cluster --version 1.7.3").await;
    let offered = json!({"spec": {"chart": {"availableVersions": ["1.7.2", "1.7.3"]}}});
    definitions.patch("longhorn", &PatchParams::default(), &Patch::Merge(offered)).await.unwrap();
    let versions = "longhorn is not offered in version 9.9.9\n  set spec.version to one of 1.7.2, 1.7.3";
    let values = "values.colour cannot be set: this addon takes ui.replicas, extra, own\n  correct spec.values";
    for (command, code, told) in [
        (
            "addon install nosuch -c my-cluster",
            3,
            "the catalogue has no addon \"nosuch\"; `butlerctl addon catalog` lists what it has",
        ),
        ("addon install longhorn -c my-cluster --name other --version 9.9.9", 6, versions),
        ("addon upgrade longhorn -c my-cluster --version 9.9.9", 6, versions),
        ("addon upgrade longhorn -c my-cluster --set colour=red", 6, values),
    ] {
        assert_eq!(plane.run(command).await, failed(code, told), "{command}");
    }
    let names: Vec<_> =
        addons(&plane).list(&ListParams::default()).await.unwrap().iter().map(kube::ResourceExt::name_any).collect();
    assert_eq!(names, ["my-cluster-longhorn"]);
}

#[tokio::test]
async fn what_others_depend_on_is_not_removed() {
    let plane = with_catalogue().await;
    plane.done("addon install longhorn -c my-cluster").await;
    plane.done("addon install longhorn -c my-cluster --name base").await;
    let after = json!({"spec": {"dependsOn": [{"name": "base"}]}});
    addons(&plane).patch("my-cluster-longhorn", &PatchParams::default(), &Patch::Merge(after)).await.unwrap();
    let there = Patch::Merge(json!({"status": {"helmRelease": {"name": "longhorn", "revision": 1}}}));
    addons(&plane).patch_status("my-cluster-longhorn", &PatchParams::default(), &there).await.unwrap();
    let told = "base stays: my-cluster-longhorn depends on it; remove what does first";
    assert_eq!(plane.run("addon uninstall base --yes --wait").await, failed(6, told));
    assert!(addons(&plane).get("base").await.unwrap().metadata.deletion_timestamp.is_none());
    plane.done("addon uninstall my-cluster-longhorn --yes").await;
    plane.done("addon uninstall base --yes --wait").await;
}

#[tokio::test]
async fn an_addon_goes_whether_its_cluster_can_be_seen_or_not() {
    let plane = with_catalogue().await;
    let lost = |name: &str| {
        json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {"name": name},
            "spec": {"clusterRef": {"name": "nosuch"}, "addon": "longhorn"},
        })
    };
    plane.make::<TenantAddon>(lost("lost"), Some("team-a")).await;
    let gone = plane.done("addon uninstall lost --yes").await;
    assert_eq!(gone, "tenantaddon.butler.butlerlabs.dev/lost is being removed\n");
    plane.grant_everywhere("alice", &["tenantaddons"], &["get", "list", "delete"]).await;
    plane.done("addon install longhorn -c my-cluster").await;
    let mut alices = plane.command("addon uninstall my-cluster-longhorn -n team-a --yes");
    alices.env("KUBECONFIG", plane.kubeconfig("alice", "team-a"));
    let said = ended(alices).await;
    assert_eq!((said.code, said.out, said.err), (0, format!("{NAME} is being removed\n"), String::new()));
}

#[tokio::test]
async fn a_status_without_words_is_shown_without() {
    let plane = with_catalogue().await;
    plane.done("addon install longhorn -c my-cluster").await;
    let conditions = json!([
        {"type": "Installed", "status": "False", "reason": "NotInstalled", "message": ""}, {"type": "Healthy", "status": "Unknown"},
    ]);
    let patch = Patch::Merge(json!({"status": {"phase": "Pending", "conditions": conditions}}));
    addons(&plane).patch_status("my-cluster-longhorn", &PatchParams::default(), &patch).await.unwrap();
    let told = plane.done("addon status my-cluster-longhorn").await;
    assert!(told.contains("\n  Installed: False (NotInstalled)\n  Healthy: Unknown\n"), "{told}");
}

#[tokio::test]
async fn what_an_addon_waits_for_is_shown() {
    let plane = with_catalogue().await;
    plane.done("addon install longhorn -c my-cluster").await;
    let status = json!({
        "phase": "Failed", "observedGeneration": 1, "message": "no such version",
        "blockers": [{"reason": "VersionNotFound", "message": "no such version", "owner": "User", "remedy": "choose another",
            "evidence": ["there is 1.7.2"]}],
    });
    let patch = Patch::Merge(json!({"status": status}));
    addons(&plane).patch_status("my-cluster-longhorn", &PatchParams::default(), &patch).await.unwrap();
    let list = plane.done("addon list -c my-cluster").await;
    assert!(list.contains("my-cluster-longhorn   longhorn   Failed"), "{list}");
    assert!(list.contains("VersionNotFound"), "{list}");
    let told = plane.done("addon status my-cluster-longhorn").await;
    let expected = "\n\nIt waits: VersionNotFound: no such version\n  - there is 1.7.2\n  you: choose another\n";
    assert!(told.ends_with(expected), "{told}");
    let waited = plane.run("addon upgrade my-cluster-longhorn --set own=1 --wait --timeout 1s").await;
    let late = "my-cluster-longhorn is not installed after 1 s: Butler has not seen yet what is asked for";
    assert_eq!((waited.code, waited.err.contains(late)), (4, true), "{waited:?}");
}

#[tokio::test]
async fn addons_of_a_cluster_are_changed_in_its_spec() {
    let plane = with_catalogue().await;
    let cluster = plane.clusters("team-a").get("my-cluster").await.unwrap();
    let owner = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "name": "my-cluster",
        "uid": cluster.metadata.uid, "controller": true,
    });
    let addon = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
        "metadata": {"name": "my-cluster-longhorn", "ownerReferences": [owner]},
        "spec": {"clusterRef": {"name": "my-cluster"}, "addon": "longhorn"},
    });
    plane.make::<TenantAddon>(addon, Some("team-a")).await;
    let refused = "my-cluster-longhorn comes from spec.addons of TenantCluster my-cluster: change it there";
    for command in ["addon upgrade longhorn -c my-cluster --version 1.0.0", "addon uninstall my-cluster-longhorn --yes"]
    {
        assert_eq!(plane.run(command).await, failed(6, refused), "{command}");
    }
}

/// A chart of one ConfigMap.
fn chart() -> Chart {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned().into() };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lh}\ndata: {ui: \"{{ .Values.ui.replicas }}\", own: \"{{ .Values.own }}\"}\n";
    let metadata = "apiVersion: v2\nname: longhorn\nversion: 1.7.2\n";
    Chart::from_files(vec![file("Chart.yaml", metadata), file("templates/map.yaml", map)]).unwrap()
}

/// An addon that was installed with `own` 1 and then upgraded to 2, on a cluster that is the plane itself.
async fn upgraded() -> Plane {
    let plane = with_catalogue().await;
    let kubeconfig = std::fs::read_to_string(plane.folder().join("admin")).unwrap();
    let secret = json!({"metadata": {"name": "my-cluster-kubeconfig"}, "stringData": {"value": kubeconfig}});
    plane.make::<Secret>(secret, Some("team-a")).await;
    plane.done("addon install longhorn -c my-cluster --set own=2").await;
    let actions = Actions::new(plane.client.clone(), "helm", Arc::new(jiff::Timestamp::now));
    for own in [1, 2] {
        let values = |json: serde_json::Value| json.as_object().unwrap().clone();
        let options = Options {
            given: Some(values(json!({"own": own}))),
            labels: fleet::addon::labels_of("my-cluster-longhorn"),
            ..Options::default()
        };
        let all = values(json!({"ui": {"replicas": 2}, "own": own}));
        match own {
            1 => actions.install("longhorn", &chart(), &all, &options).await.unwrap(),
            _ => actions.upgrade("longhorn", &chart(), &all, &options).await.unwrap(),
        };
    }
    let release = json!({"status": {"helmRelease": {"name": "longhorn", "namespace": "default", "revision": 2}}});
    let patch = Patch::Merge(release);
    addons(&plane).patch_status("my-cluster-longhorn", &PatchParams::default(), &patch).await.unwrap();
    plane
}

#[tokio::test]
async fn going_back_asks_for_what_the_user_asked_for_then() {
    let plane = upgraded().await;
    assert_eq!(plane.done("addon rollback longhorn -c my-cluster").await, format!("{NAME} goes back\n"));
    let spec = addons(&plane).get("my-cluster-longhorn").await.unwrap().spec;
    // What the catalogue says stays the catalogue's.
    assert_eq!((json!(spec.values), spec.version.as_deref()), (json!({"own": 1}), Some("1.7.2")));
}

#[tokio::test]
async fn a_change_is_shown_by_values_and_objects() {
    let plane = upgraded().await;
    for command in ["addon diff longhorn -c my-cluster", "addon diff longhorn -c my-cluster --values-only"] {
        let said = plane.run(command).await;
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", "Nothing would change.\n"), "{command}");
    }
    // What an upgrade would refuse is no change that could come.
    let there = "chart longhorn 9.9.9 of https://charts.longhorn.io: there is no such version; there are 1.7.2, 1.7.1";
    assert_eq!(plane.run("addon diff longhorn -c my-cluster --version 9.9.9").await, failed(6, there));
    let values = "values.colour cannot be set: this addon takes ui.replicas, extra, own\n  correct spec.values";
    assert_eq!(plane.run("addon diff longhorn -c my-cluster --set colour=red").await, failed(6, values));
    let shown = plane.done("addon diff longhorn -c my-cluster --set own=3").await;
    assert!(shown.starts_with("~ values.own: 2 -> 3\n--- ConfigMap lh\n+++ ConfigMap lh\n"), "{shown}");
    assert!(shown.contains("-  own: \"2\"\n+  own: \"3\"\n"), "{shown}");
    let json = plane.done("addon diff longhorn -c my-cluster --set own=3 -o json").await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["fields"][0]["path"], "values.own");
    assert_eq!(
        (&json["objects"][0]["object"], &json["objects"][0]["change"]),
        (&json!("ConfigMap lh"), &json!("changed"))
    );
    // Charts come from where Butler has them from.
    let shown = plane.done("addon diff longhorn -c my-cluster --version 1.7.1").await;
    assert!(shown.contains("+++ DaemonSet default/longhorn-manager"), "{shown}");
    let nowhere = json!({"spec": {"chart": {"repository": "http://127.0.0.1:9"}}, "metadata": {"annotations": null}});
    let definitions: Api<AddonDefinition> = Api::all(plane.client.clone());
    definitions.patch("longhorn", &PatchParams::default(), &Patch::Merge(nowhere)).await.unwrap();
    // What cannot be fetched is told, and the rest is shown all the same.
    let said = plane.run("addon diff longhorn -c my-cluster --version 9.9.9").await;
    assert_eq!((said.code, said.out.as_str()), (0, "~ version: \"1.7.2\" -> \"9.9.9\"\n"));
    assert!(said.err.contains("The objects cannot be compared: chart longhorn 9.9.9 of"), "{said:?}");
}
