//! What `kubectl get` prints: the columns of a kind, and an object as a row of them.
//!
//! One file per family of kinds, each ending in its table of printers. The server sends every column, wide ones
//! included; kubectl chooses.

mod access;
mod admission;
mod batch;
mod cell;
mod core;
mod custom;
mod devices;
mod network;
mod nodes;
mod pods;
mod scaling;
mod storage;
mod system;
mod workloads;

use std::sync::Arc;

use serde_json::Value;

use cell::Row;
pub use custom::{Evaluate, custom_columns};
pub use pods::row_conditions;

/// One column of a Table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Arc<str>,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub ty: Arc<str>,
    /// `name` for the identifying column, else a format such as `int32`.
    pub format: Arc<str>,
    /// What the column means.
    pub description: Arc<str>,
    /// 0 always shown; above 0 only with `-o wide`.
    pub priority: i32,
}

/// How a kind is printed.
#[derive(Clone)]
pub struct Columns {
    /// The headings.
    pub columns: Arc<[Column]>,
    /// Whether the kind has no columns of its own, but those that any kind can have.
    pub is_plain: bool,
    /// The cells of one object. `now` is seconds since the epoch, for ages.
    pub row: Arc<PrintRow>,
}

/// The cells of an object at a time, in seconds since the epoch.
pub type PrintRow = dyn Fn(&Value, i64) -> Vec<Value> + Send + Sync;

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columns").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// How a built-in kind is printed; name and time of creation where Kubernetes has nothing special.
pub fn columns(group: &str, kind: &str) -> Columns {
    let families = [
        access::PRINTERS,
        admission::PRINTERS,
        batch::PRINTERS,
        core::PRINTERS,
        devices::PRINTERS,
        network::PRINTERS,
        nodes::PRINTERS,
        pods::PRINTERS,
        scaling::PRINTERS,
        storage::PRINTERS,
        system::PRINTERS,
        workloads::PRINTERS,
    ];
    let printer = families.into_iter().flatten().find(|printer| printer.group == group && printer.kind == kind);
    let Printer { columns, row, .. } = *printer.unwrap_or(&core::ANY);
    Columns {
        columns: columns.iter().map(Column::from).collect(),
        is_plain: printer.is_none(),
        row: Arc::new(move |object, now| row(Row::new(object, now))),
    }
}

/// How one kind is printed.
#[derive(Clone, Copy)]
struct Printer {
    group: &'static str,
    kind: &'static str,
    columns: &'static [Def],
    row: fn(Row<'_>) -> Vec<Value>,
}

/// A column, written down at compile time.
#[derive(Clone, Copy)]
struct Def {
    name: &'static str,
    ty: &'static str,
    format: &'static str,
    description: &'static str,
    priority: i32,
}

impl Def {
    /// The same column, shown only with `-o wide`.
    const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    const fn format(self, format: &'static str) -> Self {
        Self { format, ..self }
    }
}

impl From<&Def> for Column {
    fn from(def: &Def) -> Self {
        Self {
            name: def.name.into(),
            ty: def.ty.into(),
            format: def.format.into(),
            description: def.description.into(),
            priority: def.priority,
        }
    }
}

const fn column(ty: &'static str, name: &'static str, description: &'static str) -> Def {
    Def { name, ty, format: "", description, priority: 0 }
}

const fn string(name: &'static str, description: &'static str) -> Def {
    column("string", name, description)
}

const fn integer(name: &'static str, description: &'static str) -> Def {
    column("integer", name, description)
}

const fn boolean(name: &'static str, description: &'static str) -> Def {
    column("boolean", name, description)
}

const NAME: Def = string("Name", "The object's name, unique among its kind within the namespace.").format("name");
const AGE: Def = string("Age", "How long ago the object was created.");
const CREATED: Def = column("date", "Created At", "When the object was created.");
const CONTAINERS: Def = string("Containers", "The names of the containers in the pod template.");
const IMAGES: Def = string("Images", "The images of the containers in the pod template.");

#[cfg(test)]
mod tests;
