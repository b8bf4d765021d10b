//! TLS, HTTP/1.1 and HTTP/2 around an API.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::{ClientConnection, ServerConfig, ServerConnection};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::RwLock;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

use crate::api::Api;
use crate::respond::Body;
use crate::service::{Peer, Service, turned_away};

mod handshake;
mod tls;

pub use tls::{Identity, TlsError};

/// A handshake that takes longer is no client's.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a client on HTTP/2 is asked whether it is still there. Those that care more ask by themselves.
const KEEP_ALIVE: Duration = Duration::from_secs(120);
/// How long requests under way may take to finish when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// An API with a certificate to show: it serves connections, and clients of this process without one.
pub struct Server {
    api: Api,
    tls: Arc<ServerConfig>,
    /// Held by requests that came without a connection.
    under_way: Arc<RwLock<()>>,
}

/// An API for a client of this process that was let in.
pub struct Admitted {
    service: Service,
    under_way: Arc<RwLock<()>>,
}

impl Admitted {
    /// Answers a request. A server that stops waits for it, and then turns others away: nobody is connected any more.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let _under_way = self.under_way.read().await;
        // A server says that it ends before it waits, so whoever is not seen here is waited for.
        if self.service.is_ending() {
            return turned_away(request.headers());
        }
        let Ok(response) = self.service.clone().call(request).await;
        response
    }
}

/// Serves `api` on `listener` until `stop` resolves, then ends watches and lets requests under way finish.
pub async fn serve(
    api: Api,
    listener: TcpListener,
    identity: &Identity,
    stop: impl Future<Output = ()>,
) -> Result<(), TlsError> {
    Server::new(api, identity)?.serve(listener, stop).await;
    Ok(())
}

impl Server {
    /// A server of this API.
    pub fn new(api: Api, identity: &Identity) -> Result<Self, TlsError> {
        Ok(Self { api, tls: Arc::new(tls::server_config(identity)?), under_way: Arc::default() })
    }

    /// Serves on `listener` until `stop` resolves, then ends watches and lets requests under way finish.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.tls));
        let graceful = GracefulShutdown::new();
        // Ends what is left when it is dropped.
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                () = &mut stop => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some to come free rather than spin.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (api, acceptor) = (self.api.clone(), acceptor.clone());
            connections.spawn(Connection { api, acceptor, watcher: graceful.watcher() }.run(stream));
        }
        drop(listener);
        self.api.inner.ending.send_replace(true);
        let over = async { tokio::join!(graceful.shutdown(), self.under_way.write()) };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, over).await;
    }

    /// The API for a client of this process, after the handshake that a connection would begin with: the client believes the
    /// certificate, and holds the key of its own.
    pub fn admit(&self, client: ClientConnection) -> Result<Admitted, rustls::Error> {
        let mut server = ServerConnection::new(Arc::clone(&self.tls))?;
        handshake::between(client, &mut server)?;
        let service = self.api.service_for(peer(&server));
        Ok(Admitted { service, under_way: Arc::clone(&self.under_way) })
    }
}

/// Who is on the other end, by the certificates shown.
fn peer(connection: &ServerConnection) -> Peer {
    let chain = connection.peer_certificates().unwrap_or_default();
    Peer { certificates: chain.iter().map(|der| der.to_vec()).collect(), ..Peer::default() }
}

struct Connection {
    api: Api,
    acceptor: TlsAcceptor,
    watcher: hyper_util::server::graceful::Watcher,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.acceptor.accept(stream)).await else {
            return;
        };
        let peer = peer(stream.get_ref().1);
        let service = hyper_util::service::TowerToHyperService::new(self.api.service_for(peer));
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(30));
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(KEEP_ALIVE)).max_concurrent_streams(1000);
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

pub(crate) fn with_protocols(mut config: ServerConfig) -> ServerConfig {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;
    use kapi_auth::User;
    use kapi_store::Store;

    use super::*;
    use crate::api::{Options, Plane};

    fn identity() -> Identity {
        let now = jiff::Timestamp::now();
        let validity = pki::validity_from(now, jiff::SignedDuration::from_hours(1));
        let subject = pki::Subject::named("test");
        let authority = pki::Authority::new(&subject, validity, &pki::SystemKeys).unwrap();
        let hosts = pki::SubjectAltNames::from_hosts(["127.0.0.1"]);
        let leaf = authority.issue_server(&pki::ServerProfile { subject, hosts, validity }, &pki::SystemKeys).unwrap();
        Identity { certificate: leaf.certificate_pem(), key: leaf.key.pem().clone() }
    }

    #[tokio::test]
    async fn who_was_let_in_is_turned_away_once_the_server_has_stopped() {
        let plane = Plane::new(Store::in_memory().unwrap());
        let api = plane.api("one", Options::default()).await.unwrap();
        let server = Server::new(api.clone(), &identity()).unwrap();
        let user = User { name: "admin".into(), groups: vec!["system:masters".into()], ..User::default() };
        let service = api.service_for(Peer { user: Some(user), ..Peer::default() });
        let admitted = Admitted { service, under_way: Arc::clone(&server.under_way) };
        let code = async || {
            let request = Request::get("/api/v1/namespaces/default").body(Empty::<bytes::Bytes>::new()).unwrap();
            admitted.answer(request).await.status().as_u16()
        };
        assert_eq!(code().await, 200);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // One that is under way is waited for; one that comes meanwhile is not answered by a server that is gone.
        let under_way = server.under_way.read().await;
        let serving = server.serve(listener, std::future::ready(()));
        let meanwhile = code();
        tokio::pin!(serving, meanwhile);
        assert!(futures::poll!(&mut serving).is_pending());
        assert!(futures::poll!(&mut meanwhile).is_pending());
        drop(under_way);
        serving.await;
        assert_eq!((meanwhile.await, code().await), (503, 503));
    }
}
