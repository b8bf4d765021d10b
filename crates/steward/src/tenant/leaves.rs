//! Which certificates and kubeconfigs a control plane needs.

use std::net::IpAddr;

use butler_api::names::{VIEWER_CONF, viewer_kubeconfig};
use butler_api::viewers;
use ipnet::IpNet;

use super::endpoint::Endpoint;
use super::observed::{Observed, Store};
use crate::credentials::{KubeconfigWish, Leaf, Root, Wish};
use crate::{inside, names};

/// What the names of their Secrets end in.
pub(super) const SUFFIXES: [&str; 10] = [
    "apiserver",
    "kubelet-client",
    "front-proxy-client",
    "admin-kubeconfig",
    "viewer-kubeconfig",
    "controller-manager-kubeconfig",
    "scheduler-kubeconfig",
    "konnectivity-kubeconfig",
    "datastore",
    "etcd-server",
];

/// Every leaf of a control plane that is reached at `endpoint`.
pub(super) fn leaves(observed: &Observed, endpoint: &Endpoint) -> Vec<Leaf> {
    let name = observed.name();
    let leaf = |suffix: &str, wish: Wish| Leaf { secret_name: format!("{name}-{suffix}"), wish };
    let client = |root: Root, user: &str, groups: &[&str]| Wish::Client {
        root,
        name: user.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    let mut leaves = vec![
        leaf("apiserver", api_server(observed, endpoint)),
        leaf("kubelet-client", client(Root::ClusterCa, "kube-apiserver-kubelet-client", &["kubeadm:cluster-admins"])),
        leaf("front-proxy-client", client(Root::FrontProxyCa, "front-proxy-client", &[])),
        leaf("admin-kubeconfig", Wish::Kubeconfigs(admins(observed, endpoint))),
        Leaf { secret_name: viewer_kubeconfig(name), wish: Wish::Kubeconfigs(vec![viewer(observed, endpoint)]) },
        leaf("controller-manager-kubeconfig", Wish::Kubeconfigs(vec![local(observed, CONTROLLER_MANAGER)])),
        leaf("scheduler-kubeconfig", Wish::Kubeconfigs(vec![local(observed, SCHEDULER)])),
    ];
    if observed.tenant.spec.addons.konnectivity.is_some() {
        leaves.push(leaf("konnectivity-kubeconfig", Wish::Kubeconfigs(vec![local(observed, KONNECTIVITY)])));
    }
    match &observed.store {
        Store::Own => {
            leaves.push(leaf("datastore", client(Root::EtcdCa, "kube-apiserver", &[])));
            leaves.push(leaf("etcd-server", etcd_member(observed)));
        }
        Store::Shared(shared) if shared.connection.certificate => {
            leaves.push(leaf("datastore", Wish::StoreClient { name: observed.place().user }));
        }
        Store::Shared(_) | Store::Trouble(_) => {}
    }
    leaves
}

/// The Secret with the administrators' kubeconfigs.
pub(super) fn admin_secret(tenant: &str) -> String {
    format!("{tenant}-admin-kubeconfig")
}

const CONTROLLER_MANAGER: (&str, &str) = ("controller-manager.conf", "system:kube-controller-manager");
const KONNECTIVITY: (&str, &str) = ("konnectivity-server.conf", inside::KONNECTIVITY_SERVER);
const SCHEDULER: (&str, &str) = ("scheduler.conf", "system:kube-scheduler");

/// Names and addresses by which the API server is dialled.
fn api_server(observed: &Observed, endpoint: &Endpoint) -> Wish {
    let (name, namespace) = (observed.name(), observed.namespace());
    let profile = &observed.tenant.spec.network_profile;
    let mut hosts: Vec<String> =
        ["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned).into();
    hosts.push(format!("kubernetes.default.svc.{}", profile.cluster_domain));
    hosts.extend(["localhost", "127.0.0.1"].map(str::to_owned));
    hosts.extend([name.to_owned(), format!("{name}.{namespace}"), format!("{name}.{namespace}.svc")]);
    hosts.push(format!("{name}.{namespace}.svc.cluster.local"));
    let cidrs = profile.service_cidrs.clone().unwrap_or_else(|| vec![profile.service_cidr.clone()]);
    hosts.extend(cidrs.iter().filter_map(|cidr| first_address(cidr)).map(|address| address.to_string()));
    hosts.extend(observed.cluster_address().map(str::to_owned));
    hosts.extend([endpoint.host.clone(), endpoint.advertised.clone()]);
    hosts.extend(profile.cert_sans.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    hosts.retain(|host| seen.insert(host.clone()));
    Wish::Server { root: Root::ClusterCa, name: "kube-apiserver".to_owned(), hosts, peer: false }
}

/// The address of the tenant's own `kubernetes` Service.
fn first_address(cidr: &str) -> Option<IpAddr> {
    cidr.parse::<IpNet>().ok()?.hosts().find(|address| !address.is_unspecified())
}

fn etcd_member(observed: &Observed) -> Wish {
    let (name, namespace) = (observed.name(), observed.namespace());
    let (peers, clients) = (names::etcd(name), names::etcd_client(name));
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1"].map(str::to_owned).into();
    hosts.extend([format!("*.{peers}.{namespace}.svc"), format!("{clients}.{namespace}.svc")]);
    let service = observed.etcd.client_service.as_ref();
    hosts.extend(service.and_then(|service| service.spec.as_ref()?.cluster_ip.clone()));
    Wish::Server { root: Root::EtcdCa, name: "etcd".to_owned(), hosts, peer: true }
}

fn admins(observed: &Observed, endpoint: &Endpoint) -> Vec<KubeconfigWish> {
    let (name, namespace) = (observed.name(), observed.namespace());
    let outside = format!("https://{endpoint}");
    let inside = format!("https://{name}.{namespace}.svc:{}", observed.tenant.spec.network_profile.port);
    let admin: (&str, &[&str]) = ("kubernetes-admin", &["kubeadm:cluster-admins"]);
    let super_admin: (&str, &[&str]) = ("kubernetes-super-admin", &["system:masters"]);
    [
        ("admin.conf", &outside, admin),
        ("admin.svc", &inside, admin),
        ("super-admin.conf", &outside, super_admin),
        ("super-admin.svc", &inside, super_admin),
    ]
    .map(|(file, server, (user, groups))| KubeconfigWish {
        file,
        cluster: name.to_owned(),
        server: server.clone(),
        user,
        groups,
    })
    .into()
}

/// For people who may look at everything but Secrets, and change nothing.
fn viewer(observed: &Observed, endpoint: &Endpoint) -> KubeconfigWish {
    KubeconfigWish {
        file: VIEWER_CONF,
        cluster: observed.name().to_owned(),
        server: format!("https://{endpoint}"),
        user: "kubernetes-viewer",
        groups: &[viewers::GROUP],
    }
}

/// A kubeconfig of a program that runs beside the API server.
fn local(observed: &Observed, (file, user): (&'static str, &'static str)) -> KubeconfigWish {
    KubeconfigWish {
        file,
        cluster: observed.name().to_owned(),
        server: format!("https://localhost:{}", observed.tenant.spec.network_profile.port),
        user,
        groups: &[],
    }
}
