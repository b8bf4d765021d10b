//! `WWW-Authenticate`: how a registry wants to be told who is asking.

use pki::Secret;
use serde::Deserialize;
use url::Url;

/// What a registry wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User and password with every question.
    Basic,
    /// A token that another server gives.
    Bearer(Bearer),
}

/// Who gives a token, and for what.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) realm: Url,
    service: Option<String>,
    scope: Option<String>,
}

impl Challenge {
    /// Reads the header; none if it asks for something nobody knows.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameters = parameters(rest);
        let get = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        let realm = Url::parse(&get("realm")?).ok()?;
        Some(Self::Bearer(Bearer { realm, service: get("service"), scope: get("scope") }))
    }
}

impl Bearer {
    /// Where the token is asked for; the scope is the registry's, or else this.
    pub(super) fn token_url(&self, scope: &str) -> Url {
        let mut url = self.realm.clone();
        let mut query = url.query_pairs_mut();
        if let Some(service) = &self.service {
            query.append_pair("service", service);
        }
        query.append_pair("scope", self.scope.as_deref().unwrap_or(scope));
        drop(query);
        url
    }
}

/// `key="value", key=value`; commas within quotes are part of a value.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((key.trim().to_owned(), value.trim().to_owned()));
        rest = after.trim_start_matches([',', ' ']);
    }
    found
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

/// The token of an answer, under either of its names.
pub(super) fn token(body: &[u8]) -> Option<Secret> {
    let answer: TokenAnswer = serde_json::from_slice(body).ok()?;
    answer.token.or(answer.access_token).filter(|token| !token.is_empty()).map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let header = r#"Bearer realm="https://auth.io/token?a=b",service="reg.io",scope="repository:a/b:pull,push""#;
        let token_url = |header: &str, scope: &str| match Challenge::parse(header) {
            Some(Challenge::Bearer(bearer)) => bearer.token_url(scope).to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(
            token_url(header, "ours"),
            "https://auth.io/token?a=b&service=reg.io&scope=repository%3Aa%2Fb%3Apull%2Cpush"
        );
        assert_eq!(Challenge::parse("Basic realm=\"x\""), Some(Challenge::Basic));
        assert_eq!(Challenge::parse("basic"), Some(Challenge::Basic));
        assert_eq!(Challenge::parse("Negotiate"), None);
        assert_eq!(Challenge::parse("Bearer service=x"), None);
        let bare = token_url("bearer realm=https://auth.io/t", "repository:x:pull");
        assert_eq!(bare, "https://auth.io/t?scope=repository%3Ax%3Apull");
    }

    #[test]
    fn tokens_have_two_names() {
        assert_eq!(token(br#"{"token": "a"}"#).unwrap().expose(), "a");
        assert_eq!(token(br#"{"access_token": "b"}"#).unwrap().expose(), "b");
        assert!(token(br#"{"token": ""}"#).is_none() && token(b"x").is_none());
    }
}
