//! Reading one object.

use crate::call::{Answer, Call, Document};
use crate::handlers::list::parse_revision;
use crate::read;
use crate::status::Status;

pub(crate) fn get(call: &mut Call) -> Result<Answer, Status> {
    if call.target.name == ".." || call.target.name == "." {
        return Err(Status::bad_request(format!("invalid path segment {:?}", call.target.name)));
    }
    if call.target.name.contains('/') {
        return Err(Status::no_such_path());
    }
    if let Some(asked) = call.query.get("resourceVersion") {
        let (asked, current) = (parse_revision(asked)?, call.api.store.revision());
        if asked > current {
            return Err(Status::too_large_revision(asked, current));
        }
    }
    let entry = read::required(&call.api, &call.served, &call.target.namespace, &call.target.name)?;
    let bytes = read::shown(&call.served, entry.revision, &entry.bytes)?;
    Ok(Answer::Object { code: 200, object: Document::Bytes(bytes) })
}
