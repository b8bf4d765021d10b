//! The container runtime's configuration.

use crate::{Pool, versions};

/// A file on a machine.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) content: String,
    /// Whether root alone may read it.
    pub(crate) private: bool,
}

impl File {
    pub(crate) fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into(), private: false }
    }

    pub(crate) fn private(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { private: true, ..Self::new(path, content) }
    }

    /// Permissions in octal.
    pub(crate) fn mode(&self) -> &'static str {
        if self.private { "0600" } else { "0644" }
    }
}

/// containerd's configuration, and one file per mirrored registry. `root` is where it keeps images.
pub(crate) fn files(pool: &Pool, root: Option<&str>) -> Vec<File> {
    let root = root.map(|root| format!("root = {root:?}\n")).unwrap_or_default();
    let pause = versions::pause_image(pool.kubernetes);
    // Version 2 of the format is read by containerd 1.6 to 2.x.
    let config = format!(
        r#"version = 2
{root}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
"#
    );
    let mut files = vec![File::new("/etc/containerd/config.toml", config)];
    files.extend(pool.mirrors.iter().map(|(registry, endpoints)| {
        let server = if registry == "docker.io" { "registry-1.docker.io" } else { registry };
        let mut hosts = format!("server = \"https://{server}\"\n");
        for endpoint in endpoints {
            hosts.push_str(&format!("\n[host.\"{endpoint}\"]\ncapabilities = [\"pull\", \"resolve\"]\n"));
        }
        File::new(format!("/etc/containerd/certs.d/{registry}/hosts.toml"), hosts)
    }));
    files
}
