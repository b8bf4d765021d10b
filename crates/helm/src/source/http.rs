//! A small HTTP client for servers that nobody vouches for.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, ETAG, HOST, IF_NONE_MATCH, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use pki::Secret;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::error::Fault;
use super::location::{authority, shown};
use super::reach::Reach;
use super::{Limits, tls};

/// Asks, follows redirections, and counts.
pub(super) struct Client {
    limits: Limits,
    /// Addresses of mirrors: whoever runs the platform chose them.
    mirrors: Vec<String>,
    trust: tls::Trust,
}

/// A question.
pub(super) struct Request<'a> {
    pub(super) url: &'a Url,
    pub(super) accept: &'a str,
    /// Sent to the place of the URL, and to no other that it redirects to.
    pub(super) authorization: Option<&'a Secret>,
    /// The state that is known already.
    pub(super) etag: Option<&'a str>,
    /// Bytes that are accepted.
    pub(super) limit: usize,
    /// What the bytes are, for complaints.
    pub(super) what: &'a str,
    pub(super) ca: Option<&'a [u8]>,
    pub(super) reach: &'a Reach,
}

/// An answer, whatever it is.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn etag(&self) -> Option<String> {
        self.header(ETAG).map(str::to_owned)
    }

    /// The body of an answer that is none of the errors.
    pub(super) fn body(self, url: &Url, had_credentials: bool) -> Result<Bytes, Fault> {
        if self.status == StatusCode::OK { Ok(self.body) } else { Err(self.fault(url, had_credentials)) }
    }

    /// What an answer that is not the one wanted means.
    pub(super) fn fault(&self, url: &Url, had_credentials: bool) -> Fault {
        let place = shown(url.as_str());
        match self.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Fault::Denied { place, status: self.status.as_u16(), had_credentials }
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Fault::Missing(place),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Fault::Unreachable(format!("{place} answers {status}"))
            }
            status => Fault::Broken(format!("{place} answers {status}")),
        }
    }
}

impl Client {
    pub(super) fn new(limits: Limits, mirrors: Vec<String>) -> Self {
        Self { limits, mirrors, trust: tls::Trust::default() }
    }

    /// Asks; the answer may be any but a redirection.
    pub(super) async fn get(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let slow = |_| {
            let (place, seconds) = (shown(request.url.as_str()), self.limits.time.as_secs_f32());
            Fault::Unreachable(format!("{place} did not answer in full within {seconds} seconds"))
        };
        tokio::time::timeout(self.limits.time, self.follow(&request)).await.map_err(slow)?
    }

    async fn follow(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let mut url = request.url.clone();
        for _ in 0..=self.limits.redirects {
            let authorization = request.authorization.filter(|_| url.origin() == request.url.origin());
            let response = self.ask(&url, request, authorization).await?;
            let target = response.headers().get(LOCATION).filter(|_| is_redirection(response.status()));
            let Some(target) = target else { return read(response, request, &url).await };
            url = redirected(&url, target)?;
        }
        let (place, most) = (shown(request.url.as_str()), self.limits.redirects);
        Err(Fault::Broken(format!("{place} redirects more than {most} times")))
    }

    async fn ask(
        &self,
        url: &Url,
        request: &Request<'_>,
        authorization: Option<&Secret>,
    ) -> Result<http::Response<Incoming>, Fault> {
        let broken = |reason: String| Fault::Broken(format!("{}: {reason}", shown(url.as_str())));
        if authorization.is_some() && url.scheme() != "https" && !is_loopback(url) {
            let way_out = "credentials are not sent in the clear; use the repository's https:// address";
            return Err(Fault::Address(way_out.to_owned()));
        }
        let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let mut question = http::Request::get(path)
            .header(HOST, authority(url))
            .header(ACCEPT, request.accept)
            .header(USER_AGENT, concat!("butler/", env!("CARGO_PKG_VERSION")));
        if let Some(etag) = request.etag {
            question = question.header(IF_NONE_MATCH, etag);
        }
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::from_str(authorization.expose())
                .map_err(|_| Fault::Address("the credentials have characters that no header may have".to_owned()))?;
            value.set_sensitive(true);
            question = question.header(AUTHORIZATION, value);
        }
        let question = question.body(Empty::new()).map_err(|error| broken(error.to_string()))?;
        let unreachable = |reason: String| Fault::Unreachable(format!("{}: {reason}", shown(url.as_str())));
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(broken("the address has no host".to_owned()));
        };
        // What was looked at is what is connected to: another look could find another address.
        let found = lookup_host((host.trim_matches(['[', ']']), port)).await;
        let found = found.map_err(|error| unreachable(format!("no address: {error}")))?;
        let permitted = request.reach.permitted(url, found.collect(), &self.mirrors)?;
        let socket = TcpStream::connect(permitted.as_slice()).await;
        let socket = socket.map_err(|error| unreachable(format!("no connection: {error}")))?;
        if url.scheme() != "https" {
            return send(socket, question).await.map_err(unreachable);
        }
        let config = self.trust.config(request.ca).map_err(Fault::Address)?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|error| broken(error.to_string()))?;
        let secured = TlsConnector::from(config).connect(name, socket).await;
        send(secured.map_err(|error| unreachable(tls::explain(&error)))?, question).await.map_err(unreachable)
    }
}

async fn send<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    question: http::Request<Empty<Bytes>>,
) -> Result<http::Response<Incoming>, String> {
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // Ends with the sender, or with the answer's last byte.
    tokio::spawn(connection);
    sender.send_request(question).await.map_err(|error| error.to_string())
}

async fn read(response: http::Response<Incoming>, request: &Request<'_>, url: &Url) -> Result<Answer, Fault> {
    let too_large = || Fault::TooLarge { what: request.what.to_owned(), limit: request.limit };
    let (parts, mut body) = response.into_parts();
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > request.limit) {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(announced.unwrap_or_default());
    while let Some(frame) = body.frame().await {
        let cut = |error: hyper::Error| Fault::Unreachable(format!("{} broke off: {error}", shown(url.as_str())));
        let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
        if content.len() + data.len() > request.limit {
            return Err(too_large());
        }
        content.extend_from_slice(&data);
    }
    Ok(Answer { status: parts.status, headers: parts.headers, body: content.into() })
}

fn is_redirection(status: StatusCode) -> bool {
    status.is_redirection() && status != StatusCode::NOT_MODIFIED
}

fn redirected(from: &Url, target: &HeaderValue) -> Result<Url, Fault> {
    let place = shown(from.as_str());
    let target = target.to_str().ok().and_then(|target| from.join(target).ok());
    let target = target.ok_or_else(|| Fault::Broken(format!("{place} redirects to what is no address")))?;
    if target.scheme() == "https" || (target.scheme() == "http" && from.scheme() == "http") {
        return Ok(target);
    }
    Err(Fault::Broken(format!("{place} redirects to {}, which is not secured", shown(target.as_str()))))
}

/// Whether it is on this machine, so that nobody can listen on the way.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
