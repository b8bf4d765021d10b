//! Why a pass failed, and what follows from it.

use std::time::Duration;

use kube::Error;

/// The reason of failures to reach an API.
pub(crate) const API_UNAVAILABLE: &str = "ApiUnavailable";

/// When trying again makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// At once: what was read had changed meanwhile.
    Soon,
    /// Later, and ever later: somebody else has to recover.
    Backoff,
    /// Never by itself: only a change of the object or of what it refers to helps.
    Terminal,
}

/// A pass that failed: classified once, for requeue, conditions, events and exit codes alike.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// When trying again makes sense.
    pub retry: Retry,
    /// What it is, in one CamelCase word that programs can match.
    pub reason: &'static str,
    /// What it is, in a sentence for people.
    pub message: String,
    /// What lies below.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Failure {
    /// A failure that nothing lies below.
    pub fn new(retry: Retry, reason: &'static str, message: impl Into<String>) -> Self {
        Self { retry, reason, message: message.into(), source: None }
    }

    /// The same with what lies below it.
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The message and those of all causes.
    pub fn chain(&self) -> String {
        let mut text = self.message.clone();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            // What the API answered is the message already.
            if matches!(error.downcast_ref(), Some(Error::Api(_))) {
                break;
            }
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// How long to wait after this many failures in a row; nothing when only a change helps.
    pub(crate) fn delay(&self, failures: u32) -> Option<Duration> {
        let shift = failures.saturating_sub(1).min(16);
        match self.retry {
            Retry::Soon => Some((Duration::from_millis(5) * (1 << shift)).min(Duration::from_secs(5))),
            Retry::Backoff => Some((Duration::from_millis(200) * (1 << shift)).min(Duration::from_secs(60))),
            Retry::Terminal => None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (retry, reason) = match &error {
            Error::Api(status) => match status.code {
                404 | 409 | 410 => (Retry::Soon, "Conflict"),
                400 | 405 | 413 | 415 | 422 => (Retry::Terminal, "Refused"),
                // Rights, quotas and policies are changed by others.
                403 => (Retry::Backoff, "Forbidden"),
                _ => (Retry::Backoff, API_UNAVAILABLE),
            },
            _ => (Retry::Backoff, API_UNAVAILABLE),
        };
        let message = match &error {
            Error::Api(status) => format!("the API refused: {}", status.message),
            _ => "the API cannot be reached".to_owned(),
        };
        Self { retry, reason, message, source: Some(Box::new(error)) }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answered(code: u16) -> Failure {
        Error::Api(Box::new(Status { code, message: "no".into(), ..Status::default() })).into()
    }

    #[test]
    fn answers_of_the_api_are_classified_by_code() {
        for (code, retry) in [
            (404, Retry::Soon),
            (409, Retry::Soon),
            (422, Retry::Terminal),
            (403, Retry::Backoff),
            (429, Retry::Backoff),
            (500, Retry::Backoff),
            (503, Retry::Backoff),
        ] {
            assert_eq!(answered(code).retry, retry, "{code}");
        }
    }

    #[test]
    fn waits_grow_up_to_a_limit() {
        let soon = answered(409);
        assert_eq!([1, 2, 3].map(|n| soon.delay(n)), [5, 10, 20].map(|ms| Some(Duration::from_millis(ms))));
        assert_eq!(soon.delay(1000), Some(Duration::from_millis(327_680).min(Duration::from_secs(5))));
        let later = answered(500);
        assert_eq!([1, 2].map(|n| later.delay(n)), [200, 400].map(|ms| Some(Duration::from_millis(ms))));
        assert_eq!(later.delay(1000), Some(Duration::from_secs(60)));
        assert_eq!(answered(422).delay(1), None);
    }
}
