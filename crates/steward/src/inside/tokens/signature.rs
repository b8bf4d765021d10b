//! Signatures of bootstrap tokens on `cluster-info`.

use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::Token;

/// A JWS over `content` with the token as key (HS256), without the content itself, in the bytes that
/// kube-controller-manager would write.
pub(super) fn detached(content: &str, token: &Token) -> String {
    let header = BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"HS256","kid":"{}"}}"#, token.id));
    let signed = format!("{header}.{}", BASE64_URL_SAFE_NO_PAD.encode(content));
    let key = hmac::Key::new(HMAC_SHA256, token.secret.expose().as_bytes());
    let signature = BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes()));
    format!("{header}..{signature}")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn it_is_the_signature_other_implementations_make() {
        let secret = pki::Secret::new("0123456789abcdef");
        let token = Token { id: "abcdef".to_owned(), secret, expires_at: Timestamp::UNIX_EPOCH };
        // openssl dgst -sha256 -hmac 0123456789abcdef, over header and content in base64url.
        assert_eq!(
            detached("apiVersion: v1\n", &token),
            "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..K1chermAQEq0rdqy-ehj0VDfmA_ytv8Wzh9g26FldrE"
        );
    }
}
