//! The way to a tenant's API: one connection, however many watches go through it.
//!
//! [`kube::Client::try_from`] speaks HTTP/1.1, where every watch holds a connection of its own. A process that watches several
//! kinds in each of a thousand tenants would spend most of its memory on them.

use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use kube::{Config, Error};
use rustls::ClientConfig;
use rustls::client::Resumption;
use tower::{BoxError, Service};

/// When the other side is asked whether it is still there, if nothing came from it: later than bookmarks do, so that watched
/// tenants need not be asked.
const ASKED_EVERY: Duration = Duration::from_secs(90);
/// One that does not say so by then is not, and its watches begin anew.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// A connection lasts as long as its client, so there is nothing to take up again.
pub(crate) fn remember_nothing(tls: &mut ClientConfig) {
    tls.resumption = Resumption::disabled();
}

/// What carries the requests of a client.
pub(crate) fn network(
    config: &Config,
    tls: ClientConfig,
) -> Result<
    impl Service<Request<Body>, Response = Response<Incoming>, Error: Into<BoxError>, Future: Send> + Clone + Send + use<>,
    Error,
> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let secured = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let secured = match &config.tls_server_name {
        Some(name) => {
            let name =
                rustls_pki_types::ServerName::try_from(name.clone()).map_err(|error| Error::Service(error.into()))?;
            secured.with_server_name_resolver(hyper_rustls::FixedServerNameResolver::new(name))
        }
        None => secured,
    };
    let mut connector = TimeoutConnector::new(secured.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    Ok(hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(ASKED_EVERY)
        .http2_keep_alive_timeout(ANSWERED_WITHIN)
        .build::<_, Body>(connector))
}
