//! Talos Linux: a machine config of a worker. It joins a control plane that does not run Talos, by the cluster's
//! authority and a bootstrap token, so Talos' own discovery stays off.

use std::collections::BTreeMap;

use ipnet::IpNet;
use pki::Secret;
use serde_json::{Value, json};

use crate::{Bootstrap, Error, Format, Pool, base64, input, kubelet, versions};

pub(crate) fn worker(pool: &Pool) -> Result<Bootstrap, Error> {
    let talos = versions::talos(pool)?;
    kubelet::no_provider_id(pool)?;
    let join = pool.join()?;
    let authority = pool.talos.as_ref().ok_or(Error::TalosAuthorityUnknown)?;
    input::certificate("talos.ca", &authority.ca_pem)?;
    if authority.token.is_empty() {
        return Err(Error::TalosAuthorityUnknown);
    }
    let options = pool.os.talos.clone().unwrap_or_default();
    let disk = options.install_disk.or(pool.machine.install_disk.clone()).unwrap_or_else(|| "/dev/vda".to_owned());
    input::device("os.talos.installDisk", &disk)?;
    let installer = options.installer_image.unwrap_or_else(|| format!("ghcr.io/siderolabs/installer:{talos}"));
    input::image("os.talos.installerImage", &installer)?;

    let mut machine = json!({
        "type": "worker",
        "token": authority.token.expose(),
        // A worker is given no key: neither Talos' nor Kubernetes'.
        "ca": {"crt": base64(&authority.ca_pem), "key": ""},
        "kubelet": kubelet_section(pool),
        "install": {"disk": disk, "image": installer, "wipe": false},
        "features": {"rbac": true, "stableHostname": true, "diskQuotaSupport": true},
    });
    if !pool.name_servers.is_empty() {
        machine["network"] = json!({ "nameservers": pool.name_servers });
    }
    if !pool.time_servers.is_empty() {
        machine["time"] = json!({ "servers": pool.time_servers });
    }
    if !pool.mirrors.is_empty() {
        let mirrors: BTreeMap<_, _> =
            pool.mirrors.iter().map(|(registry, endpoints)| (registry, json!({ "endpoints": endpoints }))).collect();
        machine["registries"] = json!({ "mirrors": mirrors });
    }
    if !pool.labels.is_empty() {
        machine["nodeLabels"] = json!(pool.labels);
    }
    if !pool.taints.is_empty() {
        machine["nodeTaints"] = taints(pool)?;
    }
    let mut cluster = json!({
        "clusterName": pool.cluster,
        "controlPlane": {"endpoint": join.url()},
        "token": join.token.expose(),
        "ca": {"crt": base64(&join.ca_pem), "key": ""},
        "network": {
            "dnsDomain": pool.network.domain,
            "podSubnets": texts(&pool.network.pods),
            "serviceSubnets": texts(&pool.network.services),
            "cni": {"name": "none"},
        },
        "discovery": {"enabled": false},
    });
    if pool.machine.external_cloud_provider {
        cluster["externalCloudProvider"] = json!({"enabled": true});
    }
    let document =
        json!({"version": "v1alpha1", "debug": false, "persist": true, "machine": machine, "cluster": cluster});
    let text = kernel::yaml::to_string(&document).map_err(|error| Error::Write(error.to_string()))?;
    Ok(Bootstrap::Data { format: Format::Talos, document: Secret::new(text) })
}

fn kubelet_section(pool: &Pool) -> Value {
    let mut flags = pool.kubelet_args.clone();
    // Serving certificates are asked for from the cluster, which approves those of its nodes.
    flags.insert("rotate-server-certificates".to_owned(), "true".to_owned());
    json!({
        "image": format!("ghcr.io/siderolabs/kubelet:{}", pool.kubernetes),
        "clusterDNS": [pool.network.dns],
        "defaultRuntimeSeccompProfileEnabled": true,
        "disableManifestsDirectory": true,
        "extraArgs": flags,
    })
}

fn texts(networks: &[IpNet]) -> Vec<String> {
    networks.iter().map(ToString::to_string).collect()
}

/// Taints by key, which is all Talos' document has room for.
fn taints(pool: &Pool) -> Result<Value, Error> {
    let mut taints = BTreeMap::new();
    for taint in &pool.taints {
        let value = match taint.value.as_deref() {
            Some(value) => format!("{value}:{}", taint.effect),
            None => taint.effect.to_string(),
        };
        if taints.insert(&taint.key, value).is_some() {
            let why = "Talos takes one taint per key: use different keys";
            return Err(Error::invalid(format!("taints[{}]", taint.key), why));
        }
    }
    Ok(json!(taints))
}
