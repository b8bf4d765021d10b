//! What is put into a tenant, and what tenants make of it.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod golden;
mod tenant;
