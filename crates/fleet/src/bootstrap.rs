//! What machines do at their first boot, by their operating system.

use std::net::IpAddr;

use butler_api::butler::tenant_cluster::{Networking, Workers};
use butler_api::shared::{Blocker, BlockerOwner, MachineTemplate};
use capi::bootstrap::KubeadmConfigTemplateSpec;
use ipnet::IpNet;
use kernel::version::Version;
use machine_os::{Bootstrap, ClusterNetwork, Format, Join, Machine, Pool, TalosAuthority};
use pki::Secret;
use serde_json::{Value, json};

use crate::blockers::blocker;
use crate::cluster::{Invitation, Wanted};

/// The domain of Services in every cluster.
const DOMAIN: &str = "cluster.local";

/// Where a cluster's settings come from, beyond its own.
pub(crate) struct Surroundings<'a> {
    /// Name of the cluster.
    pub(crate) cluster: &'a str,
    /// NTP servers, the cluster's, provider's or platform's.
    pub(crate) time_servers: Vec<String>,
    /// Name servers of the provider.
    pub(crate) name_servers: Vec<IpAddr>,
    /// What the provider needs of its nodes.
    pub(crate) machine: Machine,
    /// SSH key of machines that name none.
    pub(crate) ssh_key: Option<String>,
}

/// What the machines of a pool boot.
pub(crate) enum Boots {
    /// What Cluster API's kubeadm provider makes of this.
    Config(Box<KubeadmConfigTemplateSpec>),
    /// This very document, in a language of the operating system.
    Data {
        /// Changes when machines have to be replaced, and not when they only join in another way.
        digest: String,
        /// The language and the document; nothing before it is known how to join.
        document: Option<(Format, Secret)>,
    },
}

/// What the machines of a pool boot.
pub(crate) fn config(
    around: &Surroundings<'_>,
    wanted: &Wanted,
    pool: &str,
    workers: &Workers,
    version: Version,
    invitation: Option<&Invitation>,
) -> Result<Boots, Vec<Blocker>> {
    let field = match pool {
        butler_api::names::DEFAULT_WORKER_POOL => "spec.workers".to_owned(),
        name => format!("spec.workerPools[{name}]"),
    };
    let trouble =
        |message: String| vec![blocker("NodeOsRefused", message, BlockerOwner::User, format!("correct {field}"))];
    let machines = machines(around, wanted, workers.machine_template.as_ref(), version)?;
    let asked = Pool { labels: workers.labels.clone(), taints: workers.taints.clone(), ..machines };
    let rendered = |pool: &Pool| machine_os::bootstrap(pool).map_err(|error| trouble(error.to_string()));
    let any = Pool { join: Some(any_way()), talos: Some(any_authority()), ..asked.clone() };
    let digest = match rendered(&any)? {
        Bootstrap::Config(spec) => {
            let spec = serde_json::from_value(spec).map_err(|error| trouble(error.to_string()))?;
            return Ok(Boots::Config(Box::new(spec)));
        }
        Bootstrap::Data { document, .. } => runtime::fingerprint(&json!(document.expose())),
    };
    let Some(invitation) = invitation else { return Ok(Boots::Data { digest, document: None }) };
    let invited = Pool { join: Some(invitation.join()), talos: invitation.talos(), ..asked };
    let document = match rendered(&invited)? {
        Bootstrap::Data { format, document } => Some((format, document)),
        Bootstrap::Config(_) => None,
    };
    Ok(Boots::Data { digest, document })
}

/// What the machines of a standalone control plane do at their first boot.
pub(crate) fn control_plane(
    around: &Surroundings<'_>,
    wanted: &Wanted,
    version: Version,
) -> Result<Value, Vec<Blocker>> {
    let asked = &wanted.spec.control_plane;
    let trouble = |message: String| {
        vec![blocker("NodeOsRefused", message, BlockerOwner::User, "correct spec.controlPlane.machineTemplate")]
    };
    let machines = machines(around, wanted, asked.machine_template.as_ref(), version)?;
    machine_os::control_plane(&machines, &asked.cert_sans).map_err(|error| trouble(error.to_string()))
}

/// Machines that nothing more is asked of, or why there are none.
fn machines(
    around: &Surroundings<'_>,
    wanted: &Wanted,
    template: Option<&MachineTemplate>,
    version: Version,
) -> Result<Pool, Vec<Blocker>> {
    let mut os = template.and_then(|template| template.os.clone()).unwrap_or_default();
    os.ssh_authorized_key = os.ssh_authorized_key.or_else(|| around.ssh_key.clone());
    Ok(Pool {
        cluster: around.cluster.to_owned(),
        kubernetes: version,
        os,
        join: None,
        network: network(&wanted.spec.networking).map_err(|message| vec![networks_refused(message)])?,
        labels: Default::default(),
        taints: Vec::new(),
        kubelet_args: Default::default(),
        time_servers: around.time_servers.clone(),
        name_servers: around.name_servers.clone(),
        mirrors: Default::default(),
        machine: around.machine.clone(),
        talos: None,
    })
}

/// Stands for the way to join, which is known later and says nothing about the machines.
fn any_way() -> Join {
    let token = Secret::new("000000.0000000000000000");
    Join { host: "cluster.invalid".to_owned(), port: 6443, ca_pem: ANY_CERTIFICATE.to_owned(), token }
}

fn any_authority() -> TalosAuthority {
    TalosAuthority { ca_pem: ANY_CERTIFICATE.to_owned(), token: Secret::new("any") }
}

const ANY_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";

fn network(networking: &Networking) -> Result<ClusterNetwork, String> {
    let read = |field: &str, text: &str| -> Result<IpNet, String> {
        text.parse().map_err(|_| format!("networking.{field} is no network: {text}"))
    };
    let services = read("serviceCIDR", &networking.service_cidr)?;
    let pods = read("podCIDR", &networking.pod_cidr)?;
    let small = || format!("networking.serviceCIDR has no address for DNS, which is the tenth: {services}");
    let dns = kernel::cidr::dns_address(&services).ok_or_else(small)?;
    Ok(ClusterNetwork { dns, domain: DOMAIN.to_owned(), pods: vec![pods], services: vec![services] })
}

/// The networks of a cluster stay what they are.
fn networks_refused(message: String) -> Blocker {
    let remedy = "make a new cluster with another spec.networking";
    blocker("NetworksRefused", message, BlockerOwner::User, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_that_machines_cannot_use_are_named() {
        for (pods, services, expected) in [
            ("10.244.0.0/16", "10.96.0.0/12", Ok("10.96.0.10")),
            ("10.244.0.0/16", "10.96.0.0/28", Ok("10.96.0.10")),
            ("fd00:1::/48", "fd00:10::/112", Ok("fd00:10::a")),
            ("x", "10.96.0.0/12", Err("networking.podCIDR is no network: x")),
            ("10.244.0.0/16", "10.96.0.0", Err("networking.serviceCIDR is no network: 10.96.0.0")),
            (
                "10.244.0.0/16",
                "10.96.0.0/29",
                Err("networking.serviceCIDR has no address for DNS, which is the tenth: 10.96.0.0/29"),
            ),
        ] {
            let asked = Networking { pod_cidr: pods.into(), service_cidr: services.into(), ..Networking::default() };
            let dns = network(&asked).map(|network| network.dns.to_string());
            assert_eq!(dns.as_deref().map_err(String::as_str), expected);
        }
        let refused = networks_refused("m".to_owned());
        assert_eq!(refused.remedy.as_deref(), Some("make a new cluster with another spec.networking"));
    }
}
