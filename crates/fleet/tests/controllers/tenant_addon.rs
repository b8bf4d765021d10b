//! Addons on a tenant cluster, as a team asks for them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use butler_api::butler::{ButlerConfig, Team, TenantAddon};
use butler_api::shared::ConditionStatus;
use fleet::addon::{AddonController, Settings};
use futures::StreamExt as _;
use helm::action::{Actions, MANAGER, Options};
use helm::release::Status;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use runtime::Ways;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::addon::{chart, colour, define, of_chart};
use crate::tenant::{CLUSTER, TEAM, Tenant};
use crate::world::{World, butler, create, delete, patch, until};

fn start(world: &mut World, cache: &Path) {
    let settings = Settings { cache: cache.to_owned(), ..Settings::default() };
    world.start(|watches, clock, metrics| {
        AddonController::<TenantAddon>::run(watches, clock, metrics, Ways::default(), settings)
    });
}

async fn ask(addons: &Api<TenantAddon>, name: &str, what: Value) {
    let mut spec = json!({"clusterRef": {"name": CLUSTER}});
    spec.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    create(addons, butler("TenantAddon", name, spec)).await;
}

fn is(phase: AddonPhase) -> impl Fn(&TenantAddon) -> bool {
    move |addon| {
        let status = addon.status.clone().unwrap_or_default();
        status.phase == Some(phase) && status.observed_generation == addon.metadata.generation
    }
}

#[tokio::test]
async fn teams_do_not_reach_into_the_platforms_network() {
    let mut world = World::new().await;
    let _tenant = Tenant::new(&world, world.plane()).await;
    let cache = tempfile::tempdir().unwrap();
    start(&mut world, cache.path());
    // Whoever connects is remembered.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let repository = format!("http://localhost:{}/charts", listener.local_addr().unwrap().port());
    let visited = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    });
    let addons = world.within::<TenantAddon>(TEAM);
    ask(&addons, "spy", json!({"helm": {"repository": repository, "chart": "web"}})).await;
    let failed = until(&addons, "spy", "refused", is(AddonPhase::Failed)).await.status.unwrap();
    let blocker = &failed.blockers[0];
    assert_eq!(blocker.reason, "RepositoryForbidden", "{blocker:?}");
    assert!(blocker.message.ends_with("is at a loopback address of the platform's network"), "{blocker:?}");
    // Nobody can allow that.
    let remedy = blocker.remedy.as_ref().unwrap();
    assert!(remedy.contains("spec.addons.mirrors") && !remedy.contains("allowedRepositories"), "{blocker:?}");
    assert!(!visited.is_finished());
    visited.abort();
}

/// Walls that are painted: the folder of the chart, the addons, and what the chart makes.
async fn painted(world: &mut World, tenant: &Tenant) -> (tempfile::TempDir, Api<TenantAddon>, Api<ConfigMap>) {
    let files = tempfile::tempdir().unwrap();
    define(world, "paint", of_chart(&chart(files.path(), "paint"), "paint"), json!({})).await;
    start(world, &files.path().join("cache"));
    let (addons, maps) =
        (world.within::<TenantAddon>(TEAM), Api::<ConfigMap>::default_namespaced(tenant.client.clone()));
    ask(&addons, "walls", json!({"addon": "paint"})).await;
    until(&addons, "walls", "installed", is(AddonPhase::Installed)).await;
    (files, addons, maps)
}

#[tokio::test]
async fn a_cluster_that_moved_is_found_by_its_new_kubeconfig() {
    let mut world = World::new().await;
    let mut tenant = Tenant::new(&world, world.plane()).await;
    let (_files, _, maps) = painted(&mut world, &tenant).await;
    tenant.moves().await;
    // Whoever still looked at the old address would not see it.
    patch(&maps, "paint", json!({"data": {"colour": "grey"}})).await;
    until(&maps, "paint", "blue again", |map| colour(map) == Some("blue")).await;
}

#[tokio::test]
async fn another_process_tells_nothing_while_nothing_has_changed() {
    let mut world = World::new().await;
    let tenant = Tenant::new(&world, world.plane()).await;
    let (files, addons, _) = painted(&mut world, &tenant).await;
    let before = addons.get("walls").await.unwrap();
    world.stop();
    let since = before.metadata.resource_version.unwrap();
    let mut changes = addons.watch(&WatchParams::default().disable_bookmarks(), &since).await.unwrap().boxed();
    start(&mut world, &files.path().join("cache"));
    // That it has seen this wish, which changes nothing, is the first that it tells.
    patch(&addons, "walls", json!({"spec": {"driftPolicy": "Report"}})).await;
    let mut seen = Vec::new();
    while seen.last() != Some(&Some(2)) {
        let Some(Ok(WatchEvent::Modified(walls))) = changes.next().await else { panic!("there are no more changes") };
        let status = walls.status.unwrap();
        seen.push(status.observed_generation);
        let known = before.status.as_ref().unwrap();
        assert_eq!((status.phase, &status.message), (known.phase, &known.message));
        let held = |status: &AddonInstallStatus| -> Vec<_> {
            status.conditions.iter().map(|known| (known.type_.clone(), known.status, known.message.clone())).collect()
        };
        assert_eq!(held(&status), held(known));
    }
    assert_eq!(seen, [Some(1), Some(2)], "the wish, and that it was seen");
    let events: Api<Event> = world.within(TEAM);
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let reasons: BTreeSet<_> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
    assert_eq!(reasons, ["Installed", "Installing"].into());
}

#[tokio::test]
async fn what_a_tenant_does_with_helm_is_put_right() {
    let mut world = World::new().await;
    let tenant = Tenant::new(&world, world.plane()).await;
    let (files, addons, maps) = painted(&mut world, &tenant).await;
    let at_revision = |revision: i32| {
        move |addon: &TenantAddon| {
            let release = addon.status.as_ref().and_then(|status| status.helm_release.clone());
            is(AddonPhase::Installed)(addon) && release.and_then(|release| release.revision) == Some(revision)
        }
    };
    // As `helm upgrade --set colour=red`, `helm rollback` and `helm uninstall` do it.
    let helm = Actions::new(tenant.client.clone(), "somebody", Arc::new(jiff::Timestamp::now));
    let paint = helm::chart::Chart::load(&files.path().join("paint")).unwrap();
    let red = json!({"colour": "red"}).as_object().unwrap().clone();
    helm.upgrade("paint", &paint, &red, &Options::default()).await.unwrap();
    until(&addons, "walls", "upgraded again", at_revision(3)).await;
    assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("blue"));
    helm.uninstall("paint", &Options::default()).await.unwrap();
    until(&addons, "walls", "installed again", at_revision(1)).await;
    assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("blue"));

    patch(&addons, "walls", json!({"spec": {"driftPolicy": "Report"}})).await;
    until(&addons, "walls", "told", is(AddonPhase::Installed)).await;
    helm.upgrade("paint", &paint, &red, &Options::default()).await.unwrap();
    until(&addons, "walls", "reported", |addon| {
        addon.status.as_ref().is_some_and(|status| status.blockers.iter().any(|blocker| blocker.reason == "Drifted"))
    })
    .await;
    assert_eq!(colour(&maps.get("paint").await.unwrap()), Some("red"));
    // Nor does another process put right what is only to be reported.
    world.stop();
    start(&mut world, &files.path().join("cache"));
    helm.uninstall("paint", &Options::default()).await.unwrap();
    until(&addons, "walls", "reported as gone", |addon| {
        let blockers = addon.status.iter().flat_map(|status| &status.blockers);
        blockers.into_iter().any(|blocker| blocker.message == "somebody else uninstalled its Helm release")
    })
    .await;
    assert!(maps.get_opt("paint").await.unwrap().is_none());
}

#[tokio::test]
async fn what_butler_began_with_a_release_is_taken_up_at_once() {
    let mut world = World::new().await;
    let tenant = Tenant::new(&world, world.plane()).await;
    let (_files, addons, maps) = painted(&mut world, &tenant).await;
    // As a process leaves it that is killed before the first object is written.
    let records = Actions::new(tenant.client.clone(), MANAGER, Arc::new(jiff::Timestamp::now)).records("default");
    let mut begun = records.last("paint").await.unwrap().unwrap();
    begun.revision = 2;
    begun.info.status = Status::PendingUpgrade;
    begun.info.last_deployed = Some(jiff::Timestamp::now());
    records.create(&mut begun, jiff::Timestamp::now()).await.unwrap();
    delete(&maps, "paint").await;
    until(&maps, "paint", "blue again", |map| colour(map) == Some("blue")).await;
    until(&addons, "walls", "installed again", |addon| {
        let release = addon.status.as_ref().and_then(|status| status.helm_release.clone());
        is(AddonPhase::Installed)(addon) && release.and_then(|release| release.revision) == Some(2)
    })
    .await;
    let expected = [(1, Status::Superseded), (2, Status::Deployed)];
    assert_eq!(records.index("paint").await.unwrap(), expected);
}

#[tokio::test]
async fn what_is_paused_is_looked_at_and_left_alone() {
    let mut world = World::new().await;
    let tenant = Tenant::new(&world, world.plane()).await;
    let (files, addons, maps) = painted(&mut world, &tenant).await;
    patch(&addons, "walls", json!({"spec": {"paused": true}})).await;
    until(&addons, "walls", "paused", is(AddonPhase::Installed)).await;
    world.stop();
    let helm = Actions::new(tenant.client.clone(), "somebody", Arc::new(jiff::Timestamp::now));
    let paint = helm::chart::Chart::load(&files.path().join("paint")).unwrap();
    let red = json!({"colour": "red"}).as_object().unwrap().clone();
    helm.upgrade("paint", &paint, &red, &Options::default()).await.unwrap();
    start(&mut world, &files.path().join("cache"));
    let healthy = |wanted: ConditionStatus| {
        move |addon: &TenantAddon| {
            let conditions = addon.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|known| known.type_ == "Healthy" && known.status == wanted)
        }
    };
    delete(&maps, "paint").await;
    let told = until(&addons, "walls", "seen to lack something", healthy(ConditionStatus::False)).await;
    let reasons: Vec<_> = told.status.unwrap().blockers.into_iter().map(|blocker| blocker.reason).collect();
    assert_eq!(reasons, ["Paused", "WorkloadNotReady"]);
    assert!(maps.get_opt("paint").await.unwrap().is_none());
    patch(&addons, "walls", json!({"spec": {"paused": false}})).await;
    until(&addons, "walls", "well again", healthy(ConditionStatus::True)).await;
    // What somebody else did meanwhile is put right like anything else.
    until(&maps, "paint", "blue again", |map| colour(map) == Some("blue")).await;
}

#[tokio::test]
async fn what_is_put_right_outside_is_tried_again() {
    let mut world = World::new().await;
    let tenant = Tenant::new(&world, world.plane()).await;
    let files = tempfile::tempdir().unwrap();
    let folder = chart(files.path(), "paint");
    start(&mut world, &files.path().join("cache"));
    let addons = world.within::<TenantAddon>(TEAM);
    let chart = json!({"repository": "http://127.0.0.1:9/charts", "chart": "paint", "namespace": "default"});
    ask(&addons, "walls", json!({"helm": chart})).await;
    let failed = until(&addons, "walls", "refused", is(AddonPhase::Failed)).await.status.unwrap();
    assert_eq!(failed.blockers[0].reason, "RepositoryForbidden");
    let mirror = json!({"addons": {"mirrors": [{"prefix": "http://127.0.0.1:9/charts", "with": folder}]}});
    create(&world.all::<ButlerConfig>(), butler("ButlerConfig", "butler", mirror)).await;
    until(&addons, "walls", "installed", is(AddonPhase::Installed)).await;
    Api::<ConfigMap>::default_namespaced(tenant.client.clone()).get("walls").await.unwrap();
}

#[tokio::test]
async fn what_a_team_is_denied_is_not_installed_until_it_is_allowed() {
    let mut world = World::new().await;
    let tenant = Tenant::new(&world, world.plane()).await;
    let files = tempfile::tempdir().unwrap();
    define(&world, "paint", of_chart(&chart(files.path(), "paint"), "paint"), json!({})).await;
    let teams = world.all::<Team>();
    create(&teams, butler("Team", TEAM, json!({"resourceLimits": {"deniedAddons": ["paint"]}}))).await;
    start(&mut world, &files.path().join("cache"));
    let addons = world.within::<TenantAddon>(TEAM);
    ask(&addons, "walls", json!({"addon": "paint"})).await;
    let denied = until(&addons, "walls", "denied", |addon| {
        addon
            .status
            .as_ref()
            .is_some_and(|status| status.blockers.iter().any(|blocker| blocker.reason == "AddonDenied"))
    })
    .await;
    assert_eq!(denied.status.unwrap().phase, Some(AddonPhase::Pending));
    let maps = Api::<ConfigMap>::default_namespaced(tenant.client.clone());
    assert!(maps.get_opt("paint").await.unwrap().is_none());
    patch(&teams, TEAM, json!({"spec": {"resourceLimits": {"deniedAddons": []}}})).await;
    until(&addons, "walls", "installed", is(AddonPhase::Installed)).await;

    // Nobody knows how it fares while its cluster does not answer.
    tenant.answers(false).await;
    let told = until(&addons, "walls", "out of sight", |addon| {
        let conditions = addon.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|known| known.type_ == "Healthy" && known.status == ConditionStatus::Unknown)
    })
    .await;
    assert_eq!(told.status.unwrap().phase, Some(AddonPhase::Installed));
}
