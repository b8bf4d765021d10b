//! Control planes that are published under a host name.

use serde_json::{Value, json};

use crate::world::World;

fn published(how: &Value) -> World {
    let mut control_plane = how.clone();
    control_plane["service"] = json!({"serviceType": "ClusterIP"});
    let mut world = World::new(json!({"kubernetes": {"version": "v1.34.4"}, "controlPlane": control_plane}));
    world.make_ready();
    world
}

fn endpoint(world: &World) -> String {
    world.observed.tenant.status.clone().unwrap().control_plane_endpoint.unwrap()
}

fn hosts(world: &World) -> Vec<String> {
    let secret = world.observed.secret("demo-apiserver").unwrap();
    let text = std::str::from_utf8(&secret.data.as_ref().unwrap()["tls.crt"].0).unwrap();
    pki::Certificate::from_pem(text).unwrap().alt_names().dns.clone()
}

#[test]
fn an_ingress_gives_name_and_port() {
    for (kind, annotation) in [
        (json!("nginx"), Some("nginx.ingress.kubernetes.io/ssl-passthrough")),
        (json!("haproxy"), Some("haproxy.org/ssl-passthrough")),
        (json!(null), None),
    ] {
        let more = json!({"annotations": {"a": "b"}, "labels": {"c": "d"}});
        let ingress = json!({
            "hostname": "demo.example.com", "ingressClassName": "edge", "controllerType": kind, "additionalMetadata": more,
        });
        let mut world = published(&json!({"ingress": ingress}));
        assert_eq!(endpoint(&world), "demo.example.com:443");
        assert!(hosts(&world).contains(&"demo.example.com".to_owned()), "{:?}", hosts(&world));
        let made = world.observed.ingress.clone().unwrap();
        let annotations = made.metadata.annotations.clone().unwrap();
        assert_eq!(annotations.keys().any(|name| Some(name.as_str()) == annotation), annotation.is_some());
        assert_eq!((annotations["a"].as_str(), made.metadata.labels.as_ref().unwrap()["c"].as_str()), ("b", "d"));
        let spec = serde_json::to_value(made.spec.as_ref().unwrap()).unwrap();
        assert_eq!(
            (&spec["ingressClassName"], &spec["rules"][0]["host"]),
            (&json!("edge"), &json!("demo.example.com"))
        );
        assert_eq!(spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"], "demo");
        assert!(world.route.is_none());

        world.spec(|tenant| tenant.spec.control_plane.ingress = None);
        world.make_ready();
        assert_eq!((endpoint(&world).as_str(), world.observed.ingress.is_some()), ("10.96.0.20:6443", false));
    }
}

#[test]
fn a_gateway_and_traefik_get_a_route() {
    let gateway = json!({"gateway": {"hostname": "demo.example.com", "parentRefs": [{"name": "edge"}]}});
    let traefik = json!({"ingress": {"hostname": "demo.example.com", "controllerType": "traefik"}});
    for (how, kind, port) in [(gateway, "TLSRoute", 6443), (traefik, "IngressRouteTCP", 443)] {
        let mut world = published(&how);
        assert_eq!(endpoint(&world), format!("demo.example.com:{port}"));
        let route = world.route.clone().unwrap();
        assert_eq!(route.types.unwrap().kind, kind);
        assert!(route.data.to_string().contains("demo.example.com"));
        assert!(world.observed.ingress.is_none());
        // The way back.
        world.spec(|tenant| {
            tenant.spec.control_plane.ingress = None;
            tenant.spec.control_plane.gateway = None;
        });
        world.make_ready();
        assert!(world.route.is_none());
        let status = world.observed.tenant.status.clone().unwrap();
        assert_eq!(status.kubernetes_resources.unwrap().route, None);
    }
}

#[test]
fn the_port_of_a_listener_is_that_of_its_reference() {
    let parent = json!({"name": "edge", "port": 443, "sectionName": "api"});
    let world = published(&json!({"gateway": {"hostname": "demo.example.com", "parentRefs": [parent.clone()]}}));
    assert_eq!(endpoint(&world), "demo.example.com:443");
    assert_eq!(world.route.unwrap().data["spec"]["parentRefs"], json!([parent]));
}
