//! The durable store under the embedded API: objects as JSON bytes, one revision counter, watchable history.
//!
//! ```text
//!   commit ─▶ writer thread ─▶ log (redb, one fsync per batch) ─▶ collections in memory ─▶ feeds, observers
//!                                        ▲                                │
//!                                        └── history older than a feed's recent events
//! ```
//!
//! - The **log** on disk maps revision to change. It is the only durable structure: current state is what replaying it
//!   gives, and history (watch resume, reads at a past revision) is read from it until compaction.
//! - A **collection** holds the current objects of one resource of one API, ordered by key. Bytes are complete
//!   documents, resourceVersion included, so reads and watches copy nothing.
//! - The **writer** is one thread: it gives out revisions, checks expectations, and makes a batch durable before anybody
//!   sees it. All that queued up while the disk was busy becomes the next batch.
//!
//! The store knows nothing of Kubernetes beyond where a resourceVersion is spliced in.

mod collection;
mod error;
mod feed;
mod lasting;
mod log;
mod record;
mod snapshot;
mod store;
mod stored;
mod tentative;
mod writer;

pub use collection::{Collection, Entry, Item, Page};
pub use error::{CommitError, HistoryError, OpenError, StoreError};
pub use feed::Feed;
pub use record::{Body, Change, Event};
pub use snapshot::{RestoreError, SnapshotError};
pub use store::{Observer, Store};
pub use writer::{Action, Expect, Op};
