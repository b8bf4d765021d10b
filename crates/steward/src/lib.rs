//! Hosted control planes: kube-apiserver, kube-controller-manager and kube-scheduler of a tenant as pods.
//!
//! ```text
//!   StewardControlPlane ──▶ TenantControlPlane ──▶ Service, Secrets, Deployment ──▶ pods
//!   (Cluster API asks)        │        │
//!                             │        └──▶ inside: what kubeadm would upload, CoreDNS, kube-proxy, approvals
//!                             └──▶ DataStore (shared, through a driver), or an etcd of its own
//! ```
//!
//! A pass over a TenantControlPlane reads what there is, lets [`tenant::plan`] decide, does what it says, and reports. The
//! planner is pure; keys are made where it says so and are never made twice.

pub mod inside;
