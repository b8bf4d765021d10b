//! The functions that templates may call: Go's own, Sprig's and Helm's, by family.
//!
//! A function says what types it takes in one letter each, because Go checks them and names them in errors.

pub(crate) mod builtin;
mod certificates;
mod convert;
mod crypto;
mod data;
mod dates;
mod dicts;
mod engine;
mod lists;
mod logic;
mod maths;
mod merge;
mod numbers;
mod paths;
mod random;
mod reflect;
mod regexes;
mod strings;
mod urls;
mod versions;
mod words;
mod xcase;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::LazyLock;

use foldhash::HashMap;

use super::MAX_MADE;
use super::error::Fault;
use super::exec::Executor;
use super::node::{Operand, OperandKind};
use super::value::{IntType, Map, Value, Walk};

pub(crate) use dates::{Clock, layout, layout_rfc3339};

/// What a function gives.
pub(crate) type Outcome = Result<Value, Fault>;

pub(crate) type Run = fn(&mut Executor<'_>, &[Value]) -> Outcome;

/// As many parameters as any function has.
const MAX_PARAMS: usize = 6;

/// A function, or a method whose receiver is the first of its values.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    params: [Param; MAX_PARAMS],
    /// How many parameters there are.
    count: usize,
    /// Whether any number of the last one may be given.
    is_variadic: bool,
    pub(crate) run: Run,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A function with one letter for each parameter; a star behind the last one means any number of it.
const fn f(name: &'static str, letters: &'static str, run: Run) -> Function {
    let mut function = Function { name, params: [Param::Any; MAX_PARAMS], count: 0, is_variadic: false, run };
    let mut letters = letters.as_bytes();
    while let [letter, rest @ ..] = letters {
        if *letter == b'*' {
            function.is_variadic = true;
        } else {
            function.params[function.count] = Param::of(*letter);
            function.count += 1;
        }
        letters = rest;
    }
    function
}

static TABLE: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let families: [&'static [Function]; 19] = [
        builtin::FUNCTIONS,
        certificates::FUNCTIONS,
        crypto::FUNCTIONS,
        data::FUNCTIONS,
        dates::FUNCTIONS,
        dicts::FUNCTIONS,
        engine::FUNCTIONS,
        lists::FUNCTIONS,
        logic::FUNCTIONS,
        maths::FUNCTIONS,
        numbers::FUNCTIONS,
        paths::FUNCTIONS,
        random::FUNCTIONS,
        reflect::FUNCTIONS,
        regexes::FUNCTIONS,
        strings::FUNCTIONS,
        urls::FUNCTIONS,
        versions::FUNCTIONS,
        words::FUNCTIONS,
    ];
    families.into_iter().flatten().map(|function| (function.name, function)).collect()
});

/// The function of a name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.get(name).copied()
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Param {
    Any,
    Text,
    Int,
    Int64,
    Uint32,
    Float,
    Bool,
    Map,
    List,
    Time,
    Certificate,
}

impl Function {
    /// A method; its receiver is the first of the values that `run` gets, and has no letter.
    pub(crate) const fn method(name: &'static str, params: &'static str, run: Run) -> Self {
        f(name, params, run)
    }

    pub(crate) fn param(&self, index: usize) -> Param {
        let index = if self.is_variadic { index.min(self.count.saturating_sub(1)) } else { index };
        self.params.get(index).copied().unwrap_or(Param::Any)
    }

    pub(crate) fn check_count(&self, count: usize) -> Result<(), String> {
        self.check_count_as(self.name, count)
    }

    pub(crate) fn check_count_as(&self, name: &str, count: usize) -> Result<(), String> {
        if self.is_variadic {
            let least = self.count - 1 + usize::from(matches!(self.name, "and" | "or"));
            if count < least {
                return Err(format!("wrong number of args for {name}: want at least {least} got {count}"));
            }
        } else if count != self.count {
            return Err(format!("wrong number of args for {name}: want {} got {count}", self.count));
        }
        Ok(())
    }
}

impl Param {
    const fn of(letter: u8) -> Self {
        match letter {
            b's' => Self::Text,
            b'i' => Self::Int,
            b'I' => Self::Int64,
            b'u' => Self::Uint32,
            b'f' => Self::Float,
            b'b' => Self::Bool,
            b'm' => Self::Map,
            b'l' => Self::List,
            b't' => Self::Time,
            b'c' => Self::Certificate,
            _ => Self::Any,
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Text => "string",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Time => "time.Time",
            Self::Certificate => "sprig.certificate",
        }
    }

    fn can_be_nil(self) -> bool {
        matches!(self, Self::Any | Self::Map | Self::List)
    }

    fn takes(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::Text, Value::Str(_) | Value::Raw(_))
            | (Self::Int, Value::Int(_, IntType::Int))
            | (Self::Int64, Value::Int(_, IntType::Int64))
            | (Self::Uint32, Value::Int(_, IntType::Uint32))
            | (Self::Float, Value::Float(_))
            | (Self::Bool, Value::Bool(_)) => true,
            (Self::Map, Value::Map(_)) => value.type_name() != "map[string]string",
            (_, other) => other.type_name() == self.type_name(),
        }
    }

    /// Refuses a value of another type. Of nil, it matters whether Go knows it as an `interface {}` only.
    pub(crate) fn check(self, value: &Value, is_interface: bool) -> Result<(), String> {
        if let Value::Nil = value {
            return match (is_interface, self) {
                (_, Self::Any) => Ok(()),
                (true, _) => Err(format!("wrong type for value; expected {}; got interface {{}}", self.type_name())),
                (false, _) if self.can_be_nil() => Ok(()),
                (false, _) => Err(format!("invalid value; expected {}", self.type_name())),
            };
        }
        if self.takes(value) {
            return Ok(());
        }
        Err(format!("wrong type for value; expected {}; got {}", self.type_name(), value.type_name()))
    }

    /// What the word `nil` stands for.
    pub(crate) fn nil(self) -> Result<Value, String> {
        if self.can_be_nil() { Ok(Value::Nil) } else { Err(format!("cannot assign nil to {}", self.type_name())) }
    }

    /// A constant in this place; none if any type will do.
    pub(crate) fn constant(self, operand: &Operand) -> Option<Result<Value, String>> {
        let found = match (self, &operand.kind) {
            (Self::Any, _) => return None,
            (Self::Text, OperandKind::Text { text, .. }) => Some(Value::Str(text.clone())),
            (Self::Bool, OperandKind::Bool(value)) => Some(Value::Bool(*value)),
            (Self::Int, OperandKind::Number(number)) => number.int.map(Value::int),
            (Self::Int64, OperandKind::Number(number)) => number.int.map(Value::int64),
            (Self::Uint32, OperandKind::Number(number)) => {
                number.int.filter(|int| u32::try_from(*int).is_ok()).map(|int| Value::Int(int, IntType::Uint32))
            }
            (Self::Float, OperandKind::Number(number)) => number.float.map(Value::Float),
            _ => None,
        };
        let words = match self {
            Self::Text => "string",
            Self::Bool => "bool",
            Self::Int | Self::Int64 => "integer",
            Self::Uint32 => "unsigned integer",
            Self::Float => "float",
            _ => return Some(Err(format!("can't handle {operand} for arg of type {}", self.type_name()))),
        };
        Some(found.ok_or_else(|| format!("expected {words}; found {operand}")))
    }
}

/// The text at `index`.
fn text(args: &[Value], index: usize) -> Cow<'_, str> {
    match args.get(index) {
        Some(Value::Str(text)) => Cow::Borrowed(text),
        Some(Value::Raw(bytes)) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed(""),
    }
}

/// The bytes of the text at `index`.
fn bytes(args: &[Value], index: usize) -> &[u8] {
    args.get(index).and_then(Value::as_bytes).unwrap_or_default()
}

/// The integer at `index`.
fn int(args: &[Value], index: usize) -> i64 {
    match args.get(index) {
        Some(Value::Int(number, _)) => *number,
        _ => 0,
    }
}

/// The map at `index`; none if it is nil.
fn map(args: &[Value], index: usize) -> Option<&Rc<Map>> {
    args.get(index).and_then(Value::as_map)
}

/// Whatever is at `index`.
fn any(args: &[Value], index: usize) -> &Value {
    args.get(index).unwrap_or(&Value::Nil)
}

/// What an item of a list takes that has a short text of its own.
pub(crate) const ITEM: usize = 64;

/// Fails if what is to be made is too large. [`Executor`] checks what functions are given and what they give; those
/// that make much out of little ask before they make it.
pub(crate) fn fits(size: usize) -> Result<(), Fault> {
    if size > MAX_MADE { Err(Fault::TOO_LARGE) } else { Ok(()) }
}

/// Walks over values within limits, and counts the work whatever came of it.
fn walking<T>(executor: &mut Executor<'_>, walk_over: impl FnOnce(&Walk) -> Result<T, Fault>) -> Result<T, Fault> {
    let walk = Walk::default();
    let outcome = walk_over(&walk);
    executor.machine.spend(walk.steps())?;
    walk.check()?;
    outcome
}

/// Whether two values are deeply equal.
fn same(executor: &mut Executor<'_>, a: &Value, b: &Value) -> Result<bool, Fault> {
    walking(executor, |walk| Ok(a.deep_equal(b, walk)))
}
