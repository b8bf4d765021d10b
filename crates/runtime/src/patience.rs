//! Clients of APIs that may fall silent: every answer has a deadline, and who is silent is not waited for by everybody.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Either, Full};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Service};

/// An API that answers does so in milliseconds; one that takes longer than this counts as silent.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A write may wait for webhooks of the tenant's own, which have 10 s unless they say otherwise.
const PATIENCE_FOR_WRITES: Duration = Duration::from_secs(15);

/// Whether an API answers. Clones share what they know.
///
/// A client with it ([`crate::Ways::patient_client`]) has its reads end within [`PATIENCE`], of a watch its beginning, and its
/// writes a little later. After a call without an answer the next ones fail at once, and one at a time finds out whether it
/// answers again.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    /// Set while it is silent: until then nobody asks it again.
    silent_until: Arc<Mutex<Option<Instant>>>,
}

/// The API did not answer, or is known not to.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the API does not answer in time")]
pub struct Silent;

impl Patience {
    /// Whether it has been found not to answer, just now.
    pub fn is_silent(&self) -> bool {
        self.silent_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// Whether somebody may ask. The first one after a while finds out for all.
    fn begin(&self) -> Result<(), Silent> {
        let mut silent_until = self.silent_until.lock();
        let now = Instant::now();
        match *silent_until {
            Some(until) if now < until => return Err(Silent),
            Some(_) => *silent_until = Some(now + PATIENCE),
            None => {}
        }
        Ok(())
    }

    fn end<T>(&self, outcome: Result<T, tokio::time::error::Elapsed>) -> Result<T, Silent> {
        *self.silent_until.lock() = outcome.is_err().then(|| Instant::now() + PATIENCE);
        outcome.map_err(|_| Silent)
    }
}

/// Requests that are waited for with patience.
pub(crate) struct Patient<S> {
    inner: S,
    patience: Patience,
}

impl<S> Patient<S> {
    pub(crate) fn new(inner: S, patience: Patience) -> Self {
        Self { inner, patience }
    }
}

impl<S, B> Service<Request<Body>> for Patient<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Either<B, Full<bytes::Bytes>>>;
    type Error = BoxError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Err(silent) = self.patience.begin() {
            return Box::pin(std::future::ready(Err(silent.into())));
        }
        let patience = if request.method() == http::Method::GET { PATIENCE } else { PATIENCE_FOR_WRITES };
        let is_watch = request.uri().query().unwrap_or_default().split('&').any(|part| part == "watch=true");
        let (answer, known) = (self.inner.call(request), self.patience.clone());
        let answered = async move {
            let (head, body) = answer.await.map_err(Into::into)?.into_parts();
            let body = match is_watch {
                true => Either::Left(body),
                false => Either::Right(Full::new(body.collect().await.map_err(Into::into)?.to_bytes())),
            };
            Ok(Response::from_parts(head, body))
        };
        Box::pin(async move { known.end(tokio::time::timeout(patience, answered).await)? })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use k8s_openapi::api::core::v1::Node;
    use kube::{Api, Client};

    use super::*;

    /// An API that answers or not, as it is told, and how often it was asked.
    #[derive(Clone, Default)]
    struct Moody {
        answers: Arc<AtomicBool>,
        asked: Arc<AtomicUsize>,
    }

    impl Moody {
        fn nodes(&self, patience: &Patience) -> Api<Node> {
            let moody = self.clone();
            let inner = tower::service_fn(move |_: Request<Body>| {
                moody.asked.fetch_add(1, Ordering::Relaxed);
                let answers = moody.answers.load(Ordering::Relaxed);
                async move {
                    if !answers {
                        std::future::pending::<()>().await;
                    }
                    let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}"#;
                    Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from(node))))
                }
            });
            Api::all(Client::new(Patient::new(inner, patience.clone()), "default"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_silent_is_waited_for_by_one_at_a_time() {
        let (moody, patience) = (Moody::default(), Patience::default());
        let nodes = moody.nodes(&patience);
        let begun = Instant::now();
        let seconds = |begun: Instant| begun.elapsed().as_secs();
        assert!(nodes.get("n").await.is_err());
        assert_eq!((seconds(begun), patience.is_silent()), (5, true));
        // Nobody else waits.
        assert!(nodes.get("n").await.is_err());
        assert_eq!((seconds(begun), moody.asked.load(Ordering::Relaxed)), (5, 1));
        // After a while one asks again, and the others do not wait for it.
        tokio::time::advance(PATIENCE).await;
        let (first, second) = tokio::join!(nodes.get("n"), nodes.get("n"));
        assert!(first.is_err() && second.is_err());
        assert_eq!((seconds(begun), moody.asked.load(Ordering::Relaxed)), (15, 2));
        // Once it answers, everybody may ask.
        moody.answers.store(true, Ordering::Relaxed);
        tokio::time::advance(PATIENCE).await;
        let (first, second) = tokio::join!(nodes.get("n"), nodes.get("n"));
        assert!(first.is_ok() && second.is_err());
        assert!(nodes.get("n").await.is_ok() && !patience.is_silent());
    }
}
