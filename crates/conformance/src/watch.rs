//! Reads the events of a watch: one JSON document per line, or frames of protobuf.

use std::time::Duration;

use anyhow::bail;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::case::PATIENCE;
use crate::run::canonical;

/// An open watch.
pub(crate) struct WatchStream {
    body: Incoming,
    buffer: Vec<u8>,
    protobuf: bool,
}

impl WatchStream {
    pub(crate) fn new(body: Incoming, protobuf: bool) -> Self {
        Self { body, buffer: Vec::new(), protobuf }
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

    /// What the server says instead of events.
    pub(crate) async fn refusal(mut self) -> anyhow::Result<Value> {
        if !self.protobuf {
            return Ok(self.rest(PATIENCE).await?.into_iter().collect());
        }
        let body = self.body.collect().await?.to_bytes();
        Ok(json!([kapi_proto::decode(&body)?.value]))
    }

    async fn next(&mut self) -> Option<anyhow::Result<Value>> {
        loop {
            if let Some(event) = if self.protobuf { self.frame() } else { self.line() } {
                return Some(event);
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
    fn line(&mut self) -> Option<anyhow::Result<Value>> {
        loop {
            let end = self.buffer.iter().position(|b| *b == b'\n')?;
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(serde_json::from_slice(&line).map_err(Into::into));
            }
        }
    }

    fn frame(&mut self) -> Option<anyhow::Result<Value>> {
        let (frame, rest) = kapi_proto::split_frame(&self.buffer)?;
        let event = decode(frame);
        self.buffer = rest.to_vec();
        Some(event)
    }
}

fn decode(frame: &[u8]) -> anyhow::Result<Value> {
    let event = kapi_proto::decode_watch_event(frame)?;
    let (kind, object) = (event.event_type, event.object.value);
    let again = kapi_proto::encode_watch_event(&kind, &object)?;
    let same_bytes = kapi_proto::split_frame(&again).is_some_and(|(again, _)| again == frame);
    Ok(json!({"type": kind, "object": canonical(same_bytes, object)}))
}
