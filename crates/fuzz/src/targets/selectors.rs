//! Label and field selectors, and JSON paths.

use std::collections::BTreeSet;

use kapi_schema::{JsonPath, fields, labels};
use serde_json::{Map, Value};

use super::{Target, owned, with_text};
use crate::laws::same;
use crate::mutate::Form;
use crate::recordings;

pub(super) const TARGET: Target = Target {
    name: "selectors",
    run: |input| with_text(input, run),
    form: Form::Text,
    words: &[
        " in ",
        " notin ",
        "exists",
        "!",
        "=",
        "==",
        "!=",
        ">",
        "<",
        ",",
        "(",
        ")",
        "a",
        "b",
        "example.com/a",
        "\\,",
        "\\=",
        "\\\\",
        "metadata.name",
        "spec.nodeName",
        "{.",
        "}",
        "[*]",
        "[?(@.a==",
        "..",
        "['a']",
        "[0:1]",
        "{range ",
        "{end}",
    ],
    seeds: || {
        let mut found = owned([
            "a in (b,c),d notin (e),!f,g",
            "a=b,c==d,e!=f",
            "n>1,m<2",
            "metadata.name=a,metadata.namespace!=b",
            "a=x\\,y\\=z\\\\",
            "{.status.conditions[?(@.type==\"Ready\")].status}",
            ".spec.containers[*].image",
            "{range .items[*]}{.metadata.name}{end}",
        ]);
        for request in recordings::requests()? {
            let query = request.split_once('?').map_or("", |(_, query)| query);
            let pairs = form_urlencoded::parse(query.as_bytes());
            found
                .extend(pairs.filter(|(key, _)| key.ends_with("Selector")).map(|(_, value)| value.as_bytes().to_vec()));
        }
        Ok(found)
    },
};

fn run(text: &str) -> Result<(), String> {
    if let Ok(selector) = labels::Selector::parse(text) {
        let printed = selector.to_string();
        let read = labels::Selector::parse(&printed);
        let read =
            read.map_err(|error| format!("a label selector is printed as {printed:?}, which cannot be read: {error}"))?;
        same("a label selector prints as it was read", &printed, &read.to_string())?;
        for labels in [Map::new(), Map::from_iter([("a".to_owned(), Value::from("b"))])] {
            same(
                "a label selector selects what its print selects",
                &selector.matches(&labels),
                &read.matches(&labels),
            )?;
        }
    }
    if let Ok(selector) = fields::Selector::parse(text) {
        // Terms are ordered by how they are written.
        let terms = |selector: &fields::Selector| {
            let terms = selector.terms.iter().map(|term| (term.field.clone(), term.equal, term.value.clone()));
            terms.collect::<BTreeSet<_>>()
        };
        let read = fields::Selector::parse(&selector.to_string()).map(|read| terms(&read));
        same("a field selector reads as it was printed", &Ok(terms(&selector)), &read)?;
        selector.matches(|_| None);
    }
    if let Ok(path) = JsonPath::parse(text) {
        path.eval(&serde_json::json!({"a": [{"a": 1, "b": "x"}, null, []], "b": {"a": {"c": true}}}));
    }
    Ok(())
}
