//! `butlerctl`: what teams do with their clusters.

use std::process::ExitCode;

// One request after the other: a second thread would only make the start slower.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    cli::run().await
}
