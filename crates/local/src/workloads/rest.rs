//! When controllers of an API have nothing to do, and when they have again.

use std::time::Duration;

use kapi::Changes;
use runtime::{Queue, Rest};
use tokio::time::Instant;

use super::placement;
use super::world::World;
use crate::pulse::Pulse;

/// What falls due sooner than this is waited for.
const WORTH_IT: Duration = Duration::from_secs(5 * 60);

/// A rest that has begun.
pub(super) struct Resting {
    until: Option<Instant>,
    /// The machines whose nodes need somebody when they stop.
    machines: Vec<String>,
}

/// Waits until there is nothing to do.
pub(super) async fn reached(world: &World, queues: &[Queue], changes: &mut Changes) -> Resting {
    loop {
        if tokio::time::timeout(world.settings.rest_after, changes.next()).await.is_ok() {
            continue;
        }
        let (until, machines) = (due(queues.iter().map(Queue::rest), Instant::now()), vouched(world));
        if let (Some(Rest { until }), Some(machines)) = (until, machines) {
            return Resting { until, machines };
        }
    }
}

/// For how long all queues rest, if they all do and long enough.
fn due(queues: impl Iterator<Item = Option<Rest>>, now: Instant) -> Option<Rest> {
    let all: Option<Vec<Rest>> = queues.collect();
    let until = all?.into_iter().filter_map(|rest| rest.until).min();
    until.is_none_or(|at| at >= now + WORTH_IT).then_some(Rest { until })
}

/// The machines of all nodes, if all are known to be alive. Others have to be listened to.
fn vouched(world: &World) -> Option<Vec<String>> {
    let nodes = world.nodes.all();
    let machines = nodes.iter().map(|node| placement::machine(node).filter(|id| world.settings.pulse.is_alive(id)));
    machines.map(|id| id.map(str::to_owned)).collect()
}

impl Resting {
    /// Waits until there may be something to do.
    pub(super) async fn over(self, changes: &mut Changes, pulse: &Pulse) {
        let due = async {
            match self.until {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let mut stopping = pulse.stopping();
        let lost = async {
            while self.machines.iter().all(|machine| pulse.is_alive(machine)) {
                // The table is there as long as its machines.
                let _ = stopping.changed().await;
            }
        };
        tokio::select! {
            () = changes.next() => {}
            () = due => {}
            () = lost => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_must_rest_and_for_long_enough_to_be_worth_it() {
        let now = Instant::now();
        let rest = |after: Option<u64>| Some(Rest { until: after.map(|seconds| now + Duration::from_secs(seconds)) });
        for (queues, expected) in [
            (vec![], rest(None)),
            (vec![rest(None), rest(None)], rest(None)),
            (vec![rest(None), None], None),
            (vec![rest(Some(900)), rest(None), rest(Some(600))], rest(Some(600))),
            (vec![rest(Some(900)), rest(Some(299))], None),
        ] {
            assert_eq!(due(queues.clone().into_iter(), now), expected, "{queues:?}");
        }
    }
}
