//! Which servers of this process answer at which addresses, so that its own clients need no network to them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Request;
use http_body_util::BodyExt as _;
use kapi::Server;
use kube::client::Body;
use parking_lot::RwLock;
use runtime::{Answer, Door, Inside, Nearby, Ways};
use rustls::ClientConnection;
use tower::Service as _;

use super::endpoints::Endpoints;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The addresses of this process behind which one of its own APIs answers. Clones know the same.
#[derive(Clone, Default)]
pub struct Doors {
    known: Arc<RwLock<HashMap<SocketAddr, Behind>>>,
}

/// What is behind an address that is listened on.
#[derive(Clone)]
enum Behind {
    Server(Arc<dyn Door>),
    Forwarded(Arc<Endpoints>),
}

/// As long as this lives an address is known.
pub(crate) struct Known {
    doors: Doors,
    at: SocketAddr,
    behind: Behind,
}

impl Doors {
    /// Ways to whatever answers here.
    pub fn ways(&self) -> Ways {
        Ways::with(Arc::new(self.clone()))
    }

    /// To be said when `server` listens at an address.
    pub(crate) fn open(&self, at: SocketAddr, server: Arc<Server>) -> Known {
        self.add(at, Behind::Server(Arc::new(Embedded { server })))
    }

    /// To be said when connections to an address are passed on.
    pub(super) fn forward(&self, at: SocketAddr, endpoints: Arc<Endpoints>) -> Known {
        self.add(at, Behind::Forwarded(endpoints))
    }

    fn add(&self, at: SocketAddr, behind: Behind) -> Known {
        self.known.write().insert(at, behind.clone());
        Known { doors: self.clone(), at, behind }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let mut known = self.doors.known.write();
        // Somebody may have taken over the address.
        if known.get(&self.at).is_some_and(|behind| behind.is_same(&self.behind)) {
            known.remove(&self.at);
        }
    }
}

impl Behind {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Server(one), Self::Server(other)) => Arc::ptr_eq(one, other),
            (Self::Forwarded(one), Self::Forwarded(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Nearby for Doors {
    fn at(&self, address: SocketAddr) -> Vec<Arc<dyn Door>> {
        let known = self.known.read();
        let server = |at: SocketAddr| match known.get(&at) {
            Some(Behind::Server(server)) => Some(Arc::clone(server)),
            _ => None,
        };
        match known.get(&address) {
            Some(Behind::Forwarded(endpoints)) => endpoints.in_turn().filter_map(server).collect(),
            _ => server(address).into_iter().collect(),
        }
    }
}

struct Embedded {
    server: Arc<Server>,
}

impl Door for Embedded {
    fn enter(&self, client: ClientConnection) -> Result<Arc<dyn Inside>, BoxError> {
        Ok(Arc::new(Admitted { service: self.server.admit(client)? }))
    }
}

/// An API for somebody who was let in.
struct Admitted {
    service: kapi::Service,
}

impl Inside for Admitted {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Answer> {
        let answer = self.service.clone().call(request);
        answer.map(|Ok::<_, Infallible>(response)| response.map(|body| body.map_err(Into::into).boxed_unsync())).boxed()
    }
}
