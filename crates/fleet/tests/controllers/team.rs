//! Teams.

use butler_api::butler::team::{QuotaStatus, TeamPhase};
use butler_api::butler::{ProviderConfig, Team, TenantCluster};
use butler_api::names::labels;
use fleet::team::TeamController;
use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::world::{World, butler, create, delete, patch, until, until_gone};

fn is(phase: TeamPhase) -> impl Fn(&Team) -> bool {
    move |team| {
        let status = team.status.as_ref();
        status
            .is_some_and(|status| status.phase == Some(phase) && status.observed_generation == team.metadata.generation)
    }
}

/// What somebody may do in a namespace: read clusters, write clusters, read a Secret, list Secrets.
async fn rights(client: &Client, namespace: &str) -> [bool; 4] {
    let clusters: Api<TenantCluster> = Api::namespaced(client.clone(), namespace);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let forbidden = |error: Option<kube::Error>| matches!(error, Some(kube::Error::Api(status)) if status.code == 403);
    [
        !forbidden(clusters.list(&ListParams::default()).await.err()),
        !forbidden(clusters.delete("none", &DeleteParams::default()).await.err()),
        !forbidden(secrets.get("none").await.err()),
        !forbidden(secrets.list(&ListParams::default()).await.err()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_has_a_namespace_roles_and_limits() {
    let mut world = World::new().await;
    let teams: Api<Team> = world.all();
    world.start(TeamController::run);
    let access = json!({
        "users": [{"name": "vi@example.com"}, {"name": "op@example.com", "role": "operator"}],
        "groups": [
            {"name": "chiefs", "role": "admin"}, {"name": "guests", "role": "admin", "identityProvider": "company"},
        ],
    });
    let spec = json!({"access": access, "description": "moves money", "resourceLimits": {"maxClusters": 1, "maxTotalNodes": 8}});
    create(&teams, butler("Team", "payments", spec)).await;
    let ready = until(&teams, "payments", "ready", is(TeamPhase::Ready)).await.status.unwrap();
    assert_eq!(
        (ready.namespace.as_deref(), ready.member_count, ready.cluster_count),
        (Some("payments"), Some(4), Some(0))
    );
    let namespaces: Api<Namespace> = world.all();
    let namespace = namespaces.get("payments").await.unwrap();
    assert_eq!(namespace.labels()[labels::TEAM], "payments");
    assert_eq!(namespace.labels()[labels::MANAGED_BY], "butler");

    let viewer = world.client_of("vi@example.com", "nobody");
    let operator = world.client_of("op@example.com", "nobody");
    assert_eq!(rights(&viewer, "payments").await, [true, false, false, false]);
    assert_eq!(rights(&operator, "payments").await, [true, true, true, false]);
    assert_eq!(rights(&world.client_of("ann", "chiefs"), "payments").await, [true, true, true, false]);
    assert_eq!(rights(&operator, "butler-system").await, [false; 4]);
    // A group that counts only from one identity provider is not let in by its name.
    assert_eq!(rights(&world.client_of("bob", "guests"), "payments").await, [false; 4]);

    // Members see their own Team, and that it is theirs.
    for (client, sees) in [(&viewer, true), (&operator, true), (&world.client_of("bob", "guests"), false)] {
        let seen: Api<Team> = Api::all(client.clone());
        assert_eq!(seen.get("payments").await.is_ok(), sees);
        assert!(seen.list(&ListParams::default()).await.is_err());
        let mut asked = SelfSubjectRulesReview::default();
        asked.spec.namespace = Some("butler-system".to_owned());
        let reviews: Api<SelfSubjectRulesReview> = Api::all(client.clone());
        let rules = reviews.create(&PostParams::default(), &asked).await.unwrap().status.unwrap().resource_rules;
        let of_teams = |rule: &ResourceRule| rule.resources.iter().flatten().any(|resource| resource == "teams");
        let named: Vec<String> =
            rules.into_iter().filter(of_teams).flat_map(|rule| rule.resource_names.unwrap_or_default()).collect();
        assert_eq!(named, if sees { vec!["payments"] } else { vec![] });
    }

    // Another role for a member, and a role that somebody removed.
    patch(&teams, "payments", json!({"spec": {"access": {"users": [{"name": "vi@example.com", "role": "operator"}]}}}))
        .await;
    until(&teams, "payments", "ready", is(TeamPhase::Ready)).await;
    assert_eq!(rights(&viewer, "payments").await, [true, true, true, false]);
    assert_eq!(rights(&operator, "payments").await, [false; 4]);
    let roles: Api<Role> = world.within("payments");
    let former = roles.get("butler-team-viewer").await.unwrap().uid();
    delete(&roles, "butler-team-viewer").await;
    until(&roles, "butler-team-viewer", "there again", |role| role.uid() != former).await;

    let workers = json!({"workers": {"replicas": 9}});
    world.cluster("payments", "one", workers).await;
    let above = until(&teams, "payments", "above its limit", |team| {
        team.status.as_ref().is_some_and(|status| status.quota_status == Some(QuotaStatus::Exceeded))
    })
    .await
    .status
    .unwrap();
    assert_eq!(above.quota_message.as_deref(), Some("clusters: 1 of 1, nodes: 9 of 8"));
    assert_eq!(above.cluster_count, Some(1));

    delete(&teams, "payments").await;
    let kept = until(&teams, "payments", "in use", |team| {
        is(TeamPhase::Terminating)(team) && team.status.as_ref().is_some_and(|status| !status.blockers.is_empty())
    })
    .await
    .status
    .unwrap();
    assert_eq!(kept.blockers[0].evidence, ["TenantCluster payments/one"]);
    assert!(namespaces.get("payments").await.unwrap().metadata.deletion_timestamp.is_none());
    let clusters: Api<TenantCluster> = world.within("payments");
    delete(&clusters, "one").await;
    until_gone(&teams, "payments").await;
    assert!(namespaces.get_opt("payments").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_was_there_is_taken_over_and_left_again() {
    let mut world = World::new().await;
    let teams: Api<Team> = world.all();
    let namespaces: Api<Namespace> = world.all();
    world.namespace("old", json!({"kept": "yes"})).await;
    world.namespace("others", json!({labels::TEAM: "someone"})).await;
    world.namespace("inner", json!({labels::TENANT: "one"})).await;
    world.start(TeamController::run);
    for name in ["others", "inner"] {
        create(&teams, butler("Team", name, json!({}))).await;
        let refused = until(&teams, name, "refused", is(TeamPhase::Failed)).await.status.unwrap();
        assert_eq!(refused.blockers[0].reason, "NamespaceTaken");
        delete(&teams, name).await;
        until_gone(&teams, name).await;
        assert!(namespaces.get(name).await.unwrap().metadata.deletion_timestamp.is_none());
    }
    create(&teams, butler("Team", "old", json!({"access": {"users": [{"name": "ann"}]}}))).await;
    until(&teams, "old", "ready", is(TeamPhase::Ready)).await;
    assert_eq!(namespaces.get("old").await.unwrap().labels()[labels::TEAM], "old");
    delete(&teams, "old").await;
    until_gone(&teams, "old").await;
    let left = namespaces.get("old").await.unwrap();
    assert!(left.metadata.deletion_timestamp.is_none());
    assert_eq!((left.labels().get("kept").map(String::as_str), left.labels().get(labels::TEAM)), (Some("yes"), None));
    let bindings: Api<RoleBinding> = world.within("old");
    assert!(bindings.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn members_see_the_infrastructures_that_their_team_may_use_and_no_others() {
    let mut world = World::new().await;
    let teams: Api<Team> = world.all();
    let providers: Api<ProviderConfig> = world.within("butler-system");
    world.start(TeamController::run);
    let of = |team: &str| json!({"provider": "local", "scope": {"type": "team", "teamRef": {"name": team}}});
    let all = [("shared", json!({"provider": "local"})), ("mine", of("payments")), ("theirs", of("others"))];
    for (name, spec) in all {
        create(&providers, butler("ProviderConfig", name, spec)).await;
    }
    create(&teams, butler("Team", "payments", json!({"access": {"users": [{"name": "vi@example.com"}]}}))).await;
    until(&teams, "payments", "ready", is(TeamPhase::Ready)).await;
    let roles: Api<Role> = world.within("butler-system");
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        move |role: &Role| role.rules.as_ref().unwrap()[0].resource_names.as_ref() == Some(&names)
    };
    let role = "butler-team-payments-providers";
    until(&roles, role, "told of two", named(&["mine", "shared"])).await;
    let client = world.client_of("vi@example.com", "nobody");
    let seen: Api<ProviderConfig> = Api::namespaced(client.clone(), "butler-system");
    for (name, may) in [("shared", true), ("mine", true), ("theirs", false)] {
        assert_eq!(seen.get(name).await.is_ok(), may, "{name}");
    }
    assert!(seen.list(&ListParams::default()).await.is_err());
    let secrets: Api<Secret> = Api::namespaced(client, "butler-system");
    assert!(secrets.get("anything").await.is_err_and(|error| error.to_string().contains("forbidden")));

    patch(&providers, "mine", json!({"spec": {"scope": {"teamRef": {"name": "others"}}}})).await;
    until(&roles, role, "told of one", named(&["shared"])).await;
    delete(&teams, "payments").await;
    until_gone(&teams, "payments").await;
    assert!(roles.get_opt(role).await.unwrap().is_none());
    let bindings: Api<RoleBinding> = world.within("butler-system");
    assert!(bindings.get_opt(role).await.unwrap().is_none());
}
