//! `butleradm`: what operators do with the platform itself.

use std::process::ExitCode;

// One request after the other: a second thread would only make the start slower.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    cli::run_admin().await
}
