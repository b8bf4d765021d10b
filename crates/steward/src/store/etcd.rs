//! A shared etcd: one user, role and prefix per tenant.

use std::future::Future;

use ::etcd::{Access as EtcdAccess, Alarm, Client, DEADLINE, Error, Tenancy, Tenant};
use butler_api::shared::BlockerOwner;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Access, Connection, Driver, Health, Member, Place, StoreError, Usage};

/// The driver of shared etcds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Etcd;

impl Driver for Etcd {
    fn connection(&self, access: &Access) -> Connection {
        let servers = access.endpoints.iter().map(|endpoint| format!("https://{endpoint}")).collect();
        Connection { servers, certificate: true }
    }

    fn health<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Health, StoreError>> {
        told(async {
            let mut members = Vec::with_capacity(access.endpoints.len());
            let mut answer = None;
            let mut last = None;
            for endpoint in &access.endpoints {
                let client = Client::new(&reach(access, vec![endpoint.clone()])?)?;
                let trouble = match client.status().await {
                    Ok(status) => {
                        answer.get_or_insert(status);
                        None
                    }
                    Err(error) => {
                        last = Some(error.clone());
                        Some(error.to_string())
                    }
                };
                members.push(Member { endpoint: endpoint.clone(), trouble });
            }
            let status = match (answer, last) {
                (Some(status), _) => status,
                (None, Some(error)) => return Err(error),
                (None, None) => return Err(Error::Invalid("the store has no endpoint".to_owned())),
            };
            if status.alarms.contains(&Alarm::NoSpace) {
                return Err(Error::NoSpace("the alarm is raised".to_owned()));
            }
            if let Some(weakness) = status.weakness() {
                return Err(Error::Invalid(weakness));
            }
            // Authentication is what keeps tenants apart: a store without it is not shared.
            tenancy(access)?.bootstrap_auth().await?;
            Ok(Health {
                version: Some(status.version),
                size: i64::try_from(status.size).ok(),
                quota: i64::try_from(status.quota).ok().filter(|quota| *quota > 0),
                members,
            })
        })
    }

    fn ensure<'a>(&'a self, access: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<(), StoreError>> {
        told(async {
            let tenancy = tenancy(access)?;
            tenancy.bootstrap_auth().await?;
            tenancy.ensure(&Tenant::new(&place.user, &place.schema)?).await
        })
    }

    fn remove<'a>(&'a self, access: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<(), StoreError>> {
        told(async { tenancy(access)?.remove(&Tenant::new(&place.user, &place.schema)?).await })
    }

    fn usage<'a>(&'a self, access: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<Usage, StoreError>> {
        told(async {
            let usage = tenancy(access)?.usage(&Tenant::new(&place.user, &place.schema)?).await?;
            let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            Ok(Usage { keys: count(usage.keys), bytes: count(usage.bytes) })
        })
    }
}

fn reach(access: &Access, endpoints: Vec<String>) -> Result<EtcdAccess, Error> {
    let tls = access.tls.as_ref().ok_or_else(|| Error::Invalid("the store has no tlsConfig".to_owned()))?;
    Ok(EtcdAccess {
        endpoints,
        ca: tls.authority.clone(),
        certificate: tls.certificate.clone(),
        key: tls.key.clone(),
        deadline: DEADLINE,
    })
}

fn tenancy(access: &Access) -> Result<Tenancy, Error> {
    Tenancy::new(Client::new(&reach(access, access.endpoints.clone())?)?)
}

/// Errors as they are told to people.
fn told<'a, T: 'a>(call: impl Future<Output = Result<T, Error>> + Send + 'a) -> BoxFuture<'a, Result<T, StoreError>> {
    call.map(|outcome| outcome.map_err(|error| explain(&error))).boxed()
}

fn explain(error: &Error) -> StoreError {
    let (reason, remedy) = match error {
        Error::Unreachable(_) => ("DataStoreUnreachable", "see that etcd runs and that spec.endpoints are right"),
        Error::Untrusted(_) => ("DataStoreUntrusted", "correct spec.tlsConfig of the DataStore"),
        Error::Denied(_) => ("DataStoreDenied", "give the DataStore a client certificate of the user root"),
        Error::NoLeader(_) => ("DataStoreNoLeader", "bring back the members that are down"),
        Error::NoSpace(_) => ("DataStoreFull", "free or add space, defragment, and disarm the alarm"),
        _ => ("DataStoreFailed", "see the message, and etcd's log"),
    };
    let (message, remedy) = (error.to_string(), remedy.to_owned());
    StoreError { reason, message, owner: BlockerOwner::PlatformAdmin, remedy }
}
