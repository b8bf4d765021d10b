//! Cloud-config as Kairos reads it: the header, users, and stages made of modules.

use super::kubeadm;
use super::shape::{
    Need::{May, Must},
    Shape::{self, Bool, List, Map, Matching, Object, Text, Whole},
    is_absolute, is_address,
};

const STEP: Shape = Object(&[
    ("name", May, Text),
    ("if", May, Text),
    ("commands", May, List(&Text)),
    ("modules", May, List(&Text)),
    ("sysctl", May, Map(&Text)),
    (
        "files",
        May,
        List(&Object(&[
            ("path", Must, Matching("absolute and clean path", is_absolute)),
            ("content", Must, Text),
            ("permissions", May, Whole),
            ("owner", May, Whole),
            ("group", May, Whole),
        ])),
    ),
    ("dns", May, Object(&[("nameservers", May, List(&Matching("address", is_address))), ("search", May, List(&Text))])),
    ("timesyncd", May, Map(&Text)),
    ("hostname", May, Text),
    ("systemctl", May, Map(&List(&Text))),
]);
const STAGES: Shape = Object(&[
    ("rootfs", May, List(&STEP)),
    ("initramfs", May, List(&STEP)),
    ("fs", May, List(&STEP)),
    ("boot", May, List(&STEP)),
    ("network", May, List(&STEP)),
    ("reconcile", May, List(&STEP)),
]);
const USER: Shape = Object(&[
    ("name", Must, Text),
    ("groups", May, List(&Text)),
    ("lock_passwd", May, Bool),
    ("passwd", May, Text),
    ("ssh_authorized_keys", May, List(&Matching("key in one line", |key| !key.contains('\n')))),
]);
const DOCUMENT: Shape = Object(&[("hostname", May, Text), ("users", May, List(&USER)), ("stages", May, STAGES)]);

pub(super) fn check(text: &str) -> Vec<String> {
    let Some(body) = text.strip_prefix("#cloud-config\n") else { return vec!["the header is missing".to_owned()] };
    let Ok(document) = kernel::yaml::value(body) else { return vec!["is no YAML".to_owned()] };
    let mut complaints = Vec::new();
    DOCUMENT.judge(&document, "", &mut complaints);
    let stages = document["stages"].as_object().into_iter().flatten();
    let steps = stages.flat_map(|(_, steps)| steps.as_array().into_iter().flatten());
    let files = steps.flat_map(|step| step["files"].as_array().into_iter().flatten());
    let join: Vec<&str> = files
        .filter(|file| file["path"].as_str().is_some_and(|path| path.ends_with("/join.yaml")))
        .filter_map(|file| file["content"].as_str())
        .collect();
    complaints.extend(join.iter().flat_map(|text| kubeadm::join(text)));
    complaints
}

#[test]
fn broken_documents_are_noticed() {
    let rows = [
        ("users: []", "the header is missing"),
        ("#cloud-config\n[", "is no YAML"),
        ("#cloud-config\n- a", ": is no mapping"),
        ("#cloud-config\nuser: []", ".user: is unknown"),
        ("#cloud-config\nusers: {}", ".users: is no list"),
        ("#cloud-config\nusers: [{groups: []}]", ".users[0].name: is missing"),
        ("#cloud-config\nusers: [{name: a, ssh_authorized_keys: key}]", ".users[0].ssh_authorized_keys: is no list"),
        ("#cloud-config\nstages: {later: []}", ".stages.later: is unknown"),
        (
            "#cloud-config\nstages: {boot: [{files: [{path: a, content: b}]}]}",
            ".stages.boot[0].files[0].path: is no absolute and clean path",
        ),
        ("#cloud-config\nstages: {boot: [{files: [{path: /a}]}]}", ".stages.boot[0].files[0].content: is missing"),
        ("#cloud-config\nstages: {boot: [{sysctl: {a: 1}}]}", ".stages.boot[0].sysctl.a: is no text"),
        ("#cloud-config\nstages: {boot: [{runcmd: [a]}]}", ".stages.boot[0].runcmd: is unknown"),
        (
            "#cloud-config\nstages: {boot: [{dns: {nameservers: [a]}}]}",
            ".stages.boot[0].dns.nameservers[0]: is no address",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(check(text), [expected], "{text}");
    }
}
