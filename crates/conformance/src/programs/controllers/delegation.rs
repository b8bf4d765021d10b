//! The manager's own HTTPS port leaves to the API who somebody is and what they may see.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use bytes::Bytes;
use serde_json::json;

use crate::case::Identity;
use crate::client::Client;
use crate::programs::api::Api;
use crate::target::{Login, Target};

/// Certificates are believed by the published authorities, tokens and permissions by reviews.
pub(super) async fn manager_asks_the_api(target: &Arc<Target>, port: u16) -> anyhow::Result<()> {
    let mut manager = Target::clone(target);
    manager.address = format!("127.0.0.1:{port}");
    manager.users.insert("scraper".to_owned(), Login::Token(scraper_token(&mut Api::new(target)).await?));
    let mut client = Client::new(Arc::new(manager));
    let started = Instant::now();
    for (user, status, says) in [
        ("admin", 200, "# TYPE"),
        ("alice", 403, r#"User \"alice\" cannot get path \"/metrics\""#),
        ("scraper", 200, "# TYPE"),
    ] {
        loop {
            let request = http::Request::get("/metrics").header("Connection", "close").body(Bytes::new())?;
            let answer = client.send(&Identity::User(user), request).await?;
            let text = String::from_utf8_lossy(&answer.body);
            if answer.head.status == status && text.contains(says) {
                break;
            }
            // The manager serves a moment before it has read whom to believe.
            if started.elapsed() > Duration::from_secs(30) {
                let start: String = text.chars().take(300).collect();
                bail!("{user} got {}: {start}", answer.head.status);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

/// A ServiceAccount that may read metrics.
async fn scraper_token(api: &mut Api) -> anyhow::Result<String> {
    const NAME: &str = "scraper";
    let accounts = "/api/v1/namespaces/kube-system/serviceaccounts";
    api.create(accounts, &json!({"metadata": {"name": NAME}})).await?;
    let role = json!({"metadata": {"name": NAME}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]});
    api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await?;
    let binding = json!({
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": NAME}],
    });
    api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await?;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = api.create(&format!("{accounts}/{NAME}/token"), &request).await?;
    Ok(answer["status"]["token"].as_str().unwrap_or_default().to_owned())
}
