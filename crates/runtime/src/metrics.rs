//! What controllers tell Prometheus.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::{Failure, Queue};

/// Figures of all controllers of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    durations: Family<Of, Histogram, fn() -> Histogram>,
    failures: Family<OfFailure, Counter>,
    queues: Queues,
    queue_numbers: Arc<AtomicUsize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfFailure {
    controller: &'static str,
    reason: &'static str,
}

#[derive(Clone, Default)]
struct Queues(Arc<Mutex<HashMap<usize, (&'static str, Queue)>>>);

/// A queue whose depth is scraped as long as this lives.
pub(crate) struct WatchedQueue {
    queues: Queues,
    number: usize,
}

impl Drop for WatchedQueue {
    fn drop(&mut self) {
        self.queues.0.lock().remove(&self.number);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        // From 0.25 ms to 8 s.
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        Self {
            durations: Family::new_with_constructor(histogram),
            failures: Family::default(),
            queues: Queues::default(),
            queue_numbers: Arc::default(),
        }
    }
}

impl Metrics {
    /// Makes the figures part of what is scraped.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("butler_reconcile_duration_seconds", "Duration of passes", self.durations.clone());
        registry.register("butler_reconcile_failures", "Passes that failed", self.failures.clone());
        registry.register_collector(Box::new(self.queues.clone()));
    }

    #[must_use]
    pub(crate) fn watch_queue(&self, controller: &'static str, queue: &Queue) -> WatchedQueue {
        let number = self.queue_numbers.fetch_add(1, Ordering::Relaxed);
        self.queues.0.lock().insert(number, (controller, queue.clone()));
        WatchedQueue { queues: self.queues.clone(), number }
    }

    pub(crate) fn passed(&self, controller: &'static str, took: Duration, failure: Option<&Failure>) {
        self.durations.get_or_create(&Of { controller }).observe(took.as_secs_f64());
        if let Some(failure) = failure {
            self.failures.get_or_create(&OfFailure { controller, reason: failure.reason }).inc();
        }
    }
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.lock().values().map(|(name, queue)| (name, queue.depth()))).finish()
    }
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let depth = ConstGauge::<i64>::new(0);
        let mut family = encoder.encode_descriptor(
            "butler_queue_depth",
            "Keys that wait for a worker",
            None,
            depth.metric_type(),
        )?;
        // Many APIs may run the same controller.
        let mut depths: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (controller, queue) in self.0.lock().values() {
            *depths.entry(controller).or_default() += queue.depth();
        }
        for (controller, depth) in depths {
            let depth = i64::try_from(depth).unwrap_or(i64::MAX);
            ConstGauge::new(depth).encode(family.encode_family(&Of { controller })?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Retry};

    #[test]
    fn queues_passes_and_failures_are_scraped() {
        let metrics = Metrics::default();
        let queue = Queue::default();
        queue.add(Key::cluster("a"));
        let _watched = metrics.watch_queue("test", &queue);
        let _same = metrics.watch_queue("test", &queue);
        drop(metrics.watch_queue("ended", &queue));
        metrics.passed("test", Duration::from_millis(1), Some(&Failure::new(Retry::Soon, "Conflict", "no")));
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "butler_queue_depth{controller=\"test\"} 2",
            "butler_reconcile_duration_seconds_count{controller=\"test\"} 1",
            "butler_reconcile_failures_total{controller=\"test\",reason=\"Conflict\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("ended"), "{text}");
    }
}
