//! What people are told when a control plane changes.

use butler_api::shared::{Blocker, BlockerOwner, Condition, ConditionStatus};
use butler_api::steward::TenantControlPlaneStatus;
use butler_api::steward::tenant_control_plane::{CertificateReport, ControlPlaneState as State, VersionReport};
use runtime::events::News;

use super::report::{ASLEEP, AVAILABLE, PROGRESSING};
use crate::names::MANAGER;

/// What is new in `after`. What only Butler waits for is no news: it is in the status while it lasts.
pub(super) fn news(before: &TenantControlPlaneStatus, after: &TenantControlPlaneStatus) -> Vec<News> {
    let (was, is) = (version(before), version(after));
    let normal = |reason, message: String| News::normal(MANAGER, reason, message);
    let mut all = Vec::new();
    if let (Some(old), Some(new)) = (&was.version, &is.version)
        && old != new
    {
        all.push(normal("Upgraded", format!("Kubernetes {new} serves, and {old} is gone")));
    }
    let serving = || {
        let endpoint = after.control_plane_endpoint.as_deref().unwrap_or("its address");
        normal("Ready", format!("it serves at {endpoint}"))
    };
    match (was.status, is.status) {
        (was, is) if was == is => {}
        (None, Some(State::Provisioning)) => all.push(normal("Made", "its control plane is being made".to_owned())),
        (Some(State::Upgrading), Some(State::Ready)) => {}
        (_, Some(State::Ready)) => all.push(serving()),
        (_, Some(State::Upgrading)) => all.push(normal(
            "Upgrading",
            told(after, PROGRESSING).and_then(|told| told.message.clone()).unwrap_or_default(),
        )),
        (_, Some(State::Sleeping)) => {
            all.push(normal("Asleep", "its pods are gone; data, certificates and address stay".to_owned()));
        }
        (Some(State::Sleeping), Some(State::NotReady)) => all.push(normal("Awake", "its pods come back".to_owned())),
        (_, Some(State::Deleting)) => all.push(normal("Deleting", "pods go first, then data, then keys".to_owned())),
        _ => {}
    }
    let holds = |condition: &Condition| condition.status == ConditionStatus::True;
    let is_silent = |condition: &Condition| !holds(condition) && condition.reason.as_deref() != Some(ASLEEP);
    if told(before, AVAILABLE).is_some_and(holds)
        && told(after, AVAILABLE).is_some_and(is_silent)
        && is.status != Some(State::Deleting)
    {
        all.push(News::warning(MANAGER, "NotReady", "none of its API servers answers any more"));
    }
    let renewed = renewed(before, after);
    if !renewed.is_empty() {
        all.push(normal("Renewed", format!("issued anew: {}", renewed.join(", "))));
    }
    let known = |blocker: &Blocker| before.blockers.iter().any(|known| known.reason == blocker.reason);
    let blocked = after.blockers.iter().filter(|b| b.owner != Some(BlockerOwner::Butler) && !known(b));
    all.extend(blocked.map(|b| News::warning(MANAGER, "Blocked", format!("{}: {}", b.reason, b.message))));
    all
}

fn version(status: &TenantControlPlaneStatus) -> VersionReport {
    status.kubernetes_resources.as_ref().and_then(|resources| resources.version.clone()).unwrap_or_default()
}

fn told<'a>(status: &'a TenantControlPlaneStatus, aspect: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.type_ == aspect)
}

/// Secrets whose certificates are others than before.
fn renewed(before: &TenantControlPlaneStatus, after: &TenantControlPlaneStatus) -> Vec<String> {
    let reports = |status: &TenantControlPlaneStatus| -> Vec<CertificateReport> {
        let certificates = status.certificates.clone().unwrap_or_default();
        let kubeconfigs = status.kubeconfig.clone().unwrap_or_default();
        let stored = status.storage.clone().unwrap_or_default();
        [
            certificates.api_server,
            certificates.api_server_kubelet_client,
            certificates.front_proxy_client,
            stored.certificate,
            kubeconfigs.admin,
            kubeconfigs.controller_manager,
            kubeconfigs.scheduler,
        ]
        .into_iter()
        .flatten()
        .collect()
    };
    let old = reports(before);
    let is_new = |report: &CertificateReport| {
        old.iter().any(|old| old.secret_name == report.secret_name && old.checksum != report.checksum)
    };
    reports(after).into_iter().filter(is_new).filter_map(|report| report.secret_name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(state: &str, version: Value) -> Value {
        json!({
            "controlPlaneEndpoint": "192.0.2.1:6443",
            "kubernetesResources": {"version": {"status": state, "version": version}},
        })
    }

    #[test]
    fn what_changed_is_told_once() {
        let with = |mut status: Value, field: &str, value: Value| {
            status[field] = value;
            status
        };
        let ready = || status("Ready", json!("v1.34.4"));
        let certificate = |sum: &str| json!({"apiServer": {"secretName": "a-apiserver", "checksum": sum}});
        let condition = |aspect: &str, reason: &str| json!([{"type": aspect, "status": "False", "reason": reason, "message": "it is so"}]);
        let available = |state: &str| {
            let holds = json!([{"type": "Available", "status": "True", "reason": "PodsReady"}]);
            with(status(state, json!("v1.34.4")), "conditions", holds)
        };
        let silent = |state: &str, reason: &str| {
            with(status(state, json!("v1.34.4")), "conditions", condition("Available", reason))
        };
        let blocked = |reason: &str, owner: &str| json!([{"reason": reason, "message": "it is so", "owner": owner}]);
        for (before, after, expected) in [
            (json!({}), status("Provisioning", json!(null)), vec![("Made", "")]),
            (status("Provisioning", json!(null)), ready(), vec![("Ready", "192.0.2.1:6443")]),
            (ready(), ready(), vec![]),
            (
                ready(),
                with(status("Upgrading", json!("v1.34.4")), "conditions", condition("Progressing", "Upgrading")),
                vec![("Upgrading", "it is so")],
            ),
            (
                status("Upgrading", json!("v1.34.4")),
                status("Upgrading", json!("v1.35.4")),
                vec![("Upgraded", "Kubernetes v1.35.4 serves, and v1.34.4 is gone")],
            ),
            (status("Upgrading", json!("v1.34.4")), status("Ready", json!("v1.35.4")), vec![("Upgraded", "v1.35.4")]),
            (ready(), status("Sleeping", json!("v1.34.4")), vec![("Asleep", "")]),
            (status("Sleeping", json!("v1.34.4")), status("NotReady", json!("v1.34.4")), vec![("Awake", "")]),
            (status("NotReady", json!("v1.34.4")), ready(), vec![("Ready", "")]),
            (available("Ready"), silent("NotReady", "PodsFailing"), vec![("NotReady", "")]),
            (available("Upgrading"), silent("Upgrading", "PodsFailing"), vec![("NotReady", "")]),
            (available("Ready"), silent("NotReady", "Asleep"), vec![]),
            (available("Ready"), silent("Deleting", "PodsFailing"), vec![("Deleting", "")]),
            (silent("Sleeping", "Asleep"), silent("Upgrading", "PodsStarting"), vec![("Upgrading", "")]),
            (ready(), status("Deleting", json!("v1.34.4")), vec![("Deleting", "")]),
            (
                with(ready(), "certificates", certificate("1")),
                with(ready(), "certificates", certificate("2")),
                vec![("Renewed", "a-apiserver")],
            ),
            (ready(), with(ready(), "certificates", certificate("1")), vec![]),
            (
                ready(),
                with(ready(), "blockers", blocked("NameTaken", "User")),
                vec![("Blocked", "NameTaken: it is so")],
            ),
            (ready(), with(ready(), "blockers", blocked("PodsStarting", "Butler")), vec![]),
            (
                with(ready(), "blockers", blocked("NameTaken", "User")),
                with(ready(), "blockers", blocked("NameTaken", "User")),
                vec![],
            ),
        ] {
            let told = news(&serde_json::from_value(before).unwrap(), &serde_json::from_value(after).unwrap());
            assert_eq!(told.len(), expected.len(), "{told:?}");
            for (told, (reason, part)) in told.iter().zip(expected) {
                assert!(told.reason == reason && told.message.contains(part), "{told:?} is not {reason} {part}");
            }
        }
    }
}
