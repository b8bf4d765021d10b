//! Reading a collection.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use kapi_schema::field::{FieldError, Path};
use kapi_store::{HistoryError, Page};
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, List};
use crate::read;
use crate::request::Query;
use crate::selection::Selection;
use crate::status::Status;

pub(crate) fn list(call: &mut Call) -> Result<Answer, Status> {
    let selection = Selection::of(call)?;
    let limit = match call.query.number("limit")?.unwrap_or(0) {
        limit if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    call.query.number("timeoutSeconds")?;
    let from = From::of(call, &selection.prefix)?;
    // With selectors nobody knows beforehand how many objects make a page.
    let fetch = if selection.is_everything() { limit } else { usize::MAX };
    let collection = call.api.collection(&call.served);
    let after = from.after.as_deref();
    let page = match from.revision {
        Some(revision) => call
            .api
            .store
            .list_at(&collection, revision, &selection.prefix, after, fetch)
            .map_err(|error| from.status(error, &selection.prefix))?,
        None => collection.list(&selection.prefix, after, fetch),
    };
    Ok(Answer::List(select(call, &selection, page, limit)?))
}

fn select(call: &Call, selection: &Selection, page: Page, limit: usize) -> Result<List, Status> {
    let everything = selection.is_everything();
    let total = page.items.len() + page.remaining;
    let (mut items, mut seen, mut last) = (Vec::new(), 0, None);
    for item in page.items {
        if items.len() == limit {
            break;
        }
        seen += 1;
        let shown = read::shown(&call.served, item.revision, &item.bytes())?;
        if everything || selection.matches(&call.served, &shown) {
            items.push(shown);
        }
        last = Some(item.key);
    }
    let rest = total - seen;
    let next = match last {
        Some(last) if rest > 0 => Some(token(page.revision, &last, &selection.prefix)),
        _ => None,
    };
    let remaining = (everything && next.is_some()).then_some(rest);
    Ok(List { revision: page.revision, next, remaining, items })
}

/// Where a list begins.
struct From {
    /// A past revision to read at; the present otherwise.
    revision: Option<u64>,
    /// The last key of the page before.
    after: Option<String>,
    /// Whether it continues an earlier list.
    continued: bool,
}

/// What a continue token holds, in the form kube-apiserver gives it.
#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

/// Go does not mind bits left over at the end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

impl From {
    fn of(call: &Call, prefix: &str) -> Result<Self, Status> {
        let query = &call.query;
        let (version, matching) = (query.get("resourceVersion"), query.get("resourceVersionMatch"));
        check_options(query)?;
        if let Some(token) = query.get("continue") {
            if version.is_some_and(|version| version != "0") {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            return Self::continued(token, prefix);
        }
        let asked = version.map(list_revision).transpose()?.unwrap_or(0);
        let current = call.api.store.revision();
        if matching == Some("Exact") {
            return Ok(Self { revision: Some(asked), after: None, continued: false });
        }
        if asked > current {
            return Err(Status::too_large_revision(asked, current));
        }
        Ok(Self { revision: None, after: None, continued: false })
    }

    fn continued(token: &str, prefix: &str) -> Result<Self, Status> {
        let bad = |why: String| Status::bad_request(format!("invalid continue token: {why}"));
        let decoded = LENIENT
            .decode(token)
            .map_err(|_| bad("continue key is not valid: illegal base64 data at input byte 0".into()))?;
        let token: Token = serde_json::from_slice(&decoded).map_err(|error| {
            bad(format!("continue key is not valid: {}", crate::decode::go_json_error(&decoded, &error)))
        })?;
        if token.v != TOKEN_VERSION {
            return Err(bad(format!(
                "continue key is not valid: server does not recognize this encoded version {}",
                token.v
            )));
        }
        if token.start.is_empty() {
            return Err(bad("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)".into()));
        }
        if token.start.split('/').any(|part| part == "..") {
            return Err(bad(format!("continue key is not valid: {}", token.start)));
        }
        let start = token.start.strip_suffix('\0').unwrap_or(&token.start);
        let revision = match token.rv {
            0 => {
                return Err(bad(
                    "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
                        .into(),
                ));
            }
            negative if negative < 0 => None,
            revision => Some(revision.unsigned_abs()),
        };
        Ok(Self { revision, after: Some(format!("{prefix}{start}")), continued: true })
    }

    fn status(&self, error: HistoryError, prefix: &str) -> Status {
        match error {
            HistoryError::Compacted { .. } if self.continued => {
                let after = self.after.as_deref().unwrap_or_default();
                Status::expired_continue(inconsistent_token(after, prefix))
            }
            HistoryError::Compacted { .. } => Status::expired("The resourceVersion for the provided list is too old."),
            HistoryError::Future { asked, current } => Status::too_large_revision(asked, current),
            HistoryError::Engine(error) => Status::internal(error),
        }
    }
}

fn token(revision: u64, last: &str, prefix: &str) -> String {
    encode(i64::try_from(revision).unwrap_or(i64::MAX), last, prefix)
}

/// A token that goes on from the present, whatever has changed since.
fn inconsistent_token(last: &str, prefix: &str) -> String {
    encode(-1, last, prefix)
}

fn encode(rv: i64, last: &str, prefix: &str) -> String {
    let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
    let token = Token { v: TOKEN_VERSION.into(), rv, start };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// Refuses list options that do not fit together.
fn check_options(query: &Query) -> Result<(), Status> {
    let path = Path::new("resourceVersionMatch");
    let version = query.get("resourceVersion");
    let mut errors = Vec::new();
    if let Some(matching) = query.get("resourceVersionMatch") {
        let mut forbid = |why: &str| errors.push(FieldError::forbidden(&path, why));
        if version.is_none() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if query.get("continue").is_some() {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        if matching == "Exact" && version == Some("0") {
            forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(&path, &matching.into(), &["Exact", "NotOlderThan", ""]));
        }
    }
    if query.get("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden(&Path::new("sendInitialEvents"), "sendInitialEvents is forbidden for list"));
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors)) }
}

/// A resourceVersion as a client gave it to a list.
fn list_revision(text: &str) -> Result<u64, Status> {
    parse_revision(text).map_err(|status| Status::bad_request(format!("invalid resource version: {}", status.message)))
}

/// A resourceVersion as a client gave it.
pub(crate) fn parse_revision(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        Status::unexplained(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}
