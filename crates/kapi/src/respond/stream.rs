//! Watches as a stream of lines.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use futures::StreamExt;
use http::{HeaderValue, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::json;

use super::negotiate::{Form, Representation};
use super::{Body, partial, table};
use crate::handlers::watch::{Kind, Told, Watch};

pub(super) fn stream(watch: Watch, representation: &Representation, now: i64) -> Response<Body> {
    let form = representation.form.clone();
    let served = std::sync::Arc::clone(watch.served());
    let mut headed = false;
    let lines = watch.stream().map(move |told| {
        let line = match &form {
            Form::Object => line(told.kind, &told.object),
            Form::Partial { .. } => line(told.kind, &transformed(&told, partial::object)),
            Form::Table(options) => {
                let object = transformed(&told, |object| {
                    let meta = json!({"resourceVersion": crate::object::meta(&object, "resourceVersion")});
                    let objects = [object];
                    match std::mem::replace(&mut headed, true) {
                        true => table::rows(&served, options, meta, &objects, now),
                        false => table::table(&served, options, meta, &objects, now),
                    }
                });
                line(told.kind, &object)
            }
        };
        Ok::<_, Infallible>(Frame::data(line))
    });
    let mut response = Response::new(StreamBody::new(lines).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn transformed(told: &Told, change: impl FnOnce(serde_json::Value) -> serde_json::Value) -> Bytes {
    if told.kind == Kind::Error {
        return told.object.clone();
    }
    match serde_json::from_slice(&told.object) {
        Ok(object) => Bytes::from(change(object).to_string()),
        Err(_) => told.object.clone(),
    }
}

fn line(kind: Kind, object: &Bytes) -> Bytes {
    let mut out = BytesMut::with_capacity(object.len() + 40);
    out.put_slice(b"{\"type\":\"");
    out.put_slice(kind.name().as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
    out.freeze()
}
