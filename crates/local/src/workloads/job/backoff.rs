//! When a Job may try again after pods failed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use crate::workloads::pods::phase;

/// The wait after one failure; it doubles with every further one.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
/// The longest wait.
const LONGEST: SignedDuration = SignedDuration::from_secs(600);

/// The moment before which no new pod is made.
pub(super) fn retry_at(pods: &[Arc<Pod>]) -> Option<Timestamp> {
    let ends = |wanted: &str| {
        let wanted = wanted.to_owned();
        pods.iter().filter(move |pod| phase(pod) == wanted).filter_map(|pod| ended_at(pod))
    };
    let success = ends("Succeeded").max().unwrap_or(Timestamp::MIN);
    let failures: Vec<Timestamp> = ends("Failed").filter(|at| *at > success).collect();
    let doublings = u32::try_from(failures.len().saturating_sub(1)).unwrap_or(u32::MAX).min(6);
    let wait = (FIRST * 2_i32.pow(doublings)).min(LONGEST);
    failures.into_iter().max()?.checked_add(wait).ok()
}

/// When the last container of a pod ended; without a word about it, when the pod was made.
fn ended_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let ended = statuses.filter_map(|status| status.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref());
    ended.map(|time| time.0).max().or_else(|| pod.metadata.creation_timestamp.as_ref().map(|time| time.0))
}
