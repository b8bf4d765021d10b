//! Hosted control planes as a user of `butler up` meets them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

// The tests use different halves of it.
#[allow(dead_code)]
mod common;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use butler_api::shared::ConditionStatus;
use butler_api::steward::TenantControlPlane;
use butler_api::steward::tenant_control_plane::ControlPlaneState;
use common::{Butler, client};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Longer than anything takes that comes at all, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Butler with the control planes of one namespace.
struct Platform {
    client: Client,
    planes: Api<TenantControlPlane>,
    secrets: Api<Secret>,
}

impl Platform {
    async fn on(data: &Path) -> Self {
        let client = client(data).await;
        let planes = Api::namespaced(client.clone(), "default");
        Self { secrets: Api::namespaced(client.clone(), "default"), planes, client }
    }

    async fn create(&self, name: &str, spec: Value) -> TenantControlPlane {
        let object = json!({
            "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane",
            "metadata": {"name": name}, "spec": spec,
        });
        self.planes.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
    }

    async fn patch(&self, name: &str, change: Value) {
        self.planes.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Waits until a control plane is as `wanted`.
    async fn until(
        &self,
        name: &str,
        wanted: impl Fn(&TenantControlPlane) -> bool + Send + Sync,
    ) -> TenantControlPlane {
        let matches = |object: Option<&TenantControlPlane>| object.is_some_and(&wanted);
        // On the heap: a test's stack is small, and these futures hold whole objects.
        match tokio::time::timeout(PATIENCE, Box::pin(await_condition(self.planes.clone(), name, matches))).await {
            Ok(found) => found.unwrap().unwrap(),
            Err(_) => panic!("it is {:#?}", self.planes.get(name).await.unwrap().status),
        }
    }

    async fn ready(&self, name: &str) -> TenantControlPlane {
        let current = |object: &TenantControlPlane| {
            let status = object.status.as_ref().unwrap();
            status.observed_generation == object.metadata.generation
                && status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == ConditionStatus::True)
                && status.conditions.iter().any(|c| c.type_ == "Progressing" && c.status == ConditionStatus::False)
        };
        Box::pin(self.until(name, |object| object.status.is_some() && current(object))).await
    }

    async fn state(&self, name: &str, state: ControlPlaneState) -> TenantControlPlane {
        Box::pin(self.until(name, |object| state_of(object) == Some(state))).await
    }

    async fn kubeconfig(&self, name: &str) -> Kubeconfig {
        let secret = self.secrets.get(&format!("{name}-admin-kubeconfig")).await.unwrap();
        let text = &secret.data.unwrap()["admin.conf"].0;
        Kubeconfig::from_yaml(std::str::from_utf8(text).unwrap()).unwrap()
    }

    /// The administrator of a tenant, from outside.
    async fn tenant(&self, name: &str) -> Client {
        outside(self.kubeconfig(name).await).await
    }

    async fn delete(&self, name: &str) {
        self.planes.delete(name, &DeleteParams::default()).await.unwrap();
        let gone = await_condition(self.planes.clone(), name, |object: Option<&TenantControlPlane>| object.is_none());
        let gone = tokio::time::timeout(PATIENCE, Box::pin(gone)).await;
        assert!(gone.is_ok(), "it is {:#?}", self.planes.get(name).await.unwrap().status);
    }

    async fn service(&self, name: &str, spec: Value) -> Service {
        let service = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        Api::<Service>::namespaced(self.client.clone(), "default")
            .create(&PostParams::default(), &service)
            .await
            .unwrap()
    }

    /// Everything that carries the name of a control plane.
    async fn remains(&self, name: &str) -> Vec<String> {
        let labelled = ListParams::default().labels(&format!("steward.butlerlabs.dev/name={name}"));
        let mut found = Vec::new();
        let api = |kind: &str| format!("{kind} of {name}");
        let secrets = self.secrets.list(&labelled).await.unwrap().items;
        found.extend(secrets.iter().map(|secret| format!("Secret {}", secret.name_any())));
        for (kind, count) in [
            ("pods", Api::<Pod>::namespaced(self.client.clone(), "default").list(&labelled).await.unwrap().items.len()),
            (
                "services",
                Api::<Service>::namespaced(self.client.clone(), "default").list(&labelled).await.unwrap().items.len(),
            ),
            (
                "deployments",
                Api::<Deployment>::namespaced(self.client.clone(), "default")
                    .list(&labelled)
                    .await
                    .unwrap()
                    .items
                    .len(),
            ),
        ] {
            found.extend((0..count).map(|_| api(kind)));
        }
        found
    }

    /// What was told of an object.
    async fn told(&self, uid: &str) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), "default");
        let about = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        events.list(&about).await.unwrap().items.into_iter().filter_map(|event| event.reason).collect()
    }

    /// Garbage collection comes after the object itself is gone.
    async fn nothing_remains(&self, name: &str) {
        let empty = async {
            while !self.remains(name).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let empty = tokio::time::timeout(PATIENCE, empty).await;
        assert!(empty.is_ok(), "left: {:?}", self.remains(name).await);
    }
}

async fn outside(kubeconfig: Kubeconfig) -> Client {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn state_of(object: &TenantControlPlane) -> Option<ControlPlaneState> {
    object.status.as_ref()?.kubernetes_resources.as_ref()?.version.as_ref()?.status
}

fn address(object: &TenantControlPlane) -> SocketAddr {
    object.status.as_ref().unwrap().control_plane_endpoint.as_ref().unwrap().parse().unwrap()
}

fn plain() -> Value {
    json!({"controlPlane": {"deployment": {"replicas": 1}}, "kubernetes": {"version": "v1.34.4"}})
}

async fn make_namespace(client: &Client, name: &str) {
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
}

async fn has_namespace(client: &Client, name: &str) -> bool {
    Api::<Namespace>::all(client.clone()).get_opt(name).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_lives_sleeps_moves_on_and_goes_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    Box::pin(platform.create("one", plain())).await;
    Box::pin(platform.create("two", plain())).await;
    let one = Box::pin(platform.ready("one")).await;
    Box::pin(platform.ready("two")).await;
    let tenant = Box::pin(platform.tenant("one")).await;
    assert_eq!(tenant.apiserver_version().await.unwrap().git_version, "v1.34.4");
    make_namespace(&tenant, "kept").await;
    // What kubeadm would have uploaded.
    let uploaded: Api<ConfigMap> = Api::namespaced(tenant.clone(), "kube-system");
    assert!(uploaded.get_opt("kubeadm-config").await.unwrap().is_some());

    // The other tenant's administrator is nobody here, and sees nothing of it at home.
    let mut stranger = Box::pin(platform.kubeconfig("two")).await;
    let here = Box::pin(platform.kubeconfig("one")).await;
    stranger.clusters = here.clusters.clone();
    for context in &mut stranger.contexts {
        if let Some(context) = &mut context.context {
            context.cluster = here.clusters[0].name.clone();
        }
    }
    let refused = Api::<Namespace>::all(outside(stranger).await).list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
    assert!(!has_namespace(&Box::pin(platform.tenant("two")).await, "kept").await);

    // Asleep nobody answers at the address; awake everything is as it was.
    Box::pin(platform.patch("one", json!({"spec": {"controlPlane": {"deployment": {"replicas": 0}}}}))).await;
    Box::pin(platform.state("one", ControlPlaneState::Sleeping)).await;
    assert!(Api::<Namespace>::all(Box::pin(platform.tenant("one")).await).list(&ListParams::default()).await.is_err());
    Box::pin(platform.patch("one", json!({"spec": {"controlPlane": {"deployment": {"replicas": 2}}}}))).await;
    let awake = Box::pin(platform.ready("one")).await;
    assert_eq!(address(&awake), address(&one));
    assert!(has_namespace(&Box::pin(platform.tenant("one")).await, "kept").await);

    // Two versions on: nobody has to wait for the first.
    for version in ["v1.35.4", "v1.36.1"] {
        Box::pin(platform.patch("one", json!({"spec": {"kubernetes": {"version": version}}}))).await;
    }
    Box::pin(platform.ready("one")).await;
    let tenant = Box::pin(platform.tenant("one")).await;
    assert_eq!(tenant.apiserver_version().await.unwrap().git_version, "v1.36.1");
    assert!(has_namespace(&tenant, "kept").await);

    // All of that was wanted.
    let events = Api::<Event>::all(platform.client.clone()).list(&ListParams::default()).await.unwrap();
    let warned: Vec<_> = events.items.iter().filter(|event| event.type_.as_deref() == Some("Warning")).collect();
    assert!(warned.is_empty(), "{warned:#?}");

    Box::pin(platform.delete("one")).await;
    Box::pin(platform.nothing_remains("one")).await;
    let told = Box::pin(platform.told(one.metadata.uid.as_deref().unwrap())).await;
    for reason in ["Made", "Ready", "Asleep", "Awake", "Upgraded", "Deleting"] {
        assert!(told.iter().any(|told| told == reason), "{reason} is not in {told:?}");
    }
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let figures = platform.client.request_text(request).await.unwrap();
    for line in [
        "butler_reconcile_duration_seconds_count{controller=\"tenant-control-plane\"}",
        "butler_queue_depth{controller=\"tenant-control-plane\"}",
        "apiserver_request_total",
    ] {
        assert!(figures.contains(line), "{line} is not in {figures}");
    }
    assert!(TcpStream::connect(address(&one)).await.is_err(), "its port is still open");
    // A namesake begins anew.
    Box::pin(platform.create("one", plain())).await;
    Box::pin(platform.ready("one")).await;
    assert!(!has_namespace(&Box::pin(platform.tenant("one")).await, "kept").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_breaks_is_repaired_and_keys_are_never_lost() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    Box::pin(platform.create("demo", plain())).await;
    Box::pin(platform.ready("demo")).await;
    let key = async |secret: &str| platform.secrets.get(secret).await.unwrap().data.unwrap()["tls.key"].0.clone();
    let again = async |secret: &str, old: &Option<String>| {
        let other = |object: Option<&Secret>| {
            object.is_some_and(|object| object.uid() != *old && object.metadata.deletion_timestamp.is_none())
        };
        let found = await_condition(platform.secrets.clone(), secret, other);
        tokio::time::timeout(PATIENCE, found).await.unwrap().unwrap().unwrap()
    };
    // Every root comes back with the same key, every leaf with another.
    for (secret, same) in [("demo-ca", true), ("demo-proxy", true), ("demo-sa", true), ("demo-apiserver", false)] {
        let (before, uid) = (key(secret).await, platform.secrets.get(secret).await.unwrap().uid());
        platform.secrets.delete(secret, &DeleteParams::default()).await.unwrap();
        again(secret, &uid).await;
        assert_eq!(key(secret).await == before, same, "{secret}");
    }
    let deployments: Api<Deployment> = Api::namespaced(platform.client.clone(), "default");
    let change = json!({"spec": {"replicas": 5, "template": {"spec": {"terminationGracePeriodSeconds": 1}}}});
    deployments.patch("demo", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    let repaired = |object: Option<&Deployment>| {
        let spec = object.and_then(|object| object.spec.as_ref());
        let grace = spec.and_then(|spec| spec.template.spec.as_ref()?.termination_grace_period_seconds);
        spec.is_some_and(|spec| spec.replicas == Some(1)) && grace != Some(1)
    };
    tokio::time::timeout(PATIENCE, await_condition(deployments, "demo", repaired)).await.unwrap().unwrap();
    Box::pin(platform.ready("demo")).await;
    make_namespace(&Box::pin(platform.tenant("demo")).await, "x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_said_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    let with = |change: Value| {
        let mut spec = plain();
        for (name, value) in change.as_object().unwrap() {
            spec[name] = value.clone();
        }
        spec
    };
    Box::pin(platform.service("holder", json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30111}]}))).await;
    let on_port = |port: i32| {
        with(json!({
            "networkProfile": {"port": port},
            "controlPlane": {"service": {"serviceType": "NodePort"}},
        }))
    };
    for (name, spec, reason) in [
        ("no-node-port", on_port(30111), "PortTaken"),
        ("no-port", on_port(10257), "PortTaken"),
        ("no-store", with(json!({"dataStore": "missing"})), "DataStoreMissing"),
        ("no-host", with(json!({"controlPlane": {"ingress": {}}})), "FieldInvalid"),
        (
            "no-gateway-api",
            with(json!({"controlPlane": {"gateway": {"hostname": "a.example.com", "parentRefs": [{"name": "edge"}]}}})),
            "RouteUnknown",
        ),
        (
            "no-argument",
            with(json!({"controlPlane": {"deployment": {"extraArgs": {"apiServer": ["--etcd-prefix=/x"]}}}})),
            "ArgumentRefused",
        ),
    ] {
        Box::pin(platform.create(name, spec)).await;
        let object = platform
            .until(name, |object| {
                object
                    .status
                    .as_ref()
                    .is_some_and(|status| status.blockers.iter().any(|blocker| blocker.reason == reason))
            })
            .await;
        let blockers = object.status.unwrap().blockers;
        let blocker = blockers.iter().find(|blocker| blocker.reason == reason).unwrap();
        assert!(blocker.remedy.is_some() && blocker.since.is_some(), "{blocker:?}");
        Box::pin(platform.delete(name)).await;
        Box::pin(platform.nothing_remains(name)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_was_wished_for_by_mistake_is_refused_or_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    let wish = |version: &str| json!({"spec": {"kubernetes": {"version": version}}});
    let refused = async |version: &str, because: &str| {
        let change = wish(version);
        let answer = platform.planes.patch("one", &PatchParams::default(), &Patch::Merge(change)).await;
        let told = answer.unwrap_err().to_string();
        assert!(told.contains(because), "{told}");
    };
    Box::pin(platform.create("one", plain())).await;
    let before = Box::pin(platform.ready("one")).await.status.unwrap();
    Box::pin(refused("v1.37.0", "kubernetes.version must be of v1.30 to v1.36")).await;

    // No registry has this one. The old one serves on, and everything but the version goes on.
    Box::pin(platform.patch("one", wish("v1.35.999"))).await;
    let failing = |object: &TenantControlPlane| {
        let blockers = object.status.iter().flat_map(|status| &status.blockers);
        blockers.map(|blocker| blocker.reason.as_str()).eq(["PodsFailing"])
    };
    let stuck = Box::pin(platform.until("one", failing)).await.status.unwrap();
    let remedy = stuck.blockers[0].remedy.clone().unwrap();
    assert!(remedy.ends_with("or set the version back to v1.34.4, which goes on meanwhile"), "{remedy}");
    Box::pin(platform.patch("one", json!({"spec": {"controlPlane": {"deployment": {"replicas": 3}}}}))).await;
    let available = |object: &TenantControlPlane| {
        let resources = object.status.as_ref().and_then(|status| status.kubernetes_resources.as_ref());
        resources.and_then(|resources| resources.deployment.as_ref()?.available_replicas) == Some(3)
    };
    Box::pin(platform.until("one", available)).await;

    // Taken back, nothing is left of it; but there is no way below what runs.
    Box::pin(refused("v1.33.9", "cannot go from v1.34.4, which runs, back to v1.33.9: choose v1.34.4 or newer")).await;
    Box::pin(platform.patch("one", wish("v1.34.4"))).await;
    let after = Box::pin(platform.ready("one")).await.status.unwrap();
    assert_eq!((after.blockers, after.answered_version.as_deref()), (Vec::new(), Some("v1.34.4")));
    assert_eq!((after.kubeadmconfig, after.certificates), (before.kubeadmconfig, before.certificates));
    let labelled = ListParams::default().labels("steward.butlerlabs.dev/name=one");
    let pods = Api::<Pod>::namespaced(platform.client.clone(), "default").list(&labelled).await.unwrap();
    let images = pods.iter().filter_map(|pod| pod.spec.as_ref()?.containers.first()?.image.as_deref());
    assert_eq!(images.collect::<Vec<_>>(), ["registry.k8s.io/kube-apiserver:v1.34.4"; 3]);
    let tenant = Box::pin(platform.tenant("one")).await;
    assert_eq!(tenant.apiserver_version().await.unwrap().git_version, "v1.34.4");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_others_is_left_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    let service = Box::pin(platform.service("demo", json!({"ports": [{"port": 80}]}))).await;
    let secret = json!({"metadata": {"name": "demo-apiserver"}, "stringData": {"tls.key": "mine"}});
    let secret = serde_json::from_value(secret).unwrap();
    let secret = platform.secrets.create(&PostParams::default(), &secret).await.unwrap();
    Box::pin(platform.create("demo", plain())).await;
    let blocked =
        Box::pin(platform.until("demo", |object| object.status.as_ref().is_some_and(|s| !s.blockers.is_empty()))).await;
    let blocker = &blocked.status.unwrap().blockers[0];
    assert_eq!(blocker.reason, "NameTaken");
    assert_eq!(blocker.evidence, ["Secret demo-apiserver belongs to nobody", "Service demo belongs to nobody"]);
    let services: Api<Service> = Api::namespaced(platform.client.clone(), "default");
    assert_eq!(services.get("demo").await.unwrap(), service);
    assert_eq!(platform.secrets.get("demo-apiserver").await.unwrap(), secret);
    // As soon as the names are free it goes on.
    services.delete("demo", &DeleteParams::default()).await.unwrap();
    platform.secrets.delete("demo-apiserver", &DeleteParams::default()).await.unwrap();
    Box::pin(platform.ready("demo")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let client = client(folder.path()).await;
    let apply = async |object: &Value, dry_run: bool| {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let kind = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
        let (resource, _) = kube::discovery::pinned_kind(&client, &kind).await.unwrap();
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let params = PatchParams { dry_run, ..PatchParams::apply("test").force() };
        api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await
    };
    for name in ["butler-system", "team-a"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        Box::pin(apply(&namespace, false)).await.unwrap();
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for file in std::fs::read_dir(examples).unwrap() {
        let file = file.unwrap().path();
        for object in kernel::yaml::values(&std::fs::read_to_string(&file).unwrap()).unwrap() {
            let taken = Box::pin(apply(&object, !file.ends_with("steward.yaml"))).await;
            assert!(taken.is_ok(), "{} {}: {}", file.display(), object["kind"], taken.unwrap_err());
        }
    }
    let platform = Platform { planes: Api::namespaced(client.clone(), "team-a"), ..Platform::on(folder.path()).await };
    for name in ["tenant-1", "tenant-2"] {
        Box::pin(platform.ready(name)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_told_in_the_version_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    let definition = json!({
        "metadata": {
            "name": "tlsroutes.gateway.networking.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": "gateway.networking.k8s.io", "scope": "Namespaced",
            "names": {"kind": "TLSRoute", "plural": "tlsroutes"},
            "versions": [{
                "name": "v1alpha2", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(platform.client.clone());
    definitions.create(&PostParams::default(), &serde_json::from_value(definition).unwrap()).await.unwrap();
    let mut spec = plain();
    spec["controlPlane"]["gateway"] = json!({"hostname": "demo.example.com", "parentRefs": [{"name": "edge"}]});
    Box::pin(platform.create("demo", spec)).await;
    let route = |object: &TenantControlPlane| object.status.as_ref()?.kubernetes_resources.as_ref()?.route.clone();
    let demo = Box::pin(platform.until("demo", |object| route(object).is_some())).await;
    assert_eq!(route(&demo).unwrap().api_version, "gateway.networking.k8s.io/v1alpha2");
    Box::pin(platform.ready("demo")).await;
    assert_eq!(demo.status.unwrap().control_plane_endpoint.as_deref(), Some("demo.example.com:6443"));
    let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", "v1alpha2", "TLSRoute");
    let routes: Api<DynamicObject> =
        Api::default_namespaced_with(platform.client.clone(), &ApiResource::from_gvk(&kind));
    let made = routes.get("demo").await.unwrap();
    assert_eq!(made.data["spec"]["hostnames"], json!(["demo.example.com"]));
    Box::pin(platform.patch("demo", json!({"spec": {"controlPlane": {"gateway": null}}}))).await;
    Box::pin(platform.until("demo", |object| route(object).is_none())).await;
    assert_eq!(routes.get_opt("demo").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_get_what_they_need_to_join_for_as_long_as_they_may() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    Box::pin(platform.create("demo", plain())).await;
    Box::pin(platform.ready("demo")).await;
    let until = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(30)).to_string();
    let annotate = |value: Value| json!({"metadata": {"annotations": {"steward.butlerlabs.dev/joining-until": value}}});
    Box::pin(platform.patch("demo", annotate(json!(until)))).await;
    let there = await_condition(platform.secrets.clone(), "demo-join", |object: Option<&Secret>| object.is_some());
    let secret = tokio::time::timeout(PATIENCE, there).await.unwrap().unwrap().unwrap();
    let text = |key: &str| String::from_utf8(secret.data.as_ref().unwrap()[key].0.clone()).unwrap();
    assert!(text("command").starts_with(&format!("kubeadm join {} --token {}", text("endpoint"), text("token"))));
    // Anybody may read where the cluster is, signed with the token.
    let mut anonymous = Box::pin(platform.kubeconfig("demo")).await;
    anonymous.auth_infos[0].auth_info = Some(kube::config::AuthInfo::default());
    let public: Api<ConfigMap> = Api::namespaced(outside(anonymous).await, "kube-public");
    let info = public.get("cluster-info").await.unwrap().data.unwrap();
    let (id, _) = text("token").split_once('.').map(|(id, rest)| (id.to_owned(), rest.to_owned())).unwrap();
    assert!(info.contains_key(&format!("jws-kubeconfig-{id}")), "{:?}", info.keys());

    Box::pin(platform.patch("demo", annotate(Value::Null))).await;
    let gone = await_condition(platform.secrets.clone(), "demo-join", |object: Option<&Secret>| object.is_none());
    tokio::time::timeout(PATIENCE, gone).await.unwrap().unwrap();
    let inside: Api<Secret> = Api::namespaced(Box::pin(platform.tenant("demo")).await, "kube-system");
    assert!(inside.get_opt(&format!("bootstrap-token-{id}")).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_at_any_moment_of_birth_or_death_changes_nothing_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    for delay in [0, 20, 60, 120, 250, 500] {
        let butler = Butler::up(folder.path());
        let platform = Platform::on(folder.path()).await;
        Box::pin(platform.create("demo", plain())).await;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        butler.kill();

        let butler = Butler::up(folder.path());
        let platform = Platform::on(folder.path()).await;
        Box::pin(platform.ready("demo")).await;
        make_namespace(&Box::pin(platform.tenant("demo")).await, "x").await;
        platform.planes.delete("demo", &DeleteParams::default()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(delay / 2)).await;
        butler.kill();

        let _butler = Butler::up(folder.path());
        let platform = Platform::on(folder.path()).await;
        if platform.planes.get_opt("demo").await.unwrap().is_some() {
            Box::pin(platform.delete("demo")).await;
        }
        Box::pin(platform.nothing_remains("demo")).await;
    }
}
