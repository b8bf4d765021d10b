//! Reads the events of a watch: one JSON document per line.

use std::time::Duration;

use anyhow::bail;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

/// An open watch.
pub(crate) struct WatchStream {
    body: Incoming,
    buffer: Vec<u8>,
}

impl WatchStream {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body, buffer: Vec::new() }
    }

    /// The next `count` events; fails when they do not come in time.
    pub(crate) async fn take(&mut self, count: usize, patience: Duration) -> anyhow::Result<Vec<Value>> {
        let deadline = Instant::now() + patience;
        let mut events = Vec::new();
        while events.len() < count {
            match timeout_at(deadline, self.next()).await {
                Ok(Some(event)) => events.push(event?),
                Ok(None) => bail!("the watch ended after {} of {count} events: {events:?}", events.len()),
                Err(_) => bail!("only {} of {count} events came: {events:?}", events.len()),
            }
        }
        Ok(events)
    }

    /// All events until the server ends the watch.
    pub(crate) async fn rest(&mut self, patience: Duration) -> anyhow::Result<Vec<Value>> {
        let deadline = Instant::now() + patience;
        let mut events = Vec::new();
        loop {
            match timeout_at(deadline, self.next()).await {
                Ok(Some(event)) => {
                    let event = event?;
                    // How many bookmarks come in a row is the server's own choice.
                    let is_bookmark = |event: &Value| event["type"] == "BOOKMARK";
                    if !(is_bookmark(&event) && events.last().is_some_and(is_bookmark)) {
                        events.push(event);
                    }
                }
                Ok(None) => return Ok(events),
                Err(_) => bail!("the watch did not end; it sent {events:?}"),
            }
        }
    }

    async fn next(&mut self) -> Option<anyhow::Result<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Some(serde_json::from_slice(&line).map_err(Into::into));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                Some(Err(error)) => return Some(Err(error.into())),
                None if self.buffer.is_empty() => return None,
                None => {
                    let rest = std::mem::take(&mut self.buffer);
                    return Some(serde_json::from_slice(&rest).map_err(Into::into));
                }
            }
        }
    }
}
