//! Compares the golden transcripts with a real kube-apiserver, where one can be started, and with the embedded API.
//! Arguments are parts of `area/name`; without any all cases run.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use conformance::cases;
use conformance::embedded::EmbeddedServer;
use conformance::known::KNOWN;
use conformance::kubectl::{VERSIONS, program};
use conformance::real::{Programs, RealServer};
use conformance::suite::{check, print, select};

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let filters: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let mut chosen = select(cases::all(), &filters);
    let mut complete = filters.is_empty();
    let mut out = std::io::stdout();
    if let Some(why) = VERSIONS.iter().find_map(|version| program(version).err()) {
        writeln!(out, "skipped: the cases of kubectl: {why}")?;
        chosen.retain(|case| case.kubectl.is_none());
        complete = false;
    }
    let mut well = true;
    match Programs::find() {
        Err(why) => writeln!(out, "skipped: the real kube-apiserver: {why}")?,
        Ok(programs) => {
            let server = RealServer::start(&programs).await?;
            let report = check(server.target.clone(), &chosen, &[], complete).await?;
            well &= print(&mut out, &server.target.name, &report)?;
        }
    }
    let embedded = EmbeddedServer::start().await?;
    let report = check(Arc::clone(&embedded.target), &chosen, KNOWN, complete).await?;
    well &= print(&mut out, &embedded.target.name, &report)?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
