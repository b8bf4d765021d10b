//! What an answer of etcd, or its absence, means: a pure function.

use std::error::Error as _;

use tonic::Code;

use crate::Error;

/// The error that a failed call stands for. A status with a source was made on this side, of a broken connection.
pub(crate) fn classify(status: &tonic::Status) -> Error {
    match status.source() {
        Some(source) => classify_connection(source),
        None => classify_answer(status.code(), status.message()),
    }
}

/// A user or permission changed while the call was on its way: it had no effect, and can be sent again.
pub(crate) fn was_overtaken(status: &tonic::Status) -> bool {
    status.message().contains("revision of auth store is old")
}

fn classify_answer(code: Code, message: &str) -> Error {
    let says = |part: &str| message.contains(part);
    let reason = message.to_owned();
    match code {
        Code::PermissionDenied | Code::Unauthenticated => Error::Denied(reason),
        Code::InvalidArgument if says("user name is empty") || says("authentication failed") => Error::Denied(reason),
        Code::ResourceExhausted if says("database space exceeded") => Error::NoSpace(reason),
        Code::OutOfRange if says("message length too large") => Error::TooLarge(reason),
        Code::FailedPrecondition if says("already exists") => Error::Exists(reason),
        Code::FailedPrecondition if says("not found") || says("is not granted") => Error::Missing(reason),
        Code::Unavailable if says("leader") || says("request timed out") => Error::NoLeader(reason),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => Error::Unreachable(reason),
        _ => Error::Other(reason),
    }
}

fn classify_connection(source: &(dyn std::error::Error + 'static)) -> Error {
    let mut reason = source.to_string();
    let mut is_tls = false;
    let mut next = Some(source);
    while let Some(error) = next {
        reason = error.to_string();
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        is_tls |= inner.is_some_and(|inner| inner.is::<rustls::Error>());
        next = error.source();
    }
    if is_tls { Error::Untrusted(reason) } else { Error::Unreachable(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        let text = str::to_owned;
        for (code, message, expected) in [
            (Code::PermissionDenied, "etcdserver: permission denied", Error::Denied as fn(String) -> Error),
            (Code::InvalidArgument, "etcdserver: user name is empty", Error::Denied),
            (Code::Unauthenticated, "etcdserver: invalid auth token", Error::Denied),
            (Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded", Error::NoSpace),
            (Code::ResourceExhausted, "etcdserver: too many requests", Error::Other),
            (Code::OutOfRange, "Error, decoded message length too large: found 9 bytes", Error::TooLarge),
            (Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted", Error::Other),
            (Code::FailedPrecondition, "etcdserver: user name already exists", Error::Exists),
            (Code::FailedPrecondition, "etcdserver: role name not found", Error::Missing),
            (Code::FailedPrecondition, "etcdserver: permission is not granted to the role", Error::Missing),
            (Code::Unavailable, "etcdserver: no leader", Error::NoLeader),
            (Code::Unavailable, "etcdserver: request timed out", Error::NoLeader),
            (Code::Unavailable, "etcdserver: server stopped", Error::Unreachable),
            (Code::DeadlineExceeded, "context deadline exceeded", Error::Unreachable),
            (Code::InvalidArgument, "etcdserver: request is too large", Error::Other),
        ] {
            assert_eq!(classify(&tonic::Status::new(code, message)), expected(text(message)));
        }
    }

    #[test]
    fn broken_connections_are_told_apart() {
        let io = std::io::Error::other;
        for (error, expected) in [
            (io("connection refused"), Error::Unreachable("connection refused".to_owned())),
            (
                std::io::Error::new(std::io::ErrorKind::InvalidData, rustls::Error::DecryptError),
                Error::Untrusted(rustls::Error::DecryptError.to_string()),
            ),
        ] {
            assert_eq!(classify(&tonic::Status::from_error(Box::new(error))), expected);
        }
    }
}
