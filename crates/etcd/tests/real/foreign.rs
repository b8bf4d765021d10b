//! Calls that the crate does not make, as somebody with a stolen certificate would.

use bytes::Bytes;
use etcd::{Access, Client, Error, KeyRange};
use prost::Message;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// Calls any method with any message.
pub(crate) async fn call(client: &Client, path: &'static str, message: &impl Message) -> Result<Bytes, Error> {
    client.transport().call(path, message.encode_to_vec().into()).await
}

/// A message whose first fields are numbers, as many of etcd's are.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Numbers {
    #[prost(int64, tag = "1")]
    pub(crate) first: i64,
    #[prost(int64, tag = "2")]
    pub(crate) second: i64,
    #[prost(int64, tag = "3")]
    pub(crate) third: i64,
}

/// A key that goes with a lease.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LeasedPut {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(int64, tag = "3")]
    pub(crate) lease: i64,
}

/// A transaction that reads a range.
pub(crate) fn reading_transaction(range: &KeyRange) -> TxnRequest {
    let request_range = RangeRequest { key: range.start.clone(), range_end: range.end.clone() };
    TxnRequest { success: vec![RequestOp { request_range: Some(request_range), request_txn: None }] }
}

/// A transaction within a transaction.
pub(crate) fn nested(transaction: TxnRequest) -> TxnRequest {
    TxnRequest { success: vec![RequestOp { request_range: None, request_txn: Some(Box::new(transaction)) }] }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TxnRequest {
    #[prost(message, repeated, tag = "2")]
    success: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
struct RequestOp {
    #[prost(message, optional, tag = "1")]
    request_range: Option<RangeRequest>,
    #[prost(message, optional, boxed, tag = "4")]
    request_txn: Option<Box<TxnRequest>>,
}

#[derive(Clone, PartialEq, Message)]
struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    range_end: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    create_request: Option<RangeRequest>,
}

/// What etcd says first to somebody who watches.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchResponse {
    #[prost(bool, tag = "3")]
    pub(crate) created: bool,
    #[prost(bool, tag = "4")]
    pub(crate) canceled: bool,
    #[prost(string, tag = "6")]
    pub(crate) cancel_reason: String,
}

/// Begins to watch a range.
pub(crate) async fn watch(access: &Access, range: &KeyRange) -> anyhow::Result<WatchResponse> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&access.ca))
        .identity(Identity::from_pem(&access.certificate, access.key.expose()));
    let channel = Endpoint::from_shared(format!("https://{}", access.endpoints[0]))?.tls_config(tls)?.connect().await?;
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await?;
    let create_request = Some(RangeRequest { key: range.start.clone(), range_end: range.end.clone() });
    let request = tonic::Request::new(WatchRequest { create_request });
    let path = http::uri::PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
    let codec = tonic_prost::ProstCodec::<WatchRequest, WatchResponse>::default();
    let mut answers = grpc.server_streaming(request, path, codec).await?.into_inner();
    answers.message().await?.ok_or_else(|| anyhow::anyhow!("the watch ended without a word"))
}
