//! What is waited for, in one shape.

use butler_api::shared::{Blocker, BlockerOwner};

/// Something that somebody has to do something about.
pub(crate) fn blocker(
    reason: &str,
    message: impl Into<String>,
    owner: BlockerOwner,
    remedy: impl Into<String>,
) -> Blocker {
    Blocker {
        reason: reason.to_owned(),
        message: message.into(),
        evidence: Vec::new(),
        owner: Some(owner),
        remedy: Some(remedy.into()),
        since: None,
    }
}

/// Something that takes its time: Butler is at work.
pub(crate) fn waiting(reason: &str, message: impl Into<String>, evidence: Vec<String>) -> Blocker {
    Blocker {
        reason: reason.to_owned(),
        message: message.into(),
        evidence,
        owner: Some(BlockerOwner::Butler),
        remedy: None,
        since: None,
    }
}
