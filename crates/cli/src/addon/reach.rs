//! Helm's own records of an addon, on the cluster it is on.

use std::sync::Arc;

use helm::action::{ActionError, Actions, MANAGER};
use helm::release::Release;
use jiff::Timestamp;

use super::found::{Found, Ground};
use crate::cluster::{check_awake, kubeconfig};
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
    /// How commands name the cluster it is on, if that is a tenant's.
    cluster: Option<String>,
}

impl Installed {
    /// The release that an addon says it is.
    pub(crate) async fn reach(session: &Session, found: &Found) -> Outcome<Self> {
        let told = found.status()?.helm_release.unwrap_or_default();
        let (Some(name), Some(namespace)) = (told.name, told.namespace) else {
            return Err(Failure::new(Code::NotFound, format!("{} is not installed yet", found.name())));
        };
        let (client, cluster) = match tenant(session, found).await? {
            None => (session.client.clone(), None),
            Some(cluster) => {
                check_awake(&cluster)?;
                let kubeconfig = kubeconfig::read(session, &cluster, false).await?;
                (connect_with(&kubeconfig).await?, Some(cluster.arguments()))
            }
        };
        let actions = Actions::new(client, MANAGER, Arc::new(Timestamp::now));
        Ok(Self { actions, name, namespace, cluster })
    }

    pub(crate) async fn history(&self) -> Outcome<Vec<Release>> {
        let history = self.actions.history(&self.namespace, &self.name).await;
        history.map_err(|error| failure(self.cluster.as_deref(), &error))
    }
}

/// Why a cluster did not give what was asked of it.
fn failure(cluster: Option<&str>, error: &ActionError) -> Failure {
    match cluster.filter(|_| error.reason() == "Unreachable") {
        Some(cluster) => Failure::failed(format!("{error}; `butlerctl cluster why {cluster}` may know why")),
        None => Failure::failed(error.to_string()),
    }
}

/// The tenant's cluster that an addon is on.
pub(crate) async fn tenant(session: &Session, found: &Found) -> Outcome<Option<lookup::Found>> {
    if found.ground == Ground::Management {
        return Ok(None);
    }
    let place = format!("{}/{}", found.namespace().unwrap_or_default(), found.cluster().unwrap_or_default());
    lookup::find(session, &place).await.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_does_not_answer_is_asked_why() {
        let silent = || ActionError::Discovery(Box::new(kube::Error::LinesCodecMaxLineLengthExceeded));
        let told = "cannot ask the cluster what it can: the API cannot be reached";
        for (cluster, error, expected) in [
            (Some("c -n t"), silent(), format!("{told}; `butlerctl cluster why c -n t` may know why")),
            (None, silent(), told.to_owned()),
            (Some("c -n t"), ActionError::NotFound("l".into()), "release l is not there".to_owned()),
        ] {
            assert_eq!(failure(cluster, &error).message, expected);
        }
    }
}
