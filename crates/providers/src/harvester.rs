//! Harvester, through rancher-sandbox's Cluster API provider.

use std::net::IpAddr;

use butler_api::butler::tenant_cluster::{ControlPlaneType, HarvesterOverride};
use butler_api::shared::{Blocker, HarvesterProvider, OsType};
use serde_json::{Value, json};

use crate::blockers::Wrong;
use crate::settings::{Places, Setting};
use crate::{Infrastructure, Machines, Request, Template, credentials, kubeconfig};

const VERSION: &str = "v1alpha1";

/// The KeyPair that machines get when the ProviderConfig names none; Harvester's provider insists on one.
const DEFAULT_KEY_PAIR: &str = "butler";

pub(crate) fn infrastructure(request: &Request<'_>) -> Result<Infrastructure, Vec<Blocker>> {
    let values = credentials::read(request)?;
    let text = values.into_iter().next().unwrap_or_default();
    let server = kubeconfig::server(&text)
        .map_err(|why| vec![credentials::unusable(request, format!("its kubeconfig is unusable: {why}"), REMEDY)])?;
    let endpoint = section(request).and_then(|section| section.endpoint.clone()).filter(|text| !text.is_empty());
    let secret_name = format!("{}-harvester-credentials", request.cluster);
    let spec = json!({
        "server": endpoint.unwrap_or(server),
        "identitySecret": {"namespace": request.namespace, "name": secret_name},
        "targetNamespace": target_namespace(request),
        "loadBalancerConfig": load_balancer(request),
    });
    Ok(Infrastructure {
        cluster: request.cluster_object(VERSION, "HarvesterCluster", spec),
        secrets: vec![request.secret(secret_name, "kubeconfig", text.into_bytes())],
    })
}

const REMEDY: &str = "Download a kubeconfig from Harvester (Support page) and put it into the Secret as it is.";

pub(crate) fn machine_template(request: &Request<'_>, machines: Machines<'_>) -> Result<Template, Vec<Blocker>> {
    let mut wrong = Wrong::default();
    let size = wrong.note(machines.size(request));
    let image = wrong.note(image(request, machines));
    let network = wrong.note(network(request));
    let (Some(size), Some(image), Some(network)) = (size, image, network) else { return Err(wrong.all()) };
    let section = section(request);
    let key_pair = section.and_then(|section| section.ssh_key_pair.as_deref()).unwrap_or(DEFAULT_KEY_PAIR);
    let mut volume = json!({
        "volumeType": "image",
        "imageName": image.value,
        "volumeSize": size.disk.to_string(),
        "bootOrder": 1,
    });
    if let Some(class) = section.and_then(|section| section.storage_class_name.as_deref()) {
        volume["storageClass"] = class.into();
    }
    let machine = json!({
        "cpu": size.cpu,
        "memory": size.memory.to_string(),
        "sshUser": login_user(machines.os_type(request)),
        "sshKeyPair": key_pair,
        "networks": [network.value],
        "volumes": [volume],
    });
    Ok(Template::new(VERSION, "HarvesterMachineTemplate", machine))
}

fn section<'a>(request: &Request<'a>) -> Option<&'a HarvesterProvider> {
    request.provider.spec.harvester.as_ref()
}

fn overrides<'a>(request: &Request<'a>) -> Option<&'a HarvesterOverride> {
    request.spec.infrastructure_override.as_ref()?.harvester.as_ref()
}

fn target_namespace<'a>(request: &'a Request<'a>) -> &'a str {
    let places = Places::of(request, "namespace for the machines")
        .cluster("harvester.namespace", overrides(request).and_then(|own| own.namespace.as_deref()))
        .provider("harvester.namespace", section(request).map(|section| section.namespace.as_str()));
    places.optional().map_or("default", |setting| setting.value)
}

fn network<'a>(request: &'a Request<'a>) -> Result<Setting<'a>, Vec<Blocker>> {
    let network = Places::of(request, "VM network")
        .cluster("harvester.networkName", overrides(request).and_then(|own| own.network_name.as_deref()))
        .provider("harvester.networkName", section(request).and_then(|section| section.network_name.as_deref()))
        .required()?;
    match is_namespaced(network.value) {
        true => Ok(network),
        false => {
            Err(vec![network.refused("is no VM network", "Write it as namespace/name, for example default/workloads.")])
        }
    }
}

fn image<'a>(request: &'a Request<'a>, machines: Machines<'a>) -> Result<Setting<'a>, Vec<Blocker>> {
    let image = Places::of(request, "VM image")
        .machines(machines, "os.imageRef", machines.image(request))
        .cluster("harvester.imageName", overrides(request).and_then(|own| own.image_name.as_deref()))
        .provider("harvester.imageName", section(request).and_then(|section| section.image_name.as_deref()))
        .required()?;
    match is_namespaced(image.value) {
        true => Ok(image),
        false => {
            Err(vec![image.refused("is no VM image", "Write it as namespace/name, for example default/rocky-9.5.")])
        }
    }
}

fn is_namespaced(text: &str) -> bool {
    text.split_once('/').is_some_and(|(namespace, name)| {
        !namespace.is_empty() && !name.is_empty() && !name.contains('/') && !text.contains(char::is_whitespace)
    })
}

/// Harvester's load balancer before a standalone control plane: exactly the endpoint's address where the ProviderConfig
/// describes the subnet, else one by DHCP. A hosted control plane has its own load balancer and leaves this one idle.
fn load_balancer(request: &Request<'_>) -> Value {
    let pool = || {
        let standalone = request.spec.control_plane.type_ == ControlPlaneType::Standalone;
        let address: IpAddr = request.endpoint.filter(|_| standalone)?.host.parse().ok()?;
        let place = request.provider.spec.network.as_ref()?;
        let (subnet, gateway) = (place.subnet.as_deref()?, place.gateway.as_deref()?);
        let within = kernel::cidr::parse_cidr(subnet).ok()?.contains(&address);
        let network = network(request).ok()?;
        within.then(|| {
            json!({
                "vmNetwork": network.value,
                "subnet": subnet,
                "gateway": gateway,
                "rangeStart": address.to_string(),
                "rangeEnd": address.to_string(),
            })
        })
    };
    match pool() {
        Some(pool) => json!({"ipamType": "pool", "ipPool": pool}),
        None => json!({"ipamType": "dhcp"}),
    }
}

/// The user that cloud images of an operating system come with.
fn login_user(os: OsType) -> &'static str {
    match os {
        OsType::Rocky => "rocky",
        OsType::Flatcar => "core",
        OsType::Talos => "talos",
        OsType::Kairos => "kairos",
        OsType::Bottlerocket => "ec2-user",
    }
}
