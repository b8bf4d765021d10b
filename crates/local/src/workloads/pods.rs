//! Facts about pods.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition};

/// Its phase; a new pod is pending.
pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

/// Whether all its containers ended for good.
pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether it is on its way out.
pub(super) fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether it runs or will run.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_leaving(pod)
}

/// One of its conditions.
pub(super) fn condition<'a>(pod: &'a Pod, name: &str) -> Option<&'a PodCondition> {
    pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == name)
}

/// Whether it takes requests.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Since when it takes requests.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|ready| ready.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

/// From when on it counts as available: ready for so many seconds.
pub(super) fn available_from(pod: &Pod, min_ready_seconds: i32) -> Option<Timestamp> {
    if !is_ready(pod) {
        return None;
    }
    if min_ready_seconds <= 0 {
        return Some(Timestamp::MIN);
    }
    ready_since(pod)?.checked_add(SignedDuration::from_secs(min_ready_seconds.into())).ok()
}

/// Whether it has been ready for long enough.
pub(super) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    available_from(pod, min_ready_seconds).is_some_and(|from| from <= now)
}

/// The node it is bound to.
pub(super) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// When the next of these pods becomes available that is not yet.
pub(super) fn next_available<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_seconds: i32,
    now: Timestamp,
) -> Option<Timestamp> {
    pods.into_iter().filter_map(|pod| available_from(pod, min_ready_seconds)).filter(|from| *from > now).min()
}
