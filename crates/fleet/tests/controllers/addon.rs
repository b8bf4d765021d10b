//! Addons on the management cluster, which is the API itself.

use std::path::Path;

use butler_api::butler::addon_install::AddonPhase;
use butler_api::butler::{AddonDefinition, ManagementAddon};
use fleet::addon::{AddonController, Settings};
use helm::action::went_back;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use runtime::Ways;
use serde_json::{Value, json};

use crate::world::{World, butler, create, delete, patch, until, until_gone};

/// A chart with one ConfigMap, and one that only comes with a value.
pub(crate) fn chart(directory: &Path, name: &str) -> String {
    let folder = directory.join(name);
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    write("Chart.yaml", &format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n"));
    write("values.yaml", "colour: blue\nextra: false\n");
    write(
        "templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata:\n  colour: {{ required \"a colour is needed\" .Values.colour }}\n\
         {{- if .Values.extra }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-extra}\n{{- end }}\n\
         {{- if .Values.workload }}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: idle}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n{{- end }}\n\
         {{- if .Values.broken }}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: broken}\nspec: {ports: [{port: 99999999}]}\n{{- end }}\n\
         {{- with .Values.ports }}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: misshapen}\nspec: {ports: {{ . }}}\n{{- end }}\n",
    );
    format!("file://{}", folder.display())
}

pub(crate) async fn define(world: &World, name: &str, source: Value, more: Value) {
    let mut spec = json!({"displayName": name, "description": name, "defaults": {"namespace": "default"}});
    spec.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    create(&world.all::<AddonDefinition>(), butler("AddonDefinition", name, spec)).await;
}

pub(crate) fn of_chart(repository: &str, name: &str) -> Value {
    json!({"chart": {"repository": repository, "name": name, "defaultVersion": "1.0.0"}})
}

pub(crate) fn start(world: &mut World, cache: &Path) {
    let settings = Settings { cache: cache.to_owned(), ..Settings::default() };
    world.start(|watches, clock, metrics| {
        AddonController::<ManagementAddon>::run(watches, clock, metrics, Ways::default(), settings)
    });
}

pub(crate) fn is(phase: AddonPhase) -> impl Fn(&ManagementAddon) -> bool {
    move |addon| {
        let status = addon.status.clone().unwrap_or_default();
        status.phase == Some(phase) && status.observed_generation == addon.metadata.generation
    }
}

pub(crate) fn reason(addon: &ManagementAddon) -> String {
    let blockers = addon.status.iter().flat_map(|status| &status.blockers);
    blockers.map(|blocker| blocker.reason.clone()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn colour(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get("colour").map(String::as_str)
}

#[tokio::test]
async fn an_addon_is_installed_changed_repaired_and_removed() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    define(&world, "paint", of_chart(&chart(files.path(), "paint"), "paint"), json!({})).await;
    start(&mut world, &files.path().join("cache"));
    let (addons, maps) = (world.all::<ManagementAddon>(), world.within::<ConfigMap>("default"));
    create(&addons, butler("ManagementAddon", "walls", json!({"addon": "paint"}))).await;
    let told = until(&addons, "walls", "installed", is(AddonPhase::Installed)).await.status.unwrap();
    assert_eq!(told.installed_version.as_deref(), Some("1.0.0"));
    assert_eq!(told.helm_release.unwrap().name.as_deref(), Some("paint"));
    assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("blue"));

    patch(&addons, "walls", json!({"spec": {"values": {"colour": "red", "extra": true}}})).await;
    until(&maps, "paint", "red", |map| colour(map) == Some("red")).await;
    until(&addons, "walls", "changed", is(AddonPhase::Installed)).await;
    maps.get("paint-extra").await.unwrap();

    // What others change is put back, and what they delete comes back.
    patch(&maps, "paint", json!({"data": {"colour": "grey"}})).await;
    until(&maps, "paint", "red again", |map| colour(map) == Some("red")).await;
    delete(&maps, "paint-extra").await;
    until(&maps, "paint-extra", "back", |_| true).await;
    until(&addons, "walls", "repaired", |addon| {
        addon.status.as_ref().is_some_and(|status| status.drift.as_ref().is_some_and(|d| d.last_repaired.is_some()))
    })
    .await;

    // What is no longer asked for goes.
    patch(&addons, "walls", json!({"spec": {"values": {"extra": false}}})).await;
    until_gone(&maps, "paint-extra").await;
    until(&addons, "walls", "changed again", is(AddonPhase::Installed)).await;
    let secrets = world.within::<Secret>("default");
    let records = ListParams::default().labels("owner=helm,status=deployed");
    assert_eq!(secrets.list(&records).await.unwrap().items.len(), 1);

    delete(&addons, "walls").await;
    until_gone(&addons, "walls").await;
    assert!(maps.get_opt("paint").await.unwrap().is_none());
    assert!(secrets.list(&ListParams::default().labels("owner=helm")).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_failing_chart_stops_what_depends_on_it_and_nobody_else() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    for (name, more) in [("base", json!({})), ("top", json!({"dependsOn": ["base"]})), ("other", json!({}))] {
        define(&world, name, of_chart(&chart(files.path(), name), name), more).await;
    }
    start(&mut world, &files.path().join("cache"));
    let addons = world.all::<ManagementAddon>();
    create(&addons, butler("ManagementAddon", "base", json!({"addon": "base", "values": {"colour": ""}}))).await;
    for name in ["top", "other"] {
        create(&addons, butler("ManagementAddon", name, json!({"addon": name}))).await;
    }
    let failed = until(&addons, "base", "failed", is(AddonPhase::Failed)).await;
    assert_eq!(reason(&failed), "RenderFailed");
    let told = serde_json::to_string(&failed.status).unwrap();
    assert!(told.contains("a colour is needed") && told.contains("map.yaml:"), "{told}");
    until(&addons, "other", "installed", is(AddonPhase::Installed)).await;
    let waits = until(&addons, "top", "waiting", |addon| reason(addon) == "DependencyPending").await;
    assert_eq!(waits.status.unwrap().phase, Some(AddonPhase::Pending));
    let maps = world.within::<ConfigMap>("default");
    assert!(maps.get_opt("base").await.unwrap().is_none(), "nothing is half installed");

    patch(&addons, "base", json!({"spec": {"values": {"colour": "green"}}})).await;
    for name in ["base", "top"] {
        until(&addons, name, "installed", is(AddonPhase::Installed)).await;
    }
    // Nobody goes before those that need it.
    delete(&addons, "base").await;
    until(&addons, "base", "held", |addon| reason(addon) == "StillNeeded").await;
    delete(&addons, "top").await;
    until_gone(&addons, "top").await;
    until_gone(&addons, "base").await;
}

#[tokio::test]
async fn an_upgrade_that_fails_is_taken_back() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    define(&world, "paint", of_chart(&chart(files.path(), "paint"), "paint"), json!({})).await;
    start(&mut world, &files.path().join("cache"));
    let (addons, maps) = (world.all::<ManagementAddon>(), world.within::<ConfigMap>("default"));
    create(&addons, butler("ManagementAddon", "walls", json!({"addon": "paint"}))).await;
    until(&addons, "walls", "installed", is(AddonPhase::Installed)).await;
    let secrets = world.within::<Secret>("default");
    let values = |colour: &str, broken: bool, ports: Value| json!({"spec": {"values": {"colour": colour, "broken": broken, "ports": ports}}});
    for (wrong, told, remedy, back) in [
        (values("red", true, Value::Null), "Service default/broken", "spec.ports[0].port", 3),
        (
            values("red", false, json!("banana")),
            "Service default/misshapen: .spec.ports: expected list, got",
            "spec.ports,",
            6,
        ),
    ] {
        patch(&addons, "walls", wrong).await;
        let failed = until(&addons, "walls", "failed", is(AddonPhase::Failed)).await;
        assert_eq!(reason(&failed), "Refused");
        let blocker = failed.status.unwrap().blockers.remove(0);
        assert!(blocker.message.contains(told), "{blocker:?}");
        assert!(blocker.message.ends_with(&format!("; {}", went_back(back))), "{blocker:?}");
        assert!(blocker.remedy.as_ref().unwrap().contains(remedy), "{blocker:?}");
        assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("blue"));
        let listed = secrets.list(&ListParams::default().labels("owner=helm")).await.unwrap().items;
        let mut states: Vec<&str> = listed.iter().map(|record| record.labels()["status"].as_str()).collect();
        states.sort_unstable();
        assert_eq!((states.remove(0), states.iter().any(|state| state.starts_with("pending"))), ("deployed", false));
        // What runs is kept as it is meanwhile.
        delete(&maps, "paint").await;
        until(&maps, "paint", "blue again", |map| colour(map) == Some("blue")).await;
        patch(&addons, "walls", values("blue", false, Value::Null)).await;
        until(&addons, "walls", "as before", is(AddonPhase::Installed)).await;
    }
    patch(&addons, "walls", values("red", false, Value::Null)).await;
    until(&addons, "walls", "installed again", is(AddonPhase::Installed)).await;
    until(&maps, "paint", "red", |map| colour(map) == Some("red")).await;
}

#[tokio::test]
async fn an_upgrade_that_never_runs_is_taken_back() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    let defaults = json!({"defaults": {"namespace": "default", "timeout": "1s"}});
    define(&world, "paint", of_chart(&chart(files.path(), "paint"), "paint"), defaults).await;
    start(&mut world, &files.path().join("cache"));
    let (addons, maps) = (world.all::<ManagementAddon>(), world.within::<ConfigMap>("default"));
    create(&addons, butler("ManagementAddon", "walls", json!({"addon": "paint"}))).await;
    until(&addons, "walls", "installed", is(AddonPhase::Installed)).await;
    // No node is there to run it.
    patch(&addons, "walls", json!({"spec": {"values": {"colour": "red", "workload": true}}})).await;
    let failed = until(&addons, "walls", "failed", is(AddonPhase::Failed)).await;
    assert_eq!(reason(&failed), "WorkloadNotReady");
    let message = failed.status.unwrap().message.unwrap();
    assert!(message.contains("Deployment default/idle"), "{message}");
    assert!(message.ends_with(&format!("; {}", went_back(3))), "{message}");
    assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("blue"));
    until_gone(&world.within::<Deployment>("default"), "idle").await;
    patch(&addons, "walls", json!({"spec": {"values": {"workload": false}}})).await;
    until(&addons, "walls", "installed again", is(AddonPhase::Installed)).await;
    assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("red"));
}

#[tokio::test]
async fn manifests_take_values_and_what_they_no_longer_have_goes() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {colour: '${colour}'}\n";
    let both = format!("{text}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: two}}\n");
    define(&world, "plain", json!({"manifests": {"version": "v1.0", "inline": both}}), json!({})).await;
    start(&mut world, &files.path().join("cache"));
    let (addons, maps) = (world.all::<ManagementAddon>(), world.within::<ConfigMap>("default"));
    create(&addons, butler("ManagementAddon", "plain", json!({"addon": "plain"}))).await;
    let failed = until(&addons, "plain", "failed", is(AddonPhase::Failed)).await;
    assert!(failed.status.unwrap().message.unwrap().contains("no value is given for colour"));
    patch(&addons, "plain", json!({"spec": {"values": {"colour": "pink"}, "driftPolicy": "Report"}})).await;
    let told = until(&addons, "plain", "installed", is(AddonPhase::Installed)).await.status.unwrap();
    assert_eq!(told.installed_version.as_deref(), Some("v1.0"));
    assert_eq!(colour(&maps.get("one").await.unwrap()), Some("pink"));

    let definitions = world.all::<AddonDefinition>();
    patch(&definitions, "plain", json!({"spec": {"manifests": {"inline": text}}})).await;
    until_gone(&maps, "two").await;
    until(&addons, "plain", "changed", is(AddonPhase::Installed)).await;

    // Reported, and left as it is.
    patch(&maps, "one", json!({"data": {"colour": "grey"}})).await;
    let told = until(&addons, "plain", "reported", |addon| reason(addon) == "Drifted").await.status.unwrap();
    assert_eq!(told.drift.unwrap().objects, ["ConfigMap default/one"]);
    assert_eq!(colour(&maps.get("one").await.unwrap()), Some("grey"));
}

#[tokio::test]
async fn what_an_operator_changes_about_the_catalogue_stays() {
    let mut world = World::new().await;
    let definition = |version: &str| -> AddonDefinition {
        let chart = json!({"repository": "https://x", "name": "l", "defaultVersion": version});
        let spec = json!({"displayName": "L", "description": version, "chart": chart, "order": 5});
        serde_json::from_value(butler("AddonDefinition", "l", spec)).unwrap()
    };
    let definitions = world.all::<AddonDefinition>();
    let keep = |world: &mut World, version: &str| {
        let definitions = vec![definition(version)];
        world.start(|watches, _, _| fleet::addon::keep(watches.client().clone(), definitions, Vec::new()));
    };
    keep(&mut world, "1.0.0");
    until(&definitions, "l", "there", |_| true).await;
    let change = json!({"spec": {"chart": {"defaultVersion": "1.0.1"}}});
    let editor = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
    definitions.patch("l", &editor, &Patch::Merge(change)).await.unwrap();
    keep(&mut world, "2.0.0");
    let now = until(&definitions, "l", "newer", |found| found.spec.description == "2.0.0").await;
    assert_eq!(now.spec.chart.as_ref().unwrap().default_version, "1.0.1", "{}", now.name_any());
}
