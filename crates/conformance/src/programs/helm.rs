//! helm takes a release through its life: install, upgrade with a hook, rollback, uninstall.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use super::api::Api;
use super::{chart, tool};
use crate::target::Target;

/// The releases the suite runs.
pub const VERSIONS: [&str; 2] = ["3.17", "4.2"];

const PATIENCE: Duration = Duration::from_secs(120);
const RELEASE: &str = "corner";

/// Runs the whole life of a release in a namespace of its own.
pub async fn run(version: &str, target: &Arc<Target>) -> anyhow::Result<()> {
    let namespace = format!("helm-{}", version.replace('.', "-"));
    let helm = Helm::new(version, target, &namespace)?;
    let mut life = Life { api: Api::new(target), helm, namespace };
    life.install().await.context("install")?;
    life.upgrade().await.context("upgrade")?;
    life.rollback().await.context("rollback")?;
    life.uninstall().await.context("uninstall")
}

struct Life {
    api: Api,
    helm: Helm,
    namespace: String,
}

impl Life {
    async fn install(&mut self) -> anyhow::Result<()> {
        let out = self.helm.run(&["install", RELEASE, "chart", "--create-namespace"]).await?;
        ensure!(out.contains("The shop says hello."), "no notes in {out}");
        self.expect_release(1, "hello", true).await?;
        let hook = self.api.get(&self.path("api/v1", "configmaps", "-opened")).await?;
        ensure!(hook["data"]["revision"] == "1", "the hook made {hook}");
        let bell = self.api.get(&self.path("apis/shop.example.com/v1", "bells", "")).await?;
        ensure!(bell["spec"]["loudness"] == 3, "the bell has no default: {bell}");
        self.expect_history(&["deployed"]).await
    }

    /// The hook Job runs nowhere: the suite says that it is complete, and only then does helm go on.
    async fn upgrade(&mut self) -> anyhow::Result<()> {
        let arguments =
            ["upgrade", RELEASE, "chart", "--set", "replicas=3", "--set", "greeting=salut", "--set", "extra=false"];
        let job = self.path("apis/batch/v1", "jobs", "-migrate");
        let complete = async {
            self.api.until(&job, Value::is_object).await?;
            self.api.patch(&format!("{job}/status"), &finished_job()).await
        };
        let (upgraded, completed) = tokio::join!(self.helm.run(&arguments), complete);
        completed?;
        let out = upgraded?;
        ensure!(out.contains("The shop says salut."), "no notes in {out}");
        self.api.until_gone(&job).await?;
        self.expect_release(3, "salut", false).await?;
        self.expect_history(&["superseded", "deployed"]).await
    }

    async fn rollback(&mut self) -> anyhow::Result<()> {
        self.helm.run(&["rollback", RELEASE, "1"]).await?;
        self.expect_release(1, "hello", true).await?;
        self.expect_history(&["superseded", "superseded", "deployed"]).await
    }

    async fn uninstall(&mut self) -> anyhow::Result<()> {
        self.helm.run(&["uninstall", RELEASE, "--wait"]).await?;
        for (group, plural, suffix) in [
            ("apis/apps/v1", "deployments", ""),
            ("api/v1", "services", ""),
            ("api/v1", "configmaps", "-settings"),
            ("api/v1", "configmaps", "-extra"),
            ("apis/shop.example.com/v1", "bells", ""),
        ] {
            let path = self.path(group, plural, suffix);
            ensure!(self.api.find(&path).await?.is_none(), "{path} is still there");
        }
        self.expect_secrets(&[]).await?;
        ensure!(self.helm.json(&["list"]).await? == json!([]), "the release is still listed");
        // Helm leaves hooks' objects and custom kinds behind.
        self.api.get(&self.path("api/v1", "configmaps", "-opened")).await?;
        self.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bells.shop.example.com").await?;
        Ok(())
    }

    /// What the API has of the release, and what helm says that it has.
    async fn expect_release(&mut self, replicas: u64, greeting: &str, extra: bool) -> anyhow::Result<()> {
        let deployment = self.api.get(&self.path("apis/apps/v1", "deployments", "")).await?;
        ensure!(deployment["spec"]["replicas"] == replicas, "replicas: {}", deployment["spec"]);
        let owner = &deployment["metadata"]["annotations"]["meta.helm.sh/release-name"];
        ensure!(owner == RELEASE, "the Deployment is not marked as helm's: {deployment}");
        let service = self.api.get(&self.path("api/v1", "services", "")).await?;
        ensure!(service["spec"]["clusterIP"].is_string(), "the Service has no address: {service}");
        let settings = self.api.get(&self.path("api/v1", "configmaps", "-settings")).await?;
        ensure!(settings["data"] == json!({"greeting": greeting}), "settings: {settings}");
        let bell = self.api.get(&self.path("apis/shop.example.com/v1", "bells", "")).await?;
        ensure!(bell["spec"]["sound"] == greeting, "bell: {bell}");
        let found = self.api.find(&self.path("api/v1", "configmaps", "-extra")).await?;
        ensure!(found.is_some() == extra, "the extra ConfigMap: {found:?}");
        let manifest = self.helm.run(&["get", "manifest", RELEASE]).await?;
        ensure!(manifest.contains(&format!("sound: {greeting}")), "manifest: {manifest}");
        Ok(())
    }

    /// The revisions of the release, by their Secrets and by helm's own commands.
    async fn expect_history(&mut self, statuses: &[&str]) -> anyhow::Result<()> {
        self.expect_secrets(statuses).await?;
        let history = self.helm.json(&["history", RELEASE]).await?;
        let told: Vec<&str> = history.as_array().into_iter().flatten().filter_map(|r| r["status"].as_str()).collect();
        ensure!(told == statuses, "history: {history}");
        let status = self.helm.json(&["status", RELEASE]).await?;
        ensure!(status["version"] == statuses.len() && status["info"]["status"] == "deployed", "status: {status}");
        let list = self.helm.json(&["list"]).await?;
        let revision = statuses.len().to_string();
        ensure!(list[0]["name"] == RELEASE && list[0]["revision"] == revision.as_str(), "list: {list}");
        Ok(())
    }

    async fn expect_secrets(&mut self, statuses: &[&str]) -> anyhow::Result<()> {
        let path = format!("/api/v1/namespaces/{}/secrets?labelSelector=owner%3Dhelm,name%3D{RELEASE}", self.namespace);
        let secrets = self.api.items(&path).await?;
        let seen: Vec<(&str, &str)> = secrets
            .iter()
            .filter_map(|s| Some((s["metadata"]["name"].as_str()?, s["metadata"]["labels"]["status"].as_str()?)))
            .collect();
        let names: Vec<String> =
            (1..=statuses.len()).map(|revision| format!("sh.helm.release.v1.{RELEASE}.v{revision}")).collect();
        let expected: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(statuses.iter().copied()).collect();
        ensure!(seen == expected, "the release's Secrets are {seen:?}");
        Ok(())
    }

    fn path(&self, group_version: &str, plural: &str, suffix: &str) -> String {
        format!("/{group_version}/namespaces/{}/{plural}/{RELEASE}{suffix}", self.namespace)
    }
}

fn finished_job() -> Value {
    let at = "2030-01-01T00:00:00Z";
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
    json!({"status": {
        "startTime": at,
        "completionTime": at,
        "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    }})
}

/// helm of one release with a home of its own, which holds the kubeconfig and the chart.
struct Helm {
    program: PathBuf,
    home: tempfile::TempDir,
}

impl Helm {
    fn new(version: &str, target: &Target, namespace: &str) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("helm-").tempdir()?;
        std::fs::write(home.path().join("config"), target.kubeconfig("admin", namespace)?)?;
        chart::write(&home.path().join("chart"))?;
        Ok(Self { program: tool(&format!("helm-{version}")).map_err(anyhow::Error::msg)?, home })
    }

    async fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let out = self.run(&[arguments, &["--output", "json"]].concat()).await?;
        serde_json::from_str(&out).with_context(|| format!("helm {arguments:?} printed {out}"))
    }

    /// Runs a command to its end and hands back what it printed.
    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let home: &Path = self.home.path();
        let child = Command::new(&self.program)
            .args(arguments)
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("TMPDIR", home)
            .env("KUBECONFIG", home.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
            .await
            .with_context(|| format!("helm {arguments:?} does not end"))??;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("helm {arguments:?}: {}: {stderr}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
