//! Authentication: from credentials to a [`User`].

mod bootstrap;
mod certificate;
mod static_tokens;

pub use bootstrap::authenticate_bootstrap_token;
pub use certificate::ClientCertificates;
pub use static_tokens::StaticTokens;

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use kapi_schema::field::aggregate;

use crate::{ObjectReader, StatusError, TokenVerifier, User, user::AUTHENTICATED};

/// A user and the audiences its credentials are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    /// The user.
    pub user: User,
    /// The audiences that both the credentials and the question name.
    pub audiences: Vec<String>,
}

/// What a request brings along.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// The client's certificates as DER, its own one first; not verified yet.
    pub certificates: &'a [&'a [u8]],
    /// The value of the `Authorization` header.
    pub authorization: Option<&'a str>,
}

impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("certificates", &self.certificates.len())
            .field("authorization", &self.authorization.map(|_| "[redacted]"))
            .finish()
    }
}

/// All ways to authenticate, tried in the order of kube-apiserver.
pub struct Authenticator {
    /// Client certificates; none when no authority is trusted for them.
    pub certificates: Option<ClientCertificates>,
    /// Fixed tokens.
    pub static_tokens: StaticTokens,
    /// ServiceAccount tokens.
    pub service_accounts: Option<TokenVerifier>,
    /// Bootstrap tokens of joining nodes.
    pub bootstrap_tokens: bool,
    /// Whether requests without credentials become `system:anonymous`, or are refused.
    pub anonymous: bool,
    /// The audiences of this API server; the first one is the issuer of its tokens.
    pub audiences: Vec<String>,
    /// Where ServiceAccounts, Secrets, pods and nodes are read.
    pub objects: Arc<dyn ObjectReader + Send + Sync>,
}

impl Authenticator {
    /// The user of a request, or the 401 that refuses it. Wrong credentials are never anonymous.
    pub fn authenticate(&self, credentials: &Credentials<'_>, now: Timestamp) -> Result<User, StatusError> {
        let mut wrong = false;
        if let (Some(certificates), [first, rest @ ..]) = (&self.certificates, credentials.certificates) {
            match certificates.verify(first, rest, now) {
                Ok(Some(user)) => return Ok(authenticated(user)),
                Ok(None) => {}
                Err(_) => wrong = true,
            }
        }
        if let Some(token) = credentials.authorization.and_then(bearer_token) {
            match self.authenticate_token(token, &self.audiences, now) {
                Ok(answer) => return Ok(answer.user),
                Err(_) => wrong = true,
            }
        }
        if wrong || !self.anonymous { Err(StatusError::unauthorized()) } else { Ok(User::anonymous()) }
    }

    /// The user of a bearer token that is for at least one of `audiences`, or why there is none. The text is for
    /// TokenReview; clients that merely failed to authenticate do not see it.
    pub fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Authenticated, String> {
        // The real server asks one more authenticator, for its own loopback token, which always says this first.
        let mut errors = vec!["invalid bearer token".to_owned()];
        let objects = self.objects.as_ref();
        let mut accepted = self.for_this_server(self.static_tokens.authenticate(token), audiences);
        if let (None, Some(verifier)) = (&accepted, &self.service_accounts) {
            match verifier.verify(token, audiences, objects, now) {
                Ok(answer) => accepted = answer,
                Err(error) => errors.push(error),
            }
        }
        if accepted.is_none() && self.bootstrap_tokens {
            accepted = self.for_this_server(authenticate_bootstrap_token(token, objects, now), audiences);
        }
        accepted
            .map(|Authenticated { user, audiences }| Authenticated { user: authenticated(user), audiences })
            .ok_or_else(|| aggregate(&errors))
    }

    /// Credentials that know no audience are for this server alone.
    fn for_this_server(&self, user: Option<User>, asked: &[String]) -> Option<Authenticated> {
        let audiences: Vec<_> = self.audiences.iter().filter(|a| asked.contains(a)).cloned().collect();
        let fits = !audiences.is_empty() || self.audiences.is_empty();
        user.filter(|_| fits).map(|user| Authenticated { user, audiences })
    }
}

fn authenticated(mut user: User) -> User {
    user.add_group_once(AUTHENTICATED);
    user
}

/// The token of an `Authorization: Bearer …` header, if it is one.
fn bearer_token(header: &str) -> Option<&str> {
    let mut parts = header.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_printed() {
        let credentials = Credentials { certificates: &[b"der"], authorization: Some("Bearer hunter2") };
        assert_eq!(format!("{credentials:?}"), "Credentials { certificates: 1, authorization: Some(\"[redacted]\") }");
    }

    #[test]
    fn bearer_headers() {
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("  Bearer abc  ", Some("abc")),
            ("Bearer abc def", Some("abc")),
            ("Bearer  abc", None),
            ("Bearer", None),
            ("Basic abc", None),
            ("", None),
        ] {
            assert_eq!(bearer_token(header), expected, "{header:?}");
        }
    }
}
