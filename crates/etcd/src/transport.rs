//! The seam between what is said to etcd and how it gets there.

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::Error;

/// Carries one message to etcd and its answer back; tests put one that fails in between.
pub trait Transport: Send + Sync {
    /// Calls the method at `path`, such as `/etcdserverpb.KV/Range`.
    fn call(&self, path: &'static str, message: Bytes) -> BoxFuture<'_, Result<Bytes, Error>>;
}
