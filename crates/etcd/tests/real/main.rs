//! Everything against a real etcd. Without one in the cache the tests say so in one line, and pass.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod apiserver;
mod failures;
mod foreign;
mod interrupted;
mod isolation;
mod life;

use std::{io::Write as _, path::PathBuf};

use etcd::{Client, Tenant, testing};

/// The program, or a line that says why a test is skipped.
fn etcd_program() -> Option<PathBuf> {
    found(testing::program())
}

fn found(program: Result<PathBuf, String>) -> Option<PathBuf> {
    // Not through `println!`, which is captured.
    program.inspect_err(|why| drop(writeln!(std::io::stdout(), "skipped: real etcd: {why}"))).ok()
}

fn tenant(name: &str) -> Tenant {
    Tenant::new(&format!("{name}-user"), name).unwrap()
}

/// Writes `count` keys below the tenant's prefix.
async fn fill(client: &Client, tenant: &Tenant, count: usize) {
    for number in 0..count {
        client.put(format!("{}key-{number:05}", tenant.prefix()), "value").await.unwrap();
    }
}
