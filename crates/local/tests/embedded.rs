//! Pods whose kube-apiserver is an API in this process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod common;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use common::{Machine, Tenant, admin, client, clock, config, is_ready, object, until};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::PostParams;
use kube::{Api, Client};
use local::agent::{ControllerRole, Fault, Programs, Simulation, logical_api};
use parking_lot::Mutex;
use runtime::Nearby as _;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

async fn make_namespace(client: &Client, name: &str) {
    let namespace: Namespace = object(json!({"metadata": {"name": name}}));
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
}

async fn has_namespace(client: &Client, name: &str) -> bool {
    Api::<Namespace>::all(client.clone()).get_opt(name).await.unwrap().is_some()
}

fn balancer(service: &Service) -> Option<IpAddr> {
    let ingress = service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?;
    ingress.first()?.ip.as_ref()?.parse().ok()
}

fn state(pod: &Pod) -> Value {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    serde_json::to_value(containers.into_iter().next().and_then(|container| container.state.clone())).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_an_api_until_it_is_deleted() {
    let machine = Machine::new().await;
    let _agent = machine.embedded();
    let tenant = Tenant::new("one");
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine
        .make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &["--colour=red", "--shutdown-delay-duration=5s", "--v=2"]))
        .await;
    let pod = machine.ready("api").await;
    let status = pod.status.as_ref().unwrap();
    let at = machine.endpoint(&pod);
    assert_eq!((status.phase.as_deref(), status.host_ip.as_deref()), (Some("Running"), Some("127.0.0.1")));
    let told = machine.told("api", "FlagsIgnored").await;
    assert_eq!(told, "flags without effect on the embedded API: --colour, --v");

    let inside = tenant.client(at).await;
    make_namespace(&inside, "x").await;
    assert_eq!(inside.apiserver_version().await.unwrap().git_version, "v1.34.4");
    let stranger = Tenant::new("stranger");
    let mut forged = stranger.kubeconfig(admin(), &format!("https://{at}"));
    forged.cluster.certificate_authority = Some(tenant.pki.cluster_ca.pem());
    let refused = Api::<Namespace>::all(client(&forged).await).list(&Default::default()).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 401));

    machine.delete("api").await;
    assert!(TcpStream::connect(at).await.is_err());
    drop(TcpListener::bind(at).await.unwrap());
    // The data outlives the pod.
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let again = tenant.client(machine.endpoint(&machine.ready("api").await)).await;
    assert!(has_namespace(&again, "x").await);
    machine.delete("api").await;
    let name = logical_api(&tenant.prefix);
    let kept = |machine: &Machine| {
        machine.plane.store().collections(&format!("{name}/")).iter().map(|collection| collection.len()).sum::<usize>()
    };
    assert!(kept(&machine) > 0);
    machine.plane.destroy(&name).await.unwrap();
    assert_eq!(kept(&machine), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_one_api_see_the_same_objects_and_take_turns_in_controlling() {
    let machine = Machine::new().await;
    let started = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&started);
    let controllers: local::agent::Controllers = Arc::new(move |role, _, client| {
        seen.lock().push((role, client));
        Box::new(())
    });
    let programs =
        Programs::embedded(machine.plane.clone(), clock(), controllers, machine.doors.clone(), Simulation::default());
    let _agent = machine.agent(programs);
    let tenant = Tenant::new("one");
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine.make::<Pod>(tenant.pod("old", "v1.34.4", "pki", &[])).await;
    let old = tenant.client(machine.endpoint(&machine.ready("old").await)).await;
    machine.make::<Pod>(tenant.pod("new", "v1.35.4", "pki", &[])).await;
    let new = tenant.client(machine.endpoint(&machine.ready("new").await)).await;
    make_namespace(&old, "x").await;
    assert!(has_namespace(&new, "x").await);
    assert_eq!(old.apiserver_version().await.unwrap().git_version, "v1.34.4");
    assert_eq!(new.apiserver_version().await.unwrap().git_version, "v1.35.4");

    // They act with the certificate of their kubeconfig, at one pod after the other.
    let have_started = async |count: usize| {
        let all = async {
            while started.lock().len() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), all).await.unwrap();
    };
    have_started(1).await;
    let (role, first) = started.lock()[0].clone();
    assert_eq!((role, started.lock().len()), (ControllerRole::ControllerManager, 1));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .body(review.to_string().into_bytes())
        .unwrap();
    let answer: Value = first.request(request).await.unwrap();
    assert_eq!(answer["status"]["userInfo"]["username"], "system:kube-controller-manager");
    machine.delete("old").await;
    have_started(2).await;
    assert!(has_namespace(&new, "x").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_this_process_prove_who_they_are_as_on_a_connection() {
    let machine = Machine::new().await;
    let _agent = machine.embedded();
    let (tenant, stranger) = (Tenant::new("one"), Tenant::new("stranger"));
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let pod = machine.ready("api").await;
    let (at, told) = (machine.endpoint(&pod), pod.status.and_then(|status| status.pod_ip).unwrap());
    let server = format!("https://{at}");
    let near = async |kubeconfig: &pki::Kubeconfig| machine.doors.ways().client(config(kubeconfig).await).unwrap();
    let refusal = async |client: &Client| {
        let refused = Api::<Namespace>::all(client.clone()).list(&Default::default()).await.unwrap_err();
        std::error::Error::source(&refused).map_or_else(|| refused.to_string(), ToString::to_string)
    };

    let own = tenant.kubeconfig(admin(), &server);
    let inside = near(&own).await;
    make_namespace(&inside, "x").await;
    assert!(has_namespace(&tenant.client(at).await, "x").await);
    // The certificate of another authority.
    let mut forged = stranger.kubeconfig(admin(), &server);
    forged.cluster.certificate_authority = Some(tenant.pki.cluster_ca.pem());
    let refused = Api::<Namespace>::all(near(&forged).await).list(&Default::default()).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 401));
    // A server that the client has no reason to believe: its authority has the name of another one.
    let unknown = near(&stranger.kubeconfig(admin(), &server)).await;
    assert_eq!(refusal(&unknown).await, "invalid peer certificate: BadSignature");

    // The address of a Service leads to it as well.
    let _network = machine.network();
    let ports = json!([{"name": "tcp", "port": 443}]);
    let spec = json!({"type": "LoadBalancer", "ports": ports, "allocateLoadBalancerNodePorts": false});
    machine.make::<Service>(json!({"metadata": {"name": "api"}, "spec": spec})).await;
    machine
        .make::<EndpointSlice>(json!({
            "metadata": {"name": "api", "labels": {"kubernetes.io/service-name": "api"}}, "addressType": "IPv4",
            "ports": [{"name": "tcp", "port": at.port()}], "endpoints": [{"addresses": [told]}],
        }))
        .await;
    let has_address = |service: &Service| balancer(service).is_some();
    let service = until(&machine.api::<Service>(), "api", "has an address", has_address).await;
    let address = SocketAddr::new(balancer(&service).unwrap(), 443);
    let known = async {
        while machine.doors.at(address).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), known).await.unwrap();
    assert!(has_namespace(&near(&tenant.kubeconfig(admin(), &format!("https://{address}"))).await, "x").await);

    // What was watched ends with the server, and the next one is found.
    let watched = Api::<Namespace>::all(inside.clone());
    let mut events = std::pin::pin!(watched.watch(&Default::default(), "0").await.unwrap());
    machine.delete("api").await;
    while events.next().await.is_some() {}
    assert_eq!(refusal(&inside).await, "client error (Connect)");
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let again = machine.endpoint(&machine.ready("api").await);
    let inside =
        if again == at { inside } else { near(&tenant.kubeconfig(admin(), &format!("https://{again}"))).await };
    assert!(has_namespace(&inside, "x").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_of_a_tenant_make_its_pods() {
    let machine = Machine::new().await;
    let volumes_dir = machine.settings.directory.join("volumes");
    let settings = local::workloads::Settings::new(volumes_dir, local::Pulse::default());
    let controllers: local::agent::Controllers = Arc::new(move |_, api, client| {
        let (metrics, settings) = (runtime::Metrics::default(), settings.clone());
        Box::new(local::workloads::start_as_needed(api, client, clock(), metrics, settings))
    });
    let programs =
        Programs::embedded(machine.plane.clone(), clock(), controllers, machine.doors.clone(), Simulation::default());
    let _agent = machine.agent(programs);
    let tenant = Tenant::new("one");
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let inside = tenant.client(machine.endpoint(&machine.ready("api").await)).await;
    let deployment: Deployment = object(json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
    }}));
    let deployments = Api::<Deployment>::namespaced(inside.clone(), "default");
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    let made = |deployment: &Deployment| deployment.status.as_ref().and_then(|status| status.replicas) == Some(2);
    until(&deployments, "web", "has its pods", made).await;
    assert_eq!(Api::<Pod>::namespaced(inside, "default").list(&Default::default()).await.unwrap().items.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_told_and_waited_for() {
    let machine = Machine::new().await;
    let _agent = machine.embedded();
    let tenant = Tenant::new("one");
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let told = machine.told("api", "FailedMount").await;
    assert_eq!(told, "MountVolume.SetUp failed for volume \"pki\" : secret \"pki\" not found");
    let env = json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "pki", "key": "ca.crt"}}}]);
    let spec = json!({"nodeName": "here", "containers": [{"name": "c", "image": "x", "env": env}]});
    machine.make::<Pod>(json!({"metadata": {"name": "env"}, "spec": spec})).await;
    let waiting = json!({"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"pki\" not found"}});
    until(&machine.api::<Pod>(), "env", "waits", |pod| state(pod) == waiting).await;
    assert_eq!(
        state(&machine.api::<Pod>().get("api").await.unwrap()),
        json!({"waiting": {"reason": "ContainerCreating"}})
    );
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine.ready("api").await;
    machine.ready("env").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agent_goes_on_where_the_first_was_killed() {
    let machine = Machine::new().await;
    let tenant = Tenant::new("one");
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let first = machine.embedded();
    let before = machine.endpoint(&machine.ready("api").await);
    make_namespace(&tenant.client(before).await, "x").await;
    drop(first);
    let _second = machine.embedded();
    let restarted = |pod: &Pod| {
        let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        is_ready(pod) && containers.into_iter().all(|container| container.restart_count == 1)
    };
    let after = until(&machine.api::<Pod>(), "api", "restarted", restarted).await;
    assert_eq!(machine.endpoint(&after), before);
    assert!(has_namespace(&tenant.client(before).await, "x").await);
    // What is given out afterwards is another's.
    machine.make::<Pod>(json!({"metadata": {"name": "b"}, "spec": {"nodeName": "here", "containers": [{"name": "c", "image": "x"}]}})).await;
    assert_ne!(machine.endpoint(&machine.ready("b").await).ip(), before.ip());
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_certificates_crash_the_container_and_say_why() {
    let machine = Machine::new().await;
    let _agent = machine.embedded();
    let tenant = Tenant::new("one");
    let mut secret = tenant.secret("pki");
    secret["stringData"]["sa.key"] = "nonsense".into();
    machine.make::<Secret>(secret).await;
    machine.make::<Pod>(tenant.pod("api", "v1.34.4", "pki", &[])).await;
    let crashed = |pod: &Pod| {
        let status = serde_json::to_value(&pod.status).unwrap();
        let container = &status["containerStatuses"][0];
        container["restartCount"].as_i64() >= Some(2) && container["lastState"]["terminated"]["exitCode"] == 1
    };
    let pod = until(&machine.api::<Pod>(), "api", "crashed", crashed).await;
    let status = serde_json::to_value(&pod.status).unwrap();
    let message = status["containerStatuses"][0]["lastState"]["terminated"]["message"].as_str().unwrap();
    assert!(message.starts_with("cannot use the service account signing key"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_images_are_simulated_with_the_faults_asked_for() {
    let machine = Machine::new().await;
    let fault = |_: &Pod, container: &k8s_openapi::api::core::v1::Container| match container.name.as_str() {
        "crash" => Some(Fault::Exit(3, Duration::ZERO)),
        "pull" => Some(Fault::Refused("ErrImagePull", "no such image".into())),
        _ => None,
    };
    let simulation = Simulation { fault: Some(Arc::new(fault)), ..Simulation::default() };
    let _agent = machine.agent(Programs::simulated(simulation));
    let make = |name: &str, extra: Value| {
        let mut spec = json!({"nodeName": "here", "containers": [{"name": name, "image": "x"}]});
        spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        machine.make::<Pod>(json!({"metadata": {"name": name}, "spec": spec}))
    };
    make("fine", json!({"initContainers": [{"name": "first", "image": "y"}]})).await;
    make("job", json!({"restartPolicy": "Never"})).await;
    make("crash", json!({})).await;
    make("pull", json!({})).await;
    let fine = machine.ready("fine").await;
    let status = serde_json::to_value(&fine.status).unwrap();
    assert_eq!(status["initContainerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    until(&machine.api::<Pod>(), "job", "succeeds", |pod| phase(pod).as_deref() == Some("Succeeded")).await;
    let looping = |pod: &Pod| state(pod)["waiting"]["reason"] == "CrashLoopBackOff";
    until(&machine.api::<Pod>(), "crash", "loops", looping).await;
    let refused = json!({"waiting": {"reason": "ErrImagePull", "message": "no such image"}});
    until(&machine.api::<Pod>(), "pull", "is refused", |pod| state(pod) == refused).await;
    for name in ["fine", "job", "crash", "pull"] {
        machine.delete(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_is_registered_and_its_lease_renewed() {
    let machine = Machine::new().await;
    let _agent = machine.embedded();
    let ready = |node: &Node| {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    let node = until(&machine.all::<Node>(), common::NODE, "is ready", ready).await;
    assert_eq!(node.status.unwrap().capacity.unwrap()["pods"].0, "110");
    let leases =
        Api::<k8s_openapi::api::coordination::v1::Lease>::namespaced(machine.client.clone(), "kube-node-lease");
    let lease = until(&leases, common::NODE, "is renewed", |_| true).await;
    assert!(lease.spec.unwrap().renew_time.is_some());
}
