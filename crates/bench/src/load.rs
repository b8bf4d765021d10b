//! The load: creates from many clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::connection::Dialler;

/// The namespace that holds the load.
pub(crate) const OBJECTS: &str = "/api/v1/namespaces/bench/configmaps";
const CLIENTS: usize = 32;

/// Makes the namespaces of the load.
pub(crate) async fn namespaces(dialler: &Dialler) -> Result<()> {
    let mut connection = dialler.connect().await?;
    for name in ["bench", "watched"] {
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        connection.create("/api/v1/namespaces", body.into()).await?;
    }
    Ok(())
}

/// A ConfigMap of about 1 KB.
pub(crate) fn config_map(name: &str) -> Bytes {
    let data = "0123456789abcdef".repeat(56);
    let text = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"text":"{data}"}}}}"#
    );
    text.into()
}

/// Creates the objects numbered from `from` up to `to`, or until the time is over: how long
/// all took, and each that was created.
pub(crate) async fn create(
    dialler: &Dialler,
    from: usize,
    to: usize,
    limit: Duration,
) -> Result<(Duration, Vec<Duration>)> {
    let next = Arc::new(AtomicUsize::new(from));
    let mut connections = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        connections.push(dialler.connect().await?);
    }
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for mut connection in connections {
        let next = Arc::clone(&next);
        clients.spawn(async move {
            let mut times = Vec::new();
            while started.elapsed() < limit {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    break;
                }
                let body = config_map(&format!("object-{number}"));
                let sent = Instant::now();
                connection.create(OBJECTS, body).await?;
                times.push(sent.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(client) = clients.join_next().await {
        times.extend(client??);
    }
    Ok((started.elapsed(), times))
}

/// How many objects of the load are there. The namespace may have got its certificate authority beside them.
pub(crate) async fn count(dialler: &Dialler) -> Result<usize> {
    let mut connection = dialler.connect().await?;
    let body = connection.get(&format!("{OBJECTS}?limit=1")).await?;
    let text = String::from_utf8_lossy(&body);
    let rest = text.split(r#""remainingItemCount":"#).nth(1).context("the list says not how many remain")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let authority = connection.is_ok(&format!("{OBJECTS}/kube-root-ca.crt")).await;
    Ok(digits.parse::<usize>()? + 1 - usize::from(authority))
}
