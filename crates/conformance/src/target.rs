//! A Kubernetes API the suite can talk to: where it is, whom it trusts, and who may log in.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::pki::{Authority, Pem};

/// How a user proves who they are.
#[derive(Clone, Debug)]
pub enum Login {
    /// A bearer token.
    Token(String),
    /// A client certificate with its key.
    Certificate(Pem),
}

/// A Kubernetes API under test.
#[derive(Clone, Debug)]
pub struct Target {
    /// How reports call it.
    pub name: String,
    /// Host and port.
    pub address: String,
    /// PEM of the CA that signed its serving certificate.
    pub ca: String,
    /// The users `admin` (of group system:masters), `alice` and `bob` (of group devs).
    pub users: HashMap<String, Login>,
    /// The CA whose client certificates it accepts, where the suite may sign with it.
    pub client_ca: Option<Authority>,
}

impl Target {
    /// Reads a target from a kubeconfig: its current context's cluster, and all its users by name.
    ///
    /// `client_ca` is a PEM file with the certificate and the key of the client CA.
    pub fn from_kubeconfig(name: &str, path: &Path, client_ca: Option<&Path>) -> anyhow::Result<Self> {
        let config = serde_json::to_value(kube::config::Kubeconfig::read_from(path)?)?;
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let pem = |value: &Value, key: &str| match (text(value, &format!("{key}-data")), text(value, key)) {
            (Some(data), _) => Ok(Some(String::from_utf8(BASE64_STANDARD.decode(data)?)?)),
            (None, Some(file)) => Ok(Some(std::fs::read_to_string(file)?)),
            (None, None) => anyhow::Ok(None),
        };
        let cluster = config.pointer("/clusters/0/cluster").context("the kubeconfig names no cluster")?;
        let server = text(cluster, "server").context("the cluster has no server")?;
        let Some(address) = server.strip_prefix("https://") else { bail!("{server} is not https") };
        let ca = pem(cluster, "certificate-authority")?.context("the cluster has no certificate authority")?;
        let mut users = HashMap::new();
        for entry in config.get("users").and_then(Value::as_array).into_iter().flatten() {
            let (Some(name), Some(user)) = (text(entry, "name"), entry.get("user")) else { continue };
            let login = match (pem(user, "client-certificate")?, pem(user, "client-key")?, text(user, "token")) {
                (Some(certificate), Some(key), _) => Login::Certificate(Pem { certificate, key }),
                (_, _, Some(token)) => Login::Token(token),
                _ => continue,
            };
            users.insert(name, login);
        }
        if !users.contains_key("admin") {
            bail!("{} has no user admin with a token or a client certificate", path.display());
        }
        let client_ca = match client_ca {
            Some(path) => Some(Authority::from_pem(&std::fs::read_to_string(path)?)?),
            None => None,
        };
        Ok(Self { name: name.to_owned(), address: address.trim_end_matches('/').to_owned(), ca, users, client_ca })
    }

    /// A kubeconfig of one user in one namespace, for programs.
    pub fn kubeconfig(&self, user: &str, namespace: &str) -> anyhow::Result<String> {
        let login = self.users.get(user).with_context(|| format!("no user {user}"))?;
        let user_value = match login {
            Login::Token(token) => serde_json::json!({"token": token}),
            Login::Certificate(pem) => serde_json::json!({
                "client-certificate-data": BASE64_STANDARD.encode(&pem.certificate),
                "client-key-data": BASE64_STANDARD.encode(&pem.key),
            }),
        };
        let cluster = serde_json::json!({
            "server": format!("https://{}", self.address),
            "certificate-authority-data": BASE64_STANDARD.encode(&self.ca),
        });
        Ok(serde_json::to_string_pretty(&serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "target", "cluster": cluster}],
            "users": [{"name": user, "user": user_value}],
            "contexts": [{"name": "target", "context": {"cluster": "target", "user": user, "namespace": namespace}}],
            "current-context": "target",
        }))?)
    }
}
