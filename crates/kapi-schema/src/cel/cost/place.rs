//! Where in an object a value comes from, and what its schema says of its size.

use super::range::Size;
use crate::cel::types::{declared, has_full_metadata, unescape};
use crate::schema::{SchemaRef, Type};

/// The largest request: nothing in an object can be larger.
const MAX_REQUEST: u64 = 3 << 20;
/// The longest string that fits, with its quotes.
const LONGEST: u64 = MAX_REQUEST - 2;
/// The longest duration or time as text.
const LONGEST_TIME: u64 = 32;
/// A date in quotes.
const DATE: u64 = 12;

/// The way to a value from the variables of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'a> {
    /// It was made by the rule itself.
    Made,
    /// It is in the object, but not where the schema tells its size.
    Lost,
    At(Place<'a>),
}

/// A place in a schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    Schema {
        schema: SchemaRef<'a>,
        is_resource: bool,
    },
    /// The metadata of a resource whose schema does not describe it.
    Metadata,
    /// A name the server knows.
    Name,
    /// The key of a map.
    Key,
}

/// A step down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Down<'s> {
    Field(&'s str),
    /// The items of a list or values of a map.
    Elements,
    Keys,
    /// The positions in a list, of which no schema speaks.
    Positions,
}

impl<'a> Origin<'a> {
    /// What is below. Below what a rule has made itself, the root is taken for it, as cel-go does.
    pub(super) fn down(self, root: Place<'a>, step: Down<'_>) -> Self {
        match self {
            Self::Made => Self::At(root),
            Self::Lost => Self::Lost,
            Self::At(place) => place.down(step).map_or(Self::Lost, Self::At),
        }
    }

    pub(super) fn size(self) -> Option<Size> {
        match self {
            Self::At(place) => Some(Size::up_to(place.most())),
            Self::Made | Self::Lost => None,
        }
    }
}

impl<'a> Place<'a> {
    pub(super) fn of(schema: SchemaRef<'a>) -> Self {
        Self::Schema { schema, is_resource: schema.node().embedded_resource }
    }

    fn down(self, step: Down<'_>) -> Option<Self> {
        let Self::Schema { schema, is_resource } = self else {
            return matches!((self, step), (Self::Metadata, Down::Field("name" | "generateName")))
                .then_some(Self::Name);
        };
        let map = schema.additional().filter(|_| !is_resource);
        let is_list = schema.node().ty == Some(Type::Array);
        let found = match step {
            Down::Elements if is_list => schema.items()?,
            Down::Elements => map?,
            Down::Keys => return map.map(|_| Self::Key),
            Down::Positions => return None,
            Down::Field(_) if is_list || map.is_some() => return None,
            Down::Field(name) => {
                if is_resource && !has_full_metadata(schema) {
                    match name {
                        "apiVersion" | "kind" => return Some(Self::Name),
                        "metadata" => return Some(Self::Metadata),
                        _ => {}
                    }
                }
                schema.property(&unescape(name)?)?
            }
        };
        declared(found, found.node().embedded_resource).map(|_| Self::of(found))
    }

    /// The most elements or characters a value here has. What does not vary has none.
    fn most(self) -> u64 {
        let (schema, is_resource) = match self {
            Self::Schema { schema, is_resource } => (schema, is_resource),
            Self::Name => return LONGEST,
            Self::Metadata | Self::Key => return 0,
        };
        let node = schema.node();
        // Lengths are told in characters, which take up to four bytes.
        let length = node.max_length.map(|length| length.saturating_mul(4));
        if node.int_or_string {
            return length.unwrap_or(LONGEST);
        }
        match (node.ty, node.format.as_deref()) {
            (Some(Type::Array), _) => node.max_items.unwrap_or_else(|| match schema.items() {
                Some(items) => LONGEST / (Self::of(items).least_bytes() + 1),
                None => 0,
            }),
            (Some(Type::Object), _) => match schema.additional().filter(|_| !is_resource) {
                // Quotes, colon, comma and a key of two bytes come with each.
                Some(value) => node.max_properties.unwrap_or(LONGEST / (Self::of(value).least_bytes() + 6)),
                None => 0,
            },
            (Some(Type::String), Some("byte")) => node.max_length.unwrap_or(LONGEST),
            (Some(Type::String), Some("duration" | "date-time")) => LONGEST_TIME,
            (Some(Type::String), Some("date")) => DATE,
            (Some(Type::String), _) => length.unwrap_or_else(|| {
                let longest = node.enumeration.iter().map(|value| value.as_str().map_or(0, str::len)).max();
                longest.map_or(LONGEST, |longest| longest as u64)
            }),
            _ => 0,
        }
    }

    /// The fewest bytes of JSON a value here takes.
    pub(super) fn least_bytes(self) -> u64 {
        let Self::Schema { schema, is_resource } = self else { return 2 };
        let node = schema.node();
        match (node.ty, node.format.as_deref()) {
            _ if node.int_or_string => 1,
            (Some(Type::String), Some("duration")) => 3,
            (Some(Type::String), Some("date")) => DATE,
            (Some(Type::String), Some("date-time")) => 21,
            (Some(Type::Boolean), _) => 4,
            (Some(Type::Integer | Type::Number), _) => 1,
            (Some(Type::Object), _) if is_resource || schema.additional().is_none() => {
                let required = node.required.iter().filter_map(|name| {
                    let filled = schema.property(name).is_some_and(|property| property.node().default.is_some());
                    let below = self.down(Down::Field(&escaped(name)))?;
                    (!filled).then(|| name.len() as u64 + below.least_bytes() + 4)
                });
                required.fold(2, u64::saturating_add)
            }
            _ => 2,
        }
    }

    /// How often a value of this schema can be in an object at most, however it is nested.
    pub(super) fn most_often(self) -> u64 {
        MAX_REQUEST / (self.least_bytes() + 1)
    }
}

/// A name as rules write it, as far as [`unescape`] undoes it.
fn escaped(name: &str) -> String {
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
