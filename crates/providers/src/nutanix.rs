//! Nutanix, through its own Cluster API provider (CAPX).

use butler_api::butler::tenant_cluster::NutanixOverride;
use butler_api::shared::{Blocker, ByteSize, NutanixProvider};
use serde_json::{Value, json};

use crate::blockers::{Wrong, invalid, owner, place};
use crate::settings::{Places, Setting};
use crate::{Infrastructure, Machines, Request, Template, credentials};

const VERSION: &str = "v1beta1";

/// Below these the provider refuses a machine.
const LEAST_MEMORY: u64 = 2 << 30;
const LEAST_DISK: u64 = 20 << 30;

pub(crate) fn infrastructure(request: &Request<'_>) -> Result<Infrastructure, Vec<Blocker>> {
    let mut wrong = Wrong::default();
    let prism = wrong.note(prism(request));
    let values = wrong.note(credentials::read(request));
    let trust = wrong.note(trust_bundle(request));
    let (Some((section, address, port)), Some(values), Some(trust)) = (prism, values, trust) else {
        return Err(wrong.all());
    };
    let secret_name = format!("{}-nutanix-credentials", request.cluster);
    let mut central = json!({
        "address": address,
        "port": port,
        "insecure": section.insecure,
        "credentialRef": {"kind": "Secret", "name": secret_name, "namespace": request.namespace},
    });
    if let Some(pem) = trust {
        central["additionalTrustBundle"] = json!({"kind": "String", "data": pem});
    }
    let mut values = values.into_iter();
    let login = json!({"username": values.next(), "password": values.next()});
    let document = json!([{"type": "basic_auth", "data": {"prismCentral": login, "prismElements": null}}]);
    Ok(Infrastructure {
        cluster: request.cluster_object(VERSION, "NutanixCluster", json!({"prismCentral": central})),
        secrets: vec![request.secret(secret_name, "credentials", document.to_string().into_bytes())],
    })
}

pub(crate) fn machine_template(request: &Request<'_>, machines: Machines<'_>) -> Result<Template, Vec<Blocker>> {
    let mut wrong = Wrong::default();
    let size = wrong.note(machines.size(request));
    if let Some(size) = &size {
        let least = |size: &ByteSize, least| size.bytes().is_some_and(|bytes| bytes >= least);
        if !least(&size.memory, LEAST_MEMORY) {
            wrong.add(machines.bad_size("memory", &size.memory, "at least 2Gi on Nutanix"));
        }
        if !least(&size.disk, LEAST_DISK) {
            wrong.add(machines.bad_size("diskSize", &size.disk, "at least 20Gi on Nutanix"));
        }
    }
    let own = overrides(request);
    let section = wrong.note(section(request));
    let image = Places::of(request, "image")
        .machines(machines, "os.imageRef", machines.image(request))
        .cluster("nutanix.imageUUID", own.and_then(|own| own.image_uuid.as_deref()))
        .provider("nutanix.imageUUID", section.and_then(|section| section.image_uuid.as_deref()))
        .required();
    let image = wrong.note(image);
    let cluster = Places::of(request, "Prism Element cluster")
        .cluster("nutanix.clusterUUID", own.and_then(|own| own.cluster_uuid.as_deref()))
        .provider("nutanix.clusterUUID", section.map(|section| section.cluster_uuid.as_str()))
        .required();
    let cluster = wrong.note(cluster);
    let subnet = Places::of(request, "subnet")
        .cluster("nutanix.subnetUUID", own.and_then(|own| own.subnet_uuid.as_deref()))
        .provider("nutanix.subnetUUID", section.map(|section| section.subnet_uuid.as_str()))
        .required();
    let subnet = wrong.note(subnet);
    let container = Places::of(request, "storage container")
        .cluster("nutanix.storageContainerUUID", own.and_then(|own| own.storage_container_uuid.as_deref()))
        .provider("nutanix.storageContainerUUID", section.and_then(|section| section.storage_container_uuid.as_deref()))
        .optional();
    if let Some(container) = container {
        wrong.add(container.refused(ELSEWHERE, PLACE_THE_IMAGE));
    }
    let (Some(size), Some(image), Some(cluster), Some(subnet), true) = (size, image, cluster, subnet, wrong.is_empty())
    else {
        return Err(wrong.all());
    };
    let machine = json!({
        "bootType": "legacy",
        "vcpuSockets": size.cpu,
        "vcpusPerSocket": 1,
        "memorySize": size.memory.to_string(),
        "systemDiskSize": size.disk.to_string(),
        "image": identifier(&image),
        "cluster": identifier(&cluster),
        "subnet": [identifier(&subnet)],
    });
    Ok(Template::new(VERSION, "NutanixMachineTemplate", machine))
}

const ELSEWHERE: &str =
    "cannot be followed: Nutanix's Cluster API provider puts a system disk beside the image it is made from";
const PLACE_THE_IMAGE: &str = "Remove the field, and upload the image to that storage container.";

fn section<'a>(request: &Request<'a>) -> Result<&'a NutanixProvider, Vec<Blocker>> {
    request.provider.spec.nutanix.as_ref().ok_or_else(|| {
        vec![invalid(
            owner(request),
            format!("ProviderConfig {} does not say where Prism Central is", place(request)),
            "spec.nutanix is not set".to_owned(),
            format!("Set spec.nutanix of ProviderConfig {}.", place(request)),
        )]
    })
}

fn overrides<'a>(request: &Request<'a>) -> Option<&'a NutanixOverride> {
    request.spec.infrastructure_override.as_ref()?.nutanix.as_ref()
}

/// Prism Central's host and port. A port in the address is closer to what somebody meant than the field's default.
fn prism<'a>(request: &Request<'a>) -> Result<(&'a NutanixProvider, &'a str, i32), Vec<Blocker>> {
    let section = section(request)?;
    let bare = section.endpoint.split_once("://").map_or(section.endpoint.as_str(), |(_, rest)| rest);
    let authority = bare.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        // Colons within brackets belong to the address.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, Some(section.port)),
    };
    match port.filter(|port| (1..=65535).contains(port) && !host.is_empty() && !host.contains('@')) {
        Some(port) => Ok((section, host, port)),
        None => Err(vec![invalid(
            owner(request),
            format!("spec.nutanix.endpoint of ProviderConfig {} is no address", place(request)),
            format!("spec.nutanix.endpoint is {:?}", section.endpoint),
            "Write it as https://host, for example https://prism.example.com.".to_owned(),
        )]),
    }
}

/// Authorities to trust beyond the usual ones.
fn trust_bundle(request: &Request<'_>) -> Result<Option<String>, Vec<Blocker>> {
    let Some(pem) = request.credentials.and_then(|data| data.get("ca.pem")) else { return Ok(None) };
    match String::from_utf8(pem.0.clone()) {
        Ok(pem) if pem.contains("-----BEGIN CERTIFICATE-----") => Ok(Some(pem)),
        _ => Err(vec![credentials::unusable(
            request,
            "key ca.pem holds no certificate".to_owned(),
            "Put the PEM of Prism Central's authority into ca.pem, or remove the key.",
        )]),
    }
}

/// A thing at Nutanix, by UUID, or by name where it is none.
fn identifier(setting: &Setting<'_>) -> Value {
    let parts: Vec<usize> = setting.value.split('-').map(str::len).collect();
    let hexadecimal = setting.value.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    match parts == [8, 4, 4, 4, 12] && hexadecimal {
        true => json!({"type": "uuid", "uuid": setting.value}),
        false => json!({"type": "name", "name": setting.value}),
    }
}
