//! Joining by kubeadm without Cluster API's help: the files and the unit that do it.

use pki::{Cluster, Credentials, Kubeconfig};
use serde_json::{Value, json};

use crate::containerd::File;
use crate::{Error, Join, Pool, kubelet, versions};

/// Beside, not in, /etc/kubernetes, which kubeadm empties before it tries again.
const FOLDER: &str = "/etc/butler";

/// Kernel modules of the container network and storage.
pub(crate) const MODULES: [&str; 2] = ["br_netfilter", "overlay"];

/// Kernel settings: forwarding, bridged traffic through the packet filter, and watches enough for many pods.
pub(crate) const SYSCTLS: [(&str, &str); 6] = [
    ("fs.inotify.max_user_instances", "8192"),
    ("fs.inotify.max_user_watches", "524288"),
    ("net.bridge.bridge-nf-call-ip6tables", "1"),
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
];

/// Kernel modules and settings as files for systemd.
pub(crate) fn kernel_files() -> [File; 2] {
    let modules: String = MODULES.iter().map(|module| format!("{module}\n")).collect();
    let settings: String = SYSCTLS.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    [
        File::new("/etc/modules-load.d/90-kubernetes.conf", modules),
        File::new("/etc/sysctl.d/90-kubernetes.conf", settings),
    ]
}

/// The script below.
pub(crate) const PROVIDER_ID: &str = "/etc/butler/provider-id";

/// A script that tells the kubelet its provider id, where the kubelet's unit of any distribution reads its flags.
pub(crate) fn provider_id_file(pool: &Pool) -> Option<File> {
    let prefix = pool.machine.provider_id_prefix.as_ref()?;
    let content = format!(
        r#"#!/bin/sh
set -eu
uuid=$(tr A-Z a-z </sys/class/dmi/id/product_uuid)
mkdir -p /etc/default /etc/sysconfig
echo "KUBELET_EXTRA_ARGS=--provider-id={prefix}$uuid" | tee /etc/default/kubelet >/etc/sysconfig/kubelet
"#
    );
    Some(File::new(PROVIDER_ID, content))
}

/// What kubeadm is told, and the kubeconfig it finds the cluster by.
pub(crate) fn join_files(pool: &Pool, flags: &[(&str, &str)]) -> Result<Vec<File>, Error> {
    let join = pool.join()?;
    let text =
        kernel::yaml::to_string(&configuration(pool, join, flags)).map_err(|error| Error::Write(error.to_string()))?;
    let cluster =
        Cluster { server: join.url(), certificate_authority: Some(join.ca_pem.clone()), tls_server_name: None };
    let kubeconfig = Kubeconfig::new(&pool.cluster, cluster, "bootstrap", Credentials::Token(join.token.clone()));
    let kubeconfig = kubeconfig.to_yaml().map_err(|error| Error::Write(error.to_string()))?;
    let mut files = vec![
        File::private(format!("{FOLDER}/discovery.conf"), kubeconfig.expose()),
        File::private(format!("{FOLDER}/join.yaml"), text),
    ];
    files.extend(provider_id_file(pool));
    Ok(files)
}

fn configuration(pool: &Pool, join: &Join, flags: &[(&str, &str)]) -> Value {
    let mut args = kubelet::flags(pool);
    args.extend(flags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let api = versions::kubeadm_api(pool.kubernetes);
    let mut registration = json!({"criSocket": "unix:///run/containerd/containerd.sock"});
    if !args.is_empty() {
        registration["kubeletExtraArgs"] = match api {
            "kubeadm.k8s.io/v1beta3" => json!(args),
            _ => args.iter().map(|(name, value)| json!({"name": name, "value": value})).collect(),
        };
    }
    if let Some(taints) = kubelet::taints(pool) {
        registration["taints"] = taints;
    }
    json!({
        "apiVersion": api,
        "kind": "JoinConfiguration",
        "discovery": {
            "file": {"kubeConfigPath": format!("{FOLDER}/discovery.conf")},
            "tlsBootstrapToken": join.token.expose(),
        },
        "nodeRegistration": registration,
    })
}

/// The name of the unit below.
pub(crate) const JOIN_UNIT: &str = "butler-join.service";

/// A unit that joins the cluster once, and tries again from the beginning until it has.
pub(crate) fn join_unit(pool: &Pool) -> String {
    let identify = match pool.machine.provider_id_prefix {
        Some(_) => format!("ExecStartPre=/bin/sh {PROVIDER_ID}\n"),
        None => String::new(),
    };
    format!(
        "[Unit]
Description=Join the Kubernetes cluster
Requires=containerd.service
After=containerd.service network-online.target
Wants=network-online.target
ConditionPathExists=!/etc/kubernetes/kubelet.conf

[Service]
Type=oneshot
RemainAfterExit=yes
Restart=on-failure
RestartSec=15
ExecStartPre=-/usr/bin/kubeadm reset --force
{identify}ExecStart=/usr/bin/kubeadm join --config {FOLDER}/join.yaml

[Install]
WantedBy=multi-user.target
"
    )
}

/// The kubelet as kubeadm configures it.
pub(crate) const KUBELET_UNIT: &str = "[Unit]
Description=Kubernetes node agent
Requires=containerd.service
After=containerd.service network-online.target
Wants=network-online.target
ConditionPathExists=/var/lib/kubelet/config.yaml

[Service]
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \\
  --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
";
