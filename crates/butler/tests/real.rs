//! Real control planes, a real etcd and a real node, as far as this machine allows: `scripts/real` does it and says so.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::process::Command;

#[test]
fn real_control_planes_serve_are_joined_and_removed() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/real");
    let ended = Command::new(script).arg(env!("CARGO_BIN_EXE_butler")).status().unwrap();
    assert!(ended.success(), "scripts/real says what failed");
}
