//! Controllers at work on an embedded API.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod addon;
mod network;
mod provider_config;
mod repositories;
// Half of it is for tests of repositories themselves.
#[allow(dead_code)]
#[path = "../../../helm/tests/source/server.rs"]
mod server;
mod team;
mod tenant;
mod tenant_addon;
mod world;
