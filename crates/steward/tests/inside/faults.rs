//! A network that breaks.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::Client;
use kube::client::Body;

/// When the connection of the n-th request breaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Before the request arrives.
    Before(usize),
    /// Before the answer does.
    After(usize),
}

/// A client that reaches the API up to the fault, and never again afterwards.
pub(crate) fn breaking(client: &Client, fault: Fault) -> Client {
    let (client, sent) = (client.clone(), Arc::new(AtomicUsize::new(0)));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, number) = (client.clone(), sent.fetch_add(1, Ordering::SeqCst));
        async move {
            let broken = || kube::Error::Service("the connection broke".into());
            match fault {
                Fault::Before(last) if number >= last => Err(broken()),
                Fault::After(last) if number > last => Err(broken()),
                Fault::After(last) if number == last => client.send(request).await.and(Err(broken())),
                _ => client.send(request).await,
            }
        }
    });
    Client::new(service, "default")
}

/// A real API server whose client goes away while it makes a Service keeps the address of that Service until its repair
/// loop, minutes later, finds that nobody has it.
const LEAK_CHECK: Duration = Duration::from_secs(5);
const LEAKS: usize = 72;

/// Does something with the connection broken after every single request in turn, until it goes through. Gives back how
/// many requests that takes.
pub(crate) async fn at_every_request<T, E: Debug, F: Future<Output = Result<T, E>>>(
    client: &Client,
    mut attempt: impl FnMut(Client) -> F,
) -> usize {
    let mut patience = LEAKS;
    let mut number = 0;
    loop {
        let before = attempt(breaking(client, Fault::Before(number))).await;
        let after = attempt(breaking(client, Fault::After(number))).await;
        if let (Err(error), _) | (_, Err(error)) = (&before, &after)
            && format!("{error:?}").contains("provided IP is already allocated")
            && patience > 0
        {
            patience -= 1;
            tokio::time::sleep(LEAK_CHECK).await;
            continue;
        }
        match (before, after) {
            (Ok(_), Ok(_)) => return number,
            (_, Err(error)) | (Err(error), _) => assert!(number < 100, "it never goes through: {error:?}"),
        }
        number += 1;
    }
}
