//! JSON schemas of charts: drafts 4 to 2020, with the words of the library behind Helm.

mod checks;
mod complaint;

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value as Json;

use super::{MAX_DEPTH, Values};
use crate::chart::Chart;
use crate::re2;
use complaint::Complaint;

/// Values that do not fit the schemas of a chart and its subcharts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
pub struct SchemaError(String);

/// Checks values against the schemas of a chart and its subcharts.
pub fn validate(chart: &Chart, values: &Values) -> Result<(), SchemaError> {
    let mut told = String::new();
    complain(chart, values, &mut told);
    if told.is_empty() { Ok(()) } else { Err(SchemaError(told)) }
}

fn complain(chart: &Chart, values: &Values, told: &mut String) {
    if let Some(schema) = &chart.schema {
        let complaints = check(schema, &Json::Object(values.clone()));
        if let Some(complaint) = Complaint::grouped("", complaints) {
            told.push_str(&format!("{}:\n", chart.name()));
            complaint.write_top(told);
        }
    }
    for subchart in &chart.dependencies {
        if let Some(Json::Object(values)) = values.get(subchart.name()) {
            complain(subchart, values, told);
        }
    }
}

/// What is wrong with a value.
fn check(schema: &Json, value: &Json) -> Vec<Complaint> {
    let mut checker = Checker { root: schema, regexes: HashMap::new(), steps: 0 };
    checker.check(schema, value, "", 0)
}

/// How many schemas a check may look at: a schema can refer to itself in many ways.
const MAX_STEPS: usize = 1_000_000;

struct Checker<'a> {
    root: &'a Json,
    regexes: HashMap<String, Option<Regex>>,
    steps: usize,
}

impl<'a> Checker<'a> {
    /// Everything that a value at `path` breaks of a schema.
    fn check(&mut self, schema: &'a Json, value: &Json, path: &str, depth: usize) -> Vec<Complaint> {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return vec![Complaint::new(path, "the schema refers to itself without end")];
        }
        let rules = match schema {
            Json::Bool(false) => return vec![Complaint::new(path, "false schema")],
            Json::Object(rules) => rules,
            _ => return Vec::new(),
        };
        let mut found = Vec::new();
        if let Some(target) = rules.get("$ref").and_then(Json::as_str) {
            match self.resolve(target) {
                Some(schema) => found.extend(self.check(schema, value, path, depth + 1)),
                None => found.push(Complaint::new(path, format!("{target:?} not found"))),
            }
            // Beside a reference, older drafts know nothing else; newer ones go on.
            if rules.len() == 1 {
                return found;
            }
        }
        found.extend(checks::scalar(rules, value, path));
        found.extend(self.texts(rules, value, path));
        match value {
            Json::Object(fields) => found.extend(self.object(rules, fields, path, depth)),
            Json::Array(items) => found.extend(self.array(rules, items, path, depth)),
            _ => {}
        }
        found.extend(self.combined(rules, value, path, depth));
        found
    }

    /// One complaint for all that a schema has to say.
    fn grouped(&mut self, schema: &'a Json, value: &Json, path: &str, depth: usize) -> Option<Complaint> {
        Complaint::grouped(path, self.check(schema, value, path, depth + 1))
    }

    /// The schema that a reference within the document names.
    fn resolve(&self, target: &str) -> Option<&'a Json> {
        let pointer = target.strip_prefix('#')?;
        if pointer.is_empty() {
            return Some(self.root);
        }
        if !pointer.starts_with('/') {
            let named = |schemas: &'a Json| {
                schemas.as_object()?.values().find(|schema| {
                    schema.get("$anchor").and_then(Json::as_str) == Some(pointer)
                        || schema.get("$id").and_then(Json::as_str) == Some(target)
                })
            };
            return ["$defs", "definitions"].iter().find_map(|key| self.root.get(key).and_then(named));
        }
        self.root.pointer(&pointer.replace("%25", "%").replace("%20", " "))
    }

    fn fits(&mut self, pattern: &str, text: &str) -> bool {
        if !self.regexes.contains_key(pattern) {
            let regex = re2::translate(pattern).ok().and_then(|translated| Regex::new(&translated.text).ok());
            self.regexes.insert(pattern.to_owned(), regex);
        }
        // What is no expression fits nothing and everything; Helm refuses such a schema.
        self.regexes.get(pattern).and_then(Option::as_ref).is_none_or(|regex| regex.is_match(text))
    }

    fn texts(&mut self, rules: &'a Values, value: &Json, path: &str) -> Option<Complaint> {
        let (text, pattern) = (value.as_str()?, rules.get("pattern")?.as_str()?);
        if self.fits(pattern, text) {
            return None;
        }
        Some(Complaint::new(path, format!("'{text}' does not match pattern '{pattern}'")))
    }

    fn object(&mut self, rules: &'a Values, fields: &Values, path: &str, depth: usize) -> Vec<Complaint> {
        let mut found = checks::object(rules, fields, path);
        let mut additional = Vec::new();
        let properties = rules.get("properties").and_then(Json::as_object);
        let patterns = rules.get("patternProperties").and_then(Json::as_object);
        for (name, value) in fields {
            let inner = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
            let mut is_known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                is_known = true;
                found.extend(self.grouped(schema, value, &inner, depth));
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                if self.fits(pattern, name) {
                    is_known = true;
                    found.extend(self.grouped(schema, value, &inner, depth));
                }
            }
            match rules.get("additionalProperties") {
                Some(Json::Bool(false)) if !is_known => additional.push(format!("'{name}'")),
                Some(schema) if !is_known => found.extend(self.grouped(schema, value, &inner, depth)),
                _ => {}
            }
            if let Some(schema) = rules.get("propertyNames")
                && let Some(wrong) = self.grouped(schema, &Json::String(name.clone()), path, depth)
            {
                found.push(Complaint::of(path, format!("invalid propertyName '{name}'"), vec![wrong]));
            }
            for key in ["dependentSchemas", "dependencies"] {
                let schema = rules.get(key).and_then(|schemas| schemas.get(name)).filter(|schema| !schema.is_array());
                if let Some(schema) = schema {
                    found.extend(self.grouped(schema, &Json::Object(fields.clone()), path, depth));
                }
            }
        }
        if !additional.is_empty() {
            found.push(Complaint::new(path, format!("additional properties {} not allowed", additional.join(", "))));
        }
        found
    }

    fn array(&mut self, rules: &'a Values, items: &[Json], path: &str, depth: usize) -> Vec<Complaint> {
        let mut found = checks::array(rules, items, path);
        let (tuple, rest) = match (rules.get("prefixItems"), rules.get("items")) {
            (Some(tuple), rest) => (tuple.as_array(), rest),
            (None, Some(Json::Array(tuple))) => (Some(tuple), rules.get("additionalItems")),
            (None, rest) => (None, rest),
        };
        let tuple = tuple.map(Vec::as_slice).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            let inner = format!("{path}/{index}");
            if let Some(schema) = tuple.get(index).or(rest) {
                found.extend(self.grouped(schema, item, &inner, depth));
            }
        }
        if let Some(schema) = rules.get("contains") {
            let any = items.iter().any(|item| self.check(schema, item, path, depth + 1).is_empty());
            if !any && rules.get("minContains").and_then(Json::as_u64) != Some(0) {
                found.push(Complaint::new(path, "no items match contains schema"));
            }
        }
        found
    }

    fn combined(&mut self, rules: &'a Values, value: &Json, path: &str, depth: usize) -> Vec<Complaint> {
        let mut found = Vec::new();
        let all = |key: &str| rules.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let wrong: Vec<Complaint> =
            all("allOf").iter().filter_map(|schema| self.grouped(schema, value, path, depth)).collect();
        if !wrong.is_empty() {
            found.push(Complaint::of(path, "'allOf' failed", wrong));
        }
        let any = all("anyOf");
        let wrong: Vec<Complaint> = any.iter().filter_map(|schema| self.grouped(schema, value, path, depth)).collect();
        if !any.is_empty() && wrong.len() == any.len() {
            found.push(Complaint::of(path, "'anyOf' failed", wrong));
        }
        found.extend(self.one_of(all("oneOf"), value, path, depth));
        if let Some(schema) = rules.get("not")
            && self.check(schema, value, path, depth + 1).is_empty()
        {
            found.push(Complaint::new(path, "'not' failed"));
        }
        if let Some(schema) = rules.get("if") {
            let branch = if self.check(schema, value, path, depth + 1).is_empty() { "then" } else { "else" };
            found.extend(rules.get(branch).and_then(|schema| self.grouped(schema, value, path, depth)));
        }
        found
    }

    fn one_of(&mut self, schemas: &'a [Json], value: &Json, path: &str, depth: usize) -> Option<Complaint> {
        let outcomes: Vec<Option<Complaint>> =
            schemas.iter().map(|schema| self.grouped(schema, value, path, depth)).collect();
        let matched: Vec<String> = outcomes
            .iter()
            .enumerate()
            .filter(|(_, outcome)| outcome.is_none())
            .map(|(index, _)| index.to_string())
            .collect();
        match matched.len() {
            _ if schemas.is_empty() => None,
            0 => Some(Complaint::of(path, "'oneOf' failed, none matched", outcomes.into_iter().flatten().collect())),
            1 => None,
            _ => Some(Complaint::new(path, format!("'oneOf' failed, subschemas {} matched", matched.join(", ")))),
        }
    }
}
