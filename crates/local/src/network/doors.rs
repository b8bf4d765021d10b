//! Which servers of this process answer at which addresses, so that its own clients need no network to them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Request;
use http_body_util::BodyExt as _;
use kapi::{Admitted, Server};
use kube::client::Body;
use parking_lot::RwLock;
use runtime::{Answer, Door, Inside, Nearby, Ways};
use rustls::ClientConnection;

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
        Ok(Arc::new(Room(Arc::new(self.server.admit(client)?))))
    }
}

/// An API, for somebody who was let in.
struct Room(Arc<Admitted>);

impl Inside for Room {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Answer> {
        let api = Arc::clone(&self.0);
        async move { api.answer(request).await.map(|body| body.map_err(Into::into).boxed_unsync()) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server by its name, which is told instead of letting anybody in.
    struct Named(&'static str);

    impl Door for Named {
        fn enter(&self, _: ClientConnection) -> Result<Arc<dyn Inside>, BoxError> {
            Err(self.0.into())
        }
    }

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn server(name: &'static str) -> Behind {
        Behind::Server(Arc::new(Named(name)))
    }

    /// Who answers at a port.
    fn at(doors: &Doors, port: u16) -> Vec<String> {
        let config =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        let config = Arc::new(config);
        let client = || ClientConnection::new(Arc::clone(&config), "here".try_into().unwrap()).unwrap();
        let mut names: Vec<_> = doors.at(address(port)).iter().filter_map(|door| door.enter(client()).err()).collect();
        names.sort_by_key(ToString::to_string);
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_address_leads_to_the_servers_that_connections_to_it_would_reach() {
        let doors = Doors::default();
        let (one, _two) = (doors.add(address(1), server("one")), doors.add(address(2), server("two")));
        let endpoints = Arc::new(Endpoints::new(vec![address(1), address(2), address(3)]));
        let forwarded = doors.forward(address(9), Arc::clone(&endpoints));
        // Nobody of this process listens at the third.
        assert_eq!(
            (at(&doors, 1), at(&doors, 9), at(&doors, 3)),
            (vec!["one".into()], vec!["one".into(), "two".into()], vec![])
        );
        endpoints.replace(vec![address(2)]);
        assert_eq!(at(&doors, 9), ["two"]);
        endpoints.replace(vec![address(1)]);
        drop(one);
        assert_eq!((at(&doors, 1), at(&doors, 9)), (vec![], vec![]));
        endpoints.replace(vec![address(2)]);
        drop(forwarded);
        assert_eq!((at(&doors, 2), at(&doors, 9)), (vec!["two".into()], vec![]));
    }

    #[test]
    fn who_took_over_an_address_keeps_it_when_the_former_one_goes() {
        let doors = Doors::default();
        let former = doors.add(address(1), server("former"));
        let latter = doors.add(address(1), server("latter"));
        drop(former);
        assert_eq!(at(&doors, 1), ["latter"]);
        drop(latter);
        assert_eq!(at(&doors, 1), Vec::<String>::new());
    }
}
