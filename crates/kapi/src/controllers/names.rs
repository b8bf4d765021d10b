//! The names custom kinds have within their groups.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::crd::outline;
use crate::object;

/// Why a name cannot be had: the reason of the condition, and the name.
pub(super) type Conflict = (&'static str, String);

/// The accepted names of every definition.
#[derive(Default)]
pub(super) struct Names(BTreeMap<Box<str>, Accepted>);

#[derive(Default)]
struct Accepted {
    group: String,
    resources: Vec<String>,
    kinds: Vec<String>,
}

impl Names {
    /// Takes a definition in as it is stored.
    pub(super) fn note(&mut self, name: &str, bytes: &[u8]) {
        if let Some(definition) = outline(bytes) {
            self.set(name, &definition, &definition["status"]["acceptedNames"]);
        }
    }

    /// Forgets a definition that is gone.
    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Gives a definition the names it can have, from now on; also why not all of them, the last conflict told.
    pub(super) fn accept(&mut self, definition: &Value) -> (Value, Option<Conflict>) {
        let name = object::name(definition);
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let others = || self.0.iter().filter(|(other, names)| &***other != name && names.group == group);
        let resources = others().flat_map(|(_, names)| &names.resources).map(String::as_str).collect();
        let kinds = others().flat_map(|(_, names)| &names.kinds).map(String::as_str).collect();
        let (accepted, conflict) = accepted_names(&resources, &kinds, &definition["spec"]["names"]);
        self.set(name, definition, &accepted);
        (accepted, conflict)
    }

    fn set(&mut self, name: &str, definition: &Value, accepted: &Value) {
        let texts = |keys: [&str; 2]| {
            let found = keys.into_iter().filter_map(|key| accepted[key].as_str());
            found.filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<String>>()
        };
        let mut resources = texts(["plural", "singular"]);
        let short = accepted["shortNames"].as_array().into_iter().flatten();
        resources.extend(short.filter_map(Value::as_str).map(str::to_owned));
        let group = definition["spec"]["group"].as_str().unwrap_or_default().to_owned();
        self.0.insert(name.into(), Accepted { group, resources, kinds: texts(["kind", "listKind"]) });
    }
}

/// The names that can be had, and why not all of them, the last conflict told.
fn accepted_names(resources: &BTreeSet<&str>, kinds: &BTreeSet<&str>, asked: &Value) -> (Value, Option<Conflict>) {
    let mut accepted = json!({"kind": "", "plural": ""});
    let mut conflict = None;
    for (key, taken, reason) in [
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ] {
        let Some(name) = asked[key].as_str().filter(|name| !name.is_empty()) else { continue };
        match taken.contains(name) {
            true => conflict = Some((reason, name.to_owned())),
            false => accepted[key] = name.into(),
        }
    }
    let short: Vec<&str> = asked["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match short.iter().find(|name| resources.contains(**name)) {
        Some(name) if conflict.is_none() => conflict = Some(("ShortNamesConflict", (*name).to_owned())),
        Some(_) => {}
        None if !short.is_empty() => accepted["shortNames"] = json!(short),
        None => {}
    }
    if let Some(categories) = asked["categories"].as_array().filter(|list| !list.is_empty()) {
        accepted["categories"] = json!(categories);
    }
    (accepted, conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, group: &str, kind: &str) -> Value {
        let names = json!({"kind": kind, "plural": "things", "shortNames": ["t"]});
        json!({"metadata": {"name": name}, "spec": {"group": group, "names": names}})
    }

    #[test]
    fn a_name_is_had_once_in_a_group() {
        let mut names = Names::default();
        let (first, second) = (definition("a", "g", "Thing"), definition("b", "g", "Other"));
        assert_eq!(names.accept(&first).1, None);
        assert_eq!(names.accept(&first).1, None, "its own names are no conflict");
        assert_eq!(names.accept(&definition("c", "elsewhere", "Thing")).1, None);
        let (accepted, conflict) = names.accept(&second);
        assert_eq!(accepted, json!({"kind": "Other", "plural": ""}));
        assert_eq!(conflict, Some(("PluralConflict", "things".to_owned())));
        names.forget("a");
        assert_eq!(names.accept(&second).1, None);
    }
}
