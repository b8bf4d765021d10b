//! Services on loopback addresses.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod common;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use common::{Machine, object, until};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn balancer(name: &str, extra: Value) -> Value {
    let mut spec =
        json!({"type": "LoadBalancer", "ports": [{"name": "tcp", "port": 80}], "allocateLoadBalancerNodePorts": false});
    spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"metadata": {"name": name}, "spec": spec})
}

fn address(service: &Service) -> Option<IpAddr> {
    let balancer = service.status.as_ref()?.load_balancer.as_ref()?;
    balancer.ingress.as_ref()?.first()?.ip.as_ref()?.parse().ok()
}

/// The API knows pods by other addresses than those they are reached at.
fn slice(service: &str, endpoints: &[SocketAddr]) -> Value {
    let port = endpoints.first().map_or(1, SocketAddr::port);
    let told = |at: &SocketAddr| at.ip().to_string().replacen("127.", "10.", 1);
    let endpoints: Vec<Value> =
        endpoints.iter().map(|at| json!({"addresses": [told(at)], "conditions": {"ready": true}})).collect();
    json!({
        "metadata": {"name": service, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4", "ports": [{"name": "tcp", "port": port, "protocol": "TCP"}], "endpoints": endpoints,
    })
}

/// Answers every line with its name.
async fn named(name: &'static str, at: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(at).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut byte = [0];
                while stream.read_exact(&mut byte).await.is_ok() && stream.write_all(name.as_bytes()).await.is_ok() {}
            });
        }
    });
    at
}

async fn ask(stream: &mut TcpStream) -> std::io::Result<String> {
    stream.write_all(b"?").await?;
    let mut answer = [0];
    stream.read_exact(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

async fn ask_anew(at: SocketAddr) -> std::io::Result<String> {
    ask(&mut TcpStream::connect(at).await?).await
}

/// Asks until the answer is as wanted.
async fn eventually(at: SocketAddr, wanted: impl Fn(&std::io::Result<String>) -> bool) {
    let asking = async {
        while !wanted(&ask_anew(at).await) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asking).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_go_to_ready_endpoints_in_turn_and_outlive_them() {
    let machine = Machine::new().await;
    let _network = machine.network();
    let pod = |last: u8, port| {
        let IpAddr::V4(network) = machine.settings.pods.bound.network() else { unreachable!() };
        let [a, b, c, _] = network.octets();
        SocketAddr::from(([a, b, c, last], port))
    };
    let one = named("1", pod(1, 0)).await;
    let two = named("2", pod(2, one.port())).await;
    machine.make::<Service>(balancer("web", json!({}))).await;
    let service = until(&machine.api::<Service>(), "web", "has an address", |service| address(service).is_some()).await;
    let at = SocketAddr::new(address(&service).unwrap(), 80);
    assert!(machine.network.load_balancers.contains(&at.ip()));
    assert!(TcpStream::connect(at).await.is_err());

    machine.make::<EndpointSlice>(slice("web", &[one, two])).await;
    eventually(at, |answer| answer.is_ok()).await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(ask_anew(at).await.unwrap());
    }
    assert!(answers == ["1", "2", "1", "2"] || answers == ["2", "1", "2", "1"], "{answers:?}");
    let cluster_ip: IpAddr = service.spec.as_ref().unwrap().cluster_ip.as_ref().unwrap().parse().unwrap();
    assert!(ask_anew(SocketAddr::new(cluster_ip, 80)).await.is_ok());

    let mut lasting = TcpStream::connect(at).await.unwrap();
    let before = ask(&mut lasting).await.unwrap();
    let replace = |endpoints: &[SocketAddr]| {
        let slices = machine.api::<EndpointSlice>();
        let patch = slice("web", endpoints);
        async move { slices.patch("web", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap() }
    };
    replace(&[if before == "1" { two } else { one }]).await;
    eventually(at, |answer| answer.as_ref().is_ok_and(|answer| *answer != before)).await;
    for _ in 0..4 {
        assert_ne!(ask_anew(at).await.unwrap(), before);
    }
    assert_eq!(ask(&mut lasting).await.unwrap(), before);
    replace(&[]).await;
    eventually(at, |answer| answer.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused))
        .await;
    assert_eq!(ask(&mut lasting).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_kept_over_restarts_and_given_to_one_at_a_time() {
    let mut machine = Machine::new().await;
    let IpAddr::V4(first) = machine.network.load_balancers.network() else { unreachable!() };
    let [a, b, c, _] = first.octets();
    // Two addresses.
    machine.network.load_balancers = format!("{a}.{b}.{c}.0/30").parse().unwrap();
    let network = machine.network();
    let services = machine.api::<Service>();
    let assigned = |name: &'static str| {
        let services = services.clone();
        async move { address(&until(&services, name, "has an address", |s| address(s).is_some()).await).unwrap() }
    };
    let wish = IpAddr::from([a, b, c, 2]);
    machine.make::<Service>(balancer("fixed", json!({"loadBalancerIP": wish.to_string()}))).await;
    assert_eq!(assigned("fixed").await, wish);
    machine.make::<Service>(balancer("any", json!({}))).await;
    let any = assigned("any").await;
    assert_ne!(any, wish);
    drop(network);
    let _again = machine.network();
    machine.make::<Service>(balancer("late", json!({}))).await;
    let refused = |service: &Service| {
        let conditions = service.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|condition| condition.reason == "AddressesExhausted")
    };
    until(&services, "late", "is refused", refused).await;
    let told = machine.told("late", "AddressesExhausted").await;
    assert!(told.ends_with("delete a Service of type LoadBalancer or start with a larger range"), "{told}");
    assert_eq!((assigned("fixed").await, assigned("any").await), (wish, any));
    services.delete("any", &Default::default()).await.unwrap();
    assert_eq!(assigned("late").await, any);
    let late = services.get("late").await.unwrap();
    assert!(!refused(&late));
    let told: Service = object(serde_json::to_value(&late).unwrap());
    assert_eq!(serde_json::to_value(told.status).unwrap()["loadBalancer"]["ingress"][0]["ipMode"], "VIP");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_cannot_be_had_is_told() {
    let machine = Machine::new().await;
    let _network = machine.network();
    let endpoint = named("1", SocketAddr::new(machine.settings.pods.bound.hosts().next().unwrap(), 0)).await;
    let taken = machine.network.load_balancers.hosts().nth(4).unwrap();
    let _held = TcpListener::bind(SocketAddr::new(taken, 80)).await.unwrap();
    machine.make::<Service>(balancer("web", json!({"loadBalancerIP": taken.to_string()}))).await;
    machine.make::<EndpointSlice>(slice("web", &[endpoint])).await;
    let told = machine.told("web", "AddressUnavailable").await;
    assert_eq!(told, format!("cannot listen on {taken}:80: Address already in use (os error 98)"));
    drop(_held);
    eventually(SocketAddr::new(taken, 80), Result::is_ok).await;
}
