//! Watches as a stream of events: lines of JSON, or frames of protobuf.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use futures::StreamExt;
use http::{HeaderValue, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};

use super::negotiate::{Form, Media, Representation};
use super::{Body, partial, table};
use crate::handlers::watch::{Kind, Told, Watch};
use crate::status::Status;

pub(super) fn stream(watch: Watch, representation: &Representation, now: i64) -> Response<Body> {
    let form = representation.form.clone();
    let served = std::sync::Arc::clone(watch.served());
    let (write, media): (fn(Kind, &Bytes) -> Bytes, _) = match representation.media {
        Media::Protobuf => (frame, "application/vnd.kubernetes.protobuf;stream=watch"),
        Media::Json | Media::Yaml => (line, "application/json"),
    };
    let mut headed = false;
    let events = watch.stream().map(move |told| {
        let event = match &form {
            Form::Object | Form::Aggregated => write(told.kind, &told.object),
            Form::Partial(options) => {
                write(told.kind, &transformed(&told, |object| partial::object(object, options.version)))
            }
            Form::Table(options) => {
                let object = transformed(&told, |object| {
                    let meta = json!({"resourceVersion": crate::object::meta(&object, "resourceVersion")});
                    let objects = [object];
                    match std::mem::replace(&mut headed, true) {
                        true => table::rows(&served, options, meta, &objects, now),
                        false => table::table(&served, options, meta, &objects, now),
                    }
                });
                write(told.kind, &object)
            }
        };
        Ok::<_, Infallible>(Frame::data(event))
    });
    let mut response = Response::new(StreamBody::new(events).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

fn transformed(told: &Told, change: impl FnOnce(Value) -> Value) -> Bytes {
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

fn frame(kind: Kind, object: &Bytes) -> Bytes {
    let encoded = crate::object::parse(object)
        .and_then(|object| kapi_proto::encode_watch_event(kind.name(), &object).map_err(Status::internal));
    let frame = encoded.or_else(|status| kapi_proto::encode_watch_event(Kind::Error.name(), &status.to_value()));
    Bytes::from(frame.unwrap_or_default())
}
