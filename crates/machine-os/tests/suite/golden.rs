//! Documents to the letter. `UPDATE_GOLDEN=1 cargo test -p machine-os` writes them anew; read the diff.

use std::fs;
use std::path::PathBuf;

use butler_api::shared::OsType;
use capi::bootstrap::{KubeadmConfigSpec, KubeadmConfigTemplateSpec};
use machine_os::{Bootstrap, Format, Pool, bootstrap, control_plane};
use serde_json::Value;

use crate::check;
use crate::pool::{TOKEN, document, full, minimal};

#[test]
fn every_system_says_the_least() {
    for os in OsType::ALL {
        compare(&format!("{os}-minimal"), &minimal(*os));
    }
}

#[test]
fn every_system_says_everything() {
    for os in OsType::ALL {
        compare(&format!("{os}-full"), &full(*os));
    }
}

#[test]
fn talos_follows_its_options() {
    let mut pool = full(OsType::Talos);
    pool.os.talos = Some(
        serde_json::from_value(serde_json::json!({
            "version": "v1.11.3",
            "installDisk": "/dev/nvme0n1",
            "installerImage": "factory.talos.dev/installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.11.3",
        }))
        .unwrap(),
    );
    compare("talos-options", &pool);
}

#[test]
fn machines_of_a_control_plane() {
    let sans = ["api.example.com".to_owned(), "10.40.0.201".to_owned()];
    for (name, pool, sans) in [("minimal", minimal(OsType::Rocky), &[][..]), ("full", full(OsType::Rocky), &sans[..])] {
        let spec = control_plane(&pool, sans).unwrap();
        assert_eq!(check::kubeadm::control_plane(&spec), [""; 0], "{name}");
        compare_text(&format!("control-plane-{name}.yaml"), &kernel::yaml::to_string(&spec).unwrap());
    }
}

#[test]
fn nothing_is_lost_in_the_kinds_that_are_installed() {
    for pool in [minimal(OsType::Rocky), full(OsType::Rocky)] {
        let Bootstrap::Config(spec) = bootstrap(&pool).unwrap() else { panic!("Rocky has a template") };
        let typed: KubeadmConfigTemplateSpec = serde_json::from_value(spec.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), spec);
        let spec = control_plane(&pool, &[]).unwrap();
        let typed: KubeadmConfigSpec = serde_json::from_value(spec.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), spec);
    }
}

#[test]
fn only_documents_of_their_own_hold_the_token() {
    for os in OsType::ALL {
        let pool = full(*os);
        let (format, text) = document(&pool);
        let holds_token = match format {
            None => text.contains(TOKEN),
            Some(Format::Ignition) => true,
            Some(_) => text.contains(TOKEN),
        };
        assert_eq!(holds_token, machine_os::joins_by_itself(*os), "{os}");
        let debug = format!("{pool:?} {:?}", bootstrap(&pool).unwrap());
        assert!(!debug.contains(TOKEN) && !debug.contains("butler.8f0a1c"), "{os}: {debug}");
    }
}

#[test]
fn ipv6_endpoints_are_bracketed() {
    for os in OsType::ALL.iter().copied().filter(|os| *os != OsType::Rocky && *os != OsType::Flatcar) {
        let mut pool = minimal(os);
        pool.join.as_mut().unwrap().host = "fd00::1".to_owned();
        let (_, text) = document(&pool);
        let needle = match os {
            // Inside a kubeconfig that is inside a file's content.
            OsType::Kairos => "server: https://[fd00::1]:6443",
            _ => "https://[fd00::1]:6443",
        };
        assert!(text.contains(needle), "{os}: {text}");
    }
}

/// Compares a document with the file of this name, after judging it by the rules of its language.
fn compare(name: &str, pool: &Pool) {
    let (format, text) = document(pool);
    assert_eq!(check::document(format, &text), [""; 0], "{name}");
    assert_eq!(text, document(pool).1, "{name} differs from one time to the next");
    match format {
        None | Some(Format::Talos | Format::CloudConfig) => compare_text(&format!("{name}.yaml"), &text),
        Some(Format::Bottlerocket) => compare_text(&format!("{name}.toml"), &text),
        Some(Format::Ignition) => {
            let value: Value = serde_json::from_str(&text).unwrap();
            compare_text(&format!("{name}.json"), &format!("{}\n", serde_json::to_string_pretty(&value).unwrap()));
        }
    }
}

fn compare_text(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} differs; UPDATE_GOLDEN=1 writes it anew. It should be:\n{text}", path.display());
}
