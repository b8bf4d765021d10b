//! The API's own requests to itself: the same path as everybody's, as a user that may do anything.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt;
use kapi_auth::User;
use serde_json::Value;

use crate::api::Api;
use crate::service::{Peer, Service};
use crate::status::Status;

/// A client inside the process.
#[derive(Clone)]
pub(crate) struct Internal {
    service: Service,
}

impl Internal {
    /// A client of `api` that acts as the API server itself.
    pub(crate) fn new(api: &Api) -> Self {
        let user = User {
            name: "system:apiserver".into(),
            groups: vec!["system:authenticated".into(), "system:masters".into()],
            ..User::default()
        };
        Self { service: api.service_for(Peer { user: Some(user), ..Peer::default() }) }
    }

    /// Sends a request; `agent` is whom managedFields name.
    pub(crate) async fn send(
        &self,
        agent: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        let uri = path.parse().map_err(|_| Failure { code: 400, message: format!("{path:?} is no path") })?;
        let bytes = body.map(|value| Bytes::from(value.to_string())).unwrap_or_default();
        let response = self.service.answer(method, &uri, headers, bytes).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        if code < 400 {
            return Ok(value);
        }
        Err(Failure { code, message: value["message"].as_str().unwrap_or_default().to_owned() })
    }
}

/// An internal request that was refused.
#[derive(Debug, thiserror::Error)]
#[error("{message} ({code})")]
pub(crate) struct Failure {
    pub(crate) code: u16,
    pub(crate) message: String,
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        Self::internal(failure)
    }
}
