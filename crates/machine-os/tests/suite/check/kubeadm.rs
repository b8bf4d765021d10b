//! Cluster API's KubeadmConfig (v1beta1) and kubeadm's own JoinConfiguration.

use serde_json::Value;

use super::shape::{
    Need::{May, Must},
    Shape::{self, Bool, List, Map, Matching, Object, Text},
    is_absolute, is_effect, is_label_key, is_label_value, is_token,
};

const TAINT: Shape = Object(&[
    ("key", Must, Matching("key of a label", is_label_key)),
    ("value", May, Matching("label", is_label_value)),
    ("effect", Must, Matching("effect", is_effect)),
]);
const SOCKET: Shape = Matching("socket", |socket| socket.starts_with("unix:///"));
const REGISTRATION: Shape = Object(&[
    ("name", May, Text),
    ("criSocket", May, SOCKET),
    ("kubeletExtraArgs", May, Map(&Text)),
    ("taints", May, List(&TAINT)),
    ("ignorePreflightErrors", May, List(&Text)),
]);
const NODE: Shape = Object(&[("nodeRegistration", May, REGISTRATION)]);
const FILE: Shape = Object(&[
    ("path", Must, Matching("absolute and clean path", is_absolute)),
    (
        "owner",
        May,
        Matching("owner", |owner| {
            owner.split_once(':').is_some_and(|(user, group)| !user.is_empty() && !group.is_empty())
        }),
    ),
    ("permissions", May, Matching("mode", is_mode)),
    ("encoding", May, Matching("encoding", |encoding| matches!(encoding, "base64" | "gzip" | "gzip+base64"))),
    ("append", May, Bool),
    ("content", May, Text),
]);
const USER: Shape = Object(&[
    ("name", Must, Text),
    ("groups", May, Text),
    ("lockPassword", May, Bool),
    ("shell", May, Text),
    ("sudo", May, Text),
    ("sshAuthorizedKeys", May, List(&Matching("key in one line", |key| !key.contains('\n')))),
]);
const CONFIG: Shape = Object(&[
    ("format", May, Matching("format", |format| matches!(format, "cloud-config" | "ignition"))),
    ("clusterConfiguration", May, Object(&[("apiServer", May, Object(&[("certSANs", May, List(&Text))]))])),
    ("initConfiguration", May, NODE),
    ("joinConfiguration", May, NODE),
    ("files", May, List(&FILE)),
    ("ntp", May, Object(&[("enabled", May, Bool), ("servers", May, List(&Text))])),
    ("users", May, List(&USER)),
    ("preKubeadmCommands", May, List(&Text)),
    ("postKubeadmCommands", May, List(&Text)),
]);

/// Judges the spec of a KubeadmConfigTemplate.
pub(super) fn template(text: &str) -> Vec<String> {
    let Ok(document) = kernel::yaml::value(text) else { return vec!["is no YAML".to_owned()] };
    let mut complaints = Vec::new();
    Object(&[("template", Must, Object(&[("spec", Must, CONFIG)]))]).judge(&document, "", &mut complaints);
    complaints.extend(nodes(&document["template"]["spec"], &["joinConfiguration"]));
    complaints
}

/// Judges the kubeadmConfigSpec of a KubeadmControlPlane.
pub(crate) fn control_plane(document: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    CONFIG.judge(document, "", &mut complaints);
    complaints.extend(nodes(document, &["clusterConfiguration", "initConfiguration", "joinConfiguration"]));
    complaints
}

/// What a schema does not say: the parts a role needs, and each file once.
fn nodes(config: &Value, needed: &[&str]) -> Vec<String> {
    let missing = needed.iter().filter(|part| config[**part].is_null());
    let mut complaints: Vec<String> = missing.map(|part| format!("{part} is missing")).collect();
    let mut paths: Vec<&str> =
        config["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()).collect();
    paths.sort_unstable();
    complaints
        .extend(paths.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| format!("{} is there twice", pair[0])));
    complaints
}

const DISCOVERY: Shape = Object(&[
    ("file", Must, Object(&[("kubeConfigPath", Must, Matching("path", is_absolute))])),
    ("tlsBootstrapToken", Must, Matching("bootstrap token", is_token)),
]);
const OLD_JOIN: Shape = Object(&[
    ("apiVersion", Must, Text),
    ("kind", Must, Matching("JoinConfiguration", |kind| kind == "JoinConfiguration")),
    ("discovery", Must, DISCOVERY),
    ("nodeRegistration", Must, REGISTRATION),
]);
const NEW_JOIN: Shape = Object(&[
    ("apiVersion", Must, Text),
    ("kind", Must, Matching("JoinConfiguration", |kind| kind == "JoinConfiguration")),
    ("discovery", Must, DISCOVERY),
    (
        "nodeRegistration",
        Must,
        Object(&[
            ("name", May, Text),
            ("criSocket", May, SOCKET),
            ("kubeletExtraArgs", May, List(&Object(&[("name", Must, Text), ("value", Must, Text)]))),
            ("taints", May, List(&TAINT)),
        ]),
    ),
]);

/// Judges what kubeadm join is told. Flags are a mapping up to v1beta3 and a list from v1beta4 on.
pub(super) fn join(text: &str) -> Vec<String> {
    let Ok(document) = kernel::yaml::value(text) else { return vec!["join.yaml is no YAML".to_owned()] };
    let mut complaints = Vec::new();
    match document["apiVersion"].as_str() {
        Some("kubeadm.k8s.io/v1beta3") => OLD_JOIN.judge(&document, "join", &mut complaints),
        Some("kubeadm.k8s.io/v1beta4") => NEW_JOIN.judge(&document, "join", &mut complaints),
        _ => complaints.push("join.apiVersion: is unknown".to_owned()),
    }
    complaints
}

fn is_mode(text: &str) -> bool {
    text.len() == 4 && text.starts_with('0') && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte))
}

#[test]
fn broken_templates_are_noticed() {
    let rows = [
        ("[", "is no YAML"),
        ("{}", ".template: is missing"),
        ("template: {spec: {joinConfiguration: {}, userData: x}}", ".template.spec.userData: is unknown"),
        ("template: {spec: {}}", "joinConfiguration is missing"),
        (
            "template: {spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {max-pods: 1}}}}}",
            ".template.spec.joinConfiguration.nodeRegistration.kubeletExtraArgs.max-pods: is no text",
        ),
        (
            "template: {spec: {joinConfiguration: {nodeRegistration: {taints: [{key: a, effect: Never}]}}}}",
            ".template.spec.joinConfiguration.nodeRegistration.taints[0].effect: is no effect",
        ),
        (
            "template: {spec: {joinConfiguration: {}, files: [{path: /a, permissions: '644'}]}}",
            ".template.spec.files[0].permissions: is no mode",
        ),
        (
            "template: {spec: {joinConfiguration: {}, files: [{path: /a, owner: root}]}}",
            ".template.spec.files[0].owner: is no owner",
        ),
        ("template: {spec: {joinConfiguration: {}, files: [{path: /a}, {path: /a}]}}", "/a is there twice"),
        ("template: {spec: {joinConfiguration: {}, ntp: {servers: a}}}", ".template.spec.ntp.servers: is no list"),
        ("template: {spec: {joinConfiguration: {}, format: toml}}", ".template.spec.format: is no format"),
    ];
    for (text, expected) in rows {
        assert_eq!(template(text).first().map(String::as_str), Some(expected), "{text}");
    }
    assert_eq!(
        control_plane(&serde_json::json!({"initConfiguration": {}, "joinConfiguration": {}})),
        ["clusterConfiguration is missing"]
    );
}

#[test]
fn broken_joins_are_noticed() {
    let good = "{apiVersion: kubeadm.k8s.io/v1beta4, kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: [{name: a, value: b}]}, \
                discovery: {file: {kubeConfigPath: /a}, tlsBootstrapToken: abcdef.0123456789abcdef}}";
    assert_eq!(join(good), [""; 0]);
    let rows = [
        ("v1beta4", "v1beta5", "join.apiVersion: is unknown"),
        ("v1beta4", "v1beta3", "join.nodeRegistration.kubeletExtraArgs: is no mapping"),
        ("JoinConfiguration", "InitConfiguration", "join.kind: is no JoinConfiguration"),
        ("abcdef.", "abc.", "join.discovery.tlsBootstrapToken: is no bootstrap token"),
        ("kubeConfigPath: /a", "kubeConfigPath: a", "join.discovery.file.kubeConfigPath: is no path"),
    ];
    for (from, to, expected) in rows {
        assert_eq!(join(&good.replacen(from, to, 1)), [expected], "{to}");
    }
}
