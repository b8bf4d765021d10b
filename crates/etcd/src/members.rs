//! The members of an etcd, reached by gRPC over TLS.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::{Buf as _, BufMut as _, Bytes};
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use pki::Secret;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tonic::{
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    metadata::MetadataValue,
    transport::{Channel, Endpoint},
};

use crate::{
    Error, Transport,
    classify::{classify, was_overtaken},
    connect,
};

/// How long a call may take by default: longer than an election, shorter than a reader's patience.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The largest answer taken; bounds the memory of a call.
const LARGEST_ANSWER: usize = 16 << 20;

/// Where an etcd is, and who asks.
#[derive(Debug, Clone)]
pub struct Access {
    /// Its members as `host:port`; at least one.
    pub endpoints: Vec<String>,
    /// PEM of the authority that signed etcd's own certificate.
    pub ca: String,
    /// PEM of the client certificate; its common name is the user.
    pub certificate: String,
    /// PEM of the key of it.
    pub key: Secret,
    /// How long a call may take, whichever and however many members it asks.
    pub deadline: Duration,
}

pub(crate) struct Members {
    members: Vec<Member>,
    /// The one that answered last.
    preferred: AtomicUsize,
    deadline: Duration,
}

impl Members {
    pub(crate) fn new(access: &Access) -> Result<Self, Error> {
        let tls = connect::tls(access)?;
        let members: Vec<Member> =
            access.endpoints.iter().map(|address| Member::new(address, &tls)).collect::<Result<_, _>>()?;
        if members.is_empty() {
            return Err(Error::Invalid("there is no endpoint of etcd: name at least one as host:port".to_owned()));
        }
        Ok(Self { members, preferred: AtomicUsize::new(0), deadline: access.deadline })
    }

    /// Asks one member after the other, from the one that answered last, until one answers for all of them. One that did
    /// not answer may have acted all the same: every call made here does no harm when repeated.
    async fn ask(&self, path: &'static str, message: Bytes) -> Result<Bytes, Error> {
        let begun = Instant::now();
        let first = self.preferred.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        for (index, member) in self.members.iter().enumerate().cycle().skip(first).take(self.members.len()) {
            let left = self.deadline.saturating_sub(begun.elapsed());
            let is_last = failures.len() + 1 == self.members.len();
            // Half of what is left, so that a member which never answers leaves time for the others.
            let patience = if is_last { left } else { left / 2 };
            match member.ask(path, message.clone(), patience).await {
                Err(error) if error.is_of_one_member() => failures.push((member.address.as_str(), error)),
                answer => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return answer;
                }
            }
        }
        Err(combine(&failures))
    }
}

impl Transport for Members {
    fn call(&self, path: &'static str, message: Bytes) -> BoxFuture<'_, Result<Bytes, Error>> {
        Box::pin(self.ask(path, message))
    }
}

/// One error for all members: each with its reason, in the class that says most.
fn combine(failures: &[(&str, Error)]) -> Error {
    let mut class: fn(String) -> Error = Error::Unreachable;
    let mut reasons = Vec::new();
    for (address, error) in failures {
        let (Error::Unreachable(reason) | Error::Untrusted(reason) | Error::NoLeader(reason)) = error else { continue };
        reasons.push(format!("{address}: {reason}"));
        match error {
            Error::Untrusted(_) => class = Error::Untrusted,
            // A member that answers proves that certificates are right.
            Error::NoLeader(_) => return Error::NoLeader(reason.clone()),
            _ => {}
        }
    }
    class(reasons.join(", "))
}

struct Member {
    address: String,
    /// Whom its certificate must be for.
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    endpoint: Endpoint,
    /// Made at the first call, which is inside a runtime, and anew once it does not answer.
    channel: Mutex<Option<Channel>>,
}

impl Member {
    fn new(address: &str, tls: &Arc<ClientConfig>) -> Result<Self, Error> {
        let unusable = || Error::Invalid(format!("{address:?} is no endpoint of etcd: write it as host:port"));
        // TLS is ours, below what tonic sees.
        let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|_| unusable())?;
        let host = endpoint.uri().host().ok_or_else(unusable)?.trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| unusable())?;
        Ok(Self { address: address.to_owned(), name, tls: tls.clone(), endpoint, channel: Mutex::new(None) })
    }

    fn channel(&self) -> Channel {
        let (address, name, tls) = (self.address.clone(), self.name.clone(), self.tls.clone());
        let connect = move |_| connect::connect(address.clone(), name.clone(), tls.clone());
        self.endpoint.connect_with_connector_lazy(tower::service_fn(connect))
    }

    async fn ask(&self, path: &'static str, message: Bytes, patience: Duration) -> Result<Bytes, Error> {
        let channel = self.channel.lock().get_or_insert_with(|| self.channel()).clone();
        let asked = async {
            loop {
                match unary(channel.clone(), path, message.clone(), patience).await {
                    Err(status) if was_overtaken(&status) => {}
                    answer => return answer.map_err(|status| classify(&status)),
                }
            }
        };
        let answer = match tokio::time::timeout(patience, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Unreachable("no answer in time".to_owned())),
        };
        if let Err(Error::Unreachable(_)) = answer {
            // A connection whose other end is gone without a word would not be noticed for many minutes.
            *self.channel.lock() = None;
        }
        answer
    }
}

async fn unary(
    channel: Channel,
    path: &'static str,
    message: Bytes,
    patience: Duration,
) -> Result<Bytes, tonic::Status> {
    let mut request = tonic::Request::new(message);
    request.set_timeout(patience);
    // A member cut off from the others says so at once, rather than waiting for them.
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    let mut grpc = Grpc::new(channel).max_decoding_message_size(LARGEST_ANSWER);
    grpc.ready().await.map_err(|error| tonic::Status::from_error(error.into()))?;
    Ok(grpc.unary(request, PathAndQuery::from_static(path), Raw).await?.into_inner())
}

/// Messages are encoded before they come here.
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = tonic::Status;

    fn encode(&mut self, message: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        into.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
