//! Acting as somebody else by `Impersonate-*` headers.

use crate::{
    Attributes, Authorizer, StatusError, User, forbidden, service_account_groups, split_service_account_name,
    user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED},
};

/// The headers as sent, in order. Names of extras are what follows `Impersonate-Extra-`, in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImpersonationHeaders {
    /// The first `Impersonate-User`.
    pub user: String,
    /// The first `Impersonate-Uid`.
    pub uid: String,
    /// All `Impersonate-Group`.
    pub groups: Vec<String>,
    /// All `Impersonate-Extra-*`.
    pub extras: Vec<(String, String)>,
}

impl ImpersonationHeaders {
    /// Picks the headers out of all headers of a request.
    pub fn collect<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            match name.strip_prefix("impersonate-") {
                Some("user") if found.user.is_empty() => found.user = value.to_owned(),
                Some("uid") if found.uid.is_empty() => found.uid = value.to_owned(),
                Some("group") => found.groups.push(value.to_owned()),
                Some(rest) => {
                    if let Some(key) = rest.strip_prefix("extra-") {
                        found.extras.push((unescape(key), value.to_owned()));
                    }
                }
                None => {}
            }
        }
        found
    }

    /// Whether the request wants to be somebody else at all.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// Undoes percent encoding; malformed keys stay as they are.
fn unescape(key: &str) -> String {
    let mut out = Vec::with_capacity(key.len());
    let mut bytes = key.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => out.push((high * 16 + low) as u8),
            _ => return key.to_owned(),
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| key.to_owned())
}

/// Why a request may not act as somebody else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImpersonationError {
    /// Groups, UID or extras without a user. The server answers with status 500 and the plain text
    /// `Internal Server Error: "<request URI>": <this>`.
    #[error("requested [{0}] without impersonating a user")]
    NoUser(String),
    /// The requestor lacks the right.
    #[error(transparent)]
    Forbidden(#[from] StatusError),
}

const AUTHENTICATION: &str = "authentication.k8s.io";

/// The user to act as, after checking that `requestor` may impersonate every part of it.
pub fn impersonate(
    requestor: &User,
    headers: &ImpersonationHeaders,
    authorizer: &dyn Authorizer,
) -> Result<User, ImpersonationError> {
    if headers.user.is_empty() {
        return Err(ImpersonationError::NoUser(describe(headers)));
    }
    let may = |asked: Attributes<'_>| -> Result<(), StatusError> {
        let asked = Attributes { version: if asked.group.is_empty() { "" } else { "v1" }, ..asked };
        let decision = authorizer.authorize(&asked);
        if decision.is_allowed() { Ok(()) } else { Err(forbidden(&asked, &decision.reason(requestor))) }
    };
    let ask = |group, resource| Attributes::resource(requestor, "impersonate", group, resource);
    let mut user = User { name: headers.user.clone(), uid: headers.uid.clone(), ..User::default() };
    match split_service_account_name(&headers.user) {
        Some((namespace, name)) => {
            may(ask("", "serviceaccounts").named(namespace, name))?;
            if headers.groups.is_empty() {
                user.groups = service_account_groups(namespace).into();
            }
        }
        None => may(ask("", "users").named("", &headers.user))?,
    }
    for group in &headers.groups {
        may(ask("", "groups").named("", group))?;
        user.groups.push(group.clone());
    }
    for (key, value) in &headers.extras {
        may(ask(AUTHENTICATION, "userextras").subresource(key).named("", value))?;
        user.extra.entry(key.clone()).or_default().push(value.clone());
    }
    if !headers.uid.is_empty() {
        may(ask(AUTHENTICATION, "uids").named("", &headers.uid))?;
    }
    if user.name == ANONYMOUS {
        user.add_group_once(UNAUTHENTICATED);
    } else if !user.is_in(UNAUTHENTICATED) {
        user.add_group_once(AUTHENTICATED);
    }
    Ok(user)
}

/// The parts asked for, as Go prints its object references.
fn describe(headers: &ImpersonationHeaders) -> String {
    let groups = headers.groups.iter().map(|group| format!("{{Group  {group}    }}"));
    let extras =
        headers.extras.iter().map(|(key, value)| format!("{{UserExtra  {value}  {AUTHENTICATION}/v1  {key}}}"));
    let uid = (!headers.uid.is_empty()).then(|| format!("{{UID  {}  {AUTHENTICATION}/v1  }}", headers.uid));
    groups.chain(extras).chain(uid).collect::<Vec<_>>().join(" ")
}
