//! Work that several want at once is done once.

use std::collections::HashMap;
use std::future::Future;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

/// What is under way, by what it is for.
pub(super) struct Flights<T: Clone> {
    running: Mutex<HashMap<String, WeakShared<BoxFuture<'static, T>>>>,
}

impl<T: Clone> Default for Flights<T> {
    fn default() -> Self {
        Self { running: Mutex::default() }
    }
}

impl<T: Clone> Flights<T> {
    /// The outcome of what is under way for the key; if nothing is, of this.
    pub(super) fn join(
        &self,
        key: String,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Shared<BoxFuture<'static, T>> {
        let mut running = self.running.lock();
        // Only what somebody still waits for can be joined; whoever waited takes the outcome along.
        if let Some(shared) = running.get(&key).and_then(WeakShared::upgrade).filter(|shared| shared.peek().is_none()) {
            return shared;
        }
        running.retain(|_, flight| flight.upgrade().is_some());
        let shared = work.boxed().shared();
        if let Some(weak) = shared.downgrade() {
            running.insert(key, weak);
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn the_same_is_done_once_at_a_time() {
        let flights = Flights::default();
        let count = Arc::new(AtomicUsize::new(0));
        let work = || {
            let count = Arc::clone(&count);
            async move {
                tokio::task::yield_now().await;
                count.fetch_add(1, Ordering::SeqCst)
            }
        };
        let both = futures::join!(flights.join("a".to_owned(), work()), flights.join("a".to_owned(), work()));
        assert_eq!(both, (0, 0));
        assert_eq!(flights.join("a".to_owned(), work()).await, 1);
        assert_eq!(flights.running.lock().len(), 1);
    }
}
