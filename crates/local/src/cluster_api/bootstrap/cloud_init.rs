//! What a machine that starts cloud-init is told: files, commands, and how to join.

use capi::bootstrap::{File, JoinConfiguration, KubeadmConfigSpec};
use kernel::version::Version;
use runtime::{Failure, Retry};
use serde_json::{Map, Value, json};

const JOIN_CONFIG: &str = "/run/kubeadm/kubeadm-join-config.yaml";
const DONE: &str = "/run/cluster-api/bootstrap-success.complete";

/// The cloud-config of a machine that joins.
pub(super) fn cloud_config(spec: &KubeadmConfigSpec, files: &[File], version: Option<&str>) -> Result<String, Failure> {
    let join = join_configuration(&spec.join_configuration.clone().unwrap_or_default(), version);
    let own = json!({
        "path": JOIN_CONFIG, "owner": "root:root", "permissions": "0640", "content": format!("---\n{}", yaml(&join)?),
    });
    let marker = json!({"path": "/run/cluster-api/placeholder", "owner": "root:root", "permissions": "0640",
        "content": "This folder is made here so that the end of the first boot can be marked in it.\n"});
    let mut config = Map::new();
    config.insert("write_files".into(), files.iter().map(file).chain([own, marker]).collect());
    let verbosity = spec.verbosity.map(|level| format!(" --v {level}")).unwrap_or_default();
    let command = format!("kubeadm join --config {JOIN_CONFIG}{verbosity} && echo success > {DONE}");
    let commands = spec.pre_kubeadm_commands.iter().chain([&command]).chain(&spec.post_kubeadm_commands);
    config.insert("runcmd".into(), commands.cloned().collect());
    if !spec.boot_commands.is_empty() {
        config.insert("bootcmd".into(), json!(spec.boot_commands));
    }
    if let Some(ntp) = &spec.ntp {
        config.insert("ntp".into(), json!({"enabled": ntp.enabled.unwrap_or(true), "servers": ntp.servers}));
    }
    if !spec.users.is_empty() {
        config.insert("users".into(), spec.users.iter().map(|user| snake_case(&json!(user))).collect());
    }
    if let Some(disks) = &spec.disk_setup {
        let disks = json!(disks);
        let entries = [("disk_setup", "partitions"), ("fs_setup", "filesystems")];
        config.extend(
            entries.into_iter().filter_map(|(name, from)| Some((name.to_owned(), snake_case(disks.get(from)?)))),
        );
    }
    if !spec.mounts.is_empty() {
        config.insert("mounts".into(), json!(spec.mounts));
    }
    Ok(format!("## template: jinja\n#cloud-config\n\n{}", yaml(&Value::Object(config))?))
}

fn file(file: &File) -> Value {
    let mut entry = json!({"path": file.path, "content": file.content.clone().unwrap_or_default()});
    for (name, value) in [("owner", &file.owner), ("permissions", &file.permissions)] {
        if let Some(value) = value {
            entry[name] = value.clone().into();
        }
    }
    match file.encoding.as_deref() {
        Some("gzip+base64") => entry["encoding"] = "gz+b64".into(),
        Some("gzip") => entry["encoding"] = "gz".into(),
        Some(other) => entry["encoding"] = other.into(),
        None => {}
    }
    if file.append == Some(true) {
        entry["append"] = true.into();
    }
    entry
}

/// kubeadm's JoinConfiguration in the version that the machine's kubeadm speaks best.
fn join_configuration(join: &JoinConfiguration, version: Option<&str>) -> Value {
    let newer = version
        .and_then(|version| version.parse::<Version>().ok())
        .is_none_or(|version| version >= Version::new(1, 31, 0));
    let mut written = json!(join);
    written["kind"] = "JoinConfiguration".into();
    written["apiVersion"] = if newer { "kubeadm.k8s.io/v1beta4" } else { "kubeadm.k8s.io/v1beta3" }.into();
    if newer {
        // Arguments became a list, and times moved.
        if let Some(Value::Object(arguments)) = written.pointer("/nodeRegistration/kubeletExtraArgs").cloned() {
            let list = arguments.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
            written["nodeRegistration"]["kubeletExtraArgs"] = list.collect();
        }
        if let Some(timeout) =
            written.pointer_mut("/discovery").and_then(Value::as_object_mut).and_then(|found| found.remove("timeout"))
        {
            written["timeouts"]["discovery"] = timeout;
        }
    }
    written
}

/// cloud-init's way of writing names.
fn snake_case(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(name, value)| (snake_name(name), snake_case(value))).collect(),
        Value::Array(list) => list.iter().map(snake_case).collect(),
        other => other.clone(),
    }
}

fn snake_name(name: &str) -> String {
    match name {
        // The two that do not follow the rule.
        "lockPassword" => "lock_passwd".into(),
        "homeDir" => "homedir".into(),
        _ => name.chars().fold(String::new(), |mut text, letter| {
            if letter.is_ascii_uppercase() {
                text.push('_');
            }
            text.push(letter.to_ascii_lowercase());
            text
        }),
    }
}

fn yaml(value: &Value) -> Result<String, Failure> {
    kernel::yaml::to_string(value)
        .map_err(|error| Failure::new(Retry::Terminal, "Internal", "bootstrap data cannot be written").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> KubeadmConfigSpec {
        serde_json::from_value(json!({
            "joinConfiguration": {
                "nodeRegistration": {"name": "{{ ds.meta_data.local_hostname }}", "kubeletExtraArgs": {"node-labels": "a=b"}},
                "discovery": {"timeout": "5m0s", "bootstrapToken": {
                    "token": "abcdef.0123456789abcdef", "apiServerEndpoint": "10.0.0.1:6443", "caCertHashes": ["sha256:00"]}},
            },
            "preKubeadmCommands": ["first"], "postKubeadmCommands": ["last"],
            "users": [{"name": "ops", "sshAuthorizedKeys": ["key"], "lockPassword": true}],
        }))
        .unwrap()
    }

    #[test]
    fn it_is_what_cloud_init_reads() {
        let file = File {
            path: "/etc/a".into(),
            content: Some("x".into()),
            permissions: Some("0600".into()),
            ..File::default()
        };
        let text = cloud_config(&spec(), &[file], Some("v1.34.4")).unwrap();
        assert!(text.starts_with("## template: jinja\n#cloud-config\n"), "{text}");
        let config = kernel::yaml::value(&text).unwrap();
        assert_eq!(config["runcmd"][0], "first");
        assert!(config["runcmd"][1].as_str().unwrap().starts_with("kubeadm join --config /run/kubeadm/"), "{text}");
        assert_eq!(config["runcmd"][2], "last");
        assert_eq!(config["write_files"][0], json!({"path": "/etc/a", "content": "x", "permissions": "0600"}));
        assert_eq!(config["users"][0], json!({"name": "ops", "ssh_authorized_keys": ["key"], "lock_passwd": true}));
        assert_eq!(config["write_files"][1]["path"], JOIN_CONFIG);
    }

    #[test]
    fn each_kubeadm_is_spoken_to_in_its_own_version() {
        let join = spec().join_configuration.unwrap();
        let newer = join_configuration(&join, Some("v1.31.0"));
        assert_eq!(newer["apiVersion"], "kubeadm.k8s.io/v1beta4");
        assert_eq!(newer["nodeRegistration"]["kubeletExtraArgs"], json!([{"name": "node-labels", "value": "a=b"}]));
        assert_eq!((&newer["timeouts"]["discovery"], newer["discovery"].get("timeout")), (&json!("5m0s"), None));
        let older = join_configuration(&join, Some("v1.30.0"));
        assert_eq!(older["apiVersion"], "kubeadm.k8s.io/v1beta3");
        assert_eq!(older["nodeRegistration"]["kubeletExtraArgs"], json!({"node-labels": "a=b"}));
        assert_eq!(older["discovery"]["timeout"], "5m0s");
    }
}
