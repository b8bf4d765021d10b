//! What controllers tell Prometheus.

use std::sync::Arc;
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
struct Queues(Arc<Mutex<Vec<(&'static str, Queue)>>>);

impl Default for Metrics {
    fn default() -> Self {
        // From 0.25 ms to 8 s.
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        Self {
            durations: Family::new_with_constructor(histogram),
            failures: Family::default(),
            queues: Queues::default(),
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

    pub(crate) fn watch_queue(&self, controller: &'static str, queue: &Queue) {
        self.queues.0.lock().push((controller, queue.clone()));
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
        f.debug_list().entries(self.0.lock().iter().map(|(name, queue)| (name, queue.depth()))).finish()
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
        for (controller, queue) in self.0.lock().iter() {
            let depth = i64::try_from(queue.depth()).unwrap_or(i64::MAX);
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
        metrics.watch_queue("test", &queue);
        metrics.passed("test", Duration::from_millis(1), Some(&Failure::new(Retry::Soon, "Conflict", "no")));
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "butler_queue_depth{controller=\"test\"} 1",
            "butler_reconcile_duration_seconds_count{controller=\"test\"} 1",
            "butler_reconcile_failures_total{controller=\"test\",reason=\"Conflict\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
