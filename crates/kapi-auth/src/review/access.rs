//! SubjectAccessReview and its relatives: may this user do that?

use std::collections::BTreeMap;

use kapi_schema::fields::{self, Term};
use serde_json::{Map, Value, json};

use super::access_validation::{Review, validate};
use crate::{
    Attributes, Authorizer, StatusError, User,
    objects::{at, list, text, texts},
};

const GROUP: &str = "authorization.k8s.io";

/// Answers whether the user named in the review may do something.
pub fn subject_access_review(review: Value, authorizer: &dyn Authorizer) -> Result<Value, StatusError> {
    check(&review, Review::Subject)?;
    let user = user_in(&review);
    Ok(answer(review, &user, authorizer))
}

/// Answers whether the requestor may do something.
pub fn self_subject_access_review(
    review: Value,
    requestor: &User,
    authorizer: &dyn Authorizer,
) -> Result<Value, StatusError> {
    check(&review, Review::SelfSubject)?;
    Ok(answer(review, requestor, authorizer))
}

/// Answers whether the user named in the review may do something in the namespace of the request.
pub fn local_subject_access_review(
    mut review: Value,
    namespace: &str,
    authorizer: &dyn Authorizer,
) -> Result<Value, StatusError> {
    if text(&review, &["metadata", "namespace"]).is_empty() {
        review["metadata"]["namespace"] = namespace.into();
    }
    check(&review, Review::Local)?;
    if text(&review, &["metadata", "namespace"]) != namespace {
        return Err(StatusError::bad_request(format!(
            "spec.resourceAttributes.namespace must match namespace: {namespace}"
        )));
    }
    let user = user_in(&review);
    Ok(answer(review, &user, authorizer))
}

fn check(review: &Value, kind: Review) -> Result<(), StatusError> {
    let errors = validate(review, kind);
    // The real server leaves the kind out of this message.
    if errors.is_empty() { Ok(()) } else { Err(StatusError::invalid(GROUP, "", "", &errors)) }
}

fn user_in(review: &Value) -> User {
    let field = |name| text(review, &["spec", name]).to_owned();
    let extra = at(review, &["spec", "extra"]).and_then(Value::as_object);
    let extra: BTreeMap<_, _> =
        extra.into_iter().flatten().map(|(key, values)| (key.clone(), texts(values, &[]))).collect();
    User { name: field("user"), uid: field("uid"), groups: texts(review, &["spec", "groups"]), extra }
}

fn answer(mut review: Value, user: &User, authorizer: &dyn Authorizer) -> Value {
    let mut status = Map::new();
    let (decision, selector_errors) = match at(&review, &["spec", "resourceAttributes"]) {
        Some(resource) => {
            let (fields, field_error) = read_fields(resource);
            let errors: Vec<_> = field_error.into_iter().chain(label_error(resource)).collect();
            (authorizer.authorize(&resource_attributes(user, resource, &fields)), errors.join("; "))
        }
        None => {
            let field = |name| text(&review, &["spec", "nonResourceAttributes", name]);
            (authorizer.authorize(&Attributes::path(user, field("verb"), field("path"))), String::new())
        }
    };
    status.insert("allowed".to_owned(), decision.is_allowed().into());
    let reason = decision.reason(user);
    if !reason.is_empty() {
        status.insert("reason".to_owned(), reason.into());
    }
    if !selector_errors.is_empty() {
        status.insert("evaluationError".to_owned(), selector_errors.into());
    }
    if let Some(review) = review.as_object_mut() {
        review.insert("status".to_owned(), status.into());
        review.entry("metadata").or_insert_with(|| json!({}));
    }
    review
}

fn resource_attributes<'a>(user: &'a User, resource: &'a Value, fields: &'a [Term]) -> Attributes<'a> {
    let field = |name| text(resource, &[name]);
    let version = if field("version").is_empty() { "*" } else { field("version") };
    Attributes {
        version,
        subresource: field("subresource"),
        namespace: field("namespace"),
        name: field("name"),
        fields,
        ..Attributes::resource(user, field("verb"), field("group"), field("resource"))
    }
}

/// The field selector as requirements, and what to say about those that cannot be used. Ignoring a requirement only
/// widens the question, so the answer stays safe.
fn read_fields(resource: &Value) -> (Vec<Term>, Option<String>) {
    let Some(selector) = at(resource, &["fieldSelector"]) else { return (Vec::new(), None) };
    let raw = text(selector, &["rawSelector"]);
    let mut malformed = false;
    let mut fields = Vec::new();
    if !raw.is_empty() {
        match fields::Selector::parse(raw) {
            Ok(parsed) => fields = parsed.terms,
            Err(_) => malformed = true,
        }
    }
    for requirement in list(selector, &["requirements"]) {
        let values = list(requirement, &["values"]);
        let equal = match text(requirement, &["operator"]) {
            "In" => Some(true),
            "NotIn" => Some(false),
            _ => None,
        };
        match (equal, values) {
            (Some(equal), [value]) => fields.push(Term {
                field: text(requirement, &["key"]).to_owned(),
                value: value.as_str().unwrap_or_default().to_owned(),
                equal,
            }),
            _ => malformed = true,
        }
    }
    let error = malformed.then(|| ignored("fieldSelector", !fields.is_empty()));
    (fields, error)
}

/// No authorizer looks at labels; it is only told which requirements nobody could look at.
fn label_error(resource: &Value) -> Option<String> {
    let requirements = list(resource, &["labelSelector", "requirements"]);
    let known = |r: &&Value| ["In", "NotIn", "Exists", "DoesNotExist"].contains(&text(r, &["operator"]));
    let usable = requirements.iter().filter(known).count();
    (usable < requirements.len()).then(|| ignored("labelSelector", usable > 0))
}

fn ignored(selector: &str, partially: bool) -> String {
    let partially = if partially { "partially " } else { "" };
    format!("spec.resourceAttributes.{selector} {partially}ignored due to parse error")
}
