//! Every chart renders, with the values of the catalogue, to what real helm makes of it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../helm/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use butler_api::butler::addon_definition::AddonDefinitionSpec;
use common::{VERSIONS, real_helm, run_helm, run_ours};
use helm::chart::Chart;
use helm::source::{Access, ChartRef, Sources};
use helm::values::Values;
use serde_json::json;

/// Values that the catalogue lets users set, and Butler sets itself.
fn further(chart: &str) -> Values {
    let values = match chart {
        "cilium" => json!({
            "kubeProxyReplacement": true, "k8sServiceHost": "10.0.0.9", "k8sServicePort": 6443, "MTU": 1400,
            "ipam": {"mode": "cluster-pool", "operator": {"clusterPoolIPv4PodCIDRList": ["10.244.0.0/16"]}},
            "hostAliases": [{"ip": "10.0.0.9", "hostnames": ["api.example.com"]}], "operator": {"replicas": 1},
        }),
        "metallb" => json!({"loadBalancerClass": "metallb", "controller": {"logLevel": "debug"}}),
        "cert-manager" => json!({"extraArgs": ["--dns01-recursive-nameservers-only"], "replicaCount": 2}),
        "longhorn" => json!({"persistence": {"defaultClass": false}, "longhornManager": {"log": {"format": "json"}}}),
        "traefik" => json!({"service": {"spec": {"loadBalancerIP": "10.0.0.10"}, "annotations": {"a": "b"}}}),
        "kube-prometheus-stack" => json!({"prometheus": {"prometheusSpec": {"externalLabels": {"cluster": "a"}}}}),
        "victoria-metrics-k8s-stack" => json!({"vmsingle": {"spec": {"retentionPeriod": "3d"}}}),
        "flux2" => json!({"logLevel": "debug", "notificationController": {"create": false}}),
        _ => json!({"replicaCount": 3}),
    };
    values.as_object().cloned().unwrap()
}

fn charts() -> BTreeMap<String, AddonDefinitionSpec> {
    let specs = charts::definitions().into_iter().map(|definition| definition.spec);
    specs.filter_map(|spec| Some((spec.chart.clone()?.name, spec))).collect()
}

fn printed(chart: &Chart, values: &Values) -> String {
    run_ours(chart, values).unwrap().manifests().unwrap().printed(true)
}

/// What is printed; versions of helm differ in empty lines at the end of documents.
fn lines(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| !line.is_empty()).collect()
}

#[tokio::test]
async fn charts_of_the_repository_render_as_helm_renders_them() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    charts::write_repository(folder.path()).unwrap();
    let mirrors = charts::mirrors(&format!("file://{}", folder.path().display()));
    let sources = Sources::new(cache.path().to_owned(), mirrors);
    for (name, spec) in charts() {
        let source = spec.chart.unwrap();
        for version in source.available_versions.iter().chain([&source.default_version]) {
            let wanted = ChartRef {
                repository: source.repository.clone(),
                name: name.clone(),
                version: version.clone(),
                digest: None,
            };
            let fetched = sources.fetch(&wanted, &Access::default()).await.unwrap();
            let mut values = spec.defaults.clone().unwrap_or_default().values.unwrap_or_default().0;
            let plain = printed(&fetched.chart, &values);
            helm::values::merge(&mut values, further(&name));
            let more = printed(&fetched.chart, &values);
            assert_ne!(plain, more, "{name} takes no notice of its values");
            let file = folder.path().join("values.json");
            fs::write(&file, serde_json::to_string(&values).unwrap()).unwrap();
            let archive = folder.path().join(format!("{name}-{version}.tgz"));
            for helm in VERSIONS.iter().filter_map(|version| real_helm(version)) {
                let (theirs, complaint) = run_helm(&helm, &archive, &["-f".to_owned(), file.display().to_string()]);
                assert_eq!((complaint.as_str(), lines(&theirs)), ("", lines(&more)), "{name} {version}");
            }
        }
    }
}

#[test]
fn helm_finds_nothing_to_complain_of() {
    let Some(helm) = real_helm(VERSIONS[0]) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts");
    for name in charts().keys() {
        let output = Command::new(&helm).arg("lint").arg(folder.join(name)).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        // Versions of cert-manager's real chart begin with a v, which Helm 4 takes but does not like.
        let complaints: Vec<&str> = told
            .lines()
            .filter(|line| line.starts_with("[WARNING]") || line.starts_with("[ERROR]"))
            .filter(|line| !line.contains("version 'v1.16.2' is not a valid SemVerV2"))
            .collect();
        assert!(output.status.success() && complaints.is_empty(), "{told}");
    }
}

#[test]
fn writing_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let seen = || -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
        let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.is_file());
        files
            .map(|path| {
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                (path.display().to_string(), (fs::read(&path).unwrap(), time))
            })
            .collect()
    };
    charts::write_repository(folder.path()).unwrap();
    let first = seen();
    charts::write_repository(folder.path()).unwrap();
    assert_eq!(seen(), first);
    fs::write(folder.path().join("cilium-1.17.0.tgz"), "half").unwrap();
    charts::write_repository(folder.path()).unwrap();
    let contents =
        |files: BTreeMap<String, (Vec<u8>, _)>| files.into_values().map(|(content, _)| content).collect::<Vec<_>>();
    assert_eq!(contents(seen()), contents(first));
}
