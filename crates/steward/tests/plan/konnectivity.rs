//! Control planes that reach their nodes through konnectivity.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::json;
use steward::tenant::{Step, plan};

use crate::world::World;

fn pod(world: &World) -> (PodSpec, std::collections::BTreeMap<String, String>) {
    let template = world.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap().template.clone();
    (template.spec.unwrap(), template.metadata.unwrap().annotations.unwrap())
}

fn has(container: &Container, argument: &str) -> bool {
    container.args.iter().flatten().any(|known| known == argument)
}

#[test]
fn a_server_stands_beside_the_api_server() {
    let server = json!({"port": 9132, "extraArgs": ["--v=4"]});
    let mut world =
        World::new(json!({"kubernetes": {"version": "v1.34.4"}, "addons": {"konnectivity": {"server": server}}}));
    world.make_ready();
    let (spec, annotations) = pod(&world);
    let server = spec.containers.iter().find(|container| container.name == "konnectivity-server").unwrap();
    assert_eq!(server.image.as_deref(), Some("registry.k8s.io/kas-network-proxy/proxy-server:v0.34.0"));
    for argument in ["--agent-port=9132", "--server-count=2", "--v=4"] {
        assert!(has(server, argument), "{:?}", server.args);
    }
    assert!(has(&spec.containers[0], "--egress-selector-config-file=/etc/kubernetes/egress/selector.yaml"));
    let selector: serde_json::Value =
        serde_json::from_str(&annotations["steward.butlerlabs.dev/egress-selector"]).unwrap();
    let socket = &selector["egressSelections"][0]["connection"]["transport"]["uds"]["udsName"];
    assert!(has(server, &format!("--uds-name={}", socket.as_str().unwrap())));
    // Every file that is mounted comes from a volume that is there.
    let volumes: Vec<&str> = spec.volumes.iter().flatten().map(|volume| volume.name.as_str()).collect();
    for mount in spec.containers.iter().flat_map(|container| container.volume_mounts.iter().flatten()) {
        assert!(volumes.contains(&mount.name.as_str()), "{} is in none of {volumes:?}", mount.name);
    }
    let ports = world.observed.service.as_ref().unwrap().spec.as_ref().unwrap().ports.clone().unwrap();
    assert!(ports.iter().any(|port| port.name.as_deref() == Some("konnectivity") && port.port == 9132));
    assert!(
        world.observed.secrets["demo-konnectivity-kubeconfig"]
            .data
            .as_ref()
            .unwrap()
            .contains_key("konnectivity-server.conf")
    );
}

#[test]
fn agents_are_told_where_it_is() {
    for (kind, port) in [("LoadBalancer", 8132), ("NodePort", 31235)] {
        let mut world = World::new(json!({
            "kubernetes": {"version": "v1.34.4"},
            "addons": {"konnectivity": {}},
            "controlPlane": {"service": {"serviceType": kind}},
        }));
        world.make_ready();
        world.edit(|tenant| tenant.status.as_mut().unwrap().kubeadmconfig = None);
        let configured = plan(&world.observed).steps.into_iter().find_map(|step| match step {
            Step::Configure(tenant) => Some(tenant),
            _ => None,
        });
        assert_eq!(configured.unwrap().konnectivity_port, Some(port), "{kind}");
    }
}
