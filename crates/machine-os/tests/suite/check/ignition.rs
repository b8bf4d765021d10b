//! Ignition, specification 3.4.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kubeadm;
use super::shape::{
    Need::{May, Must},
    Shape::{self, Bool, List, Matching, Object, Text, Whole},
    base64, is_absolute,
};

const PATH: Shape = Matching("absolute and clean path", is_absolute);
const RESOURCE: Shape = Object(&[
    ("source", May, Matching("address Ignition can fetch", is_source)),
    ("compression", May, Matching("compression", |text| matches!(text, "" | "gzip"))),
    ("verification", May, Object(&[("hash", May, Matching("hash", is_hash))])),
]);
const OWNER: Shape = Object(&[("id", May, Whole), ("name", May, Text)]);
const FILE: Shape = Object(&[
    ("path", Must, PATH),
    ("overwrite", May, Bool),
    ("contents", May, RESOURCE),
    ("append", May, List(&RESOURCE)),
    ("mode", May, Whole),
    ("user", May, OWNER),
    ("group", May, OWNER),
]);
const LINK: Shape = Object(&[
    ("path", Must, PATH),
    ("target", Must, Matching("target", |text| !text.is_empty())),
    ("hard", May, Bool),
    ("overwrite", May, Bool),
    ("user", May, OWNER),
    ("group", May, OWNER),
]);
const UNIT: Shape = Object(&[
    ("name", Must, Matching("unit name", is_unit)),
    ("enabled", May, Bool),
    ("mask", May, Bool),
    ("contents", May, Matching("unit", is_systemd)),
    (
        "dropins",
        May,
        List(&Object(&[
            ("name", Must, Matching("name of a drop-in", |name| name.ends_with(".conf") && !name.contains('/'))),
            ("contents", May, Matching("unit", is_systemd)),
        ])),
    ),
]);
const USER: Shape = Object(&[
    ("name", Must, Matching("user name", |name| !name.is_empty() && !name.contains([':', '/', ' ']))),
    ("sshAuthorizedKeys", May, List(&Matching("key in one line", |key| !key.is_empty() && !key.contains('\n')))),
    ("passwordHash", May, Text),
    ("groups", May, List(&Text)),
    ("shell", May, Text),
]);
const DOCUMENT: Shape = Object(&[
    ("ignition", Must, Object(&[("version", Must, Matching("version 3.4", |version| version == "3.4.0"))])),
    ("passwd", May, Object(&[("users", May, List(&USER))])),
    (
        "storage",
        May,
        Object(&[
            ("files", May, List(&FILE)),
            ("links", May, List(&LINK)),
            (
                "directories",
                May,
                List(&Object(&[("path", Must, PATH), ("mode", May, Whole), ("overwrite", May, Bool)])),
            ),
        ]),
    ),
    ("systemd", May, Object(&[("units", May, List(&UNIT))])),
]);

pub(super) fn check(text: &str) -> Vec<String> {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return vec!["is no JSON".to_owned()] };
    let mut complaints = Vec::new();
    DOCUMENT.judge(&document, "", &mut complaints);
    let entries = |list: &str| document["storage"][list].as_array().cloned().unwrap_or_default();
    let all = [entries("files"), entries("links"), entries("directories")].concat();
    let paths = all.iter().map(|entry| entry["path"].as_str().unwrap_or_default().to_owned());
    unique("storage", paths, &mut complaints);
    let units = document["systemd"]["units"].as_array().cloned().unwrap_or_default();
    unique("systemd", units.iter().map(|unit| unit["name"].as_str().unwrap_or_default().to_owned()), &mut complaints);
    for entry in &all {
        if entry["mode"].as_i64().is_some_and(|mode| !(0..=0o7777).contains(&mode)) {
            complaints.push(format!("{}: {} is no mode", entry["path"], entry["mode"]));
        }
        if entry["path"].as_str().is_some_and(|path| path.ends_with("/join.yaml")) {
            let content = entry["contents"]["source"].as_str().and_then(data);
            complaints.extend(kubeadm::join(&content.unwrap_or_default()));
        }
    }
    complaints
}

fn unique(list: &str, names: impl Iterator<Item = String>, complaints: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            complaints.push(format!("{list}: {name} is there twice"));
        }
    }
}

fn is_source(source: &str) -> bool {
    match source.split_once(':') {
        Some(("data", _)) => data(source).is_some(),
        Some((scheme, rest)) => matches!(scheme, "http" | "https" | "tftp" | "s3" | "gs" | "arn") && rest.len() > 2,
        None => source.is_empty(),
    }
}

/// What a data URL holds. (Percent-encoded ones are allowed too, but ours are not.)
fn data(source: &str) -> Option<String> {
    String::from_utf8(base64(source.strip_prefix("data:;base64,")?)?).ok()
}

fn is_hash(hash: &str) -> bool {
    let length = |digest: &str, length| digest.len() == length && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    match hash.split_once('-') {
        Some(("sha512", digest)) => length(digest, 128),
        Some(("sha256", digest)) => length(digest, 64),
        _ => false,
    }
}

fn is_unit(name: &str) -> bool {
    const KINDS: [&str; 11] =
        ["service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope"];
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    name.rsplit_once('.').is_some_and(|(stem, kind)| !stem.is_empty() && KINDS.contains(&kind))
        && name.chars().all(allowed)
}

/// Sections, assignments, comments and continued lines, and nothing else.
fn is_systemd(unit: &str) -> bool {
    let mut continued = false;
    unit.starts_with('[')
        && unit.lines().all(|line| {
            let section = line.starts_with('[') && line.ends_with(']');
            let assignment =
                line.split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric()));
            let good = continued || line.is_empty() || line.starts_with('#') || section || assignment;
            continued = line.ends_with('\\');
            good
        })
}

#[test]
fn broken_documents_are_noticed() {
    let with = |storage: &str| format!(r#"{{"ignition": {{"version": "3.4.0"}}, "storage": {storage}}}"#);
    let file = |fields: &str| with(&format!(r#"{{"files": [{{"path": "/etc/a", {fields}}}]}}"#));
    let rows = [
        ("[".to_owned(), "is no JSON"),
        ("{}".to_owned(), ".ignition: is missing"),
        (r#"{"ignition": {"version": "2.3.0"}}"#.to_owned(), ".ignition.version: is no version 3.4"),
        (r#"{"ignition": {"version": "3.4.0"}, "units": []}"#.to_owned(), ".units: is unknown"),
        (file(r#""mode": "0644""#), ".storage.files[0].mode: is no whole number"),
        (file(r#""mode": 10000"#), "\"/etc/a\": 10000 is no mode"),
        (file(r#""contents": {"source": "data:;base64,%"}"#), ".storage.files[0].contents.source: is no address Ignition can fetch"),
        (file(r#""contents": {"source": "ftp://a/b"}"#), ".storage.files[0].contents.source: is no address Ignition can fetch"),
        (file(r#""content": "x""#), ".storage.files[0].content: is unknown"),
        (with(r#"{"files": [{"path": "etc/a"}]}"#), ".storage.files[0].path: is no absolute and clean path"),
        (with(r#"{"files": [{"path": "/etc/../a"}]}"#), ".storage.files[0].path: is no absolute and clean path"),
        (with(r#"{"files": [{"path": "/a"}, {"path": "/a"}]}"#), "storage: /a is there twice"),
        (with(r#"{"files": [{"path": "/a"}], "links": [{"path": "/a", "target": "/b"}]}"#), "storage: /a is there twice"),
        (with(r#"{"links": [{"path": "/a"}]}"#), ".storage.links[0].target: is missing"),
        (
            r#"{"ignition": {"version": "3.4.0"}, "systemd": {"units": [{"name": "kubelet"}]}}"#.to_owned(),
            ".systemd.units[0].name: is no unit name",
        ),
        (
            r#"{"ignition": {"version": "3.4.0"}, "systemd": {"units": [{"name": "a.service", "contents": "ExecStart"}]}}"#
                .to_owned(),
            ".systemd.units[0].contents: is no unit",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(check(&text), [expected], "{text}");
    }
}
