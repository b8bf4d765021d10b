//! TokenReview: whose token is this?

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    Authenticator, StatusError,
    objects::{text, texts},
};

/// Authenticates the token in the review for the audiences it names, or for those of this server.
pub fn token_review(mut review: Value, authenticator: &Authenticator, now: Timestamp) -> Result<Value, StatusError> {
    let token = text(&review, &["spec", "token"]);
    if token.is_empty() {
        return Err(StatusError::bad_request("token is required for TokenReview in authentication"));
    }
    let named = texts(&review, &["spec", "audiences"]);
    let audiences = if named.is_empty() { &authenticator.audiences } else { &named };
    let mut status = Map::new();
    match authenticator.authenticate_token(token, audiences, now) {
        Ok(accepted) => {
            status.insert("authenticated".to_owned(), true.into());
            status.insert("user".to_owned(), accepted.user.to_user_info());
            if !accepted.audiences.is_empty() {
                status.insert("audiences".to_owned(), accepted.audiences.into());
            }
        }
        Err(error) => {
            status.insert("user".to_owned(), json!({}));
            status.insert("error".to_owned(), error.into());
        }
    }
    if let Some(review) = review.as_object_mut() {
        review.insert("status".to_owned(), status.into());
        review.entry("metadata").or_insert_with(|| json!({}));
    }
    Ok(review)
}
