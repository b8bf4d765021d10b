//! Keys and certificates of a control plane, as Secrets.
//!
//! [`Root`]s are authorities and keys: made once, kept by a finalizer, rescued when somebody deletes them, never
//! overwritten. [`Leaf`] Secrets are made from them and can be made again at any time; each carries what it was issued for,
//! so that a change of wish, of authority, of content or the passing of time is seen without opening it.

mod leaves;
mod roots;

pub use leaves::{CONTENT, ISSUED_FOR, Issued, Issuer, KubeconfigWish, Leaf, LeafState, NOT_AFTER, RENEW_AT, Wish};
pub use roots::{Root, RootState, Roots};

use aws_lc_rs::digest;
use k8s_openapi::api::core::v1::Secret;

/// The text under a key of a Secret.
pub(crate) fn text<'a>(secret: &'a Secret, key: &str) -> Option<&'a str> {
    std::str::from_utf8(&secret.data.as_ref()?.get(key)?.0).ok()
}

/// A digest of these texts in hexadecimal; where one ends and the next begins counts.
pub(crate) fn digest_of<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for text in texts {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text);
    }
    context.finish().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of everything in a Secret.
pub(crate) fn content_digest(secret: &Secret) -> String {
    let entries = secret.data.iter().flatten();
    digest_of(entries.flat_map(|(key, value)| [key.as_bytes(), value.0.as_slice()]))
}
