//! The types of CEL expressions, and how a schema declares them.

use std::fmt;
use std::sync::Arc;

use crate::schema::{Node, SchemaRef, Type as JsonType};

/// A type. Objects are places in a schema: their fields are typed when asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ty<'a> {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Arc<Ty<'a>>),
    Map(Arc<Ty<'a>>, Arc<Ty<'a>>),
    Object(Object<'a>),
    Optional(Arc<Ty<'a>>),
    /// The type of a type.
    Type,
    /// A type only functions know, such as `net.IP`.
    Opaque(&'static str),
    /// A parameter of a function's signature, such as `A`.
    Param(u8),
    /// A type to be found out: the items of `[]`.
    Unknown(u32),
}

/// An object type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    pub(crate) schema: SchemaRef<'a>,
    pub(crate) what: ObjectKind,
}

/// What kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// Only what the schema names.
    Plain,
    /// A resource: `apiVersion`, `kind` and `metadata` are always known.
    Resource,
    /// The metadata of a resource whose schema says less than `name` and `generateName`.
    Metadata,
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.schema.id() == other.schema.id() && self.what == other.what
    }
}

/// The type a schema declares; none if rules cannot see such values.
pub(crate) fn declared(schema: SchemaRef<'_>, is_resource: bool) -> Option<Ty<'_>> {
    let node = schema.node();
    if node.int_or_string {
        return Some(Ty::Dyn);
    }
    Some(match node.ty? {
        JsonType::Array => Ty::List(Arc::new(declared_child(schema.items()?)?)),
        JsonType::Object => match schema.additional() {
            Some(entry) if !is_resource => Ty::Map(Arc::new(Ty::String), Arc::new(declared_child(entry)?)),
            _ => {
                let what = if is_resource { ObjectKind::Resource } else { ObjectKind::Plain };
                Ty::Object(Object { schema, what })
            }
        },
        JsonType::String => match node.format.as_deref() {
            Some("byte") => Ty::Bytes,
            Some("duration") => Ty::Duration,
            Some("date" | "date-time") => Ty::Timestamp,
            _ => Ty::String,
        },
        JsonType::Boolean => Ty::Bool,
        JsonType::Number => Ty::Double,
        JsonType::Integer => Ty::Int,
    })
}

fn declared_child(schema: SchemaRef<'_>) -> Option<Ty<'_>> {
    declared(schema, schema.node().embedded_resource)
}

impl<'a> Object<'a> {
    /// The type of a field under its escaped name.
    pub(crate) fn field(&self, escaped: &str) -> Option<Ty<'a>> {
        if self.what == ObjectKind::Metadata {
            return matches!(escaped, "name" | "generateName").then_some(Ty::String);
        }
        if self.what == ObjectKind::Resource && !has_full_metadata(self.schema) {
            match escaped {
                "apiVersion" | "kind" => return Some(Ty::String),
                "metadata" => return Some(Ty::Object(Object { schema: self.schema, what: ObjectKind::Metadata })),
                _ => {}
            }
        }
        declared_child(self.schema.property(&unescape(escaped)?)?)
    }
}

/// Whether the schema of a resource spells out type and name, and so need not be helped.
pub(super) fn has_full_metadata(schema: SchemaRef<'_>) -> bool {
    let is = |node: Option<&Node>, ty| node.is_some_and(|node| node.ty == Some(ty));
    let of = |schema: Option<SchemaRef<'_>>, ty| is(schema.map(SchemaRef::node), ty);
    let metadata = schema.property("metadata");
    of(schema.property("kind"), JsonType::String)
        && of(schema.property("apiVersion"), JsonType::String)
        && of(metadata, JsonType::Object)
        && of(metadata.and_then(|metadata| metadata.property("name")), JsonType::String)
        && of(metadata.and_then(|metadata| metadata.property("generateName")), JsonType::String)
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The property an escaped name stands for: `foo__dash__bar` for `foo-bar`. None if it is not an escaped name.
pub(crate) fn unescape(escaped: &str) -> Option<String> {
    if let Some(word) = escaped.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && RESERVED.contains(&word)
    {
        return Some(word.to_owned());
    }
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped;
    'next: while let Some(c) = rest.chars().next() {
        for (code, plain) in [("__dot__", '.'), ("__dash__", '-'), ("__slash__", '/'), ("__underscores__", '_')] {
            if let Some(after) = rest.strip_prefix(code) {
                if plain == '_' {
                    out.push('_');
                }
                out.push(plain);
                rest = after;
                continue 'next;
            }
        }
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    Some(out)
}

impl fmt::Display for Ty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Unknown(_) => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(_) => f.write_str("object"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Type => f.write_str("type"),
            Self::Opaque(name) => f.write_str(name),
            Self::Param(n) => write!(f, "{}", char::from(b'A' + n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unescaped() {
        let cases = [
            ("replicas", Some("replicas")),
            ("__namespace__", Some("namespace")),
            ("foo__dash__bar", Some("foo-bar")),
            ("a__dot__b__slash__c", Some("a.b/c")),
            ("my__underscores__field", Some("my__field")),
            ("my_field", Some("my_field")),
            ("namespace", Some("namespace")),
        ];
        for (escaped, expected) in cases {
            assert_eq!(unescape(escaped).as_deref(), expected, "{escaped}");
        }
    }
}
