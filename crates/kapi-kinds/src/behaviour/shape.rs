//! The Go shape of the built-in kinds: what an object reads back as after a pass through Kubernetes' own structs.
//!
//! A struct's tags decide which zeros are printed, dropped or kept, and how quantities, times and bytes are spelled.
//! The table (`shapes.txt`) is read off the Go types by `tests/record/shapes.py`.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::scalar::{self, Scalar};

/// Deeper objects than this do not occur in built-in kinds; the bound keeps recursion finite.
const MAX_DEPTH: usize = 64;

#[derive(Debug)]
enum Type {
    Scalar(Scalar),
    Struct(usize),
    List(Box<Type>),
    Map(Box<Type>),
    Pointer(Box<Type>),
}

#[derive(Debug)]
struct Field {
    omit_empty: bool,
    omit_zero: bool,
    ty: Type,
}

#[derive(Debug, Default)]
struct Struct {
    name: &'static str,
    fields: HashMap<&'static str, Field>,
    /// Fields that are printed even when absent.
    always: Vec<&'static str>,
}

struct Shapes {
    structs: Vec<Struct>,
    by_name: HashMap<&'static str, usize>,
}

/// Reads an object as Go would decode it and leaves it as Go would print it: nulls and dropped zeros gone, fields that
/// are always printed there, quantities and times in canonical form. The error is Go's.
pub(crate) fn decode(object: &mut Value) -> Result<(), String> {
    let Some(shape) = shape_of(object) else { return Ok(()) };
    let mut decoder = Decoder { empties: Empties::Kept, ..Decoder::new() };
    decoder.structure(object, shape, MAX_DEPTH);
    decoder.error.map_or(Ok(()), Err)
}

/// Makes lists and maps null that are empty but always printed: storage knows no difference. Until an object is stored
/// they are what the client sent.
pub fn settle_empties(object: &mut Value) {
    if has_empties(object)
        && let Some(shape) = shape_of(object)
    {
        Decoder::new().structure(object, shape, MAX_DEPTH);
    }
}

fn has_empties(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || items.iter().any(has_empties),
        Value::Object(fields) => fields.is_empty() || fields.values().any(has_empties),
        _ => false,
    }
}

/// Gives the object the status of a new one: what Go prints for a zero status.
pub(crate) fn reset_status(object: &mut Value) {
    let zero = shape_of(object).and_then(|shape| {
        let shapes = shapes();
        let field = shapes.structs.get(shape)?.fields.get("status")?;
        zero_of(&field.ty, shapes, MAX_DEPTH)
    });
    if let Some(object) = object.as_object_mut() {
        match zero {
            Some(status) => object.insert("status".to_owned(), status),
            None => object.remove("status"),
        };
    }
}

/// A named struct as Go decodes and prints it, whatever the object around it.
pub(crate) fn decode_as(value: &mut Value, name: &str) {
    let shapes = shapes();
    if let Some(&shape) = shapes.by_name.get(name) {
        Decoder::new().structure(value, shape, MAX_DEPTH);
    }
}

fn shape_of(object: &Value) -> Option<usize> {
    let version = object.get("apiVersion")?.as_str()?;
    let kind = object.get("kind")?.as_str()?;
    shapes().by_name.get(format!("{version}.{kind}").as_str()).copied()
}

fn shapes() -> &'static Shapes {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    SHAPES.get_or_init(|| parse(include_str!("shapes.txt")))
}

fn parse(text: &'static str) -> Shapes {
    let names = text.lines().filter(|line| !line.starts_with(' '));
    let by_name: HashMap<_, _> = names.enumerate().map(|(index, name)| (name, index)).collect();
    let mut structs: Vec<Struct> = Vec::with_capacity(by_name.len());
    for line in text.lines() {
        let Some(field) = line.strip_prefix(' ') else {
            structs.push(Struct { name: line.rsplit('.').next().unwrap_or(line), ..Struct::default() });
            continue;
        };
        let (Some((name, ty)), Some(owner)) = (field.split_once(' '), structs.last_mut()) else { continue };
        let (omit_empty, ty) = ty.strip_prefix('?').map_or((false, ty), |ty| (true, ty));
        let (omit_zero, ty) = ty.strip_prefix('!').map_or((false, ty), |ty| (true, ty));
        let ty = parse_type(ty, &by_name);
        // Omitting the empty never omits what is a struct in Go.
        let is_struct = match &ty {
            Type::Struct(_) => true,
            Type::Scalar(scalar) => !scalar.omits_zero(),
            _ => false,
        };
        if !omit_zero && (!omit_empty || is_struct) {
            owner.always.push(name);
        }
        owner.fields.insert(name, Field { omit_empty, omit_zero, ty });
    }
    Shapes { structs, by_name }
}

fn parse_type(text: &'static str, by_name: &HashMap<&'static str, usize>) -> Type {
    if let Some(inner) = text.strip_prefix('*') {
        return Type::Pointer(Box::new(parse_type(inner, by_name)));
    }
    if let Some(inner) = text.strip_prefix("[]") {
        return Type::List(Box::new(parse_type(inner, by_name)));
    }
    if let Some(inner) = text.strip_prefix("{}") {
        return Type::Map(Box::new(parse_type(inner, by_name)));
    }
    match by_name.get(text) {
        Some(&index) => Type::Struct(index),
        None => Type::Scalar(Scalar::named(text)),
    }
}

/// What Go prints for a value that was never set.
fn zero_of(ty: &Type, shapes: &Shapes, depth: usize) -> Option<Value> {
    Some(match ty {
        Type::Scalar(scalar) => scalar.zero(),
        Type::List(_) | Type::Map(_) | Type::Pointer(_) => Value::Null,
        Type::Struct(index) => {
            let shape = shapes.structs.get(*index)?;
            let mut map = Map::new();
            if depth > 0 {
                for name in &shape.always {
                    let zero = zero_of(&shape.fields.get(name)?.ty, shapes, depth - 1)?;
                    map.insert((*name).to_owned(), zero);
                }
            }
            Value::Object(map)
        }
    })
}

struct Decoder {
    shapes: &'static Shapes,
    path: Vec<&'static str>,
    error: Option<String>,
    empties: Empties,
}

/// What becomes of empty lists and maps that are always printed.
#[derive(PartialEq)]
enum Empties {
    Kept,
    Null,
}

impl Decoder {
    fn new() -> Self {
        Self { shapes: shapes(), path: Vec::new(), error: None, empties: Empties::Null }
    }

    fn structure(&mut self, value: &mut Value, index: usize, depth: usize) {
        let Some(shape) = self.shapes.structs.get(index) else { return };
        let map = match value {
            Value::Object(map) => map,
            Value::Null => {
                *value = zero_of(&Type::Struct(index), self.shapes, depth).unwrap_or(Value::Null);
                return;
            }
            other => return self.mismatch(other, &format!("v1.{}", shape.name)),
        };
        if depth == 0 {
            return;
        }
        map.retain(|name, value| {
            let Some((name, field)) = shape.fields.get_key_value(name.as_str()) else { return true };
            if value.is_null() {
                return false;
            }
            self.path.push(name);
            let owner = shape.name;
            self.value(value, &field.ty, owner, depth - 1);
            self.path.pop();
            let contains = matches!(field.ty, Type::List(_) | Type::Map(_));
            if self.empties == Empties::Null && !field.omit_empty && contains && is_empty(value, &field.ty) {
                *value = Value::Null;
            }
            let empty = field.omit_empty && is_empty(value, &field.ty);
            let zero = field.omit_zero && zero_of(&field.ty, self.shapes, 1).as_ref() == Some(value);
            !empty && !zero
        });
        for name in &shape.always {
            if !map.contains_key(*name)
                && let Some(field) = shape.fields.get(name)
                && let Some(zero) = zero_of(&field.ty, self.shapes, depth)
            {
                map.insert((*name).to_owned(), zero);
            }
        }
    }

    fn value(&mut self, value: &mut Value, ty: &'static Type, owner: &'static str, depth: usize) {
        match ty {
            Type::Scalar(scalar) => match scalar.decode(value) {
                Ok(()) => {}
                Err(scalar::Error::Mismatch) => {
                    let mut text = self.mismatch_text(value, owner, scalar.go_name());
                    if let (Value::Number(number), Scalar::Int(_)) = (&*value, scalar) {
                        text = text.replacen("number", &format!("number {number}"), 1);
                    }
                    self.fail(text);
                }
                Err(scalar::Error::Text(text)) => self.fail(text),
            },
            Type::Struct(index) => match value {
                Value::Object(_) | Value::Null => self.structure(value, *index, depth),
                other => {
                    let text = self.mismatch_text(other, owner, &self.go_name(ty));
                    self.fail(text);
                }
            },
            Type::Pointer(inner) => self.value(value, inner, owner, depth),
            Type::List(inner) => match value {
                Value::Array(items) if depth > 0 => {
                    for item in items {
                        self.item(item, inner, owner, depth - 1);
                    }
                }
                Value::Array(_) | Value::Null => {}
                other => {
                    let text = self.mismatch_text(other, owner, &self.go_name(ty));
                    self.fail(text);
                }
            },
            Type::Map(inner) => match value {
                Value::Object(entries) if depth > 0 => {
                    for item in entries.values_mut() {
                        self.item(item, inner, owner, depth - 1);
                    }
                }
                Value::Object(_) | Value::Null => {}
                other => {
                    let text = self.mismatch_text(other, owner, &self.go_name(ty));
                    self.fail(text);
                }
            },
        }
    }

    /// A list or map element: null means the zero of its type.
    fn item(&mut self, value: &mut Value, ty: &'static Type, owner: &'static str, depth: usize) {
        if value.is_null() {
            *value = zero_of(ty, self.shapes, depth).unwrap_or(Value::Null);
        } else {
            self.value(value, ty, owner, depth);
        }
    }

    fn mismatch(&mut self, value: &Value, go_type: &str) {
        let text = format!("json: cannot unmarshal {} into Go value of type {go_type}", json_kind(value));
        self.fail(text);
    }

    fn mismatch_text(&self, value: &Value, owner: &str, go_type: &str) -> String {
        format!(
            "json: cannot unmarshal {} into Go struct field {owner}.{} of type {go_type}",
            json_kind(value),
            self.path.join(".")
        )
    }

    fn fail(&mut self, text: String) {
        self.error.get_or_insert(text);
    }

    fn go_name(&self, ty: &Type) -> String {
        match ty {
            Type::Scalar(scalar) => scalar.go_name().to_owned(),
            Type::Struct(index) => format!("v1.{}", self.shapes.structs.get(*index).map_or("", |shape| shape.name)),
            Type::List(inner) => format!("[]{}", self.go_name(inner)),
            Type::Map(inner) => format!("map[string]{}", self.go_name(inner)),
            Type::Pointer(inner) => self.go_name(inner),
        }
    }
}

fn is_empty(value: &Value, ty: &Type) -> bool {
    match (ty, value) {
        (_, Value::Null) => true,
        (Type::List(_), Value::Array(list)) => list.is_empty(),
        (Type::Map(_), Value::Object(map)) => map.is_empty(),
        (Type::Scalar(scalar), value) => scalar.omits_zero() && *value == scalar.zero(),
        _ => false,
    }
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
