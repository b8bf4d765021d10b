//! Whose turn it is to work on clusters: so many at a time, and nobody all of them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Places for work, given to whoever has the fewest. Clones share them.
#[derive(Clone)]
pub(crate) struct Turns {
    state: Arc<Mutex<State>>,
    /// How many places one party may have.
    share: usize,
}

struct State {
    free: usize,
    /// How many places a party has.
    taken: HashMap<String, usize>,
    waiting: VecDeque<(String, oneshot::Sender<Turn>)>,
}

/// A place, until it is dropped.
pub(crate) struct Turn {
    turns: Turns,
    party: String,
}

impl Turns {
    /// So many places, and so many of them for one party.
    pub(crate) fn new(places: usize, share: usize) -> Self {
        let state = State { free: places, taken: HashMap::new(), waiting: VecDeque::new() };
        Self { state: Arc::new(Mutex::new(state)), share }
    }

    /// Waits for a place, which costs none.
    pub(crate) async fn wait(&self, party: &str) -> Option<Turn> {
        let (sender, receiver) = oneshot::channel();
        self.state.lock().waiting.push_back((party.to_owned(), sender));
        self.hand_out();
        receiver.await.ok()
    }

    /// Gives free places to those who wait.
    fn hand_out(&self) {
        while let Some((party, sender)) = self.next() {
            // Whoever does not wait any more gives it back by dropping it.
            let _ = sender.send(Turn { turns: self.clone(), party });
        }
    }

    /// Takes a place for whoever comes next, if there is one.
    fn next(&self) -> Option<(String, oneshot::Sender<Turn>)> {
        let mut state = self.state.lock();
        state.waiting.retain(|(_, sender)| !sender.is_closed());
        let State { free, taken, waiting } = &mut *state;
        let has = |party: &String| taken.get(party).copied().unwrap_or(0);
        let may = waiting.iter().enumerate().filter(|(_, (party, _))| *free > 0 && has(party) < self.share);
        let (index, _) = may.min_by_key(|(_, (party, _))| has(party))?;
        let (party, sender) = waiting.remove(index)?;
        *free -= 1;
        *taken.entry(party.clone()).or_default() += 1;
        Some((party, sender))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        {
            let mut state = self.turns.state.lock();
            state.free += 1;
            if let Some(taken) = state.taken.get_mut(&self.party) {
                *taken -= 1;
                if *taken == 0 {
                    state.taken.remove(&self.party);
                }
            }
        }
        self.turns.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn nobody_takes_all_places() {
        let turns = Turns::new(3, 2);
        let (first, second) = (turns.wait("a").await, turns.wait("a").await);
        let (mut third, mut fourth) = (Box::pin(turns.wait("a")), Box::pin(turns.wait("a")));
        assert!(third.as_mut().now_or_never().is_none() && fourth.as_mut().now_or_never().is_none());
        // There is a place for somebody else.
        let other = turns.wait("b").now_or_never().flatten();
        assert!(other.is_some());
        drop(other);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.now_or_never().flatten().is_some());
        // Whoever waits no more does not keep the others from it.
        drop(fourth);
        drop(second);
        let all = [turns.wait("a").await, turns.wait("a").await, turns.wait("b").await];
        assert!(all.iter().all(Option::is_some));
    }

    #[tokio::test]
    async fn whoever_has_the_fewest_comes_next() {
        let turns = Turns::new(2, 2);
        let (one, two) = (turns.wait("a").await, turns.wait("a").await);
        let (mut same, mut other) = (Box::pin(turns.wait("a")), Box::pin(turns.wait("b")));
        assert!(same.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        drop(one);
        assert!(same.as_mut().now_or_never().is_none());
        assert!(other.now_or_never().flatten().is_some());
        drop(two);
        assert!(same.now_or_never().flatten().is_some());
    }
}
