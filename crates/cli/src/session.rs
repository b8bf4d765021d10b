//! What every command has at hand: the API, the team that is meant, and how to print.

use butler_api::butler::{Team, TenantCluster};
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

    /// The namespaces of all teams the user may see.
    pub(crate) async fn teams(&self) -> Result<Vec<String>, kube::Error> {
        let teams = Api::<Team>::all(self.client.clone()).list(&kube::api::ListParams::default()).await?;
        let namespace = |team: &Team| {
            let told = team.status.as_ref().and_then(|status| status.namespace.clone());
            told.unwrap_or_else(|| team.name_any())
        };
        Ok(teams.iter().map(namespace).collect())
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
