//! Controllers at work on an embedded API.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod addon;
mod network;
mod provider_config;
mod team;
mod tenant;
mod tenant_addon;
mod world;
