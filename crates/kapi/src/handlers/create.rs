//! Making an object.

use crate::call::{Answer, Call};
use crate::read;
use crate::status::Status;
use crate::write;

pub(crate) async fn create(call: &mut Call) -> Result<Answer, Status> {
    let stored = write::create(call).await?;
    Ok(Answer::Object { code: 201, object: read::answered(&call.served, stored)? })
}
