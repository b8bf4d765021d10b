//! All cases, one file per area.

use serde_json::{Value, json};

use crate::case::{Area, Case};

macro_rules! areas {
    ($($area:ident)*) => {
        $(mod $area;)*

        /// Every case of every area.
        pub fn all() -> Vec<Case> {
            let mut all = Vec::new();
            $(
                let mut area = Area::new(stringify!($area));
                $area::cases(&mut area);
                all.append(&mut area.cases);
            )*
            all
        }
    };
}

areas! { create get_list }

/// An object with a name and nothing else.
fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

/// An object with a name and a spec.
fn with_spec(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// A ConfigMap.
fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A ConfigMap with labels.
fn labelled(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for case in super::all() {
            assert!(seen.insert(case.id()), "{} is there twice", case.id());
        }
    }
}
