//! How a place in an object merges, by its schema.

use std::sync::{Arc, LazyLock};

use kapi_schema::{Additional, ListType, MapType, Schema, SchemaRef, Type};
use serde_json::Value;

/// The schema of `metadata`, which CRDs do not spell out.
static OBJECT_META: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let components = serde_json::from_str::<Value>(include_str!("object_meta.json")).ok()?;
    Schema::parse_component(components.as_object()?, "ObjectMeta").ok()
});

/// A cursor to a place: what the schema says of it, or what is assumed where the schema says nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// A place the schema describes.
    Described {
        node: SchemaRef<'a>,
        /// Whether a node on the way here preserves unknown fields.
        keeps_unknown: bool,
        /// Whether this is an object with `apiVersion`, `kind` and `metadata`.
        is_object: bool,
    },
    /// A string.
    Text,
    /// Nothing is said: maps merge entry by entry, lists are leaves.
    Deduced,
    /// Nothing is said, and the value is one leaf whatever it is.
    Opaque,
    /// A field the schema does not have.
    Undeclared,
}

/// What a place holds, chosen by the value found there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    Scalar(Scalar),
    List(ListShape<'a>),
    Map(MapShape<'a>),
    /// No value is right here.
    Nothing,
}

impl Form<'_> {
    pub(crate) fn is_same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Number,
    Text,
    Flag,
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListShape<'a> {
    pub(crate) atomic: bool,
    /// The key fields of a list-map. A merging list without keys is a set.
    pub(crate) keys: &'a [Arc<str>],
    pub(crate) items: ItemShape<'a>,
}

/// Boxed by reference so that [`Form`] stays small and copyable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ItemShape<'a> {
    Opaque,
    Of { node: SchemaRef<'a>, keeps_unknown: bool },
}

impl<'a> ListShape<'a> {
    pub(crate) fn item(&self) -> Shape<'a> {
        match self.items {
            ItemShape::Opaque => Shape::Opaque,
            ItemShape::Of { node, keeps_unknown } => Shape::described(node, keeps_unknown),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MapShape<'a> {
    pub(crate) atomic: bool,
    fields: Fields<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Fields<'a> {
    Deduced,
    Opaque,
    Of { node: SchemaRef<'a>, keeps_unknown: bool, is_object: bool },
}

impl<'a> Shape<'a> {
    /// The shape of a whole object.
    pub(crate) fn object(schema: SchemaRef<'a>) -> Self {
        Self::Described { node: schema, keeps_unknown: schema.preserve_unknown_fields, is_object: true }
    }

    fn described(node: SchemaRef<'a>, keeps_unknown: bool) -> Self {
        Self::Described {
            node,
            keeps_unknown: keeps_unknown || node.preserve_unknown_fields,
            is_object: node.embedded_resource,
        }
    }

    /// What this place is for this value. Null, and what fits nothing, is a map if a map can be here, else a
    /// scalar, else a list.
    pub(crate) fn form(self, value: Option<&Value>) -> Form<'a> {
        let found = match value {
            Some(Value::Object(_)) => self.map().map(Form::Map),
            Some(Value::Array(_)) => self.list().map(Form::List),
            None | Some(Value::Null) => None,
            Some(_) => self.scalar().map(Form::Scalar),
        };
        found
            .or_else(|| self.map().map(Form::Map))
            .or_else(|| self.scalar().map(Form::Scalar))
            .or_else(|| self.list().map(Form::List))
            .unwrap_or(Form::Nothing)
    }

    pub(crate) fn map(self) -> Option<MapShape<'a>> {
        match self {
            Self::Deduced => Some(MapShape { atomic: false, fields: Fields::Deduced }),
            Self::Opaque => Some(MapShape { atomic: true, fields: Fields::Opaque }),
            Self::Text | Self::Undeclared => None,
            Self::Described { node, keeps_unknown, is_object } => {
                matches!(node.ty, None | Some(Type::Object)).then(|| MapShape {
                    atomic: node.map_type == MapType::Atomic,
                    fields: Fields::Of { node, keeps_unknown, is_object },
                })
            }
        }
    }

    pub(crate) fn list(self) -> Option<ListShape<'a>> {
        let opaque = ListShape { atomic: true, keys: &[], items: ItemShape::Opaque };
        match self {
            Self::Deduced | Self::Opaque => Some(opaque),
            Self::Text | Self::Undeclared => None,
            Self::Described { node, keeps_unknown, .. } => {
                matches!(node.ty, None | Some(Type::Array)).then(|| ListShape {
                    atomic: node.list_type == ListType::Atomic,
                    keys: if node.list_type == ListType::Map { &node.node().list_map_keys } else { &[] },
                    items: match node.items() {
                        Some(node) => ItemShape::Of { node, keeps_unknown },
                        None => ItemShape::Opaque,
                    },
                })
            }
        }
    }

    fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Deduced | Self::Opaque => Some(Scalar::Any),
            Self::Text => Some(Scalar::Text),
            Self::Undeclared => None,
            Self::Described { node, .. } if node.int_or_string => Some(Scalar::Any),
            Self::Described { node, .. } => match node.ty {
                None => Some(Scalar::Any),
                Some(Type::Integer | Type::Number) => Some(Scalar::Number),
                Some(Type::Boolean) => Some(Scalar::Flag),
                Some(Type::String) => match node.format.as_deref() {
                    None | Some("" | "byte") => Some(Scalar::Text),
                    Some(_) => Some(Scalar::Any),
                },
                Some(Type::Object | Type::Array) => None,
            },
        }
    }
}

impl<'a> MapShape<'a> {
    /// The shape of a field the schema names.
    pub(crate) fn named(&self, key: &str) -> Option<Shape<'a>> {
        let Fields::Of { node, keeps_unknown, is_object } = self.fields else { return None };
        let own = node.property(key);
        if is_object {
            match key {
                "metadata" if own.is_none_or(|own| own.property("ownerReferences").is_none()) => {
                    return OBJECT_META.as_ref().map(|schema| Shape::described(schema.root(), false));
                }
                "apiVersion" | "kind" if own.is_none() => return Some(Shape::Text),
                _ => {}
            }
        }
        own.map(|own| Shape::described(own, keeps_unknown))
    }

    /// The shape of the value under a key that is not named.
    pub(crate) fn unnamed(&self) -> Shape<'a> {
        match self.fields {
            Fields::Deduced => Shape::Deduced,
            Fields::Opaque => Shape::Opaque,
            Fields::Of { node, keeps_unknown, .. } => match node.additional {
                Additional::Of(id) => Shape::described(node.at(id), keeps_unknown),
                Additional::Any => Shape::Deduced,
                Additional::Nothing => Shape::Undeclared,
                Additional::Unsaid if keeps_unknown || node.properties.is_empty() => Shape::Deduced,
                Additional::Unsaid => Shape::Undeclared,
            },
        }
    }

    /// The shape of the value under `key`.
    pub(crate) fn field(&self, key: &str) -> Shape<'a> {
        self.named(key).unwrap_or_else(|| self.unnamed())
    }

    /// Whether the schema says nothing of what is in here.
    pub(crate) fn is_deduced(&self) -> bool {
        match self.fields {
            Fields::Deduced => true,
            Fields::Opaque => false,
            Fields::Of { node, is_object, .. } => {
                !is_object && node.properties.is_empty() && matches!(self.unnamed(), Shape::Deduced)
            }
        }
    }
}
