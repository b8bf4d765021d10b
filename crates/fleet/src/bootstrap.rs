//! What machines do at their first boot, by their operating system.

use std::net::IpAddr;

use butler_api::butler::tenant_cluster::Workers;
use butler_api::shared::{Blocker, BlockerOwner};
use capi::bootstrap::KubeadmConfigTemplateSpec;
use ipnet::IpNet;
use kernel::version::Version;
use machine_os::{Bootstrap, ClusterNetwork, Machine, Pool};

use crate::blockers::blocker;
use crate::cluster::Wanted;

/// The domain of Services in every cluster.
const DOMAIN: &str = "cluster.local";
/// Where the DNS Service is in its network, by kubeadm's convention.
const DNS: usize = 10;

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

/// The configuration of the machines of a pool.
pub(crate) fn config(
    around: &Surroundings<'_>,
    wanted: &Wanted,
    pool: &str,
    workers: &Workers,
    version: Version,
) -> Result<KubeadmConfigTemplateSpec, Vec<Blocker>> {
    let field = match pool {
        butler_api::names::DEFAULT_WORKER_POOL => "spec.workers".to_owned(),
        name => format!("spec.workerPools[{name}]"),
    };
    let trouble =
        |message: String| vec![blocker("NodeOsRefused", message, BlockerOwner::User, format!("correct {field}"))];
    let mut os = workers.machine_template.clone().unwrap_or_default().os.unwrap_or_default();
    os.ssh_authorized_key = os.ssh_authorized_key.or_else(|| around.ssh_key.clone());
    let network = network(wanted).ok_or_else(|| trouble("the networks of the cluster cannot be read".to_owned()))?;
    let asked = Pool {
        cluster: around.cluster.to_owned(),
        kubernetes: version,
        os,
        join: None,
        network,
        labels: workers.labels.clone(),
        taints: workers.taints.clone(),
        kubelet_args: Default::default(),
        time_servers: around.time_servers.clone(),
        name_servers: around.name_servers.clone(),
        mirrors: Default::default(),
        machine: around.machine.clone(),
        talos: None,
    };
    match machine_os::bootstrap(&asked) {
        Ok(Bootstrap::Config(spec)) => serde_json::from_value(spec).map_err(|error| trouble(error.to_string())),
        Ok(Bootstrap::Data { .. }) | Err(machine_os::Error::JoinUnknown(_)) => Err(vec![blocker(
            "NodeOsUnsupported",
            format!("{field}.machineTemplate.os.type cannot be fulfilled yet"),
            BlockerOwner::User,
            "set it to rocky",
        )]),
        Err(error) => Err(trouble(error.to_string())),
    }
}

fn network(wanted: &Wanted) -> Option<ClusterNetwork> {
    let networking = &wanted.spec.networking;
    let services: IpNet = networking.service_cidr.parse().ok()?;
    let pods: IpNet = networking.pod_cidr.parse().ok()?;
    let dns = services.hosts().nth(DNS - 1)?;
    Some(ClusterNetwork { dns, domain: DOMAIN.to_owned(), pods: vec![pods], services: vec![services] })
}
