//! What the comparisons with real helm share: running it, and rendering the same with this crate.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};
use std::process::Command;

use helm::chart::Chart;
use helm::render::{Capabilities, Offline, Release, RenderError, Rendered, Surroundings, SystemRandom, render};
use helm::values::Values;

/// The versions that are compared with; what differs between them is as in the first.
pub(crate) const VERSIONS: [&str; 2] = ["4.2", "3.17"];

/// The version of Kubernetes that both are told.
pub(crate) const KUBE_VERSION: &str = "v1.34.0";

/// A real helm, if `scripts/tools` has brought it.
pub(crate) fn real_helm(version: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("BUTLER_CACHE").map(PathBuf::from).or_else(|| {
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"))).map(|base| base.join("butler"))
    })?;
    Some(cache.join("tools").join(format!("helm-{version}"))).filter(|path| path.is_file())
}

/// Whether the recordings are to be written anew.
pub(crate) fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// `helm template` on a chart: what it printed, and what it complained of.
pub(crate) fn run_helm(helm: &Path, chart: &Path, args: &[String]) -> (String, String) {
    let output = Command::new(helm)
        .args(["template", "rel"])
        .arg(chart)
        .args(["--namespace", "ns", "--kube-version", KUBE_VERSION, "--include-crds"])
        .args(args)
        .env("TZ", "UTC")
        .env("HELM_CACHE_HOME", chart)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaint(&told))
}

/// The error of helm's output, without warnings before and advice after it.
fn complaint(told: &str) -> String {
    let Some((_, error)) = told.split_once("Error: ") else { return String::new() };
    let error = error.split("\n\nUse --debug").next().unwrap_or_default();
    error.trim_end().to_owned()
}

/// Renders a chart as [`run_helm`] does.
pub(crate) fn run_ours(chart: &Chart, values: &Values) -> Result<Rendered, RenderError> {
    let release = Release { name: "rel".to_owned(), namespace: "ns".to_owned(), revision: 1, is_upgrade: false };
    let surroundings = Surroundings { now: jiff::Timestamp::now(), random: &SystemRandom, cluster: &Offline };
    render(chart, values, &release, &capabilities(), &surroundings)
}

/// What helm believes of a cluster it was told nothing of, as far as charts ask.
pub(crate) fn capabilities() -> Capabilities {
    let versions = [
        "v1",
        "apps/v1",
        "batch/v1",
        "networking.k8s.io/v1",
        "policy/v1",
        "rbac.authorization.k8s.io/v1",
        "autoscaling/v2",
    ];
    Capabilities {
        kube_version: KUBE_VERSION.to_owned(),
        api_versions: versions.iter().map(|version| (*version).to_owned()).collect(),
    }
}

/// The folder of the tests.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A chart in a text: a line `==== name | arguments`, then files as `-- path --`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    pub(crate) files: Vec<(String, String)>,
}

/// What a chart without a `Chart.yaml` has.
const PLAIN: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";

/// The charts of a text.
pub(crate) fn charts(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("==== ") {
            let (name, args) = title.split_once(" | ").unwrap_or((title, ""));
            let args = args.split_whitespace().map(str::to_owned).collect();
            cases.push(Case { name: name.to_owned(), args, files: Vec::new() });
        } else if let Some(name) = line.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
            cases.last_mut().unwrap().files.push((name.to_owned(), String::new()));
        } else if let Some((_, content)) = cases.last_mut().and_then(|case| case.files.last_mut()) {
            content.push_str(line);
            content.push('\n');
        }
    }
    for case in &mut cases {
        if !case.files.iter().any(|(name, _)| name == "Chart.yaml") {
            case.files.push(("Chart.yaml".to_owned(), PLAIN.to_owned()));
        }
    }
    cases
}

impl Case {
    /// Writes the chart into a folder.
    pub(crate) fn write(&self, folder: &Path) {
        for (name, content) in &self.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }
}
