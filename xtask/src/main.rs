//! Chores of the project: `cargo xtask <command>`.

mod crds;
mod kinds;
mod proto;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  crds            write the CRDs of Butler and Cluster API to crds/
  crds --check    fail if crds/ differs from what would be written
  kinds --server URL --token TOKEN [--ca FILE]
                  read the tables of built-in kinds off a real kube-apiserver
  proto [--modules DIR]
                  write the protobuf table from the Go modules of Kubernetes
  tidy            check the house rules that no compiler checks";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["crds"] => crds::write(),
        ["crds", "--check"] => crds::check(),
        ["kinds", rest @ ..] => kinds::run(rest.iter().map(|word| (*word).to_owned())),
        ["proto", rest @ ..] => proto::run(rest),
        ["tidy"] => tidy::run(),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Tells the person at the terminal.
#[expect(clippy::print_stderr, reason = "a command line tool talks to its user")]
fn say(text: &str) {
    eprintln!("{text}");
}
