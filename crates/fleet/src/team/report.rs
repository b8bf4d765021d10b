//! What a team is told.

use butler_api::butler::TeamStatus;
use butler_api::butler::team::{QuotaStatus, TeamPhase, TeamRole};
use butler_api::names::conditions::READY;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use runtime::{Verdict, blockers_since, conditions_since};

use super::namespace::{Owner, owner};
use super::plan::{Observed, Plan};
use super::roles::{access, groups_of_one_provider, role_name};
use super::{quota, usage};

/// The status of a team, from what was seen. Pure.
pub fn report(observed: &Observed, plan: &Plan) -> TeamStatus {
    let team = &observed.team;
    let before = team.status.clone().unwrap_or_default();
    let generation = team.metadata.generation;
    let leaving = team.metadata.deletion_timestamp.is_some();
    let has_namespace = observed.namespace.as_ref().is_some_and(|namespace| {
        let whose = owner(namespace, &team.name_any());
        matches!(whose, Owner::Team | Owner::Adopted) && namespace.metadata.deletion_timestamp.is_none()
    });
    let has_roles = has_namespace && TeamRole::ALL.iter().all(|role| is_written(observed, &role_name(*role)));
    let phase = match plan.blockers.first() {
        _ if leaving => TeamPhase::Terminating,
        Some(blocker) if blocker.reason == "NamespaceTaken" => TeamPhase::Failed,
        None if has_roles => TeamPhase::Ready,
        _ => TeamPhase::Pending,
    };
    let own = team.spec.resource_limits.as_ref();
    let platform = observed.platform.as_ref().and_then(|platform| platform.spec.default_team_limits.as_ref());
    let used = usage(observed.clusters.iter().map(|(_, spec)| spec));
    let (quota_status, quota_message, figures) = quota::judge(used, own, platform);
    let blocked = plan.blockers.first().map(|blocker| (blocker.reason.clone(), blocker.message.clone()));
    let judge = |aspect, holds: bool, message: String| match (holds, &blocked) {
        (true, _) => Verdict::holds(aspect, "Made", message),
        (false, Some((reason, message))) => Verdict::fails(aspect, reason.clone(), message.clone()),
        (false, None) => Verdict::fails(aspect, "Working", "it is being made"),
    };
    let verdicts = vec![
        judge("NamespaceReady", has_namespace, format!("namespace {} is the team's", team.name_any())),
        judge("RBACReady", has_roles, roles_message(observed)),
        match quota_status {
            QuotaStatus::Exceeded => {
                Verdict::holds("QuotaExceeded", "AboveLimit", quota_message.clone().unwrap_or_default())
            }
            _ => Verdict::fails("QuotaExceeded", "WithinLimits", "nothing is above its limit"),
        },
        judge(READY, phase == TeamPhase::Ready, "the team can work".to_owned()),
    ];
    let count = |number: usize| i32::try_from(number).ok();
    let access = access(team);
    TeamStatus {
        phase: Some(phase),
        observed_generation: generation,
        namespace: has_namespace.then(|| team.name_any()),
        cluster_count: count(observed.clusters.len()),
        member_count: count(access.users.len() + access.groups.len()),
        quota_status: Some(quota_status),
        quota_message,
        resource_usage: Some(figures),
        conditions: conditions_since(&before.conditions, verdicts, generation, observed.now),
        blockers: blockers_since(&before.blockers, plan.blockers.clone(), observed.now),
        last_transition_time: before
            .last_transition_time
            .filter(|_| before.phase == Some(phase))
            .or(Some(Time(observed.now))),
    }
}

fn is_written(observed: &Observed, name: &str) -> bool {
    observed.roles.iter().any(|role| role.name_any() == name)
        && observed.bindings.iter().any(|binding| binding.name_any() == name)
}

fn roles_message(observed: &Observed) -> String {
    match groups_of_one_provider(&observed.team) {
        0 => "all members have their roles".to_owned(),
        count => format!(
            "all members have their roles, but {count} groups do not: they count only when they come from one identity \
             provider, and RBAC cannot tell where a group comes from"
        ),
    }
}
