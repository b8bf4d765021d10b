//! The schema model: nodes in an arena, and the cursor every walker uses.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::gopattern::LazyPattern;

/// A JSON type, as schemas name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

impl Type {
    /// The name used in schemas and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// `x-kubernetes-list-type`. Lists without one are atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Merged as a set of scalars.
    Set,
    /// Merged item by item, found by the list's map keys.
    Map,
}

/// `x-kubernetes-map-type`. Maps and structs without one are granular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapType {
    /// Merged entry by entry.
    #[default]
    Granular,
    /// Replaced as a whole.
    Atomic,
}

/// What an object may hold beside its named properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Additional {
    /// Nothing is said: unknown fields are pruned (or kept below `x-kubernetes-preserve-unknown-fields`).
    #[default]
    Unsaid,
    /// Anything (`additionalProperties: true`).
    Any,
    /// Nothing (`additionalProperties: false`).
    Nothing,
    /// Values of this schema.
    Of(u32),
}

/// One `x-kubernetes-validations` rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// The CEL expression; `self` is the value, `oldSelf` its former state.
    pub rule: String,
    /// What to tell the user.
    pub message: Option<String>,
    /// A CEL expression that yields what to tell the user.
    pub message_expression: Option<String>,
    /// The cause's reason, `FieldValueInvalid` when absent.
    pub reason: Option<String>,
    /// A path below this node to report instead of the node itself, as `.spec.x`.
    pub field_path: Option<String>,
    /// Whether a transition rule also runs on create, `oldSelf` then being an optional.
    pub optional_old_self: Option<bool>,
}

/// One node of a schema. Numbers refer to nodes of the same arena.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The name of the component this node was read from, such as `DeploymentSpec`.
    pub name: Option<Arc<str>>,
    /// The package of that component, such as `v1`.
    pub package: Option<Arc<str>>,
    /// The JSON type; none means any value.
    pub ty: Option<Type>,
    /// `format`, such as `int32`, `date-time`, `byte`, `quantity`.
    pub format: Option<Arc<str>>,
    /// Whether null is a value here.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// Named fields.
    pub properties: BTreeMap<Arc<str>, u32>,
    /// Fields that must be there.
    pub required: Vec<Arc<str>>,
    /// What else an object may hold.
    pub additional: Additional,
    /// The schema of list items.
    pub items: Option<u32>,
    /// How lists merge.
    pub list_type: ListType,
    /// Whether the schema says `atomic` of a list or map, rather than leaving it out.
    pub says_atomic: bool,
    /// The fields that identify an item of a `ListType::Map` list.
    pub list_map_keys: Vec<Arc<str>>,
    /// How maps merge.
    pub map_type: MapType,
    /// `x-kubernetes-patch-merge-key` of strategic merge patch.
    pub patch_merge_key: Option<Arc<str>>,
    /// `x-kubernetes-patch-strategy`: `merge`, `replace`, `retainKeys`, or several by comma.
    pub patch_strategy: Option<Arc<str>>,
    /// The default.
    pub default: Option<Value>,
    /// Allowed values.
    pub enumeration: Vec<Value>,
    /// A regular expression strings must match somewhere.
    pub pattern: Option<Arc<str>>,
    /// `pattern`, compiled at its first use.
    pub regex: LazyPattern,
    /// Lower bound of numbers.
    pub minimum: Option<f64>,
    /// Upper bound of numbers.
    pub maximum: Option<f64>,
    /// Whether the lower bound itself is excluded.
    pub exclusive_minimum: bool,
    /// Whether the upper bound itself is excluded.
    pub exclusive_maximum: bool,
    /// Numbers must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// Fewest characters.
    pub min_length: Option<u64>,
    /// Most characters.
    pub max_length: Option<u64>,
    /// Fewest items.
    pub min_items: Option<u64>,
    /// Most items.
    pub max_items: Option<u64>,
    /// Whether items must differ.
    pub unique_items: bool,
    /// Fewest entries.
    pub min_properties: Option<u64>,
    /// Most entries.
    pub max_properties: Option<u64>,
    /// All of these must hold.
    pub all_of: Vec<u32>,
    /// At least one of these must hold.
    pub any_of: Vec<u32>,
    /// Exactly one of these must hold.
    pub one_of: Vec<u32>,
    /// This must not hold.
    pub not: Option<u32>,
    /// CEL rules.
    pub rules: Vec<Rule>,
    /// What `kubectl explain` prints.
    pub description: Option<Arc<str>>,
}

impl Node {
    /// Whether values here are kept as they are because nothing is known of them: `FieldsV1`, `RawExtension` and the
    /// components without a type.
    pub fn is_opaque(&self) -> bool {
        let untyped = self.ty.is_none() && self.properties.is_empty() && !self.int_or_string;
        untyped || matches!(self.name.as_deref(), Some("FieldsV1" | "RawExtension" | "JSON"))
    }
}

/// A whole schema. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Schema(Arc<LazyLock<Parsed, Read>>);

type Read = Box<dyn FnOnce() -> Parsed + Send>;

#[derive(Clone, Debug)]
struct Parsed {
    arena: Arc<Vec<Node>>,
    root: u32,
}

impl Schema {
    /// A schema of these nodes, `root` being the object's own.
    pub fn new(arena: Arc<Vec<Node>>, root: u32) -> Self {
        Self::reading(move || Parsed { arena, root })
    }

    /// A schema that is read when it is first looked at: most are never.
    pub fn deferred(read: impl FnOnce() -> Self + Send + 'static) -> Self {
        Self::reading(move || Parsed::clone(&read().0))
    }

    fn reading(read: impl FnOnce() -> Parsed + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(read))))
    }

    /// A schema that accepts and keeps every object.
    pub fn any() -> Self {
        let node = Node { ty: Some(Type::Object), preserve_unknown_fields: true, ..Node::default() };
        Self::new(Arc::new(vec![node]), 0)
    }

    /// The cursor at the object itself.
    pub fn root(&self) -> SchemaRef<'_> {
        SchemaRef { arena: &self.0.arena, id: self.0.root }
    }
}

/// A cursor into a schema. Dereferences to its [`Node`].
#[derive(Clone, Copy, Debug)]
pub struct SchemaRef<'a> {
    arena: &'a [Node],
    id: u32,
}

impl<'a> SchemaRef<'a> {
    /// The node itself, for as long as the schema lives.
    pub fn node(self) -> &'a Node {
        &self.arena[self.id as usize]
    }

    /// The number of this node in its schema: equal for equal places.
    pub fn id(self) -> u32 {
        self.id
    }

    /// The node with this number.
    pub fn at(self, id: u32) -> SchemaRef<'a> {
        SchemaRef { arena: self.arena, id }
    }

    /// A named property.
    pub fn property(self, name: &str) -> Option<SchemaRef<'a>> {
        self.node().properties.get(name).map(|&id| self.at(id))
    }

    /// The schema of values under unnamed keys.
    pub fn additional(self) -> Option<SchemaRef<'a>> {
        match self.node().additional {
            Additional::Of(id) => Some(self.at(id)),
            _ => None,
        }
    }

    /// The schema of the value under `key`: the property of that name, else what unnamed keys hold.
    pub fn field(self, key: &str) -> Option<SchemaRef<'a>> {
        self.property(key).or_else(|| self.additional())
    }

    /// The schema of list items.
    pub fn items(self) -> Option<SchemaRef<'a>> {
        self.node().items.map(|id| self.at(id))
    }
}

impl std::ops::Deref for SchemaRef<'_> {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.node()
    }
}
