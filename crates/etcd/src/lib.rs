//! etcd's API as far as a shared store needs it: authentication on, and one user, role and key prefix per tenant.
//!
//! ```text
//! Tenancy ─▶ plan (pure: what is missing or too much)
//!    │
//!    ▼
//! Client ─▶ messages (protobuf, by hand) ─▶ Transport ─▶ Members: gRPC over TLS, several addresses, a deadline
//! ```
//!
//! Start at [`Tenancy`]. Everything it does can be interrupted after any call and be repeated. Every call ends within
//! its deadline, and every [`Error`] says what to do. This crate knows etcd alone: what a tenant is made for, and where its
//! certificate comes from, is the caller's business.

mod classify;
mod client;
mod connect;
mod error;
mod keys;
mod members;
mod messages;
mod plan;
mod release;
mod tenancy;
mod tenant;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;

pub use client::{Alarm, Client, Page, Status};
pub use error::Error;
pub use keys::{KeyRange, Permission};
pub use members::{Access, DEADLINE};
pub use tenancy::{Tenancy, Usage};
pub use tenant::{ROOT, Tenant};
pub use transport::Transport;
