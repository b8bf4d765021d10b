//! The Rust client library, as Butler's controllers use it.

use std::time::Duration;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions, VersionMatch, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{ResourceExt as _, discovery};
use serde_json::{Value, json};

use crate::case::Area;
use crate::run::Context;

type Seen = Vec<(String, Value)>;

fn config_map(name: &str, data: Value) -> anyhow::Result<ConfigMap> {
    Ok(serde_json::from_value(json!({"metadata": {"name": name}, "data": data}))?)
}

fn outcome<T: serde::Serialize>(result: kube::Result<T>) -> anyhow::Result<Value> {
    Ok(match result {
        Ok(value) => serde_json::to_value(value)?,
        Err(kube::Error::Api(status)) => json!({"error": {"code": status.code, "reason": status.reason, "message": status.message}}),
        Err(other) => return Err(other.into()),
    })
}

fn note(seen: &mut Seen, step: &str, value: Value) {
    seen.push((step.to_owned(), value));
}

async fn typed_life(context: Context) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    let mut seen = Seen::new();
    let created = api.create(&PostParams { field_manager: Some("me".into()), ..Default::default() }, &config_map("a", json!({"k": "v"}))?).await?;
    note(&mut seen, "create", serde_json::to_value(&created)?);
    let mut changed = created.clone();
    changed.data = Some([("k".to_owned(), "w".to_owned())].into());
    note(&mut seen, "replace", outcome(api.replace("a", &PostParams::default(), &changed).await)?);
    note(&mut seen, "replace stale", outcome(api.replace("a", &PostParams::default(), &changed).await)?);
    note(&mut seen, "create again", outcome(api.create(&PostParams::default(), &config_map("a", json!({}))?).await)?);
    note(&mut seen, "get_opt", serde_json::to_value(api.get_opt("none").await?)?);
    note(&mut seen, "delete", json!(api.delete("a", &DeleteParams::default()).await?.is_right()));
    note(&mut seen, "get", outcome(api.get("a").await)?);
    Ok(seen)
}

async fn server_side_apply(context: Context) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    let mut seen = Seen::new();
    for (manager, value, force) in [("one", "v", false), ("two", "w", false), ("two", "w", true)] {
        let mut params = PatchParams::apply(manager);
        params.force = force;
        let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value}});
        note(&mut seen, &format!("{manager} applies {value}, force {force}"), outcome(api.patch("a", &params, &Patch::Apply(patch)).await)?);
    }
    Ok(seen)
}

async fn lists(context: Context) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    for name in ["a", "b", "c", "d", "e"] {
        api.create(&PostParams::default(), &config_map(name, json!({}))?).await?;
    }
    let mut seen = Seen::new();
    let mut token = None;
    loop {
        let mut params = ListParams::default().limit(2);
        params.continue_token = token;
        let page = api.list(&params).await?;
        note(&mut seen, "page", json!(page.items.iter().map(|item| item.name_any()).collect::<Vec<_>>()));
        token = page.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(seen);
        }
    }
}

async fn raw_watch(context: Context) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    let version = api.list(&ListParams::default()).await?.metadata.resource_version.context("no version")?;
    let mut events = api.watch(&WatchParams::default(), &version).await?.boxed();
    api.create(&PostParams::default(), &config_map("a", json!({}))?).await?;
    api.delete("a", &DeleteParams::default()).await?;
    let mut seen = Seen::new();
    while seen.len() < 2 {
        match events.try_next().await?.context("the watch ended")? {
            WatchEvent::Added(object) => note(&mut seen, "added", json!(object.name_any())),
            WatchEvent::Modified(object) => note(&mut seen, "modified", json!(object.name_any())),
            WatchEvent::Deleted(object) => note(&mut seen, "deleted", json!(object.name_any())),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => note(&mut seen, "error", json!(error.code)),
        }
    }
    Ok(seen)
}

async fn watch_runtime(context: Context, config: watcher::Config) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    let before = api.create(&PostParams::default(), &config_map("before", json!({}))?).await?;
    // The watcher is content with any state of the server's cache: let it be new enough.
    let version = before.resource_version().context("no version")?;
    api.list(&ListParams::default().at(&version).matching(VersionMatch::NotOlderThan)).await?;
    let mut events = watcher(api.clone(), config).boxed();
    let mut seen = Seen::new();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(20), events.try_next()).await??.context("the watcher ended")?;
        match event {
            watcher::Event::Init => note(&mut seen, "init", Value::Null),
            watcher::Event::InitApply(object) => note(&mut seen, "init apply", json!(object.name_any())),
            watcher::Event::InitDone => {
                note(&mut seen, "init done", Value::Null);
                api.create(&PostParams::default(), &config_map("after", json!({}))?).await?;
                api.delete("before", &DeleteParams::default()).await?;
            }
            watcher::Event::Apply(object) => note(&mut seen, "apply", json!(object.name_any())),
            watcher::Event::Delete(object) => {
                note(&mut seen, "delete", json!(object.name_any()));
                return Ok(seen);
            }
        }
    }
}

async fn reflector_store(context: Context) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &config_map(name, json!({}))?).await?;
    }
    let (store, writer) = reflector::store();
    let stream = reflector(writer, watcher(api.clone(), watcher::Config::default())).applied_objects();
    let mut stream = std::pin::pin!(stream);
    for _ in 0..2 {
        tokio::time::timeout(Duration::from_secs(20), stream.try_next()).await??;
    }
    api.create(&PostParams::default(), &config_map("c", json!({}))?).await?;
    tokio::time::timeout(Duration::from_secs(20), stream.try_next()).await??;
    let mut names: Vec<String> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    Ok(vec![("the store holds".to_owned(), json!(names))])
}

async fn discovery_and_dynamic(context: Context) -> anyhow::Result<Seen> {
    let client = context.kube("admin")?;
    let mut seen = Seen::new();
    let group = discovery::pinned_group(&client, &kube::core::GroupVersion::gv("apps", "v1")).await?;
    let mut kinds: Vec<String> = group.recommended_resources().into_iter().map(|(resource, _)| resource.kind).collect();
    kinds.sort();
    note(&mut seen, "kinds of apps/v1", json!(kinds));
    let (resource, _) = group.recommended_kind("Deployment").context("no Deployment")?;
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let web = serde_json::from_value(super::deployment("web"))?;
    let created = api.create(&PostParams::default(), &web).await?;
    note(&mut seen, "replicas", created.data["spec"]["replicas"].clone());
    let typed: Api<Deployment> = Api::default_namespaced(client.clone());
    let scale = typed.patch_scale("web", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 5}}))).await?;
    note(&mut seen, "scaled", json!(scale.spec.and_then(|spec| spec.replicas)));
    let status = typed.patch_status("web", &PatchParams::default(), &Patch::Merge(json!({"status": {"replicas": 2}}))).await?;
    note(&mut seen, "status", json!(status.status.and_then(|status| status.replicas)));
    let version = client.apiserver_version().await?;
    note(&mut seen, "version", json!([version.major, version.minor]));
    Ok(seen)
}

async fn deletion(context: Context) -> anyhow::Result<Seen> {
    let api: Api<Secret> = Api::default_namespaced(context.kube("admin")?);
    let secret = serde_json::from_value(json!({"metadata": {"name": "s", "finalizers": ["example.com/x"]}, "stringData": {"a": "b"}}))?;
    let created: Secret = api.create(&PostParams::default(), &secret).await?;
    let mut seen = Seen::new();
    let wrong = DeleteParams { preconditions: Some(Preconditions { uid: Some("wrong".to_owned()), resource_version: None }), ..Default::default() };
    note(&mut seen, "wrong uid", outcome(api.delete("s", &wrong).await.map(|_| ()))?);
    let deleted = api.delete("s", &DeleteParams::foreground()).await?;
    note(&mut seen, "answers with the object", json!(deleted.is_left()));
    let held = api.get("s").await?;
    note(&mut seen, "finalizers", json!(held.finalizers()));
    note(&mut seen, "same object", json!(held.uid() == created.uid()));
    api.patch("s", &PatchParams::default(), &Patch::Merge(json!({"metadata": {"finalizers": null}}))).await?;
    note(&mut seen, "gone", outcome(api.get("s").await)?);
    Ok(seen)
}

async fn forbidden(context: Context) -> anyhow::Result<Seen> {
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("alice")?);
    let namespaces: Api<Namespace> = Api::all(context.kube("alice")?);
    Ok(vec![
        ("list".to_owned(), outcome(api.list(&ListParams::default()).await)?),
        ("namespaces".to_owned(), outcome(namespaces.get("default").await)?),
    ])
}

async fn finalizer_helper(context: Context) -> anyhow::Result<Seen> {
    use kube::runtime::finalizer::{Event, finalizer};
    let api: Api<ConfigMap> = Api::default_namespaced(context.kube("admin")?);
    let object = std::sync::Arc::new(api.create(&PostParams::default(), &config_map("a", json!({}))?).await?);
    let mut seen = Seen::new();
    let name = "example.com/cleanup";
    let step = |event: Event<ConfigMap>| async move {
        let _ = matches!(event, Event::Apply(_));
        Ok::<_, std::convert::Infallible>(kube::runtime::controller::Action::await_change())
    };
    finalizer(&api, name, object, step).await?;
    note(&mut seen, "added", json!(api.get("a").await?.finalizers()));
    api.delete("a", &DeleteParams::default()).await?;
    finalizer(&api, name, std::sync::Arc::new(api.get("a").await?), step).await?;
    note(&mut seen, "cleaned up", json!(api.get_opt("a").await?.is_none()));
    Ok(seen)
}

async fn events(context: Context) -> anyhow::Result<Seen> {
    use kube::runtime::events::{Event, EventType, Recorder, Reporter};
    let client = context.kube("admin")?;
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let object = api.create(&PostParams::default(), &config_map("a", json!({}))?).await?;
    let recorder = Recorder::new(client.clone(), Reporter { controller: "ctl".into(), instance: Some("ctl-0".into()) });
    let event = Event { type_: EventType::Normal, reason: "Made".into(), note: Some("it was made".into()), action: "Making".into(), secondary: None };
    use kube::Resource as _;
    recorder.publish(&event, &object.object_ref(&())).await?;
    let list: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(client);
    let found = list.list(&ListParams::default().fields("involvedObject.name=a")).await?;
    let seen = found.items.iter().map(|e| json!({"reason": e.reason, "message": e.message, "type": e.type_, "action": e.action, "reporter": e.reporting_component}));
    Ok(vec![("events".to_owned(), seen.collect())])
}

pub(super) fn cases(area: &mut Area) {
    area.code("the life of a typed object", typed_life);
    area.code("server-side apply", server_side_apply);
    area.code("lists in pages", lists);
    area.code("a raw watch", raw_watch);
    area.code("the watcher over list and watch", |context| watch_runtime(context, watcher::Config::default()));
    area.code("the watcher over a streaming list", |context| watch_runtime(context, watcher::Config::default().streaming_lists()));
    area.code("the watcher over paged lists", |context| watch_runtime(context, watcher::Config::default().page_size(1)));
    area.code("a reflector", reflector_store);
    area.code("discovery, dynamic objects and subresources", discovery_and_dynamic);
    area.code("deletion", deletion);
    area.code("what is forbidden", forbidden);
    area.code("the finalizer helper", finalizer_helper);
    area.code("recorded events", events);
}
