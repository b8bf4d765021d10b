//! What the client accepts.

use http::{HeaderMap, header};

use crate::request::Query;
use crate::status::Status;

/// How to answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Representation {
    pub(crate) form: Form,
    pub(crate) yaml: bool,
    pub(crate) pretty: bool,
}

/// What to answer with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// The objects themselves.
    Object,
    /// Rows for people.
    Table(TableOptions),
    /// Metadata alone; `list` when the list form was asked for.
    Partial { list: bool },
}

/// What a table holds beside its cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableOptions {
    pub(crate) include: Include,
    pub(crate) version: &'static str,
}

/// How much of each object a table carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

const AVAILABLE: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, \
     application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

impl Representation {
    /// Plain JSON, for answers given before anything was negotiated.
    pub(crate) fn json() -> Self {
        Self { form: Form::Object, yaml: false, pretty: false }
    }

    /// What the Accept header asks for; the first thing listed that we have wins.
    pub(crate) fn of(headers: &HeaderMap, query: &Query) -> Result<Self, Status> {
        let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
        let pretty = is_pretty(headers, query);
        let mut other_form = false;
        for clause in by_preference(accepted) {
            let mut parts = clause.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
            let yaml = match media {
                "application/json" | "*/*" | "" => false,
                "application/yaml" => true,
                _ => continue,
            };
            if let Some(form) = form(&parameters, query)? {
                return Ok(Self { form, yaml, pretty });
            }
            other_form = true;
        }
        Err(if other_form { Status::no_such_form() } else { Status::not_acceptable(AVAILABLE) })
    }
}

/// The media ranges of an Accept header, the most wanted first.
fn by_preference(accepted: &str) -> Vec<&str> {
    let quality = |clause: &str| {
        let q = clause.split(';').map(str::trim).find_map(|part| part.strip_prefix("q="));
        q.and_then(|q| q.parse::<f32>().ok()).unwrap_or(1.0)
    };
    let mut clauses: Vec<&str> = accepted.split(',').collect();
    clauses.sort_by(|a, b| quality(b).total_cmp(&quality(a)));
    clauses
}

/// The form the parameters of a media range name; none when it is one we do not have.
fn form(parameters: &[(&str, &str)], query: &Query) -> Result<Option<Form>, Status> {
    let get = |key: &str| parameters.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let Some(kind) = get("as") else { return Ok(Some(Form::Object)) };
    let version = match (get("g"), get("v")) {
        (Some("meta.k8s.io"), Some("v1")) => "meta.k8s.io/v1",
        (Some("meta.k8s.io"), Some("v1beta1")) => "meta.k8s.io/v1beta1",
        _ => return Ok(None),
    };
    Ok(match kind {
        "Table" => Some(Form::Table(TableOptions { include: include(query)?, version })),
        "PartialObjectMetadata" => Some(Form::Partial { list: false }),
        "PartialObjectMetadataList" => Some(Form::Partial { list: true }),
        _ => None,
    })
}

fn include(query: &Query) -> Result<Include, Status> {
    match query.get("includeObject") {
        None | Some("Metadata") => Ok(Include::Metadata),
        Some("None") => Ok(Include::None),
        Some("Object") => Ok(Include::Object),
        Some(other) => Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        ))),
    }
}

/// Programs that show the body to people get it indented.
fn is_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(asked) = query.get("pretty") {
        return asked == "true" || asked == "1";
    }
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|prefix| agent.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(accept: &'static str) -> Result<Representation, Status> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Representation::of(&headers, &Query::default())
    }

    #[test]
    fn the_first_form_we_have_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert!(matches!(of(kubectl).unwrap().form, Form::Table(_)));
        let unknown = "application/json;as=Thing;v=v9;g=meta.k8s.io,application/json";
        assert_eq!(of(unknown).unwrap().form, Form::Object);
        assert_eq!(of("application/vnd.kubernetes.protobuf,application/json").unwrap().form, Form::Object);
        assert_eq!(of("application/vnd.kubernetes.protobuf").unwrap_err().code, 406);
        assert!(of("application/yaml").unwrap().yaml);
    }
}
