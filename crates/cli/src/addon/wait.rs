//! `--wait`: following an addon, and showing the way.

use std::time::Duration;

use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use butler_api::shared::BlockerOwner;
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
    let mut said = String::new();
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
            let line =
                object.map(|object| object.status()).transpose()?.map(|status| line(&status)).unwrap_or_default();
            if line != said {
                tell(&format!("  {line}"));
                said = line;
            }
        }
        Err(Failure::failed("the watch ended early"))
    };
    timeout_at(Instant::now() + timeout, following).await.unwrap_or_else(|_| {
        let word = if goal == Goal::Installed { "installed" } else { "gone" };
        Err(Failure::new(Code::TimedOut, format!("{name} is not {word} after {} s", timeout.as_secs())))
    })
}

fn judge(goal: Goal, addon: Option<(&AddonInstallStatus, Option<i64>)>) -> Verdict {
    let Some((status, generation)) = addon else {
        return match goal {
            Goal::Gone => Verdict::Reached,
            Goal::Installed => Verdict::Hopeless("is gone".to_owned()),
        };
    };
    let outdated = status.observed_generation != generation;
    let hold = status.blockers.iter().find(|blocker| blocker.owner != Some(BlockerOwner::Butler));
    match (goal, status.phase) {
        (Goal::Installed, Some(AddonPhase::Installed)) if !outdated => Verdict::Reached,
        (Goal::Installed, Some(AddonPhase::Failed)) if !outdated => {
            Verdict::Hopeless(format!("failed: {}", plain(status.message.as_deref().unwrap_or_default())))
        }
        (Goal::Gone, _)
            if hold.is_some_and(|hold| ["PlatformAddon", "StillNeeded"].contains(&hold.reason.as_str())) =>
        {
            let told = hold.map(|hold| plain(&hold.message)).unwrap_or_default();
            let remedy = hold.and_then(|hold| hold.remedy.as_deref()).map(|remedy| format!(" ({})", plain(remedy)));
            Verdict::Hopeless(format!("stays: {told}{}", remedy.unwrap_or_default()))
        }
        _ => Verdict::NotYet,
    }
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
}
