//! `--wait`: following an addon, and showing the way.

use std::collections::HashSet;
use std::time::Duration;

use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use butler_api::shared::{Blocker, BlockerOwner, ConditionStatus};
use fleet::addon::{INSTALLED, NO_WORKERS, PAUSED};
use fleet::cluster::ASLEEP;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::time::{Instant, timeout_at};

use super::found::Found;
use crate::cluster::next;
use crate::failure::{Code, Failure, Outcome};
use crate::screen::{plain, tell};
use crate::session::Session;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Installed,
    Gone,
}

/// How far an addon is from a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Reached,
    NotYet,
    Hopeless(String),
}

/// Follows an addon until it has reached the goal.
pub(crate) async fn follow(session: &Session, found: &Found, goal: Goal, timeout: Duration) -> Outcome {
    let (name, uid) = (found.name(), found.object.metadata.uid.clone());
    let mut states = std::pin::pin!(watcher::watch_object(found.api(session), &name).default_backoff());
    let mut told = Told::default();
    let following = async {
        while let Some(state) = next(&mut states).await? {
            let state = state.filter(|object| object.metadata.uid == uid);
            let object = state.map(|object| Found { object, ..found.clone() });
            let verdict = match &object {
                None => judge(goal, None),
                Some(object) => judge(goal, Some((&object.status()?, object.object.metadata.generation))),
            };
            match verdict {
                Verdict::Reached => return Ok(()),
                Verdict::Hopeless(why) => {
                    return Err(Failure::failed(format!(
                        "{name} {why}; `{} addon status {name}` says more",
                        found.ground.program()
                    )));
                }
                Verdict::NotYet => {}
            }
            let Some(object) = object else { continue };
            let status = object.status()?;
            let is_of_wish = goal == Goal::Gone || status.observed_generation == object.object.metadata.generation;
            told.hear(&status, is_of_wish).into_iter().for_each(|line| tell(&format!("  {line}")));
        }
        Err(Failure::failed("the watch ended early"))
    };
    let ended = timeout_at(Instant::now() + timeout, following).await;
    ended.unwrap_or_else(|_| Err(Failure::new(Code::TimedOut, too_late(&name, goal, timeout, &told))))
}

fn too_late(name: &str, goal: Goal, timeout: Duration, told: &Told) -> String {
    let word = if goal == Goal::Installed { "installed" } else { "gone" };
    let last = Some(&told.last).filter(|last| !last.is_empty()).map(|last| format!(": {last}"));
    format!("{name} is not {word} after {} s{}", timeout.as_secs(), last.unwrap_or_default())
}

/// What was told on the way.
#[derive(Default)]
struct Told {
    phase: Option<AddonPhase>,
    /// What all that was told in this phase is about.
    gists: HashSet<String>,
    last: String,
}

impl Told {
    /// What is new in a status beyond how many pods there are by now. What is not of what is asked for now is no news.
    fn hear(&mut self, status: &AddonInstallStatus, is_of_wish: bool) -> Option<String> {
        if !is_of_wish {
            "Butler has not seen yet what is asked for".clone_into(&mut self.last);
            return None;
        }
        if self.phase != status.phase {
            (self.phase, self.gists) = (status.phase, HashSet::new());
        }
        self.last = line(status);
        self.gists.insert(gist(&self.last)).then(|| self.last.clone())
    }
}

/// What a line is about. How many pods are how far changes all the time.
fn gist(line: &str) -> String {
    const NOT_READY: &str = "is not ready: ";
    let end = line.find(NOT_READY).map(|at| at + NOT_READY.len());
    let counts = |from: usize| {
        let is_count = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()) || rest.starts_with("generation ");
        line.get(from..).is_some_and(is_count)
    };
    end.filter(|end| counts(*end)).and_then(|end| line.get(..end)).unwrap_or(line).to_owned()
}

fn judge(goal: Goal, addon: Option<(&AddonInstallStatus, Option<i64>)>) -> Verdict {
    let Some((status, generation)) = addon else {
        return match goal {
            Goal::Gone => Verdict::Reached,
            Goal::Installed => Verdict::Hopeless("is gone".to_owned()),
        };
    };
    if status.observed_generation != generation && goal == Goal::Installed {
        return Verdict::NotYet;
    }
    let held = |reasons: &[&str]| status.blockers.iter().find(|blocker| reasons.contains(&blocker.reason.as_str()));
    let is_missing = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == INSTALLED && condition.status != ConditionStatus::True);
    match (goal, status.phase) {
        (Goal::Installed, Some(AddonPhase::Installed)) if !is_missing => Verdict::Reached,
        (Goal::Installed, Some(AddonPhase::Failed)) => {
            Verdict::Hopeless(format!("failed: {}", plain(status.message.as_deref().unwrap_or_default())))
        }
        (Goal::Installed, _) => {
            // Workers that are on their way are worth waiting for.
            let no_workers = held(&[NO_WORKERS]).filter(|hold| hold.owner == Some(BlockerOwner::User));
            held(&[PAUSED, ASLEEP]).or(no_workers).map_or(Verdict::NotYet, |hold| hopeless("waits", hold))
        }
        (Goal::Gone, _) => {
            let stays = held(&["PlatformAddon"]).map(|hold| hopeless("stays", hold));
            // It goes as soon as somebody has done their part; what was told before it was to go is no reason to stay.
            let is_told = status.phase == Some(AddonPhase::Uninstalling);
            let waits = held(&["StillNeeded", PAUSED, ASLEEP]).filter(|_| is_told);
            let waits = waits.map(|hold| hopeless("is to go, and waits", hold));
            stays.or(waits).unwrap_or(Verdict::NotYet)
        }
    }
}

/// What waiting does not bring, and what does.
fn hopeless(word: &str, hold: &Blocker) -> Verdict {
    let told =
        std::iter::once(&hold.message).chain(&hold.evidence).map(|text| plain(text)).collect::<Vec<_>>().join("; ");
    let remedy = hold.remedy.as_deref().map(|remedy| format!(" ({})", plain(remedy)));
    Verdict::Hopeless(format!("{word}: {told}{}", remedy.unwrap_or_default()))
}

fn line(status: &AddonInstallStatus) -> String {
    let phase = status.phase.map_or("Pending", AddonPhase::as_str);
    match status.message.as_deref().filter(|message| !message.is_empty()) {
        Some(message) => format!("{phase}: {}", plain(message)),
        None => phase.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_wish_is_waited_for() {
        let paused = json!({"reason": "Paused", "message": "it is paused", "owner": "User", "remedy": "resume it"});
        let asleep = json!({"reason": "Asleep", "message": "c is asleep", "owner": "User", "remedy": "wake it"});
        let no_workers = |owner: &str| json!({"reason": "NoWorkers", "message": "c has no workers", "owner": owner, "remedy": "scale it"});
        let installed = json!({"type": "Installed", "status": "True"});
        let not_installed = json!({"type": "Installed", "status": "False"});
        for (goal, generation, status, expected) in [
            (Goal::Installed, 1, json!({"phase": "Installed", "observedGeneration": 1}), Verdict::Reached),
            (Goal::Installed, 2, json!({"phase": "Installed", "observedGeneration": 1}), Verdict::NotYet),
            (Goal::Installed, 2, json!({"phase": "Failed", "observedGeneration": 1}), Verdict::NotYet),
            (
                Goal::Installed,
                1,
                json!({"phase": "Failed", "observedGeneration": 1, "message": "no"}),
                Verdict::Hopeless("failed: no".into()),
            ),
            (
                Goal::Installed,
                2,
                json!({"phase": "Installed", "observedGeneration": 2, "conditions": [not_installed], "blockers": [paused]}),
                Verdict::Hopeless("waits: it is paused (resume it)".into()),
            ),
            (
                Goal::Installed,
                2,
                json!({"phase": "Installed", "observedGeneration": 1, "conditions": [not_installed], "blockers": [paused]}),
                Verdict::NotYet,
            ),
            (
                Goal::Installed,
                1,
                json!({"phase": "Pending", "observedGeneration": 1, "blockers": [asleep]}),
                Verdict::Hopeless("waits: c is asleep (wake it)".into()),
            ),
            (
                Goal::Installed,
                1,
                json!({"phase": "Installing", "observedGeneration": 1, "blockers": [no_workers("User")]}),
                Verdict::Hopeless("waits: c has no workers (scale it)".into()),
            ),
            (
                Goal::Installed,
                1,
                json!({"phase": "Installing", "observedGeneration": 1, "blockers": [no_workers("Butler")]}),
                Verdict::NotYet,
            ),
            (
                Goal::Gone,
                1,
                json!({"phase": "Uninstalling", "blockers": [asleep]}),
                Verdict::Hopeless("is to go, and waits: c is asleep (wake it)".into()),
            ),
            // What is paused and was installed before is what is asked for.
            (
                Goal::Installed,
                1,
                json!({"phase": "Installed", "observedGeneration": 1, "conditions": [installed], "blockers": [paused]}),
                Verdict::Reached,
            ),
            (Goal::Gone, 1, json!({"phase": "Installed", "blockers": [paused]}), Verdict::NotYet),
            (
                Goal::Gone,
                1,
                json!({"phase": "Uninstalling", "blockers": [paused]}),
                Verdict::Hopeless("is to go, and waits: it is paused (resume it)".into()),
            ),
            (
                Goal::Gone,
                1,
                json!({"phase": "Uninstalling", "blockers": [{"reason": "StillNeeded", "message": "others need it", "owner": "User",
                    "remedy": "remove them first", "evidence": ["c-m depends on it"]}]}),
                Verdict::Hopeless("is to go, and waits: others need it; c-m depends on it (remove them first)".into()),
            ),
            (
                Goal::Gone,
                1,
                json!({"phase": "Uninstalling", "blockers": [{"reason": "DependentsFirst", "message": "later", "owner": "Butler"}]}),
                Verdict::NotYet,
            ),
            (
                Goal::Gone,
                1,
                json!({"phase": "Installed", "blockers": [{"reason": "PlatformAddon", "message": "kept", "owner": "User", "remedy": "annotate it"}]}),
                Verdict::Hopeless("stays: kept (annotate it)".into()),
            ),
        ] {
            let status = serde_json::from_value(status).unwrap();
            assert_eq!(judge(goal, Some((&status, Some(generation)))), expected);
        }
        assert_eq!(judge(Goal::Gone, None), Verdict::Reached);
    }

    #[test]
    fn the_same_is_told_once_however_many_pods_there_are() {
        let mut told = Told::default();
        let not_ready = |what: &str| format!("a workload does not run: {what}");
        for (phase, message, expected) in [
            ("Upgrading", "1.0.0 is being changed to 1.4.0".to_owned(), true),
            ("Upgrading", not_ready("Deployment a/a is not ready: 0 of 2 pods are up to date"), true),
            ("Upgrading", not_ready("Deployment a/a is not ready: 1 of 2 pods are up to date"), false),
            ("Upgrading", not_ready("Deployment a/a is not ready: generation 2 is not seen yet, only 1"), false),
            ("Upgrading", not_ready("Deployment a/b is not ready: 0 of 1 pods are there"), true),
            ("Upgrading", not_ready("Deployment a/a is not ready: 1 pod is still to go"), false),
            ("Upgrading", not_ready("Deployment a/a is not ready: pod a-1 cannot be scheduled: no"), true),
            ("Degraded", not_ready("Deployment a/a is not ready: 1 pod is still to go"), true),
        ] {
            let status = serde_json::from_value(json!({"phase": phase, "message": message})).unwrap();
            let line = format!("{phase}: {message}");
            assert_eq!((told.hear(&status, true), &told.last), (expected.then(|| line.clone()), &line));
        }
        let timeout = Duration::from_secs(5);
        assert_eq!(
            too_late("c-l", Goal::Installed, timeout, &told),
            format!("c-l is not installed after 5 s: {}", told.last)
        );
        assert_eq!(too_late("c-l", Goal::Gone, timeout, &Told::default()), "c-l is not gone after 5 s");
        let status = serde_json::from_value(json!({"phase": "Failed", "message": "of before"})).unwrap();
        assert_eq!(told.hear(&status, false), None);
        assert_eq!(
            too_late("c-l", Goal::Installed, timeout, &told),
            "c-l is not installed after 5 s: Butler has not seen yet what is asked for"
        );
    }
}
