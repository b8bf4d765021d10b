//! What an API counts about itself.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::api::Inner;

/// What one request was.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Stored {
    resource: String,
}

/// Counters of one API. They cost nothing until something happens.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Family<Request, Counter>,
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn answered(&self, request: &Request) {
        self.requests.get_or_create(request).inc();
    }
}

/// All metrics of an API, as Prometheus reads them.
pub(crate) fn text(api: &Inner) -> String {
    let mut registry = Registry::default();
    registry.register("apiserver_request", "Requests answered", api.metrics.requests.clone());
    let objects: Family<Stored, Gauge> = Family::default();
    let prefix = format!("{}/", api.name);
    for collection in api.store.collections(&prefix) {
        let resource = collection.name().strip_prefix(&prefix).unwrap_or_default().trim_end_matches('.').to_owned();
        let count = i64::try_from(collection.len()).unwrap_or(i64::MAX);
        objects.get_or_create(&Stored { resource }).set(count);
    }
    registry.register("apiserver_storage_objects", "Objects stored", objects);
    let gauge = |value: u64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        gauge
    };
    registry.register("kapi_store_revision", "The latest revision of the store", gauge(api.store.revision()));
    registry.register("kapi_store_objects", "Objects in the store, of all its APIs", gauge(api.store.objects()));
    registry.register(
        "kapi_store_superseded",
        "Former versions that are kept as history",
        gauge(api.store.superseded()),
    );
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = encode_registry(&mut out, &registry);
    if let Some(further) = &api.options.further_metrics {
        further(&mut out);
    }
    let _ = encode_eof(&mut out);
    out
}
