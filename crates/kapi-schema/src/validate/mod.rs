//! Whether a custom resource is what its schema says, in the words of kube-apiserver.
//!
//! ```text
//!   value      types, bounds, formats, enumerations, all/any/one/not
//!   number     the numeric checks
//!   embedded   apiVersion, kind and metadata of embedded resources
//!   lists      duplicates in set and map lists
//!   correlate  which old value a new one came from, for ratcheting
//! ```

mod correlate;
mod embedded;
mod lists;
mod number;
mod value;

use serde_json::Value;

pub(crate) use correlate::{Correlated, ItemsBefore};
pub(crate) use embedded::validate_embedded;

use crate::field::{FieldError, Path};
use crate::schema::SchemaRef;

/// Checks `new` against its schema. What an update leaves unchanged is tolerated even if it is invalid.
///
/// `root` is where the value stands: empty for a whole object, `status` for the status alone.
pub fn validate(new: &Value, old: Option<&Value>, schema: SchemaRef<'_>, root: &Path) -> Vec<FieldError> {
    let mut errors = validate_value(new, old, schema, root);
    errors.extend(validate_embedded(new, schema, root, false));
    let duplicates_before = old.is_some_and(|old| !lists::duplicates(old, schema, root).is_empty());
    if !duplicates_before {
        errors.extend(lists::duplicates(new, schema, root));
    }
    errors
}

/// Only the OpenAPI checks, without list duplicates and embedded resources.
pub(crate) fn validate_value(new: &Value, old: Option<&Value>, schema: SchemaRef<'_>, root: &Path) -> Vec<FieldError> {
    value::check(new, old, schema).into_iter().map(|fault| fault.into_error(root)).collect()
}

/// CEL rules do not run on objects whose types are wrong; this is what is said instead, if so.
pub fn blocks_rules(errors: &[FieldError]) -> Option<FieldError> {
    use crate::field::ErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    errors.iter().any(|error| matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)).then(
        || FieldError {
            kind: crate::field::ErrorKind::Invalid,
            path: Path::root(),
            value: Some("null".to_owned()),
            detail: "some validation rules were not checked because the object was invalid; correct the existing \
                     errors to complete validation"
                .to_owned(),
        },
    )
}
