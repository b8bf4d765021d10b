//! The table of messages: what `generated/messages.txt` says, parsed once.
//!
//! ```text
//! # k8s.io.api.core.v1 v1                                    package and its apiVersion (- if it has none)
//! +Pod 1:metadata:k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta 2:spec:PodSpec 3:status:PodStatus
//! Verbs =list 1:items:[]string
//! ```
//!
//! One message per line: `+` if it is a kind, its name, `=shape` if its JSON is not an object of its fields, then the
//! fields as `number:JSON name:type`. No name: the field's own fields are part of the parent in JSON. Before the type
//! `*` is a pointer, `[]` a list, `{}` a map of strings to the type; a `?` after it: Go leaves out the zero value.

use std::sync::LazyLock;

/// Everything known about messages.
#[derive(Default)]
pub(crate) struct Table {
    /// Sorted by package and name.
    messages: Vec<Message>,
    /// Sorted by name.
    packages: Vec<Package>,
}

struct Package {
    name: &'static str,
    api_version: &'static str,
    /// Where its messages begin and end.
    messages: std::ops::Range<usize>,
}

/// One message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    is_kind: bool,
    /// Sorted by number.
    pub(crate) fields: Box<[Field]>,
}

/// What a message is in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object of its fields.
    Object,
    /// A list of strings.
    List,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    /// Any JSON, carried as its text.
    Raw,
    /// The JSON schema of something, or one of these instead.
    SchemaOrBool,
    SchemaOrList,
    SchemaOrStrings,
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// Its JSON name, empty if inlined.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) label: Label,
    /// Go leaves the zero value out of JSON.
    pub(crate) omit_zero: bool,
}

impl Field {
    /// Whether the field's own fields are part of the parent in JSON.
    pub(crate) fn is_inlined(&self) -> bool {
        self.name.is_empty()
    }
}

/// The type of one value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Double,
    /// An index into the table.
    Message(u16),
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// Exactly one, zero if nothing is said.
    One,
    /// One or none.
    Pointer,
    List,
    Map,
}

/// The kinds of `meta/v1` that exist in every API version.
const IN_EVERY_VERSION: [&str; 7] =
    ["CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"];
/// The kinds of `meta/v1` that belong to `v1` wherever they are used, or to no version: `/api` answers so.
const UNVERSIONED: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];
const META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1";
/// The kinds of `meta/v1` that its beta shares.
const IN_META_BETA: [&str; 2] = ["PartialObjectMetadata", "TableOptions"];
const META_BETA_VERSION: &str = "meta.k8s.io/v1beta1";

/// The table, read on first use.
pub(crate) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| Table::parse(include_str!("generated/messages.txt")).unwrap_or_default());
    &TABLE
}

impl Table {
    /// The message that an object of this kind is.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let mut own = self.packages.iter().filter(|package| package.api_version == api_version);
        let own = own.find_map(|package| self.in_package(package, kind).filter(|message| message.is_kind));
        own.or_else(|| {
            let is_shared = IN_EVERY_VERSION.contains(&kind)
                || (matches!(api_version, "" | "v1") && UNVERSIONED.contains(&kind))
                || (api_version == META_BETA_VERSION && IN_META_BETA.contains(&kind));
            is_shared.then(|| self.in_package(self.package(META)?, kind)).flatten()
        })
    }

    /// The message of a full name such as `k8s.io.api.core.v1.Pod`.
    pub(crate) fn named(&self, full_name: &str) -> Option<&Message> {
        let (package, name) = full_name.rsplit_once('.')?;
        self.in_package(self.package(package)?, name)
    }

    /// The message that a field refers to.
    pub(crate) fn message(&self, index: u16) -> Option<&Message> {
        self.messages.get(usize::from(index))
    }

    /// How many messages there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> u16 {
        u16::try_from(self.messages.len()).unwrap()
    }

    fn package(&self, name: &str) -> Option<&Package> {
        let index = self.packages.binary_search_by_key(&name, |package| package.name).ok()?;
        self.packages.get(index)
    }

    fn in_package(&self, package: &Package, name: &str) -> Option<&Message> {
        let messages = self.messages.get(package.messages.clone())?;
        messages.get(messages.binary_search_by_key(&name, |message| message.name).ok()?)
    }

    /// Reads the text; none if any of it is not understood.
    fn parse(text: &'static str) -> Option<Self> {
        let mut table = Self::default();
        let mut lines = Vec::new();
        for line in text.lines() {
            if let Some(header) = line.strip_prefix("# ") {
                let (name, api_version) = header.split_once(' ')?;
                let start = lines.len();
                table.packages.push(Package { name, api_version, messages: start..start });
            } else {
                lines.push(line);
                table.packages.last_mut()?.messages.end = lines.len();
            }
        }
        // Names first, so that fields can refer to messages further down.
        table.messages = lines.iter().map(|line| Message::header(line)).collect::<Option<_>>()?;
        for package_index in 0..table.packages.len() {
            let package = table.packages.get(package_index)?;
            for index in package.messages.clone() {
                let fields = lines.get(index)?.split(' ').skip(1).filter(|word| !word.starts_with('='));
                let fields: Option<Box<[Field]>> = fields.map(|word| table.field(word, package)).collect();
                table.messages.get_mut(index)?.fields = fields?;
            }
        }
        Some(table)
    }

    fn field(&self, word: &'static str, package: &Package) -> Option<Field> {
        let mut parts = word.splitn(3, ':');
        let (number, name, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let omit_zero = kind.ends_with('?');
        let kind = kind.trim_end_matches('?');
        let (label, kind) = if let Some(kind) = kind.strip_prefix('*') {
            (Label::Pointer, kind)
        } else if let Some(kind) = kind.strip_prefix("[]") {
            (Label::List, kind)
        } else if let Some(kind) = kind.strip_prefix("{}") {
            (Label::Map, kind)
        } else {
            (Label::One, kind)
        };
        let kind = match kind {
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            "bool" => Kind::Bool,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "double" => Kind::Double,
            name => {
                let (package, name) = match name.rsplit_once('.') {
                    Some((other, name)) => (self.package(other)?, name),
                    None => (package, name),
                };
                let messages = self.messages.get(package.messages.clone())?;
                let position = messages.binary_search_by_key(&name, |message| message.name).ok()?;
                Kind::Message(u16::try_from(package.messages.start + position).ok()?)
            }
        };
        Some(Field { number: number.parse().ok()?, name, kind, label, omit_zero })
    }
}

impl Message {
    fn header(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let shape = match words.next().and_then(|word| word.strip_prefix('=')) {
            None => Shape::Object,
            Some(shape) => Shape::named(shape)?,
        };
        let is_kind = name.starts_with('+');
        Some(Self { name: name.trim_start_matches('+'), shape, is_kind, fields: Box::default() })
    }

    /// The field of a number.
    pub(crate) fn field(&self, number: u32) -> Option<&Field> {
        let index = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        self.fields.get(index)
    }
}

impl Shape {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "list" => Self::List,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "duration" => Self::Duration,
            "quantity" => Self::Quantity,
            "int-or-string" => Self::IntOrString,
            "raw" => Self::Raw,
            "schema-or-bool" => Self::SchemaOrBool,
            "schema-or-list" => Self::SchemaOrList,
            "schema-or-strings" => Self::SchemaOrStrings,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_text_is_understood() {
        let text = include_str!("generated/messages.txt");
        let table = Table::parse(text).expect("every line parses");
        assert_eq!(table.messages.len() + table.packages.len(), text.lines().count());
        assert!(table.packages.is_sorted_by_key(|package| package.name));
        for message in &table.messages {
            assert!(message.fields.is_sorted_by_key(|field| field.number), "{}", message.name);
        }
    }

    #[test]
    fn the_table_stays_small() {
        let fields: usize = table().messages.iter().map(|message| message.fields.len()).sum();
        let bytes = fields * size_of::<Field>() + table().messages.len() * size_of::<Message>();
        assert!(bytes < 500_000, "{bytes} bytes");
    }

    #[test]
    fn kinds_are_found_where_the_api_has_them() {
        let table_of_kinds = [
            ("v1", "Pod", true),
            ("v1", "PodList", true),
            ("v1", "PodSpec", false),
            ("apps/v1", "Deployment", true),
            ("apps/v1", "Pod", false),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", true),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", true),
            ("apiregistration.k8s.io/v1", "APIService", true),
            ("authentication.k8s.io/v1", "TokenRequest", true),
            ("policy/v1", "Eviction", true),
            ("autoscaling/v1", "Scale", true),
            ("v1", "Status", true),
            ("", "APIVersions", true),
            ("", "Pod", false),
            ("apps/v1", "Status", false),
            ("v1", "DeleteOptions", true),
            ("apps/v1", "DeleteOptions", true),
            ("meta.k8s.io/v1", "PartialObjectMetadata", true),
            ("meta.k8s.io/v1beta1", "PartialObjectMetadata", true),
            ("meta.k8s.io/v1beta1", "PartialObjectMetadataList", true),
            ("meta.k8s.io/v1", "Table", false),
            ("example.com/v1", "Widget", false),
            ("-", "RawExtension", false),
        ];
        for (api_version, kind, known) in table_of_kinds {
            assert_eq!(table().of_kind(api_version, kind).is_some(), known, "{api_version} {kind}");
        }
    }
}
