//! The load: creates from many clients, and watchers that time what reaches them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection::Dialler;

/// The namespace that holds the load.
pub(crate) const OBJECTS: &str = "/api/v1/namespaces/bench/configmaps";
const WATCHED: &str = "/api/v1/namespaces/watched/configmaps";
const CLIENTS: usize = 32;
const WATCHERS: usize = 100;
/// The first creates are not counted: they wait for what a server prepares once.
const WARMING_UP: usize = 20;
/// Between two watched creates: slow enough that none waits for another.
const PACE: Duration = Duration::from_millis(25);
/// After the last create, all events have arrived.
const LATEST: Duration = Duration::from_secs(3);

/// Makes the namespaces of the load.
pub(crate) async fn namespaces(dialler: &Dialler) -> Result<()> {
    let mut connection = dialler.connect().await?;
    for name in ["bench", "watched"] {
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        connection.create("/api/v1/namespaces", body.into()).await?;
    }
    Ok(())
}

/// A ConfigMap of about 1 KB.
fn config_map(name: &str) -> Bytes {
    let data = "0123456789abcdef".repeat(56);
    let text = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"text":"{data}"}}}}"#
    );
    text.into()
}

/// Creates the objects numbered from `from` up to `to`, or until the time is over: how long
/// all took, and each that was created.
pub(crate) async fn create(
    dialler: &Dialler,
    from: usize,
    to: usize,
    limit: Duration,
) -> Result<(Duration, Vec<Duration>)> {
    let next = Arc::new(AtomicUsize::new(from));
    let mut connections = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        connections.push(dialler.connect().await?);
    }
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for mut connection in connections {
        let next = Arc::clone(&next);
        clients.spawn(async move {
            let mut times = Vec::new();
            while started.elapsed() < limit {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    break;
                }
                let body = config_map(&format!("object-{number}"));
                let sent = Instant::now();
                connection.create(OBJECTS, body).await?;
                times.push(sent.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(client) = clients.join_next().await {
        times.extend(client??);
    }
    Ok((started.elapsed(), times))
}

/// Times from sending a create to the arrival of its event, for all watchers.
pub(crate) async fn watch(dialler: &Dialler, creates: usize) -> Result<Vec<Duration>> {
    let creates = creates + WARMING_UP;
    let epoch = Instant::now();
    let (end, ended) = watch::channel(());
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        let mut connection = dialler.connect().await?;
        let body = connection.open(&format!("{WATCHED}?watch=true&resourceVersion=0&timeoutSeconds=600")).await?;
        let ended = ended.clone();
        // The connection ends with its sender.
        watchers.spawn(async move { (frames(body, ended).await, connection) });
    }
    let mut connection = dialler.connect().await?;
    let mut pace = tokio::time::interval(PACE);
    let mut sent = Vec::with_capacity(creates);
    for number in 0..creates {
        pace.tick().await;
        let body = config_map(&name(number));
        sent.push(epoch.elapsed());
        connection.create(WATCHED, body).await?;
    }
    tokio::time::sleep(LATEST).await;
    end.send_replace(());
    let mut times = Vec::with_capacity(creates * WATCHERS);
    while let Some(watcher) = watchers.join_next().await {
        let (frames, _connection) = watcher?;
        for (arrival, sent) in arrivals(frames?, creates)?.into_iter().zip(&sent).skip(WARMING_UP) {
            times.push(arrival.duration_since(epoch).saturating_sub(*sent));
        }
    }
    Ok(times)
}

/// Of one length, so that none is found in another.
fn name(number: usize) -> String {
    format!("event-{number:06}")
}

/// What comes until the end, and when. It is looked at afterwards: the client must not be what takes the time.
async fn frames(mut body: Incoming, mut ended: watch::Receiver<()>) -> Result<Vec<(Instant, Bytes)>> {
    let mut frames = Vec::new();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            _ = ended.changed() => return Ok(frames),
        };
        let (frame, now) = (frame.context("a watch ended early")??, Instant::now());
        frames.extend(frame.into_data().ok().map(|data| (now, data)));
    }
}

/// When each of the numbered creates arrived.
fn arrivals(frames: Vec<(Instant, Bytes)>, creates: usize) -> Result<Vec<Instant>> {
    let mut arrivals = Vec::with_capacity(creates);
    let mut pending = BytesMut::new();
    for (at, data) in frames {
        pending.extend_from_slice(&data);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line = pending.split_to(end + 1);
            let expected = name(arrivals.len());
            if line.windows(expected.len()).any(|window| window == expected.as_bytes()) {
                arrivals.push(at);
            }
        }
    }
    if arrivals.len() < creates {
        bail!("a watcher got {} of {creates} events within {LATEST:?} of the last create", arrivals.len());
    }
    Ok(arrivals)
}

/// How many objects of the load are there. The namespace may have got its certificate authority beside them.
pub(crate) async fn count(dialler: &Dialler) -> Result<usize> {
    let mut connection = dialler.connect().await?;
    let body = connection.get(&format!("{OBJECTS}?limit=1")).await?;
    let text = String::from_utf8_lossy(&body);
    let rest = text.split(r#""remainingItemCount":"#).nth(1).context("the list says not how many remain")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let authority = connection.is_ok(&format!("{OBJECTS}/kube-root-ca.crt")).await;
    Ok(digits.parse::<usize>()? + 1 - usize::from(authority))
}
