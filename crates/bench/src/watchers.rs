//! Watchers that time what reaches them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::connection::Dialler;
use crate::load::config_map;

const WATCHED: &str = "/api/v1/namespaces/watched/configmaps";
const WATCHERS: usize = 100;
/// The first creates are not counted: they wait for what a server prepares once.
const WARMING_UP: usize = 20;
/// Between two watched creates: slow enough that none waits for another.
const PACE: Duration = Duration::from_millis(25);
/// After the last create, all events have arrived.
const LATEST: Duration = Duration::from_secs(3);
/// More bytes than an event has.
const EVENT: usize = 2 << 10;

/// Times from sending a create to the arrival of its event, for all watchers.
pub(crate) async fn measure(dialler: &Dialler, creates: usize) -> Result<Vec<Duration>> {
    let creates = creates + WARMING_UP;
    let epoch = Instant::now();
    let (end, ended) = watch::channel(());
    let (ready, listening) = oneshot::channel();
    let watchers = {
        let dialler = dialler.clone();
        std::thread::spawn(move || watch_all(&dialler, creates, ready, ended))
    };
    let sent = match listening.await {
        Ok(()) => create_all(dialler, creates, epoch).await,
        // Why they could not is what their thread says.
        Err(_) => Ok(Vec::new()),
    };
    drop(end);
    let watchers = tokio::task::spawn_blocking(|| watchers.join()).await?;
    let (pieces, sent) = (watchers.map_err(|_| anyhow!("the watchers died"))??, sent?);
    let mut times = Vec::with_capacity(creates * WATCHERS);
    for pieces in pieces {
        for (arrival, sent) in arrivals(pieces, creates)?.into_iter().zip(&sent).skip(WARMING_UP) {
            times.push(arrival.duration_since(epoch).saturating_sub(*sent));
        }
    }
    Ok(times)
}

/// Creates at a pace, and tells when each was sent.
async fn create_all(dialler: &Dialler, creates: usize, epoch: Instant) -> Result<Vec<Duration>> {
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
    Ok(sent)
}

/// All watchers on one thread, so that none of the time is spent on handing them from thread to thread.
fn watch_all(
    dialler: &Dialler,
    creates: usize,
    ready: oneshot::Sender<()>,
    ended: watch::Receiver<()>,
) -> Result<Vec<Pieces>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut watchers = JoinSet::new();
        for _ in 0..WATCHERS {
            let path = format!("{WATCHED}?watch=true&resourceVersion=0&timeoutSeconds=600");
            watchers.spawn(received(dialler.ask(&path).await?, creates, ended.clone()));
        }
        // Without anybody who listens the end is near as well.
        let _ = ready.send(());
        let mut all = Vec::with_capacity(WATCHERS);
        while let Some(pieces) = watchers.join_next().await {
            all.push(pieces??);
        }
        Ok(all)
    })
}

/// Of one length, so that none is found in another.
fn name(number: usize) -> String {
    format!("event-{number:06}")
}

/// What came, and when.
type Pieces = Vec<(Instant, Bytes)>;

/// What comes until the end. It is looked at afterwards: the client must not be what takes the time.
async fn received(
    mut stream: impl AsyncRead + Unpin,
    creates: usize,
    mut ended: watch::Receiver<()>,
) -> Result<Pieces> {
    let ended = ended.changed();
    tokio::pin!(ended);
    let mut pieces = Vec::with_capacity(2 * creates);
    // Written to once, so that the system need not find memory while time is taken.
    let mut buffer = BytesMut::zeroed(EVENT * creates);
    buffer.fill(1);
    buffer.clear();
    loop {
        buffer.reserve(EVENT);
        let read = tokio::select! {
            read = stream.read_buf(&mut buffer) => read?,
            _ = &mut ended => return Ok(pieces),
        };
        if read == 0 {
            bail!("a watch ended early");
        }
        pieces.push((Instant::now(), buffer.split().freeze()));
    }
}

/// When each of the numbered creates arrived.
fn arrivals(pieces: Pieces, creates: usize) -> Result<Vec<Instant>> {
    let mut arrivals = Vec::with_capacity(creates);
    let (mut answer, mut lines) = (Answer::default(), BytesMut::new());
    for (at, piece) in pieces {
        answer.take(&piece, &mut lines)?;
        while let Some(end) = lines.iter().position(|byte| *byte == b'\n') {
            let line = lines.split_to(end + 1);
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

/// An answer in chunks, as it comes.
#[derive(Default)]
struct Answer {
    raw: BytesMut,
    has_begun: bool,
    /// What is to come of a chunk, the end of its line included.
    left: usize,
}

const LINE_END: &[u8] = b"\r\n";

impl Answer {
    /// Adds what came, and what it completes of the body to `body`.
    fn take(&mut self, piece: &[u8], body: &mut BytesMut) -> Result<()> {
        self.raw.extend_from_slice(piece);
        if !self.has_begun {
            let Some(head) = position(&self.raw, b"\r\n\r\n") else { return Ok(()) };
            let head = self.raw.split_to(head + 4);
            if !head.starts_with(b"HTTP/1.1 200") {
                bail!("a watch was answered {}", String::from_utf8_lossy(&head));
            }
            self.has_begun = true;
        }
        loop {
            if self.left == 0 {
                let Some(end) = position(&self.raw, LINE_END) else { return Ok(()) };
                let size = self.raw.split_to(end);
                self.raw.advance(LINE_END.len());
                let size = std::str::from_utf8(&size).context("the size of a chunk")?;
                self.left = usize::from_str_radix(size, 16).context("the size of a chunk")? + LINE_END.len();
            }
            if self.raw.is_empty() {
                return Ok(());
            }
            let part = self.raw.split_to(self.left.min(self.raw.len()));
            let text = self.left.saturating_sub(LINE_END.len()).min(part.len());
            body.extend_from_slice(part.get(..text).unwrap_or_default());
            self.left -= part.len();
        }
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_same_however_it_is_cut() {
        let raw = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\none\n\r\n3\r\ntwo\r\n1\r\n\n\r\n";
        for size in 1..raw.len() {
            let (mut answer, mut body) = (Answer::default(), BytesMut::new());
            for piece in raw.chunks(size) {
                answer.take(piece, &mut body).unwrap();
            }
            assert_eq!(&body[..], b"one\ntwo\n", "in pieces of {size}");
        }
    }

    #[test]
    fn a_refusal_is_told() {
        let refused = Answer::default().take(b"HTTP/1.1 403 Forbidden\r\n\r\n", &mut BytesMut::new());
        assert!(refused.unwrap_err().to_string().contains("403"));
    }
}
