//! Flatcar Container Linux: an Ignition document. Kubernetes comes as a system extension, containerd with the system.

use pki::Secret;
use serde_json::{Value, json};

use crate::containerd::File;
use crate::{Bootstrap, Error, Format, Pool, base64, containerd, kubeadm, versions};

/// Where Flatcar's own project publishes extensions.
const EXTENSIONS: &str = "https://extensions.flatcar.org/extensions";

/// /usr is read-only, so plugins of volumes live elsewhere.
const VOLUME_PLUGINS: (&str, &str) = ("volume-plugin-dir", "/opt/libexec/kubernetes/kubelet-plugins/volume/exec/");

pub(crate) fn worker(pool: &Pool) -> Result<Bootstrap, Error> {
    versions::numbered(pool)?;
    let mut files: Vec<File> = kubeadm::kernel_files().into();
    files.extend(containerd::files(pool, None));
    files.extend(kubeadm::join_files(pool, &[VOLUME_PLUGINS])?);
    if !pool.time_servers.is_empty() {
        let servers = pool.time_servers.join(" ");
        files.push(File::new("/etc/systemd/timesyncd.conf.d/90-butler.conf", format!("[Time]\nNTP={servers}\n")));
    }
    if !pool.name_servers.is_empty() {
        let servers: Vec<String> = pool.name_servers.iter().map(ToString::to_string).collect();
        let content = format!("[Resolve]\nDNS={}\n", servers.join(" "));
        files.push(File::new("/etc/systemd/resolved.conf.d/90-butler.conf", content));
    }
    let mut entries: Vec<Value> = files.iter().map(entry).collect();
    let image = format!("kubernetes-v{}-x86-64.raw", versions::plain(pool.kubernetes));
    let target = format!("/opt/extensions/kubernetes/{image}");
    entries.push(json!({
        "path": target,
        "mode": 0o644,
        "contents": {"source": format!("{EXTENSIONS}/{image}")},
    }));
    let mut document = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {
            "files": entries,
            "links": [{"path": "/etc/extensions/kubernetes.raw", "target": target, "hard": false}],
        },
        "systemd": {"units": units(pool)},
    });
    if let Some(key) = &pool.os.ssh_authorized_key {
        document["passwd"] = json!({"users": [{"name": "core", "sshAuthorizedKeys": [key.trim()]}]});
    }
    Ok(Bootstrap::Data { format: Format::Ignition, document: Secret::new(document.to_string()) })
}

fn entry(file: &File) -> Value {
    json!({
        "path": file.path,
        "mode": if file.private { 0o600 } else { 0o644 },
        "overwrite": true,
        "contents": {"source": format!("data:;base64,{}", base64(&file.content))},
    })
}

fn units(pool: &Pool) -> Value {
    // Machines are replaced, not updated in place: nothing may reboot them behind Cluster API's back.
    let masked = |name: &str| json!({"name": name, "enabled": false, "mask": true});
    let own_config = "[Service]\nExecStart=\nExecStart=/usr/bin/containerd --config /etc/containerd/config.toml\n";
    json!([
        {
            "name": "containerd.service",
            "enabled": true,
            "dropins": [{"name": "10-butler.conf", "contents": own_config}],
        },
        {"name": "kubelet.service", "enabled": true, "contents": kubeadm::KUBELET_UNIT},
        {"name": kubeadm::JOIN_UNIT, "enabled": true, "contents": kubeadm::join_unit(pool)},
        masked("locksmithd.service"),
        masked("update-engine.service"),
    ])
}
