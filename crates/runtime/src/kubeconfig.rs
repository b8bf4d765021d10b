//! Kubeconfigs that stand in Secrets. Whoever may write a Secret may not make this process run a program, read a file of
//! its machine or go through somebody's proxy: what is in the text is used, and nothing that it points to.

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::{Failure, Retry};

/// What an entry of a cluster may say.
const CLUSTER: &[&str] = &[
    "server",
    "certificate-authority-data",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "disable-compression",
    "extensions",
];
/// What an entry of a user may say.
const USER: &[&str] = &["client-certificate-data", "client-key-data", "token", "extensions"];

/// The way to a cluster that a kubeconfig out of a Secret tells, if it tells it all by itself.
pub async fn config_of_secret(kubeconfig: &[u8]) -> Result<Config, Failure> {
    let unusable = |what: String| {
        Failure::new(Retry::Backoff, "KubeconfigUnusable", format!("the cluster's kubeconfig cannot be used: {what}"))
    };
    let text = std::str::from_utf8(kubeconfig).map_err(|error| unusable(error.to_string()))?;
    let document = kernel::yaml::value(text).map_err(|error| unusable(error.to_string()))?;
    if let Some(foreign) = foreign(&document) {
        return Err(unusable(format!(
            "{foreign} is not taken from a Secret; write keys, certificates and tokens inline"
        )));
    }
    let read: Kubeconfig = serde_json::from_value(document).map_err(|error| unusable(error.to_string()))?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    config.map_err(|error| unusable(error.to_string()))
}

/// The first field that leads out of the text.
fn foreign(document: &Value) -> Option<String> {
    [("clusters", "cluster", CLUSTER), ("users", "user", USER)].into_iter().find_map(|(list, one, allowed)| {
        let entries = document[list].as_array().into_iter().flatten();
        let mut fields = entries.filter_map(|entry| entry[one].as_object()).flatten();
        let found = fields.find(|(name, value)| !allowed.contains(&name.as_str()) && !value.is_null());
        found.map(|(name, _)| format!("{one}.{name}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn only_what_is_inline_is_used() {
        for (cluster, user, expected) in [
            (json!({}), json!({"token": "t"}), None),
            (json!({"tls-server-name": "n", "insecure-skip-tls-verify": true}), json!({}), None),
            (json!({"certificate-authority": null}), json!({"exec": null}), None),
            (json!({"certificate-authority": "/etc/ca.crt"}), json!({}), Some("cluster.certificate-authority ")),
            (json!({"proxy-url": "http://proxy"}), json!({}), Some("cluster.proxy-url ")),
            (json!({}), json!({"exec": {"command": "sh"}}), Some("user.exec ")),
            (json!({}), json!({"tokenFile": "/token"}), Some("user.tokenFile ")),
            (json!({}), json!({"auth-provider": {"name": "gcp"}}), Some("user.auth-provider ")),
            (json!({}), json!({"client-key": "/key"}), Some("user.client-key ")),
            (json!({}), json!({"client-certificate": "/crt"}), Some("user.client-certificate ")),
            (json!({}), json!({"as": "somebody"}), Some("user.as ")),
        ] {
            let mut cluster = cluster;
            cluster["server"] = json!("http://127.0.0.1:1");
            let text = json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
            })
            .to_string();
            let refused = config_of_secret(text.as_bytes()).await.err().map(|failure| failure.message);
            match (refused, expected) {
                (None, None) => {}
                (Some(message), Some(field)) => assert!(message.contains(field), "{message}"),
                (refused, expected) => panic!("{refused:?} instead of {expected:?} for {text}"),
            }
        }
    }
}
