//! What changes with the version of Kubernetes.

use butler_api::shared::OsType;
use machine_os::Pool;

use crate::check;
use crate::pool::{document, full, minimal};

fn at(os: OsType, version: &str) -> Pool {
    Pool { kubernetes: version.parse().unwrap(), ..minimal(os) }
}

#[test]
fn every_minor_works_on_every_system() {
    for minor in 30..=36 {
        for os in OsType::ALL {
            let pool = Pool { kubernetes: format!("v1.{minor}.1").parse().unwrap(), ..full(*os) };
            let (format, text) = document(&pool);
            assert_eq!(check::document(format, &text), [""; 0], "{os} v1.{minor}");
        }
    }
}

#[test]
fn packages_come_from_the_repository_of_their_minor() {
    for (version, expected) in [
        ("v1.30.0", ["/v1.30/rpm/", "kubelet-1.30.0 kubeadm-1.30.0 kubectl-1.30.0", "pause:3.9\""]),
        ("v1.33.6", ["/v1.33/rpm/", "kubelet-1.33.6 kubeadm-1.33.6 kubectl-1.33.6", "pause:3.10\""]),
        ("v1.36.3", ["/v1.36/rpm/", "kubelet-1.36.3 kubeadm-1.36.3 kubectl-1.36.3", "pause:3.10.1\""]),
    ] {
        let (_, text) = document(&at(OsType::Rocky, version));
        for needle in expected {
            assert!(text.contains(needle), "{version}: {needle}\n{text}");
        }
    }
}

#[test]
fn images_and_extensions_carry_the_version() {
    for (os, version, needle) in [
        (OsType::Talos, "v1.30.4", "ghcr.io/siderolabs/kubelet:v1.30.4"),
        (OsType::Flatcar, "v1.31.2", "/kubernetes-v1.31.2-x86-64.raw"),
        (OsType::Kairos, "v1.30.0", "kubeadm.k8s.io/v1beta3"),
        (OsType::Kairos, "v1.31.0", "kubeadm.k8s.io/v1beta4"),
    ] {
        let (_, text) = document(&at(os, version));
        assert!(text.contains(needle), "{os} {version}: {needle}\n{text}");
    }
}

#[test]
fn talos_is_one_that_runs_the_kubernetes_asked_for() {
    for (kubernetes, installer) in
        [("v1.30.0", "installer:v1.12.0"), ("v1.35.4", "installer:v1.12.0"), ("v1.36.3", "installer:v1.13.0")]
    {
        let (_, text) = document(&at(OsType::Talos, kubernetes));
        assert!(text.contains(installer), "{kubernetes}: {text}");
    }
    let mut asked = at(OsType::Talos, "v1.32.0");
    asked.os.version = Some("v1.9.3".to_owned());
    assert!(document(&asked).1.contains("installer:v1.9.3"));
}
