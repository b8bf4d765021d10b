//! The API as a `tower::Service`.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kapi_auth::{Attributes, User};
use kapi_schema::fields;

use crate::api::{Api, Inner};
use crate::auth::NO_USER;
use crate::call::{Call, FieldValidation};
use crate::handlers;
use crate::metrics;
use crate::registry::Served;
use crate::request::{Query, Route, Target, verb};
use crate::respond::{self, Body, Endpoint, Representation};
use crate::status::Status;

/// The largest body taken, as kube-apiserver has it.
const MAX_BODY: usize = 3 << 20;

/// Who is on the other end of a connection, by whatever the connection itself proves.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Somebody whoever made the service vouches for.
    pub user: Option<User>,
    /// The certificates the client showed, DER, its own first. They are judged with each request.
    pub certificates: Arc<[Vec<u8>]>,
}

/// An API ready to answer requests of one peer. Cloning is cheap.
#[derive(Clone)]
pub struct Service {
    api: Arc<Inner>,
    peer: Peer,
}

impl Api {
    /// The API for a peer that proves nothing: requests carry their own credentials.
    pub fn service(&self) -> Service {
        Service { api: Arc::clone(&self.inner), peer: Peer::default() }
    }

    /// The API for somebody known, such as a controller in the same process.
    pub fn service_for(&self, peer: Peer) -> Service {
        Service { api: Arc::clone(&self.inner), peer }
    }
}

impl Service {
    /// Whether the front end stops, or has stopped.
    pub(crate) fn is_ending(&self) -> bool {
        *self.api.ending.borrow()
    }

    /// Answers one request.
    pub async fn answer(&self, method: Method, uri: &Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
        let query = Query::parse(uri.query());
        let failure = Representation::of_failure(&headers, &query);
        let exchange = Exchange { service: self, method, path: uri.path(), query, headers, body };
        if uri.path().starts_with("//") {
            let mut response = respond::text(404, "text/plain; charset=utf-8", "404 page not found\n");
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
            return response;
        }
        let mut response = match exchange.run(&failure).await {
            Ok(response) => response,
            Err(status) if status.reason == NO_USER => {
                let text = format!("Internal Server Error: {:?}: {}\n", uri.path(), status.message);
                respond::text(500, "text/plain; charset=utf-8", text)
            }
            Err(status) => respond::failure(&status, &failure),
        };
        let headers = response.headers_mut();
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        }
        if let Ok(id) = HeaderValue::from_str(&crate::write::new_uid()) {
            headers.insert("audit-id", id);
        }
        response
    }
}

struct Exchange<'a> {
    service: &'a Service,
    method: Method,
    path: &'a str,
    query: Query,
    headers: HeaderMap,
    body: Bytes,
}

impl Exchange<'_> {
    async fn run(self, failure: &Representation) -> Result<Response<Body>, Status> {
        let (api, peer) = (&self.service.api, &self.service.peer);
        let user = match &peer.user {
            Some(user) => api.auth.impersonated(user.clone(), &self.headers)?,
            None => api.auth.user(&peer.certificates, &self.headers, api.now())?,
        };
        match Route::parse(self.path) {
            Route::Resource(target) => self.resource(target, user, failure).await,
            Route::Other => {
                let verb = self.method.as_str().to_ascii_lowercase();
                api.auth.authorize(&Attributes::path(&user, &verb, self.path))?;
                crate::documents::answer(&self.service.api, &self.method, self.path, &self.headers, &self.query)
            }
        }
    }

    async fn resource(self, target: Target, user: User, failure: &Representation) -> Result<Response<Body>, Status> {
        let api = &self.service.api;
        let verb = verb(&self.method, &target, &self.query);
        let request = metrics::Request {
            verb,
            group: target.group.clone(),
            resource: target.resource.clone(),
            subresource: target.subresource.clone(),
            code: 200,
        };
        let answered = self.answer_resource(verb, target, user, failure).await;
        let code = match &answered {
            Ok(response) => response.status().as_u16(),
            Err(status) => status.code,
        };
        // Names nobody serves would let anybody make up metrics.
        if code != 404 {
            api.metrics.answered(&metrics::Request { code, ..request });
        }
        answered
    }

    async fn answer_resource(
        self,
        verb: &'static str,
        target: Target,
        user: User,
        failure: &Representation,
    ) -> Result<Response<Body>, Status> {
        let api = &self.service.api;
        authorize(api, &user, verb, &target, &self.query)?;
        let Some(served) = api.find(&target.group, &target.version, &target.resource) else {
            // Within a group that is served the answer is a Status, beyond it a bare page.
            return if crate::registry::builtin().0.contains_key(target.group.as_str()) {
                Err(Status::no_such_path())
            } else {
                Ok(respond::text(404, "text/plain; charset=utf-8", "404 page not found\n"))
            };
        };
        if self.method == Method::HEAD {
            return Err(Status::method_refused());
        }
        if is_misplaced(&served, &target) {
            return match served.custom {
                Some(_) => Ok(respond::text(404, "text/plain; charset=utf-8", "404 page not found\n")),
                None => Err(Status::no_such_path()),
            };
        }
        let representation = representation(&self.headers, &self.query, &served, verb)?;
        let mut call = Call {
            api: Arc::clone(api),
            served,
            target,
            query: self.query,
            user,
            headers: self.headers,
            body: self.body,
            now: api.now(),
            field_validation: FieldValidation::Warn,
            warnings: Vec::new(),
        };
        call.choose_field_validation()?;
        call.warnings.extend(call.served.deprecation());
        let answer = handlers::handle(&self.method, verb, &mut call).await;
        match answer.and_then(|answer| respond::respond(&call, &representation, answer)) {
            Ok(response) => Ok(response),
            // Warnings are told with refusals too.
            Err(status) if status.reason != NO_USER => {
                let mut response = respond::failure(&status, failure);
                respond::warn(&mut response, &call.warnings);
                Ok(response)
            }
            Err(status) => Err(status),
        }
    }
}

/// In what to answer a request on a resource.
fn representation(headers: &HeaderMap, query: &Query, served: &Served, verb: &str) -> Result<Representation, Status> {
    let endpoint = match (&served.custom, verb) {
        (Some(_), _) => Endpoint::Custom,
        (None, "list" | "watch") => Endpoint::Collection,
        (None, _) => Endpoint::BuiltIn,
    };
    let chosen = Representation::of(headers, query, endpoint)?;
    if verb == "watch" { chosen.streamed() } else { Ok(chosen) }
}

/// Whether a path gives a namespace to what has none, or names an object that has one without it.
fn is_misplaced(served: &Served, target: &Target) -> bool {
    let own_namespace = served.is("", "Namespace");
    match served.resource.namespaced {
        true => target.namespace.is_empty() && !target.name.is_empty(),
        false => !own_namespace && !target.namespace.is_empty(),
    }
}

/// Refuses a request on a resource that the user may not make.
fn authorize(api: &Inner, user: &User, verb: &str, target: &Target, query: &Query) -> Result<(), Status> {
    let fields = match (verb, query.get("fieldSelector")) {
        ("list" | "watch" | "deletecollection", Some(selector)) => {
            fields::Selector::parse(selector).unwrap_or_default().terms
        }
        _ => Vec::new(),
    };
    let selected =
        fields.iter().find(|field| field.equal && field.field == "metadata.name").map(|field| field.value.as_str());
    let name = if target.name.is_empty() { selected.unwrap_or_default() } else { &target.name };
    // A namespace is its own scope: reading `namespaces/x` is asked about within x, and named.
    api.auth.authorize(&Attributes {
        user,
        verb,
        is_resource: true,
        group: &target.group,
        version: &target.version,
        resource: &target.resource,
        subresource: &target.subresource,
        namespace: &target.namespace,
        name,
        path: "",
        fields: &fields,
    })
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let bytes = match Limited::new(body, MAX_BODY).collect().await {
                Ok(collected) => collected.to_bytes(),
                Err(error) => return Ok(unreadable(&*error)),
            };
            Ok(service.answer(parts.method, &parts.uri, parts.headers, bytes).await)
        })
    }
}

/// What is answered once nobody is connected any more.
pub(crate) fn turned_away(headers: &HeaderMap) -> Response<Body> {
    let status = Status::unavailable("the API server has stopped");
    respond::failure(&status, &Representation::of_failure(headers, &Query::parse(None)))
}

fn unreadable(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Response<Body> {
    let status = if error.is::<LengthLimitError>() {
        Status::too_large("Request entity too large: limit is 3145728")
    } else {
        Status::bad_request(format!("error reading the request: {error}"))
    };
    let mut response = respond::failure(&status, &Representation::json());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
