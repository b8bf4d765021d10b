//! Kairos: a cloud-config for images that hold containerd, kubelet and kubeadm.

use pki::Secret;
use serde_json::{Map, Value, json};

use crate::containerd::File;
use crate::{Bootstrap, Error, Format, Pool, containerd, kubeadm, versions};

/// Images survive a reboot only on a persistent path, and /opt is one.
const IMAGES: &str = "/opt/containerd";

pub(crate) fn worker(pool: &Pool) -> Result<Bootstrap, Error> {
    versions::numbered(pool)?;
    let mut files: Vec<File> = containerd::files(pool, Some(IMAGES));
    files.extend(kubeadm::join_files(pool, &[])?);
    files.push(File::new(format!("/etc/systemd/system/{}", kubeadm::JOIN_UNIT), kubeadm::join_unit(pool)));
    let sysctls: Map<String, Value> =
        kubeadm::SYSCTLS.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let mut prepare = json!({
        "name": "Prepare a node",
        "modules": kubeadm::MODULES,
        "files": files.iter().map(entry).collect::<Vec<_>>(),
    });
    if !pool.time_servers.is_empty() {
        prepare["timesyncd"] = json!({"NTP": pool.time_servers.join(" ")});
    }
    if !pool.name_servers.is_empty() {
        prepare["dns"] = json!({ "nameservers": pool.name_servers });
    }
    let mut user = json!({"name": "kairos", "groups": ["admin"], "lock_passwd": true});
    if let Some(key) = &pool.os.ssh_authorized_key {
        user["ssh_authorized_keys"] = json!([key.trim()]);
    }
    let mut commands = vec!["swapoff -a".to_owned(), "systemctl daemon-reload".to_owned()];
    if pool.machine.provider_id_prefix.is_some() {
        // Where it is written to does not survive a reboot.
        commands.push(format!("/bin/sh {}", kubeadm::PROVIDER_ID));
    }
    commands.extend([
        "systemctl enable --now containerd.service kubelet.service".to_owned(),
        "systemctl restart containerd.service".to_owned(),
        format!("systemctl start --no-block {}", kubeadm::JOIN_UNIT),
    ]);
    let document = json!({
        "users": [user],
        "stages": {
            // Some of the settings are there only once the modules are.
            "initramfs": [prepare, {"name": "Kernel settings of a node", "sysctl": sysctls}],
            "boot": [{"name": "Join the cluster", "commands": commands}],
        },
    });
    let text = kernel::yaml::to_string(&document).map_err(|error| Error::Write(error.to_string()))?;
    Ok(Bootstrap::Data { format: Format::CloudConfig, document: Secret::new(format!("#cloud-config\n{text}")) })
}

fn entry(file: &File) -> Value {
    let mode = if file.private { 0o600 } else { 0o644 };
    json!({"path": file.path, "permissions": mode, "owner": 0, "group": 0, "content": file.content})
}
