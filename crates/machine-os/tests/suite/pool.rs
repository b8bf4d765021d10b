//! Pools to make documents of.

use std::collections::BTreeMap;

use butler_api::shared::{NodeOs, OsType, Taint, TaintEffect};
use machine_os::{Bootstrap, ClusterNetwork, Format, Join, Machine, Pool, TalosAuthority, bootstrap};
use pki::Secret;

pub(crate) const TOKEN: &str = "abcdef.0123456789abcdef";
const CA: &str = "-----BEGIN CERTIFICATE-----\nMIIBdjCCAR2gAwIBAgIBADAKBggqhkjOPQQDAjAj\n-----END CERTIFICATE-----\n";

/// The least that can be said.
pub(crate) fn minimal(os: OsType) -> Pool {
    Pool {
        cluster: "my-cluster".to_owned(),
        kubernetes: "v1.34.2".parse().unwrap(),
        os: NodeOs { type_: Some(os), ..NodeOs::default() },
        join: Some(Join {
            host: "10.40.0.201".to_owned(),
            port: 6443,
            ca_pem: CA.to_owned(),
            token: Secret::new(TOKEN),
        }),
        network: ClusterNetwork {
            dns: "10.96.0.10".parse().unwrap(),
            domain: "cluster.local".to_owned(),
            pods: vec!["10.244.0.0/16".parse().unwrap()],
            services: vec!["10.96.0.0/12".parse().unwrap()],
        },
        labels: BTreeMap::new(),
        taints: Vec::new(),
        kubelet_args: BTreeMap::new(),
        time_servers: Vec::new(),
        name_servers: Vec::new(),
        mirrors: BTreeMap::new(),
        machine: Machine::default(),
        talos: (os == OsType::Talos)
            .then(|| TalosAuthority { ca_pem: CA.to_owned(), token: Secret::new("butler.8f0a1c") }),
    }
}

/// Everything that can be said.
pub(crate) fn full(os: OsType) -> Pool {
    let text = |text: &str| text.to_owned();
    let mut pool = minimal(os);
    pool.os.ssh_authorized_key = Some(text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEdo jo@example.com\n"));
    pool.labels = BTreeMap::from([
        (text("accelerator"), text("true")),
        (text("example.com/rack"), text("r_1.a")),
        (text("node.kubernetes.io/pool"), text("gpu")),
    ]);
    pool.taints = vec![
        Taint { key: text("accelerator"), value: None, effect: TaintEffect::NoSchedule },
        Taint { key: text("example.com/team"), value: Some(text("a")), effect: TaintEffect::NoExecute },
    ];
    pool.kubelet_args = BTreeMap::from([(text("max-pods"), text("200"))]);
    pool.time_servers = vec![text("ntp.example.com"), text("10.40.0.2")];
    pool.name_servers = vec!["10.40.0.2".parse().unwrap(), "fd00::53".parse().unwrap()];
    pool.mirrors = BTreeMap::from([
        (text("docker.io"), vec![text("https://mirror.example.com/hub"), text("http://10.40.0.3:5000")]),
        (text("registry.k8s.io"), vec![text("https://mirror.example.com")]),
    ]);
    pool.machine = Machine {
        hostname: (os == OsType::Rocky).then(|| text("{{ ds.meta_data.hostname }}")),
        // Talos and Bottlerocket run no script that could find it out.
        provider_id_prefix: (!matches!(os, OsType::Talos | OsType::Bottlerocket)).then(|| text("nutanix://")),
        external_cloud_provider: true,
        install_disk: Some(text("/dev/sda")),
    };
    pool
}

/// The document of a pool as text: a template as YAML, the others as they are.
pub(crate) fn document(pool: &Pool) -> (Option<Format>, String) {
    match bootstrap(pool).unwrap() {
        Bootstrap::Config(spec) => (None, kernel::yaml::to_string(&spec).unwrap()),
        Bootstrap::Data { format, document } => (Some(format), document.expose().to_owned()),
    }
}
