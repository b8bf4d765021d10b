//! What cannot work is refused with its field and a way out.

use butler_api::shared::{OsType, Taint, TaintEffect};
use machine_os::{Error, Pool, bootstrap, control_plane};
use pki::Secret;

use crate::pool::{full, minimal};

/// A row: the system, what is changed, and what is said.
type Row = (OsType, fn(&mut Pool), &'static str);

#[test]
fn versions() {
    judge(&[
        (
            OsType::Bottlerocket,
            |pool| pool.kubernetes = "v1.29.9".parse().unwrap(),
            "kubernetesVersion: bottlerocket has no Kubernetes v1.29.9: choose one of v1.30 to v1.36",
        ),
        (
            OsType::Rocky,
            |pool| pool.kubernetes = "v1.37.0".parse().unwrap(),
            "kubernetesVersion: rocky has no Kubernetes v1.37.0: choose one of v1.30 to v1.36",
        ),
        (
            OsType::Talos,
            |pool| pool.os.version = Some("1.12".to_owned()),
            "os.version: \"1.12\" is no release of talos that can be a node: write a release such as v1.12.0, or leave the \
             field out",
        ),
        (
            OsType::Talos,
            |pool| {
                pool.os.talos =
                    Some(butler_api::shared::TalosOptions { version: Some("v1.9.3".to_owned()), ..Default::default() });
            },
            "os.talos.version: Talos v1.9.3 does not run Kubernetes v1.34.2: choose Talos v1.11 to v1.13, or leave the field \
             out",
        ),
        (
            OsType::Talos,
            |pool| pool.os.version = Some("v1.99.0".to_owned()),
            "os.version: \"v1.99.0\" is no release of talos that can be a node: write a release such as v1.12.0, or leave \
             the field out",
        ),
        (
            OsType::Rocky,
            |pool| pool.os.version = Some("8.10".to_owned()),
            "os.version: \"8.10\" is no release of rocky that can be a node: choose 9, or one of its minors such as 9.5",
        ),
        (
            OsType::Flatcar,
            |pool| pool.os.version = Some("stable".to_owned()),
            "os.version: \"stable\" is no release of flatcar that can be a node: write numbers such as 1.2.3, or leave the \
             field out",
        ),
    ]);
}

#[test]
fn what_is_not_known_yet() {
    for os in [OsType::Talos, OsType::Flatcar, OsType::Bottlerocket, OsType::Kairos] {
        let pool = Pool { join: None, ..minimal(os) };
        assert_eq!(bootstrap(&pool).unwrap_err(), Error::JoinUnknown(os));
    }
    // Cluster API tells Rocky how to join.
    bootstrap(&Pool { join: None, ..full(OsType::Rocky) }).unwrap();
    let pool = Pool { talos: None, ..minimal(OsType::Talos) };
    assert_eq!(bootstrap(&pool).unwrap_err(), Error::TalosAuthorityUnknown);
}

#[test]
fn control_planes_of_other_systems() {
    for os in OsType::ALL.iter().copied().filter(|os| *os != OsType::Rocky) {
        assert_eq!(control_plane(&minimal(os), &[]).unwrap_err(), Error::ControlPlaneOs(os));
    }
    let error = control_plane(&minimal(OsType::Rocky), &["a b".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "controlPlane.certSANs: \"a b\" cannot be used: must be host names or addresses");
}

#[test]
fn joining() {
    judge(&[
        (
            OsType::Kairos,
            |pool| join(pool).host = String::new(),
            "join.host: \"\" cannot be used: must be host names or addresses",
        ),
        (
            OsType::Kairos,
            |pool| join(pool).host = "a;b".to_owned(),
            "join.host: \"a;b\" cannot be used: must be host names or addresses",
        ),
        (OsType::Kairos, |pool| join(pool).port = 0, "join.port: must be 1 to 65535, usually 6443"),
        (
            OsType::Talos,
            |pool| join(pool).ca_pem = "x".to_owned(),
            "join.ca: must be certificates in PEM, without keys",
        ),
        (
            OsType::Talos,
            |pool| join(pool).ca_pem.push_str("-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----\n"),
            "join.ca: must be certificates in PEM, without keys",
        ),
        (
            OsType::Flatcar,
            |pool| join(pool).token = Secret::new("hunter2"),
            "join.token: is no bootstrap token: make one of the form abcdef.0123456789abcdef",
        ),
    ]);
}

#[test]
fn text_that_would_break_out_of_a_document() {
    judge(&[
        (
            OsType::Rocky,
            |pool| pool.time_servers = vec!["a\nb".to_owned()],
            "timeServers: \"a\\nb\" cannot be used: must be host names or addresses",
        ),
        (
            OsType::Rocky,
            |pool| pool.machine.hostname = Some("$(reboot)".to_owned()),
            "machine.hostname: \"$(reboot)\" cannot be used: must be a host name, or a cloud-init expression for one",
        ),
        (
            OsType::Rocky,
            |pool| pool.os.ssh_authorized_key = Some("ssh-rsa AAAAB3NzaC1yc2EAAAA\nssh-rsa BBBB".to_owned()),
            "os.sshAuthorizedKey: must be one public key in one line, such as ssh-ed25519 AAAA… jo@example.com",
        ),
        (
            OsType::Rocky,
            |pool| pool.os.ssh_authorized_key = Some("hello".to_owned()),
            "os.sshAuthorizedKey: must be one public key in one line, such as ssh-ed25519 AAAA… jo@example.com",
        ),
        (
            OsType::Flatcar,
            |pool| drop(pool.mirrors.insert("../../etc".to_owned(), vec!["https://a".to_owned()])),
            "mirrors[../../etc]: \"../../etc\" is no host name and no address",
        ),
        (
            OsType::Flatcar,
            |pool| drop(pool.mirrors.insert("docker.io".to_owned(), vec!["https://a\"]".to_owned()])),
            "mirrors[docker.io]: \"https://a\\\"]\" is no address: write it as https://mirror.example.com",
        ),
        (
            OsType::Flatcar,
            |pool| drop(pool.mirrors.insert("docker.io://".to_owned(), vec!["https://a".to_owned()])),
            "mirrors[docker.io://]: is no registry: write it as host or as host:port",
        ),
        (
            OsType::Flatcar,
            |pool| drop(pool.mirrors.insert("docker.io".to_owned(), Vec::new())),
            "mirrors[docker.io]: names no mirror: give at least one address, or remove the entry",
        ),
        (
            OsType::Rocky,
            |pool| pool.machine.provider_id_prefix = Some("a$b".to_owned()),
            "machine.providerIdPrefix: \"a$b\" cannot be used: must be a scheme such as nutanix://",
        ),
        (
            OsType::Bottlerocket,
            |pool| pool.machine.provider_id_prefix = Some("nutanix://".to_owned()),
            "machine.providerIdPrefix: bottlerocket cannot read its own UUID: let a cloud controller manager set provider \
             ids, with controlPlane.externalCloudProvider",
        ),
        (
            OsType::Talos,
            |pool| pool.machine.install_disk = Some("sda".to_owned()),
            "machine.installDisk: \"sda\" is no disk: write it as /dev/vda",
        ),
        (
            OsType::Talos,
            |pool| {
                pool.os.talos = Some(butler_api::shared::TalosOptions {
                    installer_image: Some("installer".to_owned()),
                    ..Default::default()
                });
            },
            "os.talos.installerImage: \"installer\" is no image with its tag",
        ),
    ]);
}

#[test]
fn labels_taints_and_flags_a_kubelet_does_not_start_with() {
    judge(&[
        (
            OsType::Rocky,
            |pool| label(pool, "node-role.kubernetes.io/worker", ""),
            "labels[node-role.kubernetes.io/worker]: Kubernetes lets no kubelet set this label: choose one of a domain of \
             your own",
        ),
        (
            OsType::Rocky,
            |pool| label(pool, "a b", ""),
            "labels[a b]: is no label key: write it as name or as example.com/name",
        ),
        (
            OsType::Rocky,
            |pool| label(pool, "a", "b,c=d"),
            "labels[a]: has a value of other than letters, digits, dashes, dots and underscores",
        ),
        (
            OsType::Rocky,
            |pool| pool.taints.push(Taint { key: "a:b".to_owned(), value: None, effect: TaintEffect::NoSchedule }),
            "taints[a:b]: is no label key: write it as name or as example.com/name",
        ),
        (
            OsType::Talos,
            |pool| {
                for effect in [TaintEffect::NoSchedule, TaintEffect::NoExecute] {
                    pool.taints.push(Taint { key: "a".to_owned(), value: None, effect });
                }
            },
            "taints[a]: Talos takes one taint per key: use different keys",
        ),
        (
            OsType::Rocky,
            |pool| flag(pool, "--max-pods x", "1"),
            "kubeletArgs[--max-pods x]: is no flag: write it without dashes in front, such as max-pods",
        ),
        (
            OsType::Rocky,
            |pool| flag(pool, "kubeconfig", "/a"),
            "kubeletArgs[kubeconfig]: is decided by Butler: remove it",
        ),
        (OsType::Rocky, |pool| flag(pool, "v", "1 $(reboot)"), "kubeletArgs[v]: must be one word without quotes"),
        (
            OsType::Bottlerocket,
            |pool| flag(pool, "fail-swap-on", "false"),
            "kubeletArgs[fail-swap-on]: is no setting of Bottlerocket: choose among event-burst, event-qps, kube-api-burst, \
             kube-api-qps, max-pods, pod-max-pids, registry-burst, registry-qps, v",
        ),
        (
            OsType::Bottlerocket,
            |pool| flag(pool, "max-pods", "many"),
            "kubeletArgs[max-pods]: \"many\" is no whole number",
        ),
    ]);
}

fn judge(rows: &[Row]) {
    for (os, change, expected) in rows {
        let mut pool = minimal(*os);
        change(&mut pool);
        let error = bootstrap(&pool).unwrap_err().to_string();
        assert_eq!(error, *expected);
        assert!(!error.contains("hunter2"));
    }
}

fn join(pool: &mut Pool) -> &mut machine_os::Join {
    pool.join.as_mut().unwrap()
}

fn label(pool: &mut Pool, key: &str, value: &str) {
    pool.labels.insert(key.to_owned(), value.to_owned());
}

fn flag(pool: &mut Pool, name: &str, value: &str) {
    pool.kubelet_args.insert(name.to_owned(), value.to_owned());
}
