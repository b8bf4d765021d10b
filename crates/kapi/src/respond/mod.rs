//! From an answer to an HTTP response, in the form the client asked for.

mod negotiate;
mod partial;
mod stream;
mod table;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

pub(crate) use negotiate::{Endpoint, Form, Media, Representation};

use crate::call::{Answer, Call, Document, List};
use crate::object::prefix;
use crate::registry::Served;
use crate::status::Status;

/// The body of every response.
pub type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// Puts an answer into the form the client asked for.
pub(crate) fn respond(call: &Call, representation: &Representation, answer: Answer) -> Result<Response<Body>, Status> {
    let now = call.now.as_second();
    let mut response = match answer {
        Answer::Object { code, object } => {
            let shown = match &representation.form {
                Form::Table(options) => {
                    let value = object.into_value()?;
                    let meta = json!({"resourceVersion": crate::object::meta(&value, "resourceVersion")});
                    table::table(&call.served, options, meta, std::slice::from_ref(&value), now).into()
                }
                Form::Partial(options) => partial::one(&call.served, object.into_value()?, *options)?.into(),
                Form::Object | Form::Aggregated => object,
            };
            document(code, representation, shown)?
        }
        Answer::Nothing => empty(204),
        Answer::List(list) => respond_list(call, representation, &list)?,
        Answer::Plain { code, value } => match &representation.form {
            Form::Table(options) if value["kind"] == "Scale" => {
                let scales = kapi_kinds::columns("autoscaling", "Scale");
                document(code, representation, table::of_columns(&scales, options, &value, now).into())?
            }
            _ => document(code, representation, value.into())?,
        },
        Answer::Watch(watch) => stream::stream(*watch, representation, now),
    };
    warn(&mut response, &call.warnings);
    Ok(response)
}

/// Adds warnings to a response, each once.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for (index, warning) in warnings.iter().enumerate() {
        let told = warnings.iter().take(index).any(|earlier| earlier == warning);
        if !told && let Ok(value) = HeaderValue::from_str(&warning_header(warning)) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// A failure as a response.
pub(crate) fn failure(status: &Status, representation: &Representation) -> Response<Body> {
    let mut response = plain(status.code, representation, status.to_value());
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0
        && let Ok(value) = HeaderValue::from_str(&retry.to_string())
    {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

/// A document that belongs to no resource. What cannot be encoded as asked is told in JSON.
pub(crate) fn plain(code: u16, representation: &Representation, value: Value) -> Response<Body> {
    document(code, representation, value.into())
        .unwrap_or_else(|status| text(status.code, JSON, encode(&status.to_value())))
}

/// Bare text, as health checks answer.
pub(crate) fn text(code: u16, content_type: &'static str, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Nothing but a status code.
pub(crate) fn empty(code: u16) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn document(code: u16, representation: &Representation, document: Document) -> Result<Response<Body>, Status> {
    Ok(match representation.media {
        Media::Json if representation.pretty => text(code, JSON, pretty(&document.into_bytes())),
        Media::Json => text(code, JSON, document.into_bytes()),
        Media::Yaml => {
            let yaml = kernel::yaml::to_string(&document.into_value()?).map_err(Status::internal)?;
            text(code, "application/yaml", yaml)
        }
        Media::Protobuf => {
            let encoded = kapi_proto::encode(&document.into_value()?).map_err(Status::internal)?;
            text(code, PROTOBUF, encoded)
        }
    })
}

fn pretty(bytes: &Bytes) -> Bytes {
    let value = serde_json::from_slice::<Value>(bytes).ok();
    let printed = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    printed.map_or_else(|| bytes.clone(), Bytes::from)
}

fn encode(value: &Value) -> Bytes {
    Bytes::from(serde_json::to_vec(value).unwrap_or_default())
}

fn list_meta(list: &List, custom: bool) -> Value {
    let mut meta = json!({"resourceVersion": list.revision.to_string()});
    if let Some(next) = &list.next {
        meta["continue"] = next.as_str().into();
    } else if custom {
        // Lists of custom resources print it empty.
        meta["continue"] = "".into();
    }
    if let Some(remaining) = list.remaining {
        meta["remainingItemCount"] = remaining.into();
    }
    meta
}

fn respond_list(call: &Call, representation: &Representation, list: &List) -> Result<Response<Body>, Status> {
    let Call { served, now, .. } = call;
    let custom = served.custom.is_some() && representation.form == Form::Object;
    let meta = list_meta(list, custom);
    let parsed = || list.items.iter().map(|bytes| crate::object::parse(bytes)).collect::<Result<Vec<_>, _>>();
    let shown = match &representation.form {
        Form::Table(options) => table::table(served, options, meta, &parsed()?, now.as_second()).into(),
        Form::Partial(options) => partial::list(call, meta, list, *options)?.into(),
        Form::Object | Form::Aggregated if representation.media == Media::Protobuf => {
            let kind = &served.resource.list_kind;
            let encoded = kapi_proto::encode_list(&served.api_version, kind, &meta, parsed()?);
            return Ok(text(200, PROTOBUF, encoded.map_err(Status::internal)?));
        }
        Form::Object | Form::Aggregated => Document::Bytes(joined(served, &meta, &list.items)),
    };
    document(200, representation, shown)
}

/// A list put together from stored documents without parsing them. Items of built-in kinds carry no kind of their own.
fn joined(served: &Served, meta: &Value, items: &[Bytes]) -> Bytes {
    let is_built_in = served.custom.is_none();
    let head = prefix(&served.api_version, &served.resource.kind);
    let size: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut out = BytesMut::with_capacity(size + 256);
    let (kind, version) = (json!(&*served.resource.list_kind), json!(&*served.api_version));
    out.put_slice(format!(r#"{{"kind":{kind},"apiVersion":{version},"metadata":{meta},"items":["#).as_bytes());
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        match item.strip_prefix(head.as_bytes()) {
            Some(rest) if is_built_in => {
                out.put_u8(b'{');
                out.put_slice(rest);
            }
            // Of another version than the stored one: its fields stand in another order.
            None if is_built_in => out.put_slice(&without_kind(item)),
            _ => out.put_slice(item),
        }
    }
    out.put_slice(b"]}");
    out.freeze()
}

fn without_kind(item: &[u8]) -> Vec<u8> {
    match serde_json::from_slice::<serde_json::Map<String, Value>>(item) {
        Ok(mut object) => {
            object.remove("kind");
            object.remove("apiVersion");
            Value::Object(object).to_string().into_bytes()
        }
        Err(_) => item.to_vec(),
    }
}

fn warning_header(text: &str) -> String {
    let quoted: String = text
        .chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] })
        .collect();
    format!("299 - \"{quoted}\"")
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}
