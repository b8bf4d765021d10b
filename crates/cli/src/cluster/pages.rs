//! Lists in pages, decoded into as little as is wanted of each object.

use butler_api::butler::TenantCluster;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, Request};
use kube::{Api, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::{Code, Failure, Outcome};
use crate::lookup::visible_teams;
use crate::session::Session;

/// Objects of one answer: as many as kubectl asks for, so that no answer grows large.
const PAGE: u32 = 500;
/// Teams that are asked at the same time.
const AT_ONCE: usize = 8;

/// What was listed, and where a watch goes on from it.
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    /// Path and resourceVersion of every list that was asked.
    pub(crate) positions: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: PageMeta,
    items: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// The clusters that are meant: of the one team, else all that may be seen.
pub(crate) async fn clusters<T: DeserializeOwned>(session: &Session, all: bool) -> Outcome<Listed<T>> {
    let team = session.team.as_ref().or(session.chosen_team.as_ref()).filter(|_| !all);
    if let Some(team) = team {
        let listed = list(session, TenantCluster::url_path(&(), Some(team))).await?;
        if listed.items.is_empty() {
            must_exist(session, team).await?;
        }
        return Ok(listed);
    }
    match list(session, TenantCluster::url_path(&(), None)).await {
        Err(error) if Failure::is_forbidden(&error) => in_teams(session).await,
        answer => Ok(answer?),
    }
}

/// What is not there has no clusters either, but is more likely a slip. Who may not look is told no more than that.
async fn must_exist(session: &Session, team: &str) -> Outcome {
    let namespaces: Api<Namespace> = Api::all(session.client.clone());
    match namespaces.get_metadata_opt(team).await {
        Ok(None) => Err(Failure::new(
            Code::NotFound,
            format!("there is no team {team:?}; `butlerctl cluster list -A` shows the clusters of all teams"),
        )),
        Err(error) if !Failure::is_forbidden(&error) => Err(error.into()),
        Ok(Some(_)) | Err(_) => Ok(()),
    }
}

async fn in_teams<T: DeserializeOwned>(session: &Session) -> Outcome<Listed<T>> {
    let teams = visible_teams(session).await?;
    let asked = stream::iter(teams).map(|team| async move {
        match list(session, TenantCluster::url_path(&(), Some(&team))).await {
            Err(error) if Failure::is_forbidden(&error) => Ok(Listed { items: Vec::new(), positions: Vec::new() }),
            answer => answer,
        }
    });
    let lists: Vec<Listed<T>> = asked.buffered(AT_ONCE).try_collect().await?;
    let mut whole = Listed { items: Vec::new(), positions: Vec::new() };
    for list in lists {
        whole.items.extend(list.items);
        whole.positions.extend(list.positions);
    }
    Ok(whole)
}

async fn list<T: DeserializeOwned>(session: &Session, path: String) -> Result<Listed<T>, kube::Error> {
    let request = Request::new(&path);
    let mut params = ListParams::default().limit(PAGE);
    let mut items = Vec::new();
    loop {
        let page = session.client.request::<Page<T>>(request.list(&params).map_err(kube::Error::BuildRequest)?).await;
        let page = match page {
            // The rest is too old by now: all at once cannot become so.
            Err(kube::Error::Api(status)) if status.code == 410 && params.continue_token.is_some() => {
                params = ListParams::default();
                items.clear();
                continue;
            }
            page => page?,
        };
        items.extend(page.items);
        match page.metadata.next.filter(|next| !next.is_empty()) {
            Some(next) => params.continue_token = Some(next),
            None => {
                let version = page.metadata.resource_version.unwrap_or_default();
                return Ok(Listed { items, positions: vec![(path, version)] });
            }
        }
    }
}
