//! The OpenAPI checks. The texts, and which failures of `anyOf` and `oneOf` are told, follow kube-openapi.

use serde_json::{Map, Value};

use super::correlate::Correlated;
use super::number;
use crate::field::{ErrorKind, FieldError, Path, go_quote};
use crate::schema::{Additional, Node, SchemaRef, Type};
use crate::trail::Trail;
use crate::{formats, go};

/// One thing wrong, before it is known where the value stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    kind: ErrorKind,
    /// Where, from the value the check began at. None: the fault is reported at the root.
    at: Option<String>,
    value: Option<String>,
    detail: String,
}

impl Fault {
    pub(super) fn into_error(self, root: &Path) -> FieldError {
        let relative = self.at.as_deref().unwrap_or_default();
        let relative = relative.strip_prefix('.').unwrap_or(relative);
        let path = match (relative, relative.starts_with('[')) {
            ("", _) => root.clone(),
            (item, true) if !root.as_str().is_empty() => Path::new(format!("{root}{item}")),
            (field, _) => root.child(field),
        };
        FieldError { kind: self.kind, path, value: self.value, detail: self.detail }
    }
}

/// What is wrong with `new`.
pub(super) fn check(new: &Value, old: Option<&Value>, schema: SchemaRef<'_>) -> Vec<Fault> {
    let mut found = Findings::default();
    found.value(new, schema, &Trail::default(), old.map(|old| Correlated::new(old, new, schema)));
    found.faults
}

/// Faults, and how many checks were passed: of several alternatives, the one that came furthest explains the failure.
#[derive(Default)]
struct Findings {
    faults: Vec<Fault>,
    passed: u32,
}

impl Findings {
    fn add(&mut self, fault: Fault) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn merge(&mut self, other: Findings) {
        self.passed += other.passed;
        for fault in other.faults {
            self.add(fault);
        }
    }

    fn invalid(&mut self, trail: &Trail<'_>, value: &Value, what: &str) {
        let at = trail.dotted();
        let value = match value {
            Value::Null => "\"\"".to_owned(),
            value => printed(value),
        };
        self.add(Fault {
            kind: ErrorKind::Invalid,
            detail: format!("{at} in body {what}"),
            value: Some(value),
            at: Some(at),
        });
    }

    fn too_many(&mut self, trail: &Trail<'_>, actual: usize, limit: u64) {
        let error = FieldError::too_many(&Path::root(), actual, usize::try_from(limit).unwrap_or(usize::MAX));
        self.add(Fault { kind: error.kind, at: Some(trail.dotted()), value: error.value, detail: error.detail });
    }

    fn wrong_type(&mut self, trail: &Trail<'_>, expected: &str, found: &str) {
        let at = trail.dotted();
        let detail = format!("{at} in body must be of type {expected}: {}", go_quote(found));
        self.add(Fault { kind: ErrorKind::TypeInvalid, value: Some(go_quote(found)), detail, at: Some(at) });
    }

    /// A fault of the combination itself, which kube-openapi reports without a place.
    fn combination(&mut self, trail: &Trail<'_>, what: &str) {
        let detail = format!("{} {what}", go_quote(&trail.dotted()));
        self.add(Fault { kind: ErrorKind::Invalid, at: None, value: Some("\"\"".to_owned()), detail });
    }

    fn value<'a>(
        &mut self,
        value: &'a Value,
        schema: SchemaRef<'a>,
        trail: &Trail<'_>,
        before: Option<Correlated<'a>>,
    ) {
        let faults_before = self.faults.len();
        self.check(value, schema, trail, before.as_ref());
        if self.faults.len() > faults_before && before.is_some_and(|pair| pair.is_unchanged()) {
            self.faults.truncate(faults_before);
        }
    }

    fn check<'a>(
        &mut self,
        value: &'a Value,
        schema: SchemaRef<'a>,
        trail: &Trail<'_>,
        before: Option<&Correlated<'a>>,
    ) {
        let node = schema.node();
        if value.is_null() {
            let expected = match node.ty {
                None if node.int_or_string => Some("integer,string"),
                ty => ty.map(Type::name),
            };
            if let Some(expected) = expected.filter(|_| !node.nullable) {
                self.wrong_type(trail, expected, "null");
            } else {
                self.passed += 1;
            }
            self.enumeration(value, node, trail);
            return;
        }
        let format = node.format.as_deref().filter(|format| formats::is_known(format));
        if node.ty.is_some() || node.int_or_string || format.is_some() {
            self.ty(value, node, format, trail);
            self.passed += 1;
        }
        self.combinations(value, schema, trail);
        match value {
            Value::String(text) => self.string(value, text, node, format, trail),
            Value::Number(number) => {
                for what in number::check(number, node) {
                    self.invalid(trail, value, &what);
                }
                self.passed += 2;
            }
            Value::Array(items) => self.list(items, schema, trail, before),
            _ => {}
        }
        self.enumeration(value, node, trail);
        self.passed += 1;
        if let Value::Object(map) = value {
            self.object(map, schema, trail, before);
            self.passed += 1;
        }
        self.passed += 1;
    }

    fn ty(&mut self, value: &Value, node: &Node, format: Option<&str>, trail: &Trail<'_>) {
        if node.int_or_string && node.ty.is_none() {
            return self.int_or_string(value, trail);
        }
        let expected = node.ty.map_or("", Type::name);
        let (found, fits) = match value {
            Value::Bool(_) => ("boolean", node.ty == Some(Type::Boolean)),
            Value::String(_) => ("string", node.ty == Some(Type::String)),
            Value::Array(_) => ("array", node.ty == Some(Type::Array)),
            Value::Object(_) => ("object", node.ty == Some(Type::Object)),
            Value::Number(n) if n.is_i64() => ("integer", matches!(node.ty, Some(Type::Integer | Type::Number))),
            Value::Number(n) => {
                let whole = n.as_f64().is_some_and(|f| f.fract() == 0.0);
                ("number", node.ty == Some(Type::Number) || (node.ty == Some(Type::Integer) && whole))
            }
            Value::Null => ("null", true),
        };
        let numeric = matches!(node.ty, Some(Type::Integer | Type::Number));
        if let Some(format) = format {
            if !fits && !matches!(value, Value::String(_) | Value::Array(_)) {
                let found_format = match value {
                    Value::Number(n) if n.is_i64() => "int64",
                    Value::Number(_) => "float64",
                    _ => "",
                };
                return self.wrong_type(trail, format, found_format);
            }
            if !numeric && matches!(value, Value::String(_) | Value::Array(_)) {
                self.passed += 1;
                return;
            }
        }
        if fits {
            self.passed += 1;
        } else {
            self.wrong_type(trail, expected, found);
        }
    }

    fn int_or_string(&mut self, value: &Value, trail: &Trail<'_>) {
        let found = match value {
            Value::String(_) => None,
            Value::Number(n) if n.as_f64().is_some_and(|f| f.fract() == 0.0) => None,
            Value::Number(_) => Some("number"),
            Value::Bool(_) => Some("boolean"),
            Value::Array(_) => Some("array"),
            Value::Object(_) | Value::Null => Some("object"),
        };
        match found {
            Some(found) => self.wrong_type(trail, "integer,string", found),
            None => self.passed += 1,
        }
    }

    fn string(&mut self, value: &Value, text: &str, node: &Node, format: Option<&str>, trail: &Trail<'_>) {
        let length = || text.chars().count() as u64;
        if let Some(most) = node.max_length
            && length() > most
        {
            let error = FieldError::too_long(&Path::root(), usize::try_from(most).unwrap_or(usize::MAX));
            self.add(Fault { kind: error.kind, at: Some(trail.dotted()), value: None, detail: error.detail });
        } else if let Some(least) = node.min_length
            && length() < least
        {
            self.invalid(trail, value, &format!("should be at least {least} chars long"));
        } else if let Some(pattern) = &node.pattern {
            match node.regex.is_match(pattern, text) {
                Some(true) => {}
                Some(false) => self.invalid(trail, value, &format!("should match '{pattern}'")),
                None => {
                    let reason = crate::gopattern::compile(pattern).err().unwrap_or_default();
                    self.invalid(trail, value, &format!("should match '{pattern}, but pattern is invalid: {reason}'"));
                }
            }
        }
        self.passed += 1;
        if let Some(format) = format {
            if formats::check(format, text) == Some(false) {
                let at = trail.dotted();
                let detail = format!("{at} in body must be of type {format}: {}", go_quote(text));
                self.add(Fault { kind: ErrorKind::TypeInvalid, value: Some(go_quote(text)), detail, at: Some(at) });
            }
            self.passed += 1;
        }
    }

    fn list<'a>(
        &mut self,
        items: &'a [Value],
        schema: SchemaRef<'a>,
        trail: &Trail<'_>,
        before: Option<&Correlated<'a>>,
    ) {
        let node = schema.node();
        if let Some(item_schema) = schema.items() {
            let olds = before.map(Correlated::items).unwrap_or_default();
            for (i, item) in items.iter().enumerate() {
                self.value(item, item_schema, &trail.item(i), olds.correlate(item));
            }
        }
        let count = items.len() as u64;
        if let Some(least) = node.min_items
            && count < least
        {
            self.invalid(trail, &Value::from(count), &format!("should have at least {least} items"));
        }
        if let Some(most) = node.max_items
            && count > most
        {
            self.too_many(trail, items.len(), most);
        }
        if node.unique_items && has_duplicates(items) {
            self.invalid(trail, &Value::Null, "shouldn't contain duplicates");
        }
        self.passed += 2;
    }

    fn enumeration(&mut self, value: &Value, node: &Node, trail: &Trail<'_>) {
        if node.enumeration.is_empty() || node.enumeration.iter().any(|choice| is_choice(value, choice)) {
            return;
        }
        let choices: Vec<String> = node
            .enumeration
            .iter()
            .map(|choice| match choice {
                Value::String(text) => text.clone(),
                other => go::json(other),
            })
            .collect();
        let error = FieldError::not_supported(&Path::root(), value, &choices);
        self.add(Fault { kind: error.kind, at: Some(trail.dotted()), value: error.value, detail: error.detail });
    }

    fn object<'a>(
        &mut self,
        map: &'a Map<String, Value>,
        schema: SchemaRef<'a>,
        trail: &Trail<'_>,
        before: Option<&Correlated<'a>>,
    ) {
        let node = schema.node();
        let count = map.len() as u64;
        if let Some(least) = node.min_properties
            && count < least
        {
            self.invalid(trail, &Value::from(count), &format!("should have at least {least} properties"));
        }
        if let Some(most) = node.max_properties
            && count > most
        {
            self.too_many(trail, map.len(), most);
        }
        for (key, child) in map {
            // The type of the root cannot be ratcheted: old and new were converted to the same version.
            let before = match before {
                Some(pair) if !(trail.is_root() && matches!(key.as_str(), "apiVersion" | "kind")) => pair.key(key),
                _ => None,
            };
            if let Some(property) = schema.property(key) {
                self.value(child, property, &trail.field(key), before);
                continue;
            }
            match node.additional {
                Additional::Of(id) => self.value(child, schema.at(id), &trail.entry(key), before),
                Additional::Nothing => {
                    let at = trail.dotted();
                    let detail = format!("{at}.{key} in body is a forbidden property");
                    let fault = Fault { kind: ErrorKind::Invalid, value: Some(go_quote(key)), detail, at: Some(at) };
                    self.add(fault);
                }
                _ => {}
            }
        }
        for key in &node.required {
            if !map.contains_key(&**key) {
                let at = trail.entry(key).dotted();
                self.add(Fault { kind: ErrorKind::Required, at: Some(at), value: None, detail: String::new() });
            }
        }
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`. Nothing in them is ratcheted.
    fn combinations(&mut self, value: &Value, schema: SchemaRef<'_>, trail: &Trail<'_>) {
        let node = schema.node();
        if !node.any_of.is_empty() {
            let mut tried = Alternatives::of(&node.any_of, value, schema, trail, true);
            if tried.fitting == 0 {
                self.combination(trail, "must validate at least one schema (anyOf)");
            }
            if let Some(told) = tried.first_fit.take().or(tried.best_failure.take()) {
                self.merge(told);
            }
        }
        if !node.one_of.is_empty() {
            let mut tried = Alternatives::of(&node.one_of, value, schema, trail, false);
            if tried.fitting == 1 {
                if let Some(told) = tried.first_fit.take() {
                    self.merge(told);
                }
            } else {
                let found = match tried.fitting {
                    0 => "Found none valid".to_owned(),
                    many => format!("Found {many} valid alternatives"),
                };
                self.combination(trail, &format!("must validate one and only one schema (oneOf). {found}"));
                if tried.fitting == 0
                    && let Some(told) = tried.best_failure.take()
                {
                    self.merge(told);
                }
            }
        }
        if !node.all_of.is_empty() {
            let mut fitting = 0;
            for &id in &node.all_of {
                let mut one = Findings::default();
                one.value(value, schema.at(id), trail, None);
                fitting += usize::from(one.faults.is_empty());
                self.merge(one);
            }
            if fitting != node.all_of.len() {
                let none = if fitting == 0 { ". None validated" } else { "" };
                self.combination(trail, &format!("must validate all the schemas (allOf){none}"));
            }
        }
        if let Some(id) = node.not {
            let mut one = Findings::default();
            one.value(value, schema.at(id), trail, None);
            if one.faults.is_empty() {
                self.combination(trail, "must not validate the schema (not)");
            }
        }
        self.passed += 2;
    }
}

/// What came of trying several schemas.
struct Alternatives {
    fitting: usize,
    first_fit: Option<Findings>,
    best_failure: Option<Findings>,
}

impl Alternatives {
    fn of(ids: &[u32], value: &Value, schema: SchemaRef<'_>, trail: &Trail<'_>, stop_at_fit: bool) -> Self {
        let mut tried = Self { fitting: 0, first_fit: None, best_failure: None };
        for &id in ids {
            let mut one = Findings::default();
            one.value(value, schema.at(id), trail, None);
            if one.faults.is_empty() {
                tried.fitting += 1;
                tried.first_fit.get_or_insert(one);
                if stop_at_fit {
                    break;
                }
            } else if tried.fitting == 0 && tried.best_failure.as_ref().is_none_or(|best| one.passed > best.passed) {
                tried.best_failure = Some(one);
            }
        }
        tried
    }
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => go_quote(text),
        Value::Number(number) => go::number(number),
        other => go::json(other),
    }
}

/// Equality of values, with integers and floats of one worth being one.
fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        _ => value == choice,
    }
}

fn has_duplicates(items: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    !items.iter().all(|item| seen.insert(item.to_string()))
}
