//! Evaluation, with the work counted as cel-go counts it: a rule that would take too long is stopped.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::{Expr, Kind, Literal, Macro, MacroKind};
use super::checker::{dotted_name, is_type_name};
use super::library;
use super::ops;
use super::signatures;
use super::value::{Error, Evaluated, Key, Pairs, Text, Val, equal, fail};

/// The most work one evaluation may take.
pub(crate) const CALL_LIMIT: u64 = 1_000_000;

/// What building a list or map costs, as cel-go has it.
const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;

/// An evaluation in progress.
pub(crate) struct Evaluator<'a> {
    scope: Vec<(&'a str, Val<'a>)>,
    pub(crate) cost: u64,
    pub(super) patterns: &'a library::Patterns,
}

impl<'a> Evaluator<'a> {
    /// An evaluation with these variables.
    pub(crate) fn new(scope: Vec<(&'a str, Val<'a>)>, patterns: &'a library::Patterns) -> Self {
        Self { scope, cost: 0, patterns }
    }

    /// Counts work.
    pub(super) fn spend(&mut self, work: u64) -> Result<(), Error> {
        self.cost = self.cost.saturating_add(work);
        if self.cost > CALL_LIMIT { Err(Error::CostLimit) } else { Ok(()) }
    }

    pub(crate) fn eval(&mut self, expr: &'a Expr) -> Evaluated<'a> {
        match &expr.kind {
            Kind::Literal(literal) => Ok(constant(literal)),
            Kind::Ident(name) => {
                self.spend(1)?;
                self.variable(name)
            }
            Kind::Select { operand, field, test, optional } => self.select(expr, operand, field, *test, *optional),
            Kind::Index { operand, index, optional } => self.index(operand, index, *optional),
            Kind::Call { target, function, args } => self.call(target.as_deref(), function, args),
            Kind::Logic { and, terms } => self.logic(*and, terms),
            Kind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.eval(yes),
                    Val::Bool(false) => self.eval(no),
                    _ => Err(Error::NoSuchOverload),
                }
            }
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Macro(inner) => self.macro_call(inner),
        }
    }

    fn variable(&self, name: &str) -> Evaluated<'a> {
        match self.scope.iter().rev().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(value.clone()),
            None if is_type_name(name) => Ok(Val::Type(Arc::from(name))),
            None => fail(format!("no such attribute(s): {name}")),
        }
    }

    fn is_rooted(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::Ident(name) => self.scope.iter().any(|(known, _)| known == name),
            Kind::Select { operand, .. } => self.is_rooted(operand),
            _ => true,
        }
    }

    fn select(&mut self, expr: &'a Expr, operand: &'a Expr, field: &str, test: bool, optional: bool) -> Evaluated<'a> {
        if !test
            && !self.is_rooted(expr)
            && let Some(name) = dotted_name(expr).filter(|name| is_type_name(name))
        {
            return Ok(Val::Type(Arc::from(name)));
        }
        let of = self.eval(operand)?;
        if !test {
            self.spend(1)?;
        }
        let (of, optional) = match of {
            Val::Optional(None) => return Ok(if test { Val::Bool(false) } else { Val::Optional(None) }),
            Val::Optional(Some(inner)) => ((*inner).clone(), true),
            other => (other, optional),
        };
        let found = of.field(field)?;
        if test {
            return Ok(Val::Bool(found.is_some()));
        }
        match (found, optional) {
            (Some(value), true) => Ok(Val::some(value)),
            (None, true) => Ok(Val::Optional(None)),
            (Some(value), false) => Ok(value),
            (None, false) => fail(format!("no such key: {field}")),
        }
    }

    fn index(&mut self, operand: &'a Expr, index: &'a Expr, optional: bool) -> Evaluated<'a> {
        let of = self.eval(operand)?;
        let by = self.eval(index)?;
        self.spend(1)?;
        let (of, optional) = match of {
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => ((*inner).clone(), true),
            other => (other, optional),
        };
        match (ops::index(&of, &by), optional) {
            (Ok(Some(value)), true) => Ok(Val::some(value)),
            (Ok(None), true) => Ok(Val::Optional(None)),
            (Ok(Some(value)), false) => Ok(value),
            (Ok(None), false) => match of {
                Val::List(_) | Val::ObjectList(..) => fail(format!("index out of bounds: {}", ops::print(&by))),
                _ => fail(format!("no such key: {}", ops::print(&by))),
            },
            (Err(error), _) => Err(error),
        }
    }

    fn call(&mut self, target: Option<&'a Expr>, function: &'a str, args: &'a [Expr]) -> Evaluated<'a> {
        let qualified = target
            .filter(|target| !self.is_rooted(target))
            .and_then(dotted_name)
            .map(|prefix| format!("{prefix}.{function}"))
            .filter(|name| signatures::named(name).is_some());
        let mut values = Vec::with_capacity(args.len() + 1);
        // `or` and `orValue` look at their argument only if they need it.
        if let (Some(target), "or" | "orValue", [fallback]) = (target, function, args) {
            return match (self.eval(target)?, function) {
                (Val::Optional(Some(value)), "orValue") => Ok((*value).clone()),
                (value @ Val::Optional(Some(_)), _) => Ok(value),
                (Val::Optional(None), _) => self.eval(fallback),
                _ => Err(Error::NoSuchOverload),
            };
        }
        if let (Some(target), None) = (target, &qualified) {
            values.push(self.eval(target)?);
        }
        for arg in args {
            values.push(self.eval(arg)?);
        }
        let method = target.is_some() && qualified.is_none();
        match &qualified {
            Some(name) => library::call(self, name, method, values),
            None => library::call(self, function, method, values),
        }
    }

    /// One term decides whatever the others do; without one, the first error is the result.
    fn logic(&mut self, and: bool, terms: &'a [Expr]) -> Evaluated<'a> {
        let mut failed = None;
        for term in terms {
            match self.eval(term) {
                Ok(Val::Bool(value)) if value != and => return Ok(Val::Bool(value)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(Error::NoSuchOverload)),
                Err(Error::CostLimit) => return Err(Error::CostLimit),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(Val::Bool(and)), Err)
    }

    fn list(&mut self, items: &'a [(Expr, bool)]) -> Evaluated<'a> {
        self.spend(LIST_COST)?;
        let mut out = Vec::with_capacity(items.len());
        for (item, optional) in items {
            match (self.eval(item)?, optional) {
                (Val::Optional(inner), true) => out.extend(inner.map(|value| (*value).clone())),
                (value, _) => out.push(value),
            }
        }
        Ok(Val::list(out))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr, bool)]) -> Evaluated<'a> {
        self.spend(MAP_COST)?;
        let mut out = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let key =
                Key::of(&key).ok_or_else(|| Error::Message(format!("unsupported key type: {}", key.type_name())))?;
            match (self.eval(value)?, optional) {
                (Val::Optional(inner), true) => out.extend(inner.map(|value| (key, (*value).clone()))),
                (value, _) => drop(out.insert(key, value)),
            }
        }
        Ok(Val::Map(Arc::new(out)))
    }

    fn macro_call(&mut self, inner: &'a Macro) -> Evaluated<'a> {
        let range = self.eval(&inner.range)?;
        if let MacroKind::OptMap | MacroKind::OptFlatMap = inner.kind {
            return match range {
                Val::Optional(None) => Ok(Val::Optional(None)),
                Val::Optional(Some(value)) => {
                    let body = self.with(inner, (*value).clone(), None, |this| this.eval(&inner.body))?;
                    Ok(if inner.kind == MacroKind::OptMap { Val::some(body) } else { body })
                }
                _ => Err(Error::NoSuchOverload),
            };
        }
        let pairs = range.pairs().ok_or(Error::NoSuchOverload)?;
        let of_list = matches!(range, Val::List(_) | Val::ObjectList(..));
        match inner.kind {
            MacroKind::All | MacroKind::Exists => self.quantified(inner, of_list, pairs),
            MacroKind::ExistsOne => {
                let mut count = 0;
                for pair in pairs {
                    let (key, value) = pair?;
                    self.spend(2)?;
                    count += usize::from(self.holds(inner, &inner.body, of_list, key, value)?);
                }
                Ok(Val::Bool(count == 1))
            }
            _ => self.transformed(inner, of_list, pairs),
        }
    }

    /// `all` and `exists`: an error counts only if no item decides.
    fn quantified(&mut self, inner: &'a Macro, of_list: bool, pairs: Pairs<'a>) -> Evaluated<'a> {
        let deciding = inner.kind == MacroKind::Exists;
        let mut failed = None;
        for pair in pairs {
            let (key, value) = pair?;
            self.spend(3)?;
            match self.holds(inner, &inner.body, of_list, key, value) {
                Ok(held) if held == deciding => return Ok(Val::Bool(deciding)),
                Ok(_) => {}
                Err(Error::CostLimit) => return Err(Error::CostLimit),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(Val::Bool(!deciding)), Err)
    }

    fn transformed(&mut self, inner: &'a Macro, of_list: bool, pairs: Pairs<'a>) -> Evaluated<'a> {
        let mut list = Vec::new();
        let mut map = BTreeMap::new();
        for pair in pairs {
            let (key, value) = pair?;
            self.spend(LIST_COST + 2)?;
            if let Some(filter) = &inner.filter
                && !self.holds(inner, filter, of_list, key.clone(), value.clone())?
            {
                continue;
            }
            match inner.kind {
                MacroKind::Filter => {
                    let item = if of_list { value.clone() } else { key.clone() };
                    if self.holds(inner, &inner.body, of_list, key, value)? {
                        list.push(item);
                    }
                }
                _ => {
                    let bound = bind(inner, of_list, key.clone(), value);
                    let body = self.with(inner, bound.0, bound.1, |this| this.eval(&inner.body))?;
                    match (inner.kind, body) {
                        (MacroKind::TransformMap, body) => {
                            let key = Key::of(&key).ok_or(Error::NoSuchOverload)?;
                            map.insert(key, body);
                        }
                        (MacroKind::TransformMapEntry, Val::Map(entries)) => {
                            for (key, value) in entries.iter() {
                                if map.insert(key.clone(), value.clone()).is_some() {
                                    return fail(format!(
                                        "insert failed: key {} already exists",
                                        ops::print(&key.to_val())
                                    ));
                                }
                            }
                        }
                        (MacroKind::TransformMapEntry, _) => return Err(Error::NoSuchOverload),
                        (_, body) => list.push(body),
                    }
                }
            }
        }
        Ok(match inner.kind {
            MacroKind::TransformMap | MacroKind::TransformMapEntry => Val::Map(Arc::new(map)),
            _ => Val::list(list),
        })
    }

    fn holds(
        &mut self,
        inner: &'a Macro,
        condition: &'a Expr,
        of_list: bool,
        key: Val<'a>,
        value: Val<'a>,
    ) -> Result<bool, Error> {
        let (first, second) = bind(inner, of_list, key, value);
        match self.with(inner, first, second, |this| this.eval(condition))? {
            Val::Bool(held) => Ok(held),
            _ => Err(Error::NoSuchOverload),
        }
    }

    fn with(
        &mut self,
        inner: &'a Macro,
        first: Val<'a>,
        second: Option<Val<'a>>,
        run: impl FnOnce(&mut Self) -> Evaluated<'a>,
    ) -> Evaluated<'a> {
        let before = self.scope.len();
        self.scope.push((&inner.first, first));
        if let (Some(name), Some(value)) = (&inner.second, second) {
            self.scope.push((name, value));
        }
        let result = run(self);
        self.scope.truncate(before);
        result
    }

    /// Whether `needle` is in a list or a key of a map.
    pub(super) fn contains(&mut self, needle: &Val<'a>, hay: &Val<'a>) -> Evaluated<'a> {
        if let Some(items) = hay.items() {
            let items = items?;
            self.spend(items.len() as u64)?;
            return Ok(Val::Bool(items.iter().any(|item| equal(item, needle))));
        }
        self.spend(1)?;
        match hay {
            Val::Map(map) => Ok(Val::Bool(Key::of(needle).is_some_and(|key| map.contains_key(&key)))),
            Val::Object(..) => match needle {
                Val::String(text) => Ok(Val::Bool(hay.field(text)?.is_some())),
                _ => Ok(Val::Bool(false)),
            },
            _ => Err(Error::NoSuchOverload),
        }
    }
}

/// What a macro's variables are bound to: the item of a list, the key of a map, or both index and value.
fn bind<'a>(inner: &Macro, of_list: bool, key: Val<'a>, value: Val<'a>) -> (Val<'a>, Option<Val<'a>>) {
    match (&inner.second, of_list) {
        (Some(_), _) => (key, Some(value)),
        (None, true) => (value, None),
        (None, false) => (key, None),
    }
}

fn constant<'a>(literal: &Literal) -> Val<'a> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(b) => Val::Bool(*b),
        Literal::Int(int) => Val::Int(*int),
        Literal::Uint(uint) => Val::Uint(*uint),
        Literal::Double(double) => Val::Double(*double),
        Literal::String(text) => Val::String(Text::Shared(Arc::clone(text))),
        Literal::Bytes(bytes) => Val::Bytes(Arc::clone(bytes)),
    }
}
