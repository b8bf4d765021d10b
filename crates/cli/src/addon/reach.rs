//! Helm's own records of an addon, on the cluster it is on.

use std::sync::Arc;

use helm::action::{Actions, MANAGER};
use helm::release::Release;
use jiff::Timestamp;
use kube::Client;

use super::found::{Found, Ground};
use crate::cluster::kubeconfig;
use crate::connect::connect_with;
use crate::failure::{Code, Failure, Outcome};
use crate::lookup;
use crate::session::Session;

/// All revisions of an addon, oldest first.
pub(crate) async fn history(session: &Session, found: &Found) -> Outcome<Vec<Release>> {
    Installed::reach(session, found).await?.history().await
}

/// The release of an addon, within reach.
pub(crate) struct Installed {
    pub(crate) actions: Actions,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Installed {
    /// The release that an addon says it is.
    pub(crate) async fn reach(session: &Session, found: &Found) -> Outcome<Self> {
        let told = found.status()?.helm_release.unwrap_or_default();
        let (Some(name), Some(namespace)) = (told.name, told.namespace) else {
            return Err(Failure::new(Code::NotFound, format!("{} is not installed yet", found.name())));
        };
        let actions = Actions::new(client(session, found).await?, MANAGER, Arc::new(Timestamp::now));
        Ok(Self { actions, name, namespace })
    }

    pub(crate) async fn history(&self) -> Outcome<Vec<Release>> {
        let history = self.actions.history(&self.namespace, &self.name).await;
        history.map_err(|error| Failure::failed(error.to_string()))
    }
}

async fn client(session: &Session, found: &Found) -> Outcome<Client> {
    if found.ground == Ground::Management {
        return Ok(session.client.clone());
    }
    let place = format!("{}/{}", found.namespace().unwrap_or_default(), found.cluster().unwrap_or_default());
    let cluster = lookup::find(session, &place).await?;
    connect_with(&kubeconfig::read(session, &cluster, false).await?).await
}
