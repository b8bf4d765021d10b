//! How the controllers of this crate are run.

use std::sync::Arc;

use runtime::{Metrics, Queue, Reconcile};

/// How many passes of one controller run at a time in one API.
const WORKERS: usize = 4;

/// A controller and what wakes it.
pub(crate) trait Controller: Reconcile {
    /// Its name in metrics and logs.
    const NAME: &'static str;
    /// How many passes run at a time.
    const WORKERS: usize = WORKERS;

    /// Queues whatever a change concerns.
    fn subscribe(&self, queue: &Queue);
}

/// Runs a controller until dropped.
pub(crate) async fn serve<C: Controller>(controller: C, metrics: &Metrics) {
    serve_queue(controller, Queue::default(), metrics).await;
}

/// The same, with a queue that others look at.
pub(crate) async fn serve_queue<C: Controller>(controller: C, queue: Queue, metrics: &Metrics) {
    controller.subscribe(&queue);
    runtime::run(C::NAME, Arc::new(controller), queue, C::WORKERS, metrics.clone()).await;
}
