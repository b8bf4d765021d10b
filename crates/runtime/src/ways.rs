//! How APIs are reached: over the network, or, where a server of this process answers, without one.
//!
//! A management cluster on one machine serves its tenants itself. Sockets, encryption and HTTP/2 in between would be most of
//! what a tenant at rest costs. So both sides show each other who they are exactly as they would on a connection, once, and
//! then requests are handed over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config, Error};
use parking_lot::Mutex;
use rustls::{ClientConfig, ClientConnection};
use rustls_pki_types::ServerName;
use tower::{BoxError, Service, ServiceBuilder};

use crate::patience::{Patience, Patient};
use crate::{Failure, connect};

/// Servers of this process, by the addresses they are reached at.
pub trait Nearby: Send + Sync {
    /// Those that answer at an address now, the one whose turn it is first.
    fn at(&self, address: SocketAddr) -> Vec<Arc<dyn Door>>;
}

/// A server of this process.
pub trait Door: Send + Sync {
    /// Lets a client in after a handshake, in which both have proved who they are.
    fn enter(&self, client: ClientConnection) -> Result<Arc<dyn Inside>, BoxError>;
}

/// A server, as one client that was let in sees it.
pub trait Inside: Send + Sync {
    /// Answers a request.
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Answer>;
}

/// An answer, whichever way it came.
pub type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// Makes clients. The default knows the network alone. Clones know the same.
#[derive(Clone, Default)]
pub struct Ways {
    nearby: Option<Arc<dyn Nearby>>,
}

impl Ways {
    /// With servers that need no network.
    pub fn with(nearby: Arc<dyn Nearby>) -> Self {
        Self { nearby: Some(nearby) }
    }

    /// A client of the API that `config` leads to. Timeouts are those of a connection: a read timeout ends one on which nothing
    /// comes in, so it is for clients that do not watch, and servers of this process know none.
    pub fn client(&self, config: Config) -> Result<Client, Error> {
        Ok(Client::new(self.service(&config)?, config.default_namespace))
    }

    /// A client that waits as this patience does, for an API that may fall silent.
    pub fn patient_client(&self, mut config: Config, patience: &Patience) -> Result<Client, Failure> {
        // The deadline holds for the connection too.
        (config.connect_timeout, config.read_timeout, config.write_timeout) = (None, None, None);
        let patient = Patient::new(self.service(&config)?, patience.clone());
        Ok(Client::new(patient, config.default_namespace))
    }

    fn service(
        &self,
        config: &Config,
    ) -> Result<impl Service<Request<Body>, Response = Answer, Error = BoxError, Future: Send> + use<>, Error> {
        let mut tls = config.rustls_client_config()?;
        connect::remember_nothing(&mut tls);
        let near = self.nearby.clone().and_then(|nearby| Near::new(nearby, config, tls.clone())).map(Arc::new);
        let far = connect::network(config, tls)?;
        Ok(ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer()?)
            .map_err(BoxError::from)
            .service(Way { near, far }))
    }
}

/// Goes to a server of this process if one answers, else over the network.
#[derive(Clone)]
struct Way<S> {
    near: Option<Arc<Near>>,
    far: S,
}

impl<S> Service<Request<Body>> for Way<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = Answer;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Answer, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.far.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match self.near.as_ref().and_then(|near| near.server()) {
            Some(Ok(server)) => {
                let answer = server.answer(request);
                Box::pin(async move { Ok(answer.await) })
            }
            Some(Err(refused)) => Box::pin(std::future::ready(Err(refused))),
            None => {
                let answer = self.far.call(request);
                Box::pin(async move { answer.await.map(boxed).map_err(Into::into) })
            }
        }
    }
}

fn boxed(response: Response<Incoming>) -> Answer {
    response.map(|body| body.map_err(Into::into).boxed_unsync())
}

/// A client's way to an address of this machine.
struct Near {
    nearby: Arc<dyn Nearby>,
    address: SocketAddr,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    entered: Mutex<Option<Entered>>,
}

/// Where a client was let in.
struct Entered {
    door: Arc<dyn Door>,
    inside: Arc<dyn Inside>,
}

impl Near {
    /// Only addresses can be those of a server here, and names are not looked up for it.
    fn new(nearby: Arc<dyn Nearby>, config: &Config, tls: ClientConfig) -> Option<Self> {
        let url = &config.cluster_url;
        let host = url.host()?.trim_start_matches('[').trim_end_matches(']');
        let ip = host.parse().ok()?;
        let name = config.tls_server_name.clone().unwrap_or_else(|| host.to_owned());
        let (Some("https"), Ok(name)) = (url.scheme_str(), ServerName::try_from(name)) else { return None };
        let address = SocketAddr::new(ip, url.port_u16().unwrap_or(443));
        Some(Self { nearby, address, name, tls: Arc::new(tls), entered: Mutex::default() })
    }

    /// Who answers now. As on a connection, it stays the same one as long as that is there.
    fn server(&self) -> Option<Result<Arc<dyn Inside>, BoxError>> {
        let doors = self.nearby.at(self.address);
        let mut entered = self.entered.lock();
        if let Some(known) = &*entered
            && doors.iter().any(|door| Arc::ptr_eq(door, &known.door))
        {
            return Some(Ok(Arc::clone(&known.inside)));
        }
        *entered = None;
        let door = doors.into_iter().next()?;
        let greeted = ClientConnection::new(Arc::clone(&self.tls), self.name.clone());
        let inside = greeted.map_err(BoxError::from).and_then(|client| door.enter(client));
        Some(inside.inspect(|inside| *entered = Some(Entered { door, inside: Arc::clone(inside) })))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::Full;
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;

    use super::*;

    /// A server by its name, and how many clients it let in.
    struct Named(&'static str, AtomicUsize);

    impl Named {
        fn new(name: &'static str) -> Arc<Self> {
            Arc::new(Self(name, AtomicUsize::new(0)))
        }

        fn entered(&self) -> usize {
            self.1.load(Ordering::Relaxed)
        }
    }

    impl Door for Named {
        fn enter(&self, _: ClientConnection) -> Result<Arc<dyn Inside>, BoxError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            match self.0 {
                "strict" => Err("you are not known here".into()),
                name => Ok(Arc::new(Greeting(name))),
            }
        }
    }

    struct Greeting(&'static str);

    impl Inside for Greeting {
        fn answer(&self, _: Request<Body>) -> BoxFuture<'static, Answer> {
            let node = format!(r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}}"#, self.0);
            let body = Full::new(Bytes::from(node)).map_err(|never| match never {}).boxed_unsync();
            Box::pin(std::future::ready(Response::new(body)))
        }
    }

    /// What answers at the one address that somebody here listens on.
    #[derive(Default)]
    struct Street(Mutex<Vec<Arc<dyn Door>>>);

    impl Nearby for Street {
        fn at(&self, address: SocketAddr) -> Vec<Arc<dyn Door>> {
            if address == SocketAddr::from(([127, 0, 0, 1], 1)) { self.0.lock().clone() } else { Vec::new() }
        }
    }

    fn nodes(street: &Arc<Street>, url: &str) -> Api<Node> {
        let mut config = Config::new(url.parse().unwrap());
        config.root_cert = Some(Vec::new());
        Api::all(Ways::with(street.clone()).client(config).unwrap())
    }

    async fn answer(nodes: &Api<Node>) -> Result<String, String> {
        let found = nodes.get("n").await;
        found.map(|node| node.metadata.name.unwrap_or_default()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_server_of_this_process_is_entered_once_and_left_when_it_is_gone() {
        let street = Arc::new(Street::default());
        let (first, second) = (Named::new("first"), Named::new("second"));
        let nodes = nodes(&street, "https://127.0.0.1:1");
        *street.0.lock() = vec![first.clone()];
        assert_eq!((answer(&nodes).await, answer(&nodes).await), (Ok("first".into()), Ok("first".into())));
        // Another's turn is no reason to leave.
        *street.0.lock() = vec![second.clone(), first.clone()];
        assert_eq!((answer(&nodes).await, first.entered(), second.entered()), (Ok("first".into()), 1, 0));
        *street.0.lock() = vec![second.clone()];
        assert_eq!((answer(&nodes).await, second.entered()), (Ok("second".into()), 1));
        // Nobody is there, so the network is asked, and nobody listens.
        street.0.lock().clear();
        assert!(answer(&nodes).await.unwrap_err().contains("client error (Connect)"));
    }

    #[tokio::test]
    async fn who_is_not_let_in_is_told_so_and_other_addresses_are_others() {
        let street = Arc::new(Street::default());
        let strict = Named::new("strict");
        *street.0.lock() = vec![strict.clone()];
        let refused = answer(&nodes(&street, "https://127.0.0.1:1")).await;
        assert_eq!((refused, strict.entered()), (Err("ServiceError: you are not known here".into()), 1));
        for elsewhere in ["https://127.0.0.1:2", "http://127.0.0.1:1", "https://nowhere.invalid:1"] {
            assert!(answer(&nodes(&street, elsewhere)).await.unwrap_err().contains("(Connect)"), "{elsewhere}");
        }
        assert_eq!(strict.entered(), 1);
    }
}
