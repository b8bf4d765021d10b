//! This machine: simulated machines, by Cluster API's own contract.

use serde_json::json;

use butler_api::shared::Blocker;

use crate::{Infrastructure, Machines, Request, Template};

const VERSION: &str = "v1alpha1";

pub(crate) fn infrastructure(request: &Request<'_>) -> Infrastructure {
    Infrastructure { cluster: request.cluster_object(VERSION, "LocalCluster", json!({})), secrets: Vec::new() }
}

pub(crate) fn machine_template(request: &Request<'_>, machines: Machines<'_>) -> Result<Template, Vec<Blocker>> {
    let size = machines.size(request)?;
    let mut machine = json!({
        "cpu": size.cpu,
        "memory": size.memory.to_string(),
        "diskSize": size.disk.to_string(),
        "os": machines.os_type(request),
    });
    let usual = request.provider.spec.local.as_ref().and_then(|section| section.kind_node_image.as_deref());
    if let Some(image) = machines.image(request).or(usual) {
        machine["image"] = image.into();
    }
    let startup = request.provider.spec.local.as_ref().and_then(|section| section.machine_startup.as_deref());
    if let Some(startup) = startup {
        machine["startup"] = startup.into();
    }
    Ok(Template::new(VERSION, "LocalMachineTemplate", machine))
}
