//! What the client accepts, and what of it there is.

use http::{HeaderMap, header};

use crate::request::Query;
use crate::status::Status;

/// How to answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Representation {
    pub(crate) form: Form,
    pub(crate) media: Media,
    pub(crate) pretty: bool,
}

/// The encoding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Yaml,
    Protobuf,
}

/// What to answer with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// The objects themselves.
    Object,
    /// Rows for people.
    Table(TableOptions),
    /// Metadata alone.
    Partial(PartialOptions),
    /// All of discovery in one document.
    Aggregated,
}

/// What a table holds beside its cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableOptions {
    pub(crate) include: Include,
    pub(crate) version: &'static str,
}

/// How metadata alone was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartialOptions {
    /// Whether it was asked for as a list.
    pub(crate) list: bool,
    pub(crate) version: &'static str,
}

/// How much of each object a table carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

/// What is asked for its representations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A collection of a built-in kind, which can also be watched.
    Collection,
    /// Anything else of a built-in kind.
    BuiltIn,
    /// Custom resources, which are no protobuf.
    Custom,
    /// `/api`.
    CoreRoot,
    /// `/apis`.
    GroupsRoot,
    /// Other discovery of what is built in.
    Discovery,
    /// Discovery of what comes and goes.
    Group,
    /// A document that there is in JSON alone.
    Json,
}

impl Endpoint {
    fn has(self, media: Media, form: &Form) -> bool {
        let resource = matches!(self, Self::Collection | Self::BuiltIn | Self::Custom);
        match form {
            Form::Object if self == Self::Json => media == Media::Json,
            Form::Object => self != Self::Custom || media != Media::Protobuf,
            Form::Table(_) => resource && media != Media::Protobuf,
            Form::Partial(_) => resource,
            Form::Aggregated => self.is_root(),
        }
    }

    /// Whether all of discovery is told there.
    fn is_root(self) -> bool {
        matches!(self, Self::CoreRoot | Self::GroupsRoot)
    }

    /// What is named to those who accept no media type that there is. Some endpoints do not look at it beforehand.
    fn available(self) -> Option<&'static str> {
        match self {
            Self::Collection => Some(
                "application/json, application/yaml, application/vnd.kubernetes.protobuf, \
                 application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
            ),
            Self::BuiltIn | Self::CoreRoot | Self::Discovery => {
                Some("application/json, application/yaml, application/vnd.kubernetes.protobuf")
            }
            Self::Json => Some("application/json"),
            Self::Custom | Self::GroupsRoot | Self::Group => None,
        }
    }
}

impl Representation {
    /// Plain JSON, for answers given before anything was negotiated.
    pub(crate) fn json() -> Self {
        Self { form: Form::Object, media: Media::Json, pretty: false }
    }

    /// What the Accept header asks for; the most wanted thing that there is wins.
    pub(crate) fn of(headers: &HeaderMap, query: &Query, endpoint: Endpoint) -> Result<Self, Status> {
        let accepted = accepted(headers);
        if let Some(available) = endpoint.available()
            && !accepted.split(',').filter_map(named_media).any(|media| endpoint.has(media, &Form::Object))
        {
            return Err(Status::not_acceptable(available));
        }
        let chosen = first(accepted, query, endpoint)?.ok_or_else(|| Status::no_such_form(&MEDIA))?;
        Ok(Self { pretty: is_pretty(headers, query), ..chosen })
    }

    /// In what to tell that something failed: as the client would have taken an object, else in JSON.
    pub(crate) fn of_failure(headers: &HeaderMap, query: &Query) -> Self {
        let chosen = first(accepted(headers), query, Endpoint::Group).ok().flatten();
        Self { pretty: is_pretty(headers, query), ..chosen.unwrap_or_else(Self::json) }
    }

    /// The same for a watch, of which there is no YAML.
    pub(crate) fn streamed(self) -> Result<Self, Status> {
        const STREAMS: [&str; 2] =
            ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];
        if self.media == Media::Yaml { Err(Status::no_such_form(&STREAMS)) } else { Ok(self) }
    }
}

/// The media types objects come in.
const MEDIA: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

fn accepted(headers: &HeaderMap) -> &str {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepted.is_empty() { "*/*" } else { accepted }
}

/// The media type of a clause that names one, or any.
fn named_media(clause: &str) -> Option<Media> {
    match clause.split(';').next().unwrap_or_default().trim() {
        "application/json" | "*/*" => Some(Media::Json),
        "application/yaml" => Some(Media::Yaml),
        "application/vnd.kubernetes.protobuf" => Some(Media::Protobuf),
        _ => None,
    }
}

/// The most wanted thing that there is. At the roots aggregated discovery goes before all else.
fn first(accepted: &str, query: &Query, endpoint: Endpoint) -> Result<Option<Representation>, Status> {
    let mut found = None;
    for clause in by_preference(accepted) {
        let mut parts = clause.split(';').map(str::trim);
        let any_application = parts.next() == Some("application/*");
        let Some(media) = named_media(clause).or(any_application.then_some(Media::Json)) else { continue };
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        if let Some(form) = form(&parameters, query)?
            && endpoint.has(media, &form)
        {
            let settled = !endpoint.is_root() || form == Form::Aggregated;
            let chosen = Representation { form, media, pretty: false };
            if settled {
                return Ok(Some(chosen));
            }
            found.get_or_insert(chosen);
        }
    }
    Ok(found)
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

/// The form the parameters of a media range name; none when it is one that nobody has.
fn form(parameters: &[(&str, &str)], query: &Query) -> Result<Option<Form>, Status> {
    let get = |key: &str| parameters.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    if get("stream").is_some_and(|stream| !matches!(stream, "" | "watch")) {
        return Ok(None);
    }
    let version = match (get("as"), get("g"), get("v")) {
        (None, None, None) => return Ok(Some(Form::Object)),
        (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => return Ok(Some(Form::Aggregated)),
        (_, Some("meta.k8s.io"), Some("v1")) => "meta.k8s.io/v1",
        (_, Some("meta.k8s.io"), Some("v1beta1")) => "meta.k8s.io/v1beta1",
        _ => return Ok(None),
    };
    Ok(match get("as") {
        Some("Table") => Some(Form::Table(TableOptions { include: include(query)?, version })),
        Some("PartialObjectMetadata") => Some(Form::Partial(PartialOptions { list: false, version })),
        Some("PartialObjectMetadataList") => Some(Form::Partial(PartialOptions { list: true, version })),
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

    fn chosen(accept: &'static str, endpoint: Endpoint) -> Result<(Media, &'static str), u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        let chosen = Representation::of(&headers, &Query::default(), endpoint).map_err(|status| status.code)?;
        let form = match chosen.form {
            Form::Object => "object",
            Form::Table(_) => "table",
            Form::Partial(_) => "partial",
            Form::Aggregated => "aggregated",
        };
        Ok((chosen.media, form))
    }

    #[test]
    fn the_first_form_there_is_wins() {
        use Endpoint::{BuiltIn, Collection, CoreRoot, Custom, Discovery, GroupsRoot};
        use Media::{Json, Protobuf, Yaml};
        const PROTOBUF_TABLE: &str = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
        const PROTOBUF_PARTIAL: &str =
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        const AGGREGATED: &str =
            "application/json,application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io";
        for (accept, endpoint, expected) in [
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", BuiltIn, Ok((Json, "table"))),
            ("application/json;as=Thing;v=v9;g=meta.k8s.io,application/json", BuiltIn, Ok((Json, "object"))),
            ("application/vnd.kubernetes.protobuf,application/json", BuiltIn, Ok((Protobuf, "object"))),
            ("application/vnd.kubernetes.protobuf,application/json", Custom, Ok((Json, "object"))),
            ("application/vnd.kubernetes.protobuf;q=0.3,application/json", BuiltIn, Ok((Json, "object"))),
            ("application/vnd.kubernetes.protobuf", Custom, Err(406)),
            (PROTOBUF_PARTIAL, Custom, Ok((Protobuf, "partial"))),
            (PROTOBUF_TABLE, BuiltIn, Err(406)),
            (AGGREGATED, CoreRoot, Ok((Json, "aggregated"))),
            (AGGREGATED, GroupsRoot, Ok((Json, "aggregated"))),
            ("application/yaml,application/json", GroupsRoot, Ok((Yaml, "object"))),
            (AGGREGATED, Discovery, Ok((Json, "object"))),
            ("application/json;stream=watch", Collection, Ok((Json, "object"))),
            ("application/json;stream=thing", Collection, Err(406)),
            ("application/yaml", BuiltIn, Ok((Yaml, "object"))),
            ("application/*", Custom, Ok((Json, "object"))),
            ("application/*", BuiltIn, Err(406)),
            ("text/html", BuiltIn, Err(406)),
            ("application/vnd.kubernetes.protobuf", Endpoint::Json, Err(406)),
            ("application/vnd.kubernetes.protobuf,application/json", Endpoint::Json, Ok((Json, "object"))),
        ] {
            assert_eq!(chosen(accept, endpoint), expected, "{accept} of {endpoint:?}");
        }
    }

    #[test]
    fn failures_are_told_as_plainly_as_they_can_be_taken() {
        for (accept, media) in [
            ("application/vnd.kubernetes.protobuf,application/json", Media::Protobuf),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml", Media::Yaml),
            ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", Media::Json),
            ("text/html", Media::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(Representation::of_failure(&headers, &Query::default()).media, media, "{accept}");
        }
    }
}
