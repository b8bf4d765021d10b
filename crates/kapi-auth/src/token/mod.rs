//! ServiceAccount tokens: made on request, verified against the objects they name.

mod claims;
mod discovery;
mod issue;
mod request;
mod verify;

pub use issue::{LegacyToken, TokenIssuer};
pub use request::{TokenRequest, TokenRequestOutcome, create_token};
pub use verify::TokenVerifier;
