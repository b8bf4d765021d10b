//! Tenants' API servers: an embedded one, and a real one where its programs are at hand.

use std::sync::Arc;

use conformance::embedded::EmbeddedServer;
use conformance::pki::Client as ClientCertificate;
use conformance::real::{Programs, RealServer};
use conformance::target::{Login, Target};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use steward::inside::Tenant;

use crate::tenant::tenant;

/// A running API server. Dropping it ends it.
pub(crate) struct Server {
    pub(crate) target: Arc<Target>,
    _running: Box<dyn Send + Sync>,
}

/// Runs a scenario against each kind of API server there is.
pub(crate) async fn against_all(scenario: impl AsyncFn(Server)) {
    let embedded = EmbeddedServer::start().await.unwrap();
    scenario(Server { target: Arc::clone(&embedded.target), _running: Box::new(embedded) }).await;
    match Programs::find() {
        Ok(programs) => {
            let real = RealServer::start(&programs).await.unwrap();
            scenario(Server { target: Arc::clone(&real.target), _running: Box::new(real) }).await;
        }
        Err(missing) => println!("not tested with the real API server: {missing}"),
    }
}

impl Server {
    /// A client of the administrator whom no RBAC stops.
    pub(crate) async fn admin(&self) -> Client {
        client(&self.target.kubeconfig("admin", "default").unwrap()).await
    }

    /// A client of a node.
    pub(crate) async fn node(&self, name: &str) -> Client {
        let user = format!("system:node:{name}");
        let ca = self.target.client_ca.as_ref().unwrap();
        let certificate =
            ca.client(ClientCertificate { user: &user, group: "system:nodes", expired: false, server_usage: false });
        self.login(Login::Certificate(certificate.unwrap())).await
    }

    /// A client with a bearer token.
    pub(crate) async fn token(&self, token: &str) -> Client {
        self.login(Login::Token(token.to_owned())).await
    }

    async fn login(&self, login: Login) -> Client {
        let mut target = Target::clone(&self.target);
        target.users.insert("other".to_owned(), login);
        client(&target.kubeconfig("other", "default").unwrap()).await
    }

    /// A tenant behind this server, of the version that the real one has.
    pub(crate) fn tenant(&self, addons: Value) -> Tenant {
        let (host, port) = self.target.address.rsplit_once(':').unwrap();
        Tenant {
            endpoint_host: host.to_owned(),
            endpoint_port: port.parse().unwrap(),
            ca_pem: self.target.ca.clone(),
            ..tenant(conformance::real::VERSION, addons, json!({}))
        }
    }
}

async fn client(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}
