//! Rocky Linux 9: cloud-init and kubeadm, through Cluster API's kubeadm bootstrap provider.

use serde_json::{Value, json};

use crate::containerd::File;
use crate::{Error, Pool, containerd, kubeadm, kubelet, versions};

const PREPARE: &str = "/usr/local/sbin/butler-prepare-node";

/// The `spec` of a KubeadmConfigTemplate. How to join is filled in by the provider.
pub(crate) fn worker(pool: &Pool) -> Result<Value, Error> {
    let mut config = node(pool)?;
    config["joinConfiguration"] = json!({"nodeRegistration": registration(pool)});
    Ok(json!({"template": {"spec": config}}))
}

/// The `kubeadmConfigSpec` of a KubeadmControlPlane.
pub(crate) fn control_plane(pool: &Pool, cert_sans: &[String]) -> Result<Value, Error> {
    let mut config = node(pool)?;
    config["initConfiguration"] = json!({"nodeRegistration": registration(pool)});
    config["joinConfiguration"] = json!({"nodeRegistration": registration(pool)});
    config["clusterConfiguration"] = match cert_sans {
        [] => json!({}),
        names => json!({"apiServer": {"certSANs": names}}),
    };
    Ok(config)
}

fn node(pool: &Pool) -> Result<Value, Error> {
    versions::rocky(pool)?;
    let mut files: Vec<Value> = files(pool).iter().map(entry).collect();
    files.push(json!({
        "path": PREPARE,
        "owner": "root:root",
        "permissions": "0755",
        "content": script(pool),
    }));
    let mut commands = Vec::new();
    if let Some(hostname) = &pool.machine.hostname {
        commands.push(format!("hostnamectl set-hostname \"{hostname}\""));
    }
    commands.push(PREPARE.to_owned());
    if pool.machine.provider_id_prefix.is_some() {
        commands.push(format!("/bin/sh {}", kubeadm::PROVIDER_ID));
    }
    let mut config = json!({"format": "cloud-config", "files": files, "preKubeadmCommands": commands});
    if !pool.time_servers.is_empty() {
        config["ntp"] = json!({"enabled": true, "servers": pool.time_servers});
    }
    if let Some(key) = &pool.os.ssh_authorized_key {
        config["users"] = json!([{
            "name": "rocky",
            "groups": "wheel",
            "lockPassword": true,
            "shell": "/bin/bash",
            "sudo": "ALL=(ALL) NOPASSWD:ALL",
            "sshAuthorizedKeys": [key.trim()],
        }]);
    }
    Ok(config)
}

fn registration(pool: &Pool) -> Value {
    let mut registration = json!({"criSocket": "unix:///run/containerd/containerd.sock"});
    let flags = kubelet::flags(pool);
    if !flags.is_empty() {
        registration["kubeletExtraArgs"] = json!(flags);
    }
    if let Some(name) = &pool.machine.hostname {
        registration["name"] = name.clone().into();
    }
    if let Some(taints) = kubelet::taints(pool) {
        registration["taints"] = taints;
    }
    registration
}

fn files(pool: &Pool) -> Vec<File> {
    let minor = format!("https://pkgs.k8s.io/core:/stable:/{}/rpm/", pool.kubernetes.line());
    let repository = |name: &str, address: &str, key: &str| {
        let content = format!("[{name}]\nname={name}\nbaseurl={address}\nenabled=1\ngpgcheck=1\ngpgkey={key}\n");
        File::new(format!("/etc/yum.repos.d/{name}.repo"), content)
    };
    let docker = "https://download.docker.com/linux/rhel";
    let mut files = vec![
        repository("kubernetes", &minor, &format!("{minor}repodata/repomd.xml.key")),
        repository("docker-ce-stable", &format!("{docker}/9/$basearch/stable"), &format!("{docker}/gpg")),
    ];
    files.extend(kubeadm::kernel_files());
    files.extend(containerd::files(pool, None));
    files.extend(kubeadm::provider_id_file(pool));
    if !pool.name_servers.is_empty() {
        let servers: Vec<String> = pool.name_servers.iter().map(ToString::to_string).collect();
        let content = format!("[global-dns-domain-*]\nservers={}\n", servers.join(","));
        files.push(File::new("/etc/NetworkManager/conf.d/90-butler-dns.conf", content));
    }
    files
}

fn entry(file: &File) -> Value {
    json!({"path": file.path, "owner": "root:root", "permissions": file.mode(), "content": file.content})
}

/// What turns a plain Rocky Linux into a machine that kubeadm accepts. It can be run again.
fn script(pool: &Pool) -> String {
    let version = versions::plain(pool.kubernetes);
    let modules = kubeadm::MODULES.join(" ");
    let reload_dns = match pool.name_servers.is_empty() {
        true => "",
        false => "systemctl reload NetworkManager\n",
    };
    // SELinux stays enforcing: containerd.io brings container-selinux, whose policy covers Kubernetes' containers.
    format!(
        r#"#!/usr/bin/bash
set -euo pipefail

# Mirrors and name servers can be slow to appear on a machine that has just started.
retry() {{
  for attempt in 1 2 3 4 5 6 7 8; do
    "$@" && return 0
    echo "attempt $attempt failed: $*" >&2
    sleep $((attempt * 5))
  done
  return 1
}}

swapoff -a
sed -i -E '/^[^#].*[[:space:]]swap[[:space:]]/s/^/#/' /etc/fstab
systemctl disable --now firewalld 2>/dev/null || true
{reload_dns}
for module in {modules}; do modprobe "$module"; done
sysctl --system >/dev/null

retry dnf install -y container-selinux containerd.io iscsi-initiator-utils nfs-utils iproute-tc socat conntrack-tools
retry dnf install -y kubelet-{version} kubeadm-{version} kubectl-{version}

systemctl enable --now iscsid
systemctl enable containerd kubelet
systemctl restart containerd
"#
    )
}
