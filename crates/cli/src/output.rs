//! `-o`: how objects are printed.

use clap::ValueEnum;
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::screen::print;

/// How to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// For people, with more columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// kind/name, one a line
    Name,
}

impl Format {
    /// Whether people are to read it.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}

/// Prints any value as JSON or, in every other format, as YAML.
pub(crate) fn print_value(value: &impl Serialize, format: Format) -> Outcome {
    print(&match format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(value)?),
        _ => kernel::yaml::to_string(value)?,
    })
}

/// Prints one object, without the bookkeeping of who wrote which field.
pub(crate) fn print_object(object: &DynamicObject, format: Format) -> Outcome {
    match format {
        Format::Name => print(&format!("{}\n", full_name(object))),
        _ => print_value(&shown(object)?, format),
    }
}

/// Prints several objects, as kubectl does as a List.
pub(crate) fn print_objects(objects: &[DynamicObject], format: Format) -> Outcome {
    if format == Format::Name {
        return print(&objects.iter().map(|object| format!("{}\n", full_name(object))).collect::<String>());
    }
    let items = objects.iter().map(shown).collect::<Outcome<Vec<Value>>>()?;
    print_value(&json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}), format)
}

/// `tenantcluster.butler.butlerlabs.dev/my-cluster`.
pub(crate) fn full_name(object: &DynamicObject) -> String {
    let types = object.types.clone().unwrap_or_default();
    let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
    name_of(&types.kind, group, object.metadata.name.as_deref().unwrap_or_default())
}

pub(crate) fn name_of(kind: &str, group: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    if group.is_empty() { format!("{kind}/{name}") } else { format!("{kind}.{group}/{name}") }
}

fn shown(object: &DynamicObject) -> Outcome<Value> {
    let mut value = serde_json::to_value(object)?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(value)
}
