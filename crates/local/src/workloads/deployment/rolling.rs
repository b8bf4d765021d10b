//! How many pods each set should have on the way from one template to the next.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::workloads::rounding::{Round, resolve};

/// What a rollout must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The number of pods at the end.
    pub(crate) wanted: i32,
    /// So many more there may be meanwhile.
    pub(crate) surge: i32,
    /// So many less may be available meanwhile.
    pub(crate) unavailable: i32,
}

/// One set in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The number of pods it should have.
    pub(crate) size: i32,
    /// How many of them are available.
    pub(crate) available: i32,
}

/// Whether all old pods must end before the first new one begins.
pub(crate) fn recreates(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate")
}

impl Limits {
    pub(crate) fn of(deployment: &Deployment) -> Self {
        let wanted = wanted(deployment);
        if recreates(deployment) {
            return Self { wanted, surge: 0, unavailable: 0 };
        }
        let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
        let given = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let quarter = IntOrString::String("25%".into());
        let surge = given.and_then(|given| given.max_surge.as_ref()).unwrap_or(&quarter);
        let unavailable = given.and_then(|given| given.max_unavailable.as_ref()).unwrap_or(&quarter);
        let surge = resolve(surge, wanted, Round::Up);
        let unavailable = match resolve(unavailable, wanted, Round::Down) {
            // Both rounded to nothing would never move.
            0 if surge == 0 => 1,
            count => count,
        };
        Self { wanted, surge, unavailable: unavailable.min(wanted) }
    }

    pub(crate) fn max_total(self) -> i32 {
        self.wanted.saturating_add(self.surge)
    }

    pub(crate) fn min_available(self) -> i32 {
        self.wanted - self.unavailable
    }

    /// The size of the new set when it may grow as far as the limit lets it.
    pub(crate) fn grown(self, new: i32, total: i32) -> i32 {
        let room = (self.max_total() - total).max(0);
        new + room.min(self.wanted - new).max(0)
    }
}

/// The number of pods a Deployment should have.
pub(crate) fn wanted(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// The next step: sizes of the new set and of the old ones, oldest first.
pub(crate) fn step(limits: Limits, new: Counted, old: &[Counted]) -> (i32, Vec<i32>) {
    let sizes: Vec<i32> = old.iter().map(|set| set.size).collect();
    let total = new.size + sizes.iter().sum::<i32>();
    if new.size > limits.wanted {
        return (limits.wanted, sizes);
    }
    let grown = limits.grown(new.size, total);
    if grown != new.size {
        return (grown, sizes);
    }
    (new.size, shrunk(limits, new, old, total))
}

/// The sizes of the old sets: those that are of no use go first, then as many others as are not needed any more.
fn shrunk(limits: Limits, new: Counted, old: &[Counted], total: i32) -> Vec<i32> {
    let mut sizes: Vec<i32> = old.iter().map(|set| set.size).collect();
    let pending = (new.size - new.available).max(0);
    let mut spare = total - limits.min_available() - pending;
    if spare <= 0 {
        return sizes;
    }
    for (size, set) in sizes.iter_mut().zip(old) {
        let useless = (set.size - set.available).clamp(0, spare);
        *size -= useless;
        spare -= useless;
    }
    let available = |set: &Counted| set.available.min(set.size);
    let mut surplus = available(&new) + old.iter().map(available).sum::<i32>() - limits.min_available();
    for size in &mut sizes {
        let dispensable = surplus.clamp(0, *size);
        *size -= dispensable;
        surplus -= dispensable;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counted(size: i32, available: i32) -> Counted {
        Counted { size, available }
    }

    #[test]
    fn limits_come_from_counts_and_percentages() {
        for (wanted, strategy, surge, unavailable) in [
            (10, json!({"type": "RollingUpdate"}), 3, 2),
            (10, json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}), 1, 0),
            (1, json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}), 1, 0),
            (3, json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}), 0, 1),
            (2, json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 5}}), 0, 2),
            (2, json!({"type": "Recreate"}), 0, 0),
        ] {
            let deployment: Deployment = serde_json::from_value(json!({
                "spec": {"replicas": wanted, "strategy": strategy, "selector": {}, "template": {}}}))
            .unwrap();
            assert_eq!(Limits::of(&deployment), Limits { wanted, surge, unavailable }, "{strategy}");
        }
    }

    #[test]
    fn a_rollout_takes_these_steps() {
        let limits = Limits { wanted: 4, surge: 1, unavailable: 1 };
        for (why, new, old, expected) in [
            ("grows up to the limit", counted(0, 0), vec![counted(4, 4)], (1, vec![4])),
            ("shrinks what is spare", counted(1, 0), vec![counted(4, 4)], (1, vec![3])),
            ("grows into the room", counted(1, 0), vec![counted(3, 3)], (2, vec![3])),
            ("waits for new pods", counted(2, 0), vec![counted(3, 3)], (2, vec![3])),
            ("goes on when they are there", counted(2, 2), vec![counted(3, 3)], (2, vec![1])),
            ("ends", counted(4, 4), vec![counted(1, 1)], (4, vec![0])),
            ("rests", counted(4, 4), vec![counted(0, 0)], (4, vec![0])),
            ("broken pods go first", counted(1, 0), vec![counted(2, 0), counted(2, 2)], (1, vec![1, 2])),
            ("is too large", counted(6, 4), vec![counted(1, 1)], (4, vec![1])),
        ] {
            assert_eq!(step(limits, new, &old), expected, "{why}");
        }
    }
}
