//! What only the server knows: who asks, and what time it is.

use serde_json::Value;

use super::fields::{child, list, list_mut, present, text};
use crate::call::Call;

/// Fills in what the server sets just before an object is checked.
pub(super) fn apply(call: &Call, object: &mut Value, old: Option<&Value>) {
    if call.served.is("certificates.k8s.io", "CertificateSigningRequest") {
        match (call.target.subresource.as_str(), old) {
            ("", None) => name_requestor(call, object),
            ("approval" | "status", Some(old)) => stamp_conditions(object, old, &call.timestamp()),
            _ => {}
        }
    } else if call.served.is("", "PersistentVolume") {
        stamp_phase(object, old, &call.timestamp());
    }
}

/// A certificate request says who made it, whatever its maker wrote.
fn name_requestor(call: &Call, request: &mut Value) {
    let Some(spec) = child(request, "spec") else { return };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    if let Value::Object(user) = call.user.to_user_info() {
        spec.extend(user);
    }
}

/// A condition without times changed now, unless it was as it is before.
fn stamp_conditions(request: &mut Value, old: &Value, now: &str) {
    for condition in list_mut(request, "/status/conditions") {
        let before = list(old, "/status/conditions").iter().find(|known| {
            text(known, "/type") == text(condition, "/type")
                && text(known, "/status") == text(condition, "/status")
                && present(known, "/lastTransitionTime").is_some()
        });
        let since = before.map_or(now, |before| text(before, "/lastTransitionTime"));
        let Some(condition) = condition.as_object_mut() else { continue };
        for (field, time) in [("lastUpdateTime", now), ("lastTransitionTime", since)] {
            if condition.get(field).is_none_or(Value::is_null) {
                condition.insert(field.into(), time.into());
            }
        }
    }
}

/// A volume tells when its phase changed last.
fn stamp_phase(volume: &mut Value, old: Option<&Value>, now: &str) {
    let phase = text(volume, "/status/phase");
    let changed = match old {
        None => true,
        Some(old) => {
            const SINCE: &str = "/status/lastPhaseTransitionTime";
            text(old, "/status/phase") != phase && old.pointer(SINCE) == volume.pointer(SINCE)
        }
    };
    if changed && let Some(status) = child(volume, "status") {
        status.insert("lastPhaseTransitionTime".into(), now.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_keep_the_time_they_began() {
        let old = json!({"status": {"conditions": [
            {"type": "Approved", "status": "True", "lastTransitionTime": "then"},
        ]}});
        let mut new = json!({"status": {"conditions": [
            {"type": "Approved", "status": "True"},
            {"type": "Failed", "status": "True"},
        ]}});
        stamp_conditions(&mut new, &old, "now");
        let times: Vec<&str> =
            list(&new, "/status/conditions").iter().map(|condition| text(condition, "/lastTransitionTime")).collect();
        assert_eq!(times, ["then", "now"]);
    }

    #[test]
    fn phases_are_stamped_when_they_change() {
        let pending = json!({"status": {"phase": "Pending", "lastPhaseTransitionTime": "then"}});
        for (phase, expected) in [("Pending", "then"), ("Bound", "now")] {
            let mut new = pending.clone();
            new["status"]["phase"] = phase.into();
            stamp_phase(&mut new, Some(&pending), "now");
            assert_eq!(text(&new, "/status/lastPhaseTransitionTime"), expected, "{phase}");
        }
    }
}
