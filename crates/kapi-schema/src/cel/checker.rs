//! Type checking: rules that could not work are refused when a CRD is made, in the words of cel-go.

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::{Expr, Kind, Literal, Macro, MacroKind};
use super::lexer::Fault;
use super::signatures;
use super::types::Ty;
use super::unify::Known;
use crate::gopattern;

/// The names that are types when they stand alone.
const TYPE_NAMES: [&str; 17] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "net.IP",
    "net.CIDR",
    "kubernetes.URL",
    "kubernetes.Quantity",
    "optional_type",
];

/// Whether a dotted name is that of a type.
pub(super) fn is_type_name(name: &str) -> bool {
    TYPE_NAMES.contains(&name)
}

/// The types of an expression and all its parts with these variables, or what is wrong with it.
pub(crate) fn check<'a>(expr: &Expr, variables: &[(&str, Ty<'a>)]) -> Result<Types<'a>, Vec<Fault>> {
    let scope = variables.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect();
    let mut checker = Checker { scope, known: Known::default(), types: HashMap::new(), faults: Vec::new() };
    checker.expr(expr);
    match checker.faults.is_empty() {
        true => Ok(Types { by_address: checker.types, known: checker.known }),
        false => Err(checker.faults),
    }
}

/// The types of the parts of one expression, for as long as it stays where it is.
pub(crate) struct Types<'a> {
    by_address: HashMap<usize, Ty<'a>>,
    known: Known<'a>,
}

impl<'a> Types<'a> {
    /// The type of a part.
    pub(super) fn of(&self, part: &Expr) -> Ty<'a> {
        self.by_address.get(&address(part)).map_or(Ty::Dyn, |ty| self.known.resolve(ty))
    }

    /// Whether a part is a value at all, and not half of a name.
    pub(super) fn has(&self, part: &Expr) -> bool {
        self.by_address.contains_key(&address(part))
    }
}

fn address(part: &Expr) -> usize {
    std::ptr::from_ref(part).addr()
}

struct Checker<'a> {
    scope: Vec<(String, Ty<'a>)>,
    known: Known<'a>,
    types: HashMap<usize, Ty<'a>>,
    faults: Vec<Fault>,
}

impl<'a> Checker<'a> {
    /// Notes what is wrong, and goes on with a type that fits everywhere.
    fn fault(&mut self, at: u32, message: String) -> Ty<'a> {
        self.faults.push(Fault { at, message });
        Ty::Dyn
    }

    fn expr(&mut self, expr: &Expr) -> Ty<'a> {
        let ty = self.part(expr);
        self.types.insert(address(expr), ty.clone());
        ty
    }

    fn part(&mut self, expr: &Expr) -> Ty<'a> {
        match &expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => self.ident(expr.at, name),
            Kind::Select { operand, field, test, optional } => self.select(expr, operand, field, *test, *optional),
            Kind::Index { operand, index, optional } => self.index(expr.at, operand, index, *optional),
            Kind::Call { target, function, args } => self.call(expr.at, target.as_deref(), function, args),
            Kind::Logic { terms, .. } => self.logic(terms),
            Kind::Conditional(parts) => self.conditional(expr.at, parts),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Macro(inner) => self.macro_call(expr.at, inner),
        }
    }

    fn ident(&mut self, at: u32, name: &str) -> Ty<'a> {
        if let Some((_, ty)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return ty.clone();
        }
        if is_type_name(name) {
            return Ty::Type;
        }
        self.fault(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, field: &str, test: bool, optional: bool) -> Ty<'a> {
        if !test && dotted_name(expr).is_some_and(|name| is_type_name(&name) && !self.is_rooted(expr)) {
            return Ty::Type;
        }
        let of = self.expr(operand);
        let of = self.known.resolve(&of);
        let (inner, was_optional) = match of {
            Ty::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        };
        let found = match &inner {
            Ty::Dyn | Ty::Unknown(_) => Ty::Dyn,
            Ty::Map(key, value) => {
                if !self.known.fits(&Ty::String, key) {
                    return self.fault(expr.at, format!("type '{inner}' does not support field selection"));
                }
                (**value).clone()
            }
            Ty::Object(object) => match object.field(field) {
                Some(ty) => ty,
                None => return self.fault(expr.at, format!("undefined field '{field}'")),
            },
            other => {
                let message = format!("type '{other}' does not support field selection");
                return self.fault(expr.at, message);
            }
        };
        match (test, optional || was_optional) {
            (true, _) => Ty::Bool,
            (false, true) => wrap(found),
            (false, false) => found,
        }
    }

    /// Whether a chain of selects begins at a variable.
    fn is_rooted(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::Ident(name) => self.scope.iter().any(|(known, _)| known == name),
            Kind::Select { operand, .. } => self.is_rooted(operand),
            _ => true,
        }
    }

    fn index(&mut self, at: u32, operand: &Expr, index: &Expr, optional: bool) -> Ty<'a> {
        let of = self.expr(operand);
        let of = self.known.resolve(&of);
        let by = self.expr(index);
        let (inner, was_optional) = match &of {
            Ty::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let found = match &inner {
            Ty::Dyn | Ty::Unknown(_) => Some(Ty::Dyn),
            Ty::List(item) if self.known.fits(&by, &Ty::Int) => Some((**item).clone()),
            Ty::Map(key, value) if self.known.fits(&by, key) => Some((**value).clone()),
            _ => None,
        };
        match found {
            Some(ty) if optional || was_optional => wrap(ty),
            Some(ty) => ty,
            None => {
                let name = if optional { "_[?_]" } else { "_[_]" };
                self.no_overload(at, name, &[of, by], false)
            }
        }
    }

    fn no_overload(&mut self, at: u32, name: &str, args: &[Ty<'a>], method: bool) -> Ty<'a> {
        let printed: Vec<String> = args.iter().map(|ty| self.known.resolve(ty).to_string()).collect();
        let signature = match (method, printed.split_first()) {
            (true, Some((target, rest))) => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", printed.join(", ")),
        };
        self.fault(at, format!("found no matching overload for '{name}' applied to '{signature}'"))
    }

    fn call(&mut self, at: u32, target: Option<&Expr>, function: &str, args: &[Expr]) -> Ty<'a> {
        self.literal_arguments(target, function, args);
        // `sets.contains(a, b)` is a function with a dotted name, not a method.
        if let Some(name) = target.filter(|target| !self.is_rooted(target)).and_then(dotted_name) {
            let qualified = format!("{name}.{function}");
            if signatures::named(&qualified).is_some() {
                let types: Vec<Ty<'a>> = args.iter().map(|arg| self.expr(arg)).collect();
                return self.resolve(at, &qualified, &types, false);
            }
        }
        if function == "format"
            && let (Some(target), [list]) = (target, args)
        {
            return self.format(at, target, list);
        }
        let method = target.is_some();
        let mut types = Vec::with_capacity(args.len() + 1);
        types.extend(target.map(|target| self.expr(target)));
        types.extend(args.iter().map(|arg| self.expr(arg)));
        if signatures::named(function).is_none() && !is_comparison(function) {
            return self.fault(at, format!("undeclared reference to '{function}' (in container '')"));
        }
        self.resolve(at, function, &types, method)
    }

    /// A format string may take items of several types, if they are the ones it asks for.
    fn format(&mut self, at: u32, target: &Expr, list: &Expr) -> Ty<'a> {
        let of = self.expr(target);
        let (Kind::List(items), Kind::Literal(Literal::String(text))) = (&list.kind, &target.kind) else {
            let args = match &list.kind {
                Kind::List(items) => {
                    items.iter().for_each(|(item, _)| drop(self.expr(item)));
                    Ty::List(Arc::new(Ty::Dyn))
                }
                _ => self.expr(list),
            };
            return self.resolve(at, "format", &[of, args], true);
        };
        let types: Vec<Ty<'a>> = items
            .iter()
            .map(|(item, _)| {
                let ty = self.expr(item);
                self.known.resolve(&ty)
            })
            .collect();
        if let Err((which, message)) = super::format::check(text, &types) {
            let at = which.and_then(|which| items.get(which)).map_or(at, |(item, _)| item.at);
            self.fault(at, message);
        }
        Ty::String
    }

    fn resolve(&mut self, at: u32, name: &str, args: &[Ty<'a>], method: bool) -> Ty<'a> {
        if is_comparison(name) {
            return if args.len() == 2 && self.comparable(args) {
                Ty::Bool
            } else {
                self.no_overload(at, name, args, method)
            };
        }
        let mut found: Option<(Ty<'a>, Known<'a>)> = None;
        for signature in signatures::named(name).unwrap_or_default() {
            if signature.method != method || signature.args.len() != args.len() {
                continue;
            }
            let mut known = self.known.clone();
            let mut params = [None, None];
            let fits = signature.args.iter().zip(args).all(|(wanted, given)| {
                let wanted = known.instantiate(wanted, &mut params);
                known.fits(given, &wanted)
            });
            if !fits {
                continue;
            }
            let result = known.instantiate(&signature.result, &mut params);
            match &mut found {
                None => found = Some((result, known)),
                Some((first, _)) if *first != result => *first = Ty::Dyn,
                Some(_) => {}
            }
        }
        match found {
            Some((result, known)) => {
                self.known = known;
                self.known.resolve(&result)
            }
            None => self.no_overload(at, name, args, method),
        }
    }

    fn comparable(&mut self, args: &[Ty<'a>]) -> bool {
        let [a, b] = args else { return false };
        let (a, b) = (self.known.resolve(a), self.known.resolve(b));
        let number = |ty: &Ty<'_>| matches!(ty, Ty::Int | Ty::Uint | Ty::Double);
        let open = |ty: &Ty<'_>| matches!(ty, Ty::Dyn | Ty::Unknown(_));
        let ordered = |ty: &Ty<'_>| {
            number(ty) || open(ty) || matches!(ty, Ty::Bool | Ty::String | Ty::Bytes | Ty::Timestamp | Ty::Duration)
        };
        ordered(&a) && ordered(&b) && (open(&a) || open(&b) || a == b || (number(&a) && number(&b)))
    }

    fn logic(&mut self, terms: &[Expr]) -> Ty<'a> {
        for term in terms {
            let ty = self.expr(term);
            if !self.known.fits(&ty, &Ty::Bool) {
                let found = self.known.resolve(&ty);
                self.fault(term.at, format!("expected type 'bool' but found '{found}'"));
            }
        }
        Ty::Bool
    }

    fn conditional(&mut self, at: u32, parts: &[Expr; 3]) -> Ty<'a> {
        let types = parts.each_ref().map(|part| self.expr(part));
        let [condition, yes, no] = &types;
        if self.known.fits(condition, &Ty::Bool) && self.known.fits(yes, no) {
            return self.known.resolve(if *yes == Ty::Dyn { yes } else { no });
        }
        self.no_overload(at, "_?_:_", &types, false)
    }

    /// The common type of list items, map keys or map values.
    fn join(&mut self, at: u32, so_far: Option<Ty<'a>>, next: Ty<'a>) -> Option<Ty<'a>> {
        match so_far {
            None => Some(next),
            Some(ty) if self.known.fits(&next, &ty) => Some(if next == Ty::Dyn { next } else { ty }),
            Some(ty) => {
                let (expected, found) = (self.known.resolve(&ty), self.known.resolve(&next));
                self.fault(at, format!("expected type '{expected}' but found '{found}'"));
                Some(ty)
            }
        }
    }

    fn list(&mut self, items: &[(Expr, bool)]) -> Ty<'a> {
        let mut of = None;
        for (item, optional) in items {
            let ty = self.expr(item);
            let ty = match (self.known.resolve(&ty), optional) {
                (Ty::Optional(inner), true) => (*inner).clone(),
                (other, _) => other,
            };
            of = self.join(item.at, of, ty);
        }
        Ty::List(Arc::new(of.unwrap_or_else(|| self.known.fresh())))
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Ty<'a> {
        let (mut keys, mut values) = (None, None);
        for (key, value, optional) in entries {
            let ty = self.expr(key);
            keys = self.join(key.at, keys, ty);
            let ty = self.expr(value);
            let ty = match (self.known.resolve(&ty), optional) {
                (Ty::Optional(inner), true) => (*inner).clone(),
                (other, _) => other,
            };
            values = self.join(value.at, values, ty);
        }
        let key = keys.unwrap_or_else(|| self.known.fresh());
        Ty::Map(Arc::new(key), Arc::new(values.unwrap_or_else(|| self.known.fresh())))
    }

    fn macro_call(&mut self, at: u32, inner: &Macro) -> Ty<'a> {
        let range = self.expr(&inner.range);
        let range = self.known.resolve(&range);
        let (key, value) = match (&range, inner.kind) {
            (Ty::Dyn | Ty::Unknown(_), _) => (Ty::Dyn, Ty::Dyn),
            (Ty::Optional(of), MacroKind::OptMap | MacroKind::OptFlatMap) => ((**of).clone(), (**of).clone()),
            (_, MacroKind::OptMap | MacroKind::OptFlatMap) => {
                return self.no_overload(at, "hasValue", std::slice::from_ref(&range), true);
            }
            (Ty::List(item), _) => (Ty::Int, (**item).clone()),
            (Ty::Map(key, value), _) => ((**key).clone(), (**value).clone()),
            _ => {
                let message = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                return self.fault(inner.range.at, message);
            }
        };
        let before = self.scope.len();
        match &inner.second {
            Some(second) => {
                self.scope.push((inner.first.clone(), key.clone()));
                self.scope.push((second.clone(), value));
            }
            None => {
                let of_list = matches!(range, Ty::List(_) | Ty::Optional(_));
                self.scope.push((inner.first.clone(), if of_list { value } else { key.clone() }));
            }
        }
        let item = self.scope.get(before).map_or(Ty::Dyn, |(_, ty)| ty.clone());
        if let Some(filter) = &inner.filter {
            self.condition(at, filter);
        }
        let result = match inner.kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => {
                self.condition(at, &inner.body);
                Ty::Bool
            }
            MacroKind::Filter => {
                self.condition(at, &inner.body);
                Ty::List(Arc::new(item))
            }
            MacroKind::Map | MacroKind::TransformList => Ty::List(Arc::new(self.expr(&inner.body))),
            MacroKind::TransformMap => Ty::Map(Arc::new(key), Arc::new(self.expr(&inner.body))),
            MacroKind::TransformMapEntry | MacroKind::OptFlatMap => self.expr(&inner.body),
            MacroKind::OptMap => Ty::Optional(Arc::new(self.expr(&inner.body))),
        };
        self.scope.truncate(before);
        result
    }

    fn condition(&mut self, at: u32, condition: &Expr) {
        let ty = self.expr(condition);
        if !self.known.fits(&ty, &Ty::Bool) {
            self.no_overload(at, "_&&_", &[Ty::Bool, ty], false);
        }
    }

    /// Constants that could never be read are refused at once.
    fn literal_arguments(&mut self, target: Option<&Expr>, function: &str, args: &[Expr]) {
        let literal = |expr: Option<&Expr>| match expr.map(|expr| (expr.at, &expr.kind)) {
            Some((at, Kind::Literal(Literal::String(text)))) => Some((at, Arc::clone(text))),
            _ => None,
        };
        let (arg, sound): (_, fn(&str) -> bool) = match (function, target.is_some(), args.len()) {
            ("matches", true, 1) => (literal(args.first()), |text| gopattern::compile(text).is_ok()),
            ("matches", false, 2) => (literal(args.get(1)), |text| gopattern::compile(text).is_ok()),
            ("duration", false, 1) => (literal(args.first()), |text| kernel::duration::GoDuration::parse(text).is_ok()),
            ("timestamp", false, 1) => (literal(args.first()), |text| super::time::parse_timestamp(text).is_some()),
            _ => return,
        };
        if let Some((at, text)) = arg
            && !sound(&text)
        {
            self.fault(at, format!("invalid {function} argument"));
        }
    }
}

fn is_comparison(name: &str) -> bool {
    matches!(name, "_<_" | "_<=_" | "_>_" | "_>=_")
}

fn wrap(ty: Ty<'_>) -> Ty<'_> {
    match ty {
        Ty::Optional(_) => ty,
        other => Ty::Optional(Arc::new(other)),
    }
}

fn literal_type<'a>(literal: &Literal) -> Ty<'a> {
    match literal {
        Literal::Null => Ty::Null,
        Literal::Bool(_) => Ty::Bool,
        Literal::Int(_) => Ty::Int,
        Literal::Uint(_) => Ty::Uint,
        Literal::Double(_) => Ty::Double,
        Literal::String(_) => Ty::String,
        Literal::Bytes(_) => Ty::Bytes,
    }
}

/// `a.b.c` as one name.
pub(super) fn dotted_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select { operand, field, test: false, optional: false } => {
            Some(format!("{}.{field}", dotted_name(operand)?))
        }
        _ => None,
    }
}

/// Faults as cel-go prints them: with the line and a mark below it.
pub(crate) fn display(source: &str, faults: &[Fault]) -> String {
    let mut sorted: Vec<&Fault> = faults.iter().collect();
    sorted.sort_by_key(|fault| fault.at);
    let printed: Vec<String> = sorted
        .into_iter()
        .map(|fault| {
            let before: String = source.chars().take(fault.at as usize).collect();
            let line = before.matches('\n').count();
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
            let text = source.split('\n').nth(line).unwrap_or_default().replace('\t', " ");
            let wide = |c: char| c.len_utf8() > 1;
            let dots: String = text.chars().take(column).map(|c| if wide(c) { '．' } else { '.' }).collect();
            let mark = if text.chars().nth(column).is_some_and(wide) { '＾' } else { '^' };
            format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}{mark}", line + 1, column + 1, fault.message)
        })
        .collect();
    printed.join("\n")
}
