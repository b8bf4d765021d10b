//! Which machines of this data centre are alive: what thousands of leases would say every few seconds, kept in one table.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

/// For how long a machine that ended is known as dead: its node goes sooner.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The machines that are alive, and since when others are not, by provider id. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pulse {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    machines: RwLock<HashMap<Box<str>, Machine>>,
    /// Those that are no more, the latest last, for a while.
    ended: Mutex<VecDeque<(Instant, Box<str>)>>,
    stopped: watch::Sender<()>,
}

#[derive(Clone, Copy, Debug)]
enum Machine {
    Alive,
    StoppedAt(Timestamp),
}

impl Pulse {
    /// Says that a machine is alive from now on.
    pub fn beats(&self, provider_id: &str) {
        self.shared.machines.write().insert(provider_id.into(), Machine::Alive);
    }

    /// Says that a machine is not alive. Since when, is when that was said first.
    pub fn stops(&self, provider_id: &str, now: Timestamp) {
        let mut machines = self.shared.machines.write();
        if !matches!(machines.get(provider_id), Some(Machine::StoppedAt(_))) {
            machines.insert(provider_id.into(), Machine::StoppedAt(now));
            drop(machines);
            self.shared.stopped.send_replace(());
        }
    }

    /// Forgets a machine that is no more.
    pub fn ends(&self, provider_id: &str) {
        if self.shared.machines.write().remove(provider_id).is_some() {
            let mut ended = self.shared.ended.lock();
            while ended.front().is_some_and(|(at, _)| at.elapsed() > REMEMBERED) {
                ended.pop_front();
            }
            ended.push_back((Instant::now(), provider_id.into()));
            drop(ended);
            self.shared.stopped.send_replace(());
        }
    }

    pub(crate) fn is_alive(&self, provider_id: &str) -> bool {
        matches!(self.shared.machines.read().get(provider_id), Some(Machine::Alive))
    }

    /// Whether a machine of this data centre has stopped, or ended lately. Nobody knows that of others.
    pub(crate) fn is_dead(&self, provider_id: &str) -> bool {
        match self.shared.machines.read().get(provider_id) {
            Some(machine) => matches!(machine, Machine::StoppedAt(_)),
            None => self.shared.ended.lock().iter().any(|(_, ended)| **ended == *provider_id),
        }
    }

    /// When a machine was last alive; nothing for one that is not of this data centre.
    pub(crate) fn last(&self, provider_id: &str, now: Timestamp) -> Option<Timestamp> {
        self.shared.machines.read().get(provider_id).map(|machine| match machine {
            Machine::Alive => now,
            Machine::StoppedAt(at) => *at,
        })
    }

    /// Changes whenever a machine stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<()> {
        self.shared.stopped.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_alive_until_it_stops_and_that_is_when_it_was_said_first() {
        let (pulse, at) = (Pulse::default(), |second| Timestamp::from_second(second).unwrap());
        let mut stopping = pulse.stopping();
        assert_eq!((pulse.is_alive("a"), pulse.last("a", at(1))), (false, None));
        assert!(!pulse.is_dead("a"), "nobody has said so");
        pulse.beats("a");
        assert_eq!((pulse.is_alive("a"), pulse.last("a", at(2))), (true, Some(at(2))));
        assert!(!stopping.has_changed().unwrap());
        pulse.stops("a", at(3));
        pulse.stops("a", at(4));
        assert_eq!((pulse.is_alive("a"), pulse.last("a", at(5))), (false, Some(at(3))));
        assert!(pulse.is_dead("a"));
        assert!(stopping.has_changed().unwrap());
        stopping.mark_unchanged();
        pulse.beats("a");
        assert!(pulse.is_alive("a") && !pulse.is_dead("a"));
        pulse.ends("a");
        assert!(pulse.is_dead("a"));
        assert!(stopping.has_changed().unwrap());
        assert_eq!(pulse.last("a", at(6)), None);
    }
}
