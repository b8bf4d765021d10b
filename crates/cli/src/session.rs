//! What every command has at hand: the API, the team that is meant, and how to print.

use std::collections::BTreeSet;

use butler_api::butler::{Team, TenantCluster};
use butler_api::names::{GROUP, SYSTEM_NAMESPACE};
use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview};
use kube::api::{ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client, ResourceExt};

use crate::command::Global;
use crate::connect::{self, Connection};
use crate::failure::{Code, Failure, Outcome};
use crate::output::Format;
use crate::screen::Screen;

/// What every command has at hand.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) screen: Screen,
    /// `-o`.
    pub(crate) format: Format,
    /// `-n`: the one team that is meant.
    pub(crate) team: Option<String>,
    /// `BUTLER_TEAM`.
    pub(crate) chosen_team: Option<String>,
    /// The namespace of the context, which is usually a team's.
    pub(crate) context_namespace: Option<String>,
    described: String,
}

impl Session {
    /// Opens the way to the API that the arguments and the environment name.
    pub(crate) async fn open(global: &Global) -> Outcome<Self> {
        let signs = connect::signs(global.kubeconfig.clone(), global.context.clone());
        let Connection { client, namespace, described } = connect::connect(&signs).await?;
        Ok(Self {
            client,
            screen: Screen::detect(global.no_color),
            format: global.output.unwrap_or_default(),
            team: global.team.clone(),
            chosen_team: chosen_team(),
            context_namespace: namespace,
            described,
        })
    }

    /// The clusters of a team.
    pub(crate) fn clusters(&self, namespace: &str) -> Api<TenantCluster> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The clusters of a team, with every field the API knows.
    pub(crate) fn cluster_objects(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &cluster_resource())
    }

    /// The namespaces of all teams the user may see: of members, those they are in.
    pub(crate) async fn teams(&self) -> Result<Vec<String>, kube::Error> {
        let teams = match Api::<Team>::all(self.client.clone()).list(&ListParams::default()).await {
            Err(error) if Failure::is_forbidden(&error) => {
                let own = self.granted("teams").await?;
                // Whoever is in no team is told what may not be done.
                return if own.is_empty() { Err(error) } else { Ok(own.into_iter().collect()) };
            }
            answer => answer?,
        };
        let namespace = |team: &Team| {
            let told = team.status.as_ref().and_then(|status| status.namespace.clone());
            told.unwrap_or_else(|| team.name_any())
        };
        Ok(teams.iter().map(namespace).collect())
    }

    /// Names of the platform's objects that the user may look at one by one: lists cannot be granted by name.
    pub(crate) async fn granted(&self, resource: &str) -> Result<BTreeSet<String>, kube::Error> {
        let mut asked = SelfSubjectRulesReview::default();
        // What is granted in no namespace is told in all of them.
        asked.spec.namespace = Some(SYSTEM_NAMESPACE.to_owned());
        let reviews: Api<SelfSubjectRulesReview> = Api::all(self.client.clone());
        let rules = reviews.create(&PostParams::default(), &asked).await?.status.unwrap_or_default().resource_rules;
        let is_meant = |rule: &ResourceRule| {
            let has = |list: &Option<Vec<String>>, text: &str| list.iter().flatten().any(|one| one == text);
            has(&rule.api_groups, GROUP)
                && has(&rule.resources, resource)
                && rule.verbs.iter().any(|verb| verb == "get")
        };
        Ok(rules.into_iter().filter(is_meant).flat_map(|rule| rule.resource_names.unwrap_or_default()).collect())
    }

    /// Says which API could not be reached.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match failure.code {
            Code::Unreachable => {
                Failure { message: format!("{}\n  API: {}", failure.message, self.described), ..failure }
            }
            _ => failure,
        }
    }

    /// Which API this is.
    pub(crate) fn described(&self) -> &str {
        &self.described
    }
}

/// The team the environment names.
pub(crate) fn chosen_team() -> Option<String> {
    std::env::var("BUTLER_TEAM").ok().filter(|team| !team.is_empty())
}

/// TenantCluster, for requests that keep every field.
pub(crate) fn cluster_resource() -> ApiResource {
    ApiResource::erase::<TenantCluster>(&())
}
