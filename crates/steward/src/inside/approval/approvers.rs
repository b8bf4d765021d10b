//! The worker that approves for all tenants.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use runtime::Key;
use serde_json::json;
use tokio::task::JoinHandle;

use super::Rules;
use super::judge::{SIGNER, Verdict, asking_node, judge};

/// How often a request is looked at again whose node has not reported everything yet: after one second, two, four, …,
/// about two minutes in all. A kubelet that still waits then asks anew by itself.
const TRIES: u32 = 7;
/// How many requests of one tenant may wait at a time. A tenant has no more nodes joining in one minute.
const MOST_WAITING: usize = 512;

/// Approves kubelets' serving certificates, for any number of tenants. Each costs one watch of the requests for such
/// certificates and nothing else; nodes are read when one asks. Tenants do not disturb each other. Clones share it.
#[derive(Clone, Default)]
pub struct Approvers {
    tenants: Arc<Mutex<HashMap<Key, Watching>>>,
}

struct Watching {
    credentials: String,
    rules: Rules,
    task: JoinHandle<()>,
}

impl Watching {
    fn is_with(&self, credentials: &str, rules: &Rules) -> bool {
        self.credentials == credentials && self.rules == *rules && !self.task.is_finished()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Approvers {
    /// Approves for this tenant from now on. Nothing happens if that is so already with these rules and credentials, of
    /// which any text stands that changes whenever the client has to be another one.
    pub fn watch(&self, key: &Key, client: &Client, credentials: &str, rules: &Rules) {
        let mut tenants = self.tenants.lock();
        if !tenants.get(key).is_some_and(|watching| watching.is_with(credentials, rules)) {
            let task = tokio::spawn(approve(key.clone(), client.clone(), rules.clone()));
            let watching = Watching { credentials: credentials.to_owned(), rules: rules.clone(), task };
            tenants.insert(key.clone(), watching);
        }
    }

    /// Whether it approves for this tenant already, with these rules and credentials.
    pub fn is_watching(&self, key: &Key, credentials: &str, rules: &Rules) -> bool {
        self.tenants.lock().get(key).is_some_and(|watching| watching.is_with(credentials, rules))
    }

    /// Approves no more for this tenant.
    pub fn stop(&self, key: &Key) {
        self.tenants.lock().remove(key);
    }

    /// For how many tenants it approves.
    pub fn count(&self) -> usize {
        self.tenants.lock().len()
    }
}

/// Approves for one tenant until it is dropped.
async fn approve(key: Key, client: Client, rules: Rules) {
    let tenant = TenantApi { requests: Api::all(client.clone()), nodes: Api::all(client), rules };
    let config = watcher::Config::default().fields(&format!("spec.signerName={SIGNER}"));
    // An API that does not answer is asked again after ever longer pauses.
    let events = watcher(tenant.requests.clone(), config).default_backoff();
    pin_mut!(events);
    let mut waiting = FuturesUnordered::new();
    loop {
        let (name, tries, settled) = tokio::select! {
            Some(event) = events.next() => match event {
                Ok(Event::Apply(request) | Event::InitApply(request)) => {
                    (request.name_any(), 0, tenant.settle(&request).await)
                }
                Ok(_) => continue,
                Err(error) => {
                    tracing::debug!(tenant = %key, %error, "cannot watch certificate requests");
                    continue;
                }
            },
            Some(waited) = waiting.next() => {
                let (name, tries): (String, u32) = waited;
                let settled = tenant.settle_again(&name).await;
                (name, tries, settled)
            }
            else => return,
        };
        let reason = match settled {
            Ok(Settled::Done) => continue,
            Ok(Settled::Waits(reason)) => reason,
            Err(error) => error.to_string(),
        };
        tracing::debug!(tenant = %key, request = name, reason, "a certificate request waits");
        if tries < TRIES && waiting.len() < MOST_WAITING {
            waiting.push(after_a_while(name, tries));
        }
    }
}

async fn after_a_while(name: String, tries: u32) -> (String, u32) {
    tokio::time::sleep(Duration::from_secs(1 << tries)).await;
    (name, tries + 1)
}

struct TenantApi {
    requests: Api<CertificateSigningRequest>,
    nodes: Api<Node>,
    rules: Rules,
}

enum Settled {
    Done,
    Waits(String),
}

impl TenantApi {
    /// Decides about a request, if it is ours to decide.
    async fn settle(&self, request: &CertificateSigningRequest) -> Result<Settled, kube::Error> {
        let Some(name) = asking_node(request) else { return Ok(Settled::Done) };
        let node = self.nodes.get_opt(name).await?;
        match judge(request, node.as_ref(), &self.rules) {
            Verdict::Ignore => Ok(Settled::Done),
            Verdict::Wait(reason) => Ok(Settled::Waits(reason)),
            Verdict::Approve => self.decide(request, "Approved", "The node has these names and addresses.").await,
            Verdict::Deny(reason) => self.decide(request, "Denied", &reason).await,
        }
    }

    /// The same for a request that waited.
    async fn settle_again(&self, name: &str) -> Result<Settled, kube::Error> {
        match self.requests.get_opt(name).await? {
            Some(request) => self.settle(&request).await,
            None => Ok(Settled::Done),
        }
    }

    async fn decide(
        &self,
        request: &CertificateSigningRequest,
        decision: &str,
        message: &str,
    ) -> Result<Settled, kube::Error> {
        let mut conditions = request.status.clone().and_then(|status| status.conditions).unwrap_or_default();
        conditions.push(
            serde_json::from_value(json!({
                "type": decision, "status": "True", "reason": "Steward", "message": message,
            }))
            .map_err(kube::Error::SerdeError)?,
        );
        let patch = json!({
            // Of this very request: nothing is decided about what came after it.
            "metadata": {"resourceVersion": request.resource_version(), "uid": request.uid()},
            "status": {"conditions": conditions},
        });
        let name = request.name_any();
        match self.requests.patch_approval(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => Ok(Settled::Done),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Settled::Done),
            Err(error) => Err(error),
        }
    }
}
