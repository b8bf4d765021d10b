//! Keeps the names of Services for processes up to date.

use std::path::PathBuf;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use runtime::Watches;
use tokio::sync::Notify;

use super::hosts::hosts;

/// Writes a hosts file into a directory, again and again as Services change, until dropped.
pub(crate) fn keep(watches: &Watches, directory: PathBuf) -> impl Future<Output = ()> + Send + use<> {
    let (services, slices) = (watches.of::<Service>(), watches.of::<EndpointSlice>());
    let changed = Arc::new(Notify::new());
    let (first, second) = (Arc::clone(&changed), Arc::clone(&changed));
    services.on_change(move |_, _| first.notify_one());
    slices.on_change(move |_, _| second.notify_one());
    async move {
        let mut known = String::new();
        loop {
            let (services, slices) = (services.all(), slices.all());
            let text = hosts(services.iter().map(|service| &**service), slices.iter().map(|slice| &**slice));
            if text != known {
                if let Err(error) = write(&directory, &text).await {
                    tracing::warn!(%error, directory = %directory.display(), "cannot write the names of Services");
                }
                known = text;
            }
            changed.notified().await;
        }
    }
}

/// Replaces the file as a whole: readers see the old one or the new one.
async fn write(directory: &std::path::Path, text: &str) -> std::io::Result<()> {
    tokio::fs::create_dir_all(directory).await?;
    let (partial, path) = (directory.join("hosts.partial"), directory.join("hosts"));
    tokio::fs::write(&partial, text).await?;
    tokio::fs::rename(partial, path).await
}
