//! What a machine that starts cloud-init is told: files, commands, and how to join.

use capi::Raw;
use capi::bootstrap::{File, JoinConfiguration, KubeadmConfigSpec};
use capi::core::Cluster;
use kernel::version::Version;
use kube::ResourceExt;
use runtime::{Failure, Retry};
use serde_json::{Map, Value, json};

use super::plan::begins;

const INIT_CONFIG: &str = "/run/kubeadm/kubeadm.yaml";
const JOIN_CONFIG: &str = "/run/kubeadm/kubeadm-join-config.yaml";
const DONE: &str = "/run/cluster-api/bootstrap-success.complete";

/// The cloud-config of a machine that begins a cluster, or joins it.
pub(super) fn cloud_config(
    spec: &KubeadmConfigSpec,
    files: &[File],
    version: Option<&str>,
    cluster: Option<&Cluster>,
) -> Result<String, Failure> {
    let (verb, path, content) = match cluster.filter(|_| begins(spec)) {
        Some(cluster) => {
            let [configuration, init] = init_configuration(spec, version, cluster);
            ("init", INIT_CONFIG, format!("---\n{}---\n{}", yaml(&configuration)?, yaml(&init)?))
        }
        None => {
            let join = join_configuration(&spec.join_configuration.clone().unwrap_or_default(), version);
            ("join", JOIN_CONFIG, format!("---\n{}", yaml(&join)?))
        }
    };
    let own = json!({"path": path, "owner": "root:root", "permissions": "0640", "content": content});
    let marker = json!({"path": "/run/cluster-api/placeholder", "owner": "root:root", "permissions": "0640",
        "content": "This folder is made here so that the end of the first boot can be marked in it.\n"});
    let mut config = Map::new();
    config.insert("write_files".into(), files.iter().map(file).chain([own, marker]).collect());
    let verbosity = spec.verbosity.map(|level| format!(" --v {level}")).unwrap_or_default();
    let command = format!("kubeadm {verb} --config {path}{verbosity} && echo success > {DONE}");
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

/// The version of kubeadm's own kinds that a machine's kubeadm speaks best.
fn kubeadm_api(version: Option<&str>) -> &'static str {
    let version = version.and_then(|version| version.parse::<Version>().ok());
    match version.is_none_or(|version| version >= Version::new(1, 31, 0)) {
        true => "kubeadm.k8s.io/v1beta4",
        false => "kubeadm.k8s.io/v1beta3",
    }
}

/// kubeadm's ClusterConfiguration and InitConfiguration, with what only the Cluster knows.
fn init_configuration(spec: &KubeadmConfigSpec, version: Option<&str>, cluster: &Cluster) -> [Value; 2] {
    let api = kubeadm_api(version);
    let with = |given: Option<&Raw>, kind: &str| {
        let mut written = given.map(|given| json!(given)).filter(Value::is_object).unwrap_or_else(|| json!({}));
        (written["kind"], written["apiVersion"]) = (kind.into(), api.into());
        written
    };
    let mut configuration = with(spec.cluster_configuration.as_ref(), "ClusterConfiguration");
    let endpoint = cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
    let host = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host };
    configuration["controlPlaneEndpoint"] = format!("{host}:{}", endpoint.port).into();
    configuration["clusterName"] = cluster.name_any().into();
    if let Some(version) = version {
        configuration["kubernetesVersion"] = version.into();
    }
    let network = cluster.spec.cluster_network.clone().unwrap_or_default();
    for (field, ranges) in [("podSubnet", network.pods), ("serviceSubnet", network.services)] {
        if let Some(ranges) = ranges.filter(|ranges| !ranges.cidr_blocks.is_empty()) {
            configuration["networking"][field] = ranges.cidr_blocks.join(",").into();
        }
    }
    [configuration, with(spec.init_configuration.as_ref(), "InitConfiguration")]
}

/// kubeadm's JoinConfiguration in the version that the machine's kubeadm speaks best.
fn join_configuration(join: &JoinConfiguration, version: Option<&str>) -> Value {
    let api = kubeadm_api(version);
    let mut written = json!(join);
    written["kind"] = "JoinConfiguration".into();
    written["apiVersion"] = api.into();
    if api.ends_with("v1beta4") {
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
        let text = cloud_config(&spec(), &[file], Some("v1.34.4"), None).unwrap();
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
    fn the_first_machine_begins_the_cluster() {
        let cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"controlPlaneEndpoint": {"host": "h", "port": 6443}, "clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]}}},
        }))
        .unwrap();
        let first: KubeadmConfigSpec = serde_json::from_value(
            json!({"initConfiguration": {}, "clusterConfiguration": {"apiServer": {"certSANs": ["x"]}}}),
        )
        .unwrap();
        let text = cloud_config(&first, &[], Some("v1.34.4"), Some(&cluster)).unwrap();
        let config = kernel::yaml::value(&text).unwrap();
        assert!(config["runcmd"][0].as_str().unwrap().starts_with("kubeadm init --config /run/kubeadm/"), "{text}");
        let documents = kernel::yaml::values(config["write_files"][0]["content"].as_str().unwrap()).unwrap();
        let configuration = documents.iter().find(|document| document["kind"] == "ClusterConfiguration").unwrap();
        assert_eq!(
            *configuration,
            json!({"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": "c",
                "controlPlaneEndpoint": "h:6443", "kubernetesVersion": "v1.34.4", "apiServer": {"certSANs": ["x"]},
                "networking": {"serviceSubnet": "10.96.0.0/12"}})
        );
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
