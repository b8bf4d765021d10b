//! What the suite itself asks of the API while programs work with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::case::Identity;
use crate::client::Client;
use crate::target::Target;

/// Programs run next to compilers and other tests: patience costs nothing when all is well.
const PATIENCE: Duration = Duration::from_secs(90);

/// The administrator's view of an API.
pub(super) struct Api(Client);

impl Api {
    pub(super) fn new(target: &Arc<Target>) -> Self {
        Self(Client::new(Arc::clone(target)))
    }

    /// An object or a list, or nothing where there is none.
    pub(super) async fn find(&mut self, path: &str) -> anyhow::Result<Option<Value>> {
        let (status, body) = self.ask(Method::GET, path, "", None).await?;
        match status {
            200 => Ok(Some(body)),
            404 => Ok(None),
            _ => bail!("GET {path}: {status} {body}"),
        }
    }

    pub(super) async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        self.find(path).await?.with_context(|| format!("{path} is not there"))
    }

    pub(super) async fn items(&mut self, path: &str) -> anyhow::Result<Vec<Value>> {
        let mut list = self.get(path).await?;
        Ok(list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default())
    }

    pub(super) async fn create(&mut self, path: &str, object: &Value) -> anyhow::Result<Value> {
        self.done(Method::POST, path, "application/json", object).await
    }

    pub(super) async fn replace(&mut self, path: &str, object: &Value) -> anyhow::Result<Value> {
        self.done(Method::PUT, path, "application/json", object).await
    }

    pub(super) async fn patch(&mut self, path: &str, patch: &Value) -> anyhow::Result<Value> {
        self.done(Method::PATCH, path, "application/merge-patch+json", patch).await
    }

    pub(super) async fn delete(&mut self, path: &str, propagation: &str) -> anyhow::Result<Value> {
        self.done(Method::DELETE, path, "application/json", &json!({"propagationPolicy": propagation})).await
    }

    /// Waits until what is at a path is as wanted; an absent object is null.
    pub(super) async fn until(&mut self, path: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let started = Instant::now();
        loop {
            let seen = self.find(path).await?.unwrap_or_default();
            if wanted(&seen) {
                return Ok(seen);
            }
            if started.elapsed() > PATIENCE {
                bail!("{path} never became as wanted; it is {seen:#}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) async fn until_gone(&mut self, path: &str) -> anyhow::Result<()> {
        self.until(path, Value::is_null).await.map(drop)
    }

    async fn done(&mut self, method: Method, path: &str, media: &str, body: &Value) -> anyhow::Result<Value> {
        let (status, answer) = self.ask(method.clone(), path, media, Some(body)).await?;
        if !(200..300).contains(&status) {
            bail!("{method} {path}: {status} {answer}");
        }
        Ok(answer)
    }

    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        media: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Value)> {
        let mut request = http::Request::builder().method(method).uri(path);
        let body = match body {
            Some(body) => {
                request = request.header(http::header::CONTENT_TYPE, media);
                Bytes::from(serde_json::to_vec(body)?)
            }
            None => Bytes::new(),
        };
        let answer = self.0.send(&Identity::User("admin"), request.body(body)?).await?;
        // Paths of kinds that are not served yet are answered with a plain text.
        let value = serde_json::from_slice(&answer.body)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&answer.body).into_owned()));
        Ok((answer.head.status.as_u16(), value))
    }
}

/// How many items a list has.
pub(super) fn count(list: &Value) -> usize {
    list.get("items").and_then(Value::as_array).map_or(0, Vec::len)
}

/// Whether an object has a condition that is true.
pub(super) fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["type"] == kind && condition["status"] == "True")
}
