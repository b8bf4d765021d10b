//! Watching a collection.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream};
use kapi_schema::field::{FieldError, Path};
use kapi_store::{Change, Event, Feed, HistoryError, Item};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::call::{Answer, Call};
use crate::handlers::list::parse_revision;
use crate::read;
use crate::registry::Served;
use crate::request::Query;
use crate::selection::Selection;
use crate::status::Status;

/// How often a watch that asked for bookmarks gets one while nothing happens.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before its end a watch gets bookmarks by the second.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How long a watch lasts that names no time, at least; clients reconnect, and a spread avoids that all do at once.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// No clock reaches as far as somebody may ask for.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What happened, as watchers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

/// One thing to tell a watcher.
pub(crate) struct Told {
    pub(crate) kind: Kind,
    pub(crate) object: Bytes,
}

/// A watch under way.
pub(crate) struct Watch {
    served: Arc<Served>,
    selection: Selection,
    source: Source,
    /// What is there already, and not told yet. It is shared with the collection until it is told.
    initial: VecDeque<Item>,
    pending: VecDeque<Told>,
    bookmarks: bool,
    deadline: Instant,
    /// Rings when a bookmark is due, or the end. Set anew with every bookmark, not with every event.
    alarm: Pin<Box<Sleep>>,
    /// Resolves when the server ends.
    ended: BoxFuture<'static, ()>,
}

enum Source {
    Feed(Feed),
    /// Nothing more comes once what is pending has been told.
    Ended,
}

pub(crate) fn watch(call: &mut Call) -> Result<Answer, Status> {
    let selection = Selection::of(call)?;
    let query = &call.query;
    let streamed = query.get("sendInitialEvents").map(|value| value == "true" || value == "1");
    let bookmarks = query.get("allowWatchBookmarks").is_some_and(|value| value == "true" || value == "1");
    check_options(query)?;
    let asked = query.get("resourceVersion").map(parse_revision).transpose()?.unwrap_or(0);
    let timeout = timeout(query.number("timeoutSeconds")?, call.api.store.revision());
    let now = Instant::now();
    let mut watch = Watch {
        served: Arc::clone(&call.served),
        selection,
        source: Source::Ended,
        initial: VecDeque::new(),
        pending: VecDeque::new(),
        bookmarks,
        deadline: now + timeout,
        alarm: Box::pin(sleep_until(alarm(bookmarks, now, now + timeout))),
        ended: ended(call.api.ending.subscribe()).boxed(),
    };
    let collection = call.api.collection(&call.served);
    let initial = match streamed {
        Some(wanted) => wanted,
        None => asked == 0,
    };
    let after = if initial {
        let current = call.api.store.revision();
        if asked > current {
            return Err(Status::too_large_revision(asked, current));
        }
        let page = collection.list(&watch.selection.prefix, None, usize::MAX);
        watch.initial = page.items.into();
        if streamed == Some(true) && bookmarks {
            watch.pending.push_back(watch.bookmark(page.revision, true));
        }
        page.revision
    } else if asked == 0 {
        call.api.store.revision()
    } else {
        asked
    };
    watch.source = match call.api.store.feed(&collection, after) {
        Ok(feed) => Source::Feed(feed),
        Err(error) => {
            watch.pending.push_back(expired(&error));
            Source::Ended
        }
    };
    Ok(Answer::Watch(Box::new(watch)))
}

async fn ended(mut ending: tokio::sync::watch::Receiver<bool>) {
    // Without a sender there is no front end either.
    let _ = ending.wait_for(|ending| *ending).await;
}

/// How long a watch lasts that asked for so many seconds; `spread` tells apart those that asked for none.
fn timeout(asked: Option<i64>, spread: u64) -> Duration {
    match asked {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()).min(LONGEST_TIMEOUT),
        _ => DEFAULT_TIMEOUT + Duration::from_secs(spread % 1800),
    }
}

impl Watch {
    /// The kind that is watched.
    pub(crate) fn served(&self) -> &Arc<Served> {
        &self.served
    }

    /// What to tell, one at a time, until the watch ends.
    pub(crate) fn stream(self) -> impl Stream<Item = Told> + Send {
        futures::stream::unfold(self, |mut watch| async move {
            let told = watch.next().await?;
            Some((told, watch))
        })
    }

    async fn next(&mut self) -> Option<Told> {
        while let Some(item) = self.initial.pop_front() {
            match read::shown(&self.served, item.revision, &item.bytes()) {
                Ok(object) if self.selection.matches(&self.served, &object) => {
                    return Some(Told { kind: Kind::Added, object });
                }
                Ok(_) => {}
                // Who is told that this is all must not miss one.
                Err(status) => {
                    self.initial.clear();
                    self.pending = VecDeque::from([failed(&status)]);
                    self.source = Source::Ended;
                }
            }
        }
        loop {
            if let Some(told) = self.pending.pop_front() {
                return Some(told);
            }
            let Source::Feed(feed) = &mut self.source else { return None };
            tokio::select! {
                biased;
                events = feed.next() => match events {
                    Ok(events) => self.take(&events),
                    Err(error) => {
                        self.pending.push_back(expired(&error));
                        self.source = Source::Ended;
                    }
                },
                () = &mut self.ended => return None,
                () = &mut self.alarm => {
                    let now = Instant::now();
                    if now >= self.deadline {
                        return None;
                    }
                    let revision = feed.progress();
                    self.alarm.as_mut().reset(alarm(self.bookmarks, now, self.deadline));
                    self.pending.push_back(self.bookmark(revision, false));
                }
            }
        }
    }

    fn take(&mut self, events: &[Arc<Event>]) {
        for event in events {
            if event.key.starts_with(&self.selection.prefix)
                && let Some(told) = self.told(event)
            {
                self.pending.push_back(told);
            }
        }
    }

    /// What an event means to this watcher: an object that enters or leaves its selection comes or goes.
    fn told(&self, event: &Event) -> Option<Told> {
        let object = read::shown(&self.served, event.revision, &event.object).ok()?;
        if self.selection.is_everything() {
            let kind = match event.change {
                Change::Added => Kind::Added,
                Change::Modified => Kind::Modified,
                Change::Deleted => Kind::Deleted,
            };
            return Some(Told { kind, object });
        }
        let before = match &event.previous {
            Some(previous) => self.selection.matches(&self.served, previous),
            None => false,
        };
        let after = event.change != Change::Deleted && self.selection.matches(&self.served, &object);
        let kind = match (before, after) {
            (false, true) => Kind::Added,
            (true, true) => Kind::Modified,
            (true, false) => Kind::Deleted,
            (false, false) => return None,
        };
        if kind == Kind::Deleted && event.change == Change::Modified {
            let left = self.as_it_was(event)?;
            return Some(Told { kind, object: left });
        }
        Some(Told { kind, object })
    }

    /// An object that left the selection is told as it was, at the revision it left.
    fn as_it_was(&self, event: &Event) -> Option<Bytes> {
        let mut object = read::shown_value(&self.served, crate::object::parse(event.previous.as_ref()?).ok()?);
        crate::object::set_meta(&mut object, "resourceVersion", event.revision.to_string());
        Some(Bytes::from(object.to_string()))
    }

    fn bookmark(&self, revision: u64, initial: bool) -> Told {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let resource = &self.served.resource;
        let object = json!({"kind": &*resource.kind, "apiVersion": &*self.served.api_version, "metadata": metadata});
        Told { kind: Kind::Bookmark, object: Bytes::from(object.to_string()) }
    }
}

/// When something is due without an event: the end, and before it bookmarks for who asked for them, every minute, and
/// in the last seconds, so that the client resumes from close by.
fn alarm(bookmarks: bool, now: Instant, deadline: Instant) -> Instant {
    if !bookmarks {
        return deadline;
    }
    let bookmark = match deadline.checked_sub(BOOKMARK_BEFORE_END) {
        Some(last) if last > now => last.min(now + BOOKMARK_EVERY),
        _ => now + Duration::from_secs(1),
    };
    bookmark.min(deadline)
}

fn expired(error: &HistoryError) -> Told {
    let status = match error {
        HistoryError::Compacted { asked, oldest } => {
            Status::expired(format!("too old resource version: {asked} ({oldest})"))
        }
        other => Status::internal(other),
    };
    failed(&status)
}

fn failed(status: &Status) -> Told {
    Told { kind: Kind::Error, object: Bytes::from(status.to_value().to_string()) }
}

/// Refuses watch options that do not fit together.
fn check_options(query: &Query) -> Result<(), Status> {
    let path = Path::new("resourceVersionMatch");
    let streamed = query.get("sendInitialEvents").is_some();
    let matching = query.get("resourceVersionMatch");
    let mut errors = Vec::new();
    if streamed && matching != Some("NotOlderThan") {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(&path, why));
    }
    if let Some(matching) = matching {
        if !streamed {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(&path, why));
        }
        if matching != "NotOlderThan" {
            errors.push(FieldError::not_supported(&path, &Value::from(matching), &["NotOlderThan"]));
        }
        if query.get("continue").is_some() {
            errors.push(FieldError::forbidden(&path, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_end_at_a_time_that_clocks_know() {
        for (asked, seconds) in
            [(None, 1805), (Some(-1), 1805), (Some(0), 1805), (Some(7), 7), (Some(i64::MAX), 31_536_000)]
        {
            let lasts = timeout(asked, 5);
            assert_eq!(lasts.as_secs(), seconds, "{asked:?}");
            assert!(Instant::now().checked_add(lasts).is_some(), "{asked:?}");
        }
    }
}
