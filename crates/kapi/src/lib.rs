//! The embedded Kubernetes API: what kube-apiserver and etcd do, as a library.
//!
//! ```text
//!   http::Request ─▶ Service ─▶ authenticate ─▶ authorise ─▶ handlers ─▶ write / read ─▶ kapi-store
//!                                                              │
//!                     registry (built-in kinds + CRDs) ◀───────┘
//! ```
//!
//! An [`Api`] is one logical Kubernetes API; a [`Plane`] is a store with any number of them. [`Api::service`] is a
//! `tower::Service` that a `kube::Client` can use without a socket; [`serve`] puts TLS and HTTP/2 around it.
//!
//! One code path serves built-in and custom kinds alike: a [`registry::Served`] says how a kind is named, shaped and
//! stored, and the handlers know no kind but for the few that are the API's own machinery (namespaces, CRDs, RBAC,
//! tokens, Services' addresses).

mod admission;
pub mod api;
mod auth;
mod bootstrap;
mod call;
mod controllers;
mod crd;
mod decode;
mod documents;
mod handlers;
mod internal;
mod metrics;
mod object;
mod read;
pub mod registry;
mod request;
mod respond;
mod selection;
mod server;
mod service;
mod status;
mod write;

pub use api::{Api, ApiError, Changes, FurtherMetrics, Options, Plane};
pub use auth::Security;
pub use controllers::Controllers;
pub use kapi_auth::{StaticTokens, User};
pub use respond::Body;
pub use server::{Admitted, Identity, Server, TlsError, serve};
pub use service::{Peer, Service};
pub use status::{Cause, Details, Status};
