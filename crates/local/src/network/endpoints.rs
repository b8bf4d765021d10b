//! Where the connections to an address go.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

/// Where connections go, in turn.
pub(super) struct Endpoints {
    ready: RwLock<Arc<[SocketAddr]>>,
    turn: AtomicUsize,
}

impl Endpoints {
    pub(super) fn new(ready: Vec<SocketAddr>) -> Self {
        Self { ready: RwLock::new(ready.into()), turn: AtomicUsize::new(0) }
    }

    pub(super) fn replace(&self, ready: Vec<SocketAddr>) {
        let mut known = self.ready.write();
        if **known != *ready {
            *known = ready.into();
        }
    }

    /// All ready endpoints, the one whose turn it is first.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = SocketAddr> {
        let ready = Arc::clone(&self.ready.read());
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        (0..ready.len()).map(move |step| ready[(turn + step) % ready.len()])
    }
}
