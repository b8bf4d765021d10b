//! Everything against a real etcd. Without one in the cache the tests say so in one line, and pass.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod apiserver;
mod failures;
mod foreign;
mod interrupted;
mod isolation;
mod life;

use std::{io::Write as _, path::PathBuf, sync::Once};

use etcd::{Client, Tenant, testing};

/// The program, or one line that says why tests are skipped.
fn etcd_program() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    found(testing::program(), &SAID)
}

fn found(program: Result<PathBuf, String>, said: &Once) -> Option<PathBuf> {
    // Not through `println!`, which is captured.
    let say = |why: &String| said.call_once(|| drop(writeln!(std::io::stdout(), "skipped: {why}")));
    program.inspect_err(say).ok()
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
