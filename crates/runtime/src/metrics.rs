//! What controllers tell Prometheus.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use butler_api::shared::Blocker;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::{Failure, Key, Queue};

/// Figures of all controllers of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    durations: Family<Of, Histogram, fn() -> Histogram>,
    failures: Family<OfFailure, Counter>,
    queues: Queues,
    queue_numbers: Arc<AtomicUsize>,
    blockers: Blockers,
    counts: Counts,
    timings: Arc<Mutex<BTreeMap<&'static str, Histogram>>>,
}

/// Figures that are counted when somebody asks for them.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<Vec<Count>>>);

struct Count {
    name: &'static str,
    help: &'static str,
    label: &'static str,
    read: Box<dyn Fn() -> Vec<String> + Send>,
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfBlocker {
    controller: &'static str,
    reason: String,
}

/// Reasons why objects wait, of those that do.
#[derive(Clone, Debug, Default)]
struct Blockers(Arc<Mutex<Waiting>>);

type Waiting = BTreeMap<(&'static str, Key), Vec<String>>;

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
            blockers: Blockers::default(),
            counts: Counts::default(),
            timings: Arc::default(),
        }
    }
}

impl Metrics {
    fn register(&self, registry: &mut Registry) {
        registry.register("butler_reconcile_duration_seconds", "Duration of passes", self.durations.clone());
        registry.register("butler_reconcile_failures", "Passes that failed", self.failures.clone());
        registry.register_collector(Box::new(self.queues.clone()));
        registry.register_collector(Box::new(self.blockers.clone()));
        registry.register_collector(Box::new(self.counts.clone()));
        for (name, histogram) in self.timings.lock().iter() {
            registry.register(*name, "How long it took", histogram.clone());
        }
    }

    /// All figures as Prometheus reads them, without the mark of the end.
    pub fn text(&self) -> String {
        let mut registry = Registry::default();
        self.register(&mut registry);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode_registry(&mut text, &registry);
        text
    }

    /// What an object waits for now. One that waits for nothing, or is gone, takes no room.
    pub fn blocked(&self, controller: &'static str, object: &Key, blockers: &[Blocker]) {
        let reasons: Vec<String> = blockers.iter().map(|blocker| blocker.reason.clone()).collect();
        let mut all = self.blockers.0.lock();
        match reasons.is_empty() {
            true => all.remove(&(controller, object.clone())),
            false => all.insert((controller, object.clone()), reasons),
        };
    }

    /// Counts things by the value of one label, whenever somebody asks. `read` names the value of each thing there is.
    pub fn count_by(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> Vec<String> + Send + 'static,
    ) {
        let mut counts = self.counts.0.lock();
        counts.retain(|known| known.name != name);
        counts.push(Count { name, help, label, read: Box::new(read) });
    }

    /// Something that takes seconds to minutes came to its end.
    pub fn took(&self, name: &'static str, duration: jiff::SignedDuration) {
        // From a quarter of a second to two hours.
        let histogram = || Histogram::new(exponential_buckets(0.25, 2.0, 16));
        self.timings.lock().entry(name).or_insert_with(histogram).observe(duration.as_secs_f64());
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

impl Collector for Blockers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let kind = ConstGauge::<i64>::new(0).metric_type();
        let mut family = encoder.encode_descriptor("butler_blockers", "What objects wait for", None, kind)?;
        let mut counts: BTreeMap<(&'static str, String), i64> = BTreeMap::new();
        for ((controller, _), reasons) in self.0.lock().iter() {
            for reason in reasons {
                *counts.entry((controller, reason.clone())).or_default() += 1;
            }
        }
        for ((controller, reason), count) in counts {
            ConstGauge::new(count).encode(family.encode_family(&OfBlocker { controller, reason })?)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.lock().iter().map(|count| count.name)).finish()
    }
}

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let kind = ConstGauge::<i64>::new(0).metric_type();
        for count in self.0.lock().iter() {
            let mut family = encoder.encode_descriptor(count.name, count.help, None, kind)?;
            let mut numbers: BTreeMap<String, i64> = BTreeMap::new();
            for value in (count.read)() {
                *numbers.entry(value).or_default() += 1;
            }
            for (value, number) in numbers {
                ConstGauge::new(number).encode(family.encode_family(&[(count.label, value)])?)?;
            }
        }
        Ok(())
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
        for (object, reasons) in [("a", ["Full", "Slow"].as_slice()), ("b", &["Full"]), ("c", &["Gone"]), ("c", &[])] {
            let blocker = |reason: &&str| -> Blocker {
                serde_json::from_value(serde_json::json!({"reason": reason, "message": ""})).unwrap()
            };
            metrics.blocked("test", &Key::cluster(object), &reasons.iter().map(blocker).collect::<Vec<_>>());
        }
        metrics.count_by("butler_things", "Things by colour", "colour", || {
            vec!["red".into(), "blue".into(), "red".into()]
        });
        metrics.took("butler_making_seconds", jiff::SignedDuration::from_secs(3));
        let text = metrics.text();
        for line in [
            "butler_things{colour=\"red\"} 2",
            "butler_making_seconds_count 1",
            "butler_blockers{controller=\"test\",reason=\"Full\"} 2",
            "butler_blockers{controller=\"test\",reason=\"Slow\"} 1",
            "butler_queue_depth{controller=\"test\"} 2",
            "butler_reconcile_duration_seconds_count{controller=\"test\"} 1",
            "butler_reconcile_failures_total{controller=\"test\",reason=\"Conflict\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
        for absent in ["ended", "Gone", "# EOF"] {
            assert!(!text.contains(absent), "{text}");
        }
    }
}
