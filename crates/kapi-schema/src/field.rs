//! Field paths and field errors in Kubernetes' own wording.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// A path to a field, printed as `spec.containers[0].env[name]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// The path of the object itself; prints as nothing.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path with these dotted segments.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// The path of a field below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// The path of a list item.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The path of a map entry.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A referenced thing does not exist.
    NotFound,
    /// A required value is absent.
    Required,
    /// A value that must be unique is there twice.
    Duplicate,
    /// The value is malformed or out of bounds.
    Invalid,
    /// The value is not one of those known.
    NotSupported,
    /// The field may not be set or changed like this.
    Forbidden,
    /// The string is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The server could not judge the value.
    InternalError,
}

impl ErrorKind {
    /// The `reason` of a Status cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::InternalError => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::InternalError => "Internal error",
        }
    }
}

/// One thing wrong with one field. `Display` gives `path: Kind: value: detail`; [`FieldError::body`] leaves the path off.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where.
    pub path: Path,
    /// The offending value, already printed as Go would print it.
    pub value: Option<String>,
    /// What would be right.
    pub detail: String,
}

impl FieldError {
    /// A malformed value.
    pub fn invalid(path: &Path, value: &Value, detail: impl Into<String>) -> Self {
        Self::with_value(ErrorKind::Invalid, path, value, detail)
    }

    /// A value of the wrong JSON type.
    pub fn type_invalid(path: &Path, value: &Value, detail: impl Into<String>) -> Self {
        Self::with_value(ErrorKind::TypeInvalid, path, value, detail)
    }

    /// A missing value.
    pub fn required(path: &Path, detail: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Required, path: path.clone(), value: None, detail: detail.into() }
    }

    /// A value that is there twice.
    pub fn duplicate(path: &Path, value: &Value) -> Self {
        Self::with_value(ErrorKind::Duplicate, path, value, "")
    }

    /// A reference to nothing.
    pub fn not_found(path: &Path, value: &Value) -> Self {
        Self::with_value(ErrorKind::NotFound, path, value, "")
    }

    /// A change or value that is not allowed.
    pub fn forbidden(path: &Path, detail: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Forbidden, path: path.clone(), value: None, detail: detail.into() }
    }

    /// A value outside an enumeration.
    pub fn not_supported<S: AsRef<str>>(path: &Path, value: &Value, supported: &[S]) -> Self {
        let mut detail = String::new();
        if !supported.is_empty() {
            detail.push_str("supported values: ");
            for (i, choice) in supported.iter().enumerate() {
                let _ = write!(detail, "{}{}", if i > 0 { ", " } else { "" }, go_quote(choice.as_ref()));
            }
        }
        Self::with_value(ErrorKind::NotSupported, path, value, detail)
    }

    /// A string longer than `limit` bytes.
    pub fn too_long(path: &Path, limit: usize) -> Self {
        let detail = format!("may not be more than {limit} {}", if limit == 1 { "byte" } else { "bytes" });
        Self { kind: ErrorKind::TooLong, path: path.clone(), value: None, detail }
    }

    /// A list of `actual` items where at most `limit` may be.
    pub fn too_many(path: &Path, actual: usize, limit: usize) -> Self {
        let detail = format!("must have at most {limit} {}", if limit == 1 { "item" } else { "items" });
        Self { kind: ErrorKind::TooMany, path: path.clone(), value: Some(actual.to_string()), detail }
    }

    /// Something the server could not judge.
    pub fn internal(path: &Path, detail: impl Into<String>) -> Self {
        Self { kind: ErrorKind::InternalError, path: path.clone(), value: None, detail: detail.into() }
    }

    fn with_value(kind: ErrorKind, path: &Path, value: &Value, detail: impl Into<String>) -> Self {
        Self { kind, path: path.clone(), value: Some(go_value(value)), detail: detail.into() }
    }

    /// The message without the path, as a Status cause carries it.
    pub fn body(&self) -> String {
        let mut out = self.kind.text().to_owned();
        if let Some(value) = &self.value {
            let _ = write!(out, ": {value}");
        }
        if !self.detail.is_empty() {
            let _ = write!(out, ": {}", self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

/// Several errors as one line: the way an aggregate of Go prints them, alone or as `[a, b]`, without repetition.
pub fn aggregate<E: ToString>(errors: &[E]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for text in errors.iter().map(ToString::to_string) {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    match seen.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// A value as `field.Error` prints it: strings quoted, scalars bare, composites as JSON.
fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(s) => go_quote(s),
        Value::Number(n) => crate::go::number(n),
        other => crate::go::json(other),
    }
}

/// A string as Go's `%q` prints it.
pub fn go_quote(text: &str) -> String {
    // What Rust escapes beyond ASCII is what Go calls unprintable.
    quote(text, |c| !c.is_ascii() && c.escape_debug().count() > 1)
}

/// A list of strings as Go's `%q` prints it: `["a" "b"]`.
pub fn go_quote_list<S: AsRef<str>>(texts: &[S]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| go_quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

/// A string in quotes, with escapes for what would end it or begin a new line, for controls, and for what is `unprintable`.
pub(crate) fn quote(text: &str, unprintable: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if unprintable(c) => {
                let _ = match u32::from(c) {
                    code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_that_of_go() {
        for (text, expected) in [
            ("a", r#""a""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("tab\tnl\n", r#""tab\tnl\n""#),
            ("\u{1}", r#""\x01""#),
            ("ü", "\"ü\""),
            ("\u{200b}", r#""\u200b""#),
            ("it's", "\"it's\""),
        ] {
            assert_eq!(go_quote(text), expected);
        }
        assert_eq!(go_quote_list(&["a", "b"]), r#"["a" "b"]"#);
        assert_eq!(go_quote_list::<&str>(&[]), "[]");
    }

    #[test]
    fn errors_are_listed_once() {
        for (errors, expected) in [(&["a"][..], "a"), (&["a", "a"], "a"), (&["a", "b", "a"], "[a, b]")] {
            assert_eq!(aggregate(errors), expected);
        }
    }
}
