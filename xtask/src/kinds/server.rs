//! The server the tables are read from.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Asks for discovery with all versions and resources of all groups in one answer.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Where and as whom to ask.
pub(super) struct Server {
    pub(super) url: String,
    pub(super) token: String,
    pub(super) ca: Option<PathBuf>,
}

impl Server {
    /// The JSON at a path, keys sorted.
    pub(super) fn get(&self, path: &str) -> Result<Value> {
        self.fetch(path, "application/json")
    }

    /// The aggregated discovery document at `/api` or `/apis`.
    pub(super) fn discovery(&self, path: &str) -> Result<Value> {
        self.fetch(path, AGGREGATED)
    }

    /// The items of a list.
    pub(super) fn list(&self, path: &str) -> Result<Vec<Value>> {
        match self.get(path)?["items"].take() {
            Value::Array(items) => Ok(items),
            _ => bail!("{path} is not a list"),
        }
    }

    fn fetch(&self, path: &str, accept: &str) -> Result<Value> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--config", "-"]);
        if let Some(ca) = &self.ca {
            curl.arg("--cacert").arg(ca);
        }
        curl.arg(format!("{}{path}", self.url.trim_end_matches('/')));
        let mut child =
            curl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("curl is needed to ask the server")?;
        // Over standard input, so that the token shows in no process list.
        if let Some(mut config) = child.stdin.take() {
            writeln!(config, "header = \"Authorization: Bearer {}\"\nheader = \"Accept: {accept}\"", self.token)?;
        }
        let answer = child.wait_with_output()?;
        if !answer.status.success() {
            bail!("GET {path} failed");
        }
        let mut value: Value = serde_json::from_slice(&answer.stdout).with_context(|| format!("reading {path}"))?;
        value.sort_all_objects();
        Ok(value)
    }
}
