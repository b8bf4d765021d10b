//! Runs real programs against the embedded API, where they are at hand. Arguments are parts of the names printed;
//! without any all run.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use conformance::embedded::EmbeddedServer;
use conformance::programs::{controllers, helm, tool};

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let filters: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let chosen = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    let mut out = std::io::stdout();
    let mut well = true;
    for version in helm::VERSIONS {
        let name = format!("helm-{version}");
        if !chosen(&name) {
            continue;
        }
        match tool(&name) {
            Err(why) => writeln!(out, "skipped: {name}: {why}")?,
            Ok(_) => {
                let server = EmbeddedServer::start().await?;
                well &= report(&mut out, &name, helm::run(version, &server.target)).await?;
            }
        }
    }
    for media in controllers::MEDIA {
        let name = format!("kube-controller-manager and kube-scheduler by {media}");
        if !chosen(&name) {
            continue;
        }
        match controllers::find() {
            Err(why) => writeln!(out, "skipped: {name}: {why}")?,
            Ok(()) => {
                let server = EmbeddedServer::start().await?;
                well &= report(&mut out, &name, controllers::run(media, &server.target)).await?;
            }
        }
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn report(
    out: &mut impl Write,
    name: &str,
    work: impl Future<Output = anyhow::Result<()>>,
) -> std::io::Result<bool> {
    let started = Instant::now();
    let result = work.await;
    let seconds = started.elapsed().as_secs();
    match &result {
        Ok(()) => writeln!(out, "ok: {name} ({seconds} s)")?,
        Err(error) => writeln!(out, "FAILED: {name} ({seconds} s): {error:#}")?,
    }
    Ok(result.is_ok())
}
