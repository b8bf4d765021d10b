//! The loop of a controller.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::failure::API_UNAVAILABLE;
use crate::{Failure, Key, Metrics, Queue, Retry};

/// A pass takes milliseconds, or seconds where it talks to somebody slow. One that hangs must not keep its worker.
const LONGEST_PASS: Duration = Duration::from_secs(120);
/// When a pass that panicked is tried again.
const AFTER_PANIC: Duration = Duration::from_secs(60);

/// What a pass says about the next one. A change of what was observed leads to a pass in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing to do until something changes.
    Rest,
    /// Look again after this time: something ends or falls due then.
    After(Duration),
}

/// A controller: brings one object at a time closer to what it should be.
pub trait Reconcile: Send + Sync + 'static {
    /// One pass over one object, which may be gone already.
    fn reconcile(&self, key: &Key) -> impl Future<Output = Result<Next, Failure>> + Send;
}

/// Runs passes for the keys of `queue`, at most `workers` at a time, until this future is dropped.
pub async fn run<R: Reconcile>(name: &'static str, reconcile: Arc<R>, queue: Queue, workers: usize, metrics: Metrics) {
    let _scraped = metrics.watch_queue(name, &queue);
    let failures = Arc::new(Mutex::new(HashMap::<Key, u32>::new()));
    let mut passes = JoinSet::new();
    loop {
        while passes.len() >= workers {
            passes.join_next().await;
        }
        let key = tokio::select! {
            key = queue.next() => key,
            Some(_) = passes.join_next() => continue,
        };
        let (reconcile, queue) = (Arc::clone(&reconcile), queue.clone());
        let (failures, metrics) = (Arc::clone(&failures), metrics.clone());
        passes.spawn(async move {
            let _pass = Pass { queue: &queue, key: &key };
            let begun = Instant::now();
            let outcome = match tokio::time::timeout(LONGEST_PASS, reconcile.reconcile(&key)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(Failure::new(Retry::Backoff, "TookTooLong", "a pass took too long and was given up")),
            };
            metrics.passed(name, begun.elapsed(), outcome.as_ref().err());
            match outcome {
                Ok(next) => {
                    failures.lock().remove(&key);
                    if let Next::After(delay) = next {
                        queue.add_after(key.clone(), delay);
                    }
                }
                Err(failure) => {
                    let count = {
                        let mut failures = failures.lock();
                        let count = failures.entry(key.clone()).or_default();
                        *count += 1;
                        *count
                    };
                    match failure.retry {
                        Retry::Soon => tracing::debug!(controller = name, %key, error = %failure.chain(), "again soon"),
                        // What only begins to answer is no news yet.
                        Retry::Backoff if count == 1 && failure.reason == API_UNAVAILABLE => {
                            tracing::debug!(controller = name, %key, error = %failure.chain(), "a pass failed once");
                        }
                        _ => tracing::warn!(controller = name, %key, error = %failure.chain(), "a pass failed"),
                    }
                    if let Some(delay) = failure.delay(count) {
                        queue.add_after(key.clone(), delay);
                    }
                }
            }
        });
    }
}

/// Gives the key back even when a pass panics.
struct Pass<'a> {
    queue: &'a Queue,
    key: &'a Key,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.queue.add_after(self.key.clone(), AFTER_PANIC);
        }
        self.queue.done(self.key);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    struct Scripted {
        passes: Mutex<Vec<Result<Next, Failure>>>,
        seen: mpsc::UnboundedSender<(Key, Instant)>,
    }

    impl Reconcile for Scripted {
        async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
            self.seen.send((key.clone(), Instant::now())).unwrap();
            self.passes.lock().pop().unwrap_or(Ok(Next::Rest))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_is_repeated_as_its_outcome_says() {
        let (seen, mut passes) = mpsc::unbounded_channel();
        let failing = |retry| Err(Failure::new(retry, "Test", "no"));
        // Last first.
        let script = vec![
            failing(Retry::Terminal),
            Ok(Next::After(Duration::from_secs(7))),
            failing(Retry::Backoff),
            failing(Retry::Backoff),
        ];
        let reconcile = Arc::new(Scripted { passes: Mutex::new(script), seen });
        let queue = Queue::default();
        let running = tokio::spawn(run("test", reconcile, queue.clone(), 4, Metrics::default()));
        queue.add(Key::cluster("a"));
        let begin = Instant::now();
        let mut times = Vec::new();
        for _ in 0..4 {
            times.push(passes.recv().await.unwrap().1.duration_since(begin).as_millis());
        }
        // 200 ms and 400 ms after failures, 7 s as asked for, and never again after the terminal one.
        assert_eq!(times, [0, 200, 600, 7600]);
        assert!(tokio::time::timeout(Duration::from_secs(3600), passes.recv()).await.is_err());
        running.abort();
    }
}
