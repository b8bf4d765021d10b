//! kube-controller-manager and kube-scheduler beside an embedded API: controllers in this process.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kapi::{Api, Peer, User};
use kube::api::PostParams;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::agent::flags::Flags;
use crate::agent::program::{Control, Exit, Launch, NotStarted, Program, Running};

/// Which of the two programs is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControllerRole {
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
}

/// Starts controllers of an API through a client of it. They run until what is given back is dropped.
pub type Controllers = Arc<dyn Fn(ControllerRole, Api, Client) -> Box<dyn Any + Send + Sync> + Send + Sync>;

/// The embedded APIs that run, by the pod they run in.
pub(super) type RunningApis = Arc<watch::Sender<HashMap<String, Api>>>;

/// Runs controllers beside the embedded API of their pod. Of several pods of one API, one works and the others stand by.
pub(super) struct ControllerPrograms {
    role: ControllerRole,
    apis: RunningApis,
    start: Controllers,
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl ControllerPrograms {
    pub(super) fn new(role: ControllerRole, apis: RunningApis, start: Controllers) -> Self {
        Self { role, apis, start, turns: Mutex::default() }
    }

    /// Who holds this works for the API.
    fn turn(&self, api: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock();
        // Nobody waits for those that only the table knows.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(api.to_owned()).or_default())
    }
}

impl Program for ControllerPrograms {
    fn start(&self, launch: Launch, control: Control) -> BoxFuture<'_, Result<Running, NotStarted>> {
        async move {
            let peer = identity(&launch).map_err(|message| NotStarted::Exited(Exit::failed(message)))?;
            let Some(name) = super::api_server::name_in(&launch) else {
                let message = "there is no kube-apiserver in this pod; embedded controllers run beside one";
                return Err(NotStarted::Exited(Exit::failed(message)));
            };
            let (turn, apis, start, role) =
                (self.turn(&name), self.apis.subscribe(), Arc::clone(&self.start), self.role);
            let pod = launch.pod.uid().unwrap_or_default();
            control.report(true, true);
            let running = async move {
                let work = async {
                    let _turn = turn.lock_owned().await;
                    let api = started(apis, &pod).await;
                    let client = match accepted(&api, peer, role).await {
                        Ok(client) => client,
                        Err(error) => return Exit::failed(format!("the API refuses the certificate: {error}")),
                    };
                    let _controllers = start(role, api, client);
                    std::future::pending().await
                };
                tokio::select! {
                    exit = work => exit,
                    _ = control.stopping() => Exit::done(),
                }
            };
            Ok(running.boxed())
        }
        .boxed()
    }
}

/// The API of a pod, as soon as it runs.
async fn started(mut apis: watch::Receiver<HashMap<String, Api>>, pod: &str) -> Api {
    loop {
        if let Some(api) = apis.borrow_and_update().get(pod) {
            return api.clone();
        }
        if apis.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A client for controllers whose certificate the API accepts.
///
/// kube-controller-manager makes itself tokens of one account per controller, which together may do nearly everything. Here
/// they are one client, which acts for all of them under the name in its certificate.
async fn accepted(api: &Api, peer: Peer, role: ControllerRole) -> Result<Client, kube::Error> {
    let own = Client::new(api.service_for(peer), "default");
    let reviews = kube::Api::<SelfSubjectReview>::all(own.clone());
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    if role == ControllerRole::Scheduler {
        return Ok(own);
    }
    let name = review.status.and_then(|status| status.user_info?.username).unwrap_or_default();
    let groups = ["system:masters", "system:authenticated"].map(str::to_owned).into();
    let user = User { name, groups, ..User::default() };
    Ok(Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default"))
}

/// Who the controllers are: the client certificate of their kubeconfig.
fn identity(launch: &Launch) -> Result<Peer, String> {
    let flags = Flags::parse(launch.words.iter().map(String::as_str));
    let path = flags.get("kubeconfig").ok_or("the flag --kubeconfig is missing")?;
    let text = launch.read_text(path)?;
    let certificates = client_certificates(&text).ok_or_else(|| format!("{path} holds no client certificate"))?;
    Ok(Peer { certificates: certificates.into(), ..Peer::default() })
}

/// The client certificate of the first user of a kubeconfig, and its chain, DER.
fn client_certificates(kubeconfig: &str) -> Option<Vec<Vec<u8>>> {
    let value: Value = kernel::yaml::value(kubeconfig).ok()?;
    let encoded = value.pointer("/users/0/user/client-certificate-data")?.as_str()?;
    let pem = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let chain = pki::Certificate::all_from_pem(&pem).ok()?;
    Some(chain.iter().map(|certificate| certificate.der().to_vec()).collect())
}
