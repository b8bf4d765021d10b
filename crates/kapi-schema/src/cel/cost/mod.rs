//! What a rule may cost at most, estimated from its text and its schema. Rules that could be too expensive are refused
//! when they are declared, by the same numbers as cel-go's and Kubernetes' estimators come to.

mod calls;
mod place;
mod range;

use super::ast::{Expr, Kind, Literal, Macro, MacroKind};
use super::checker::Types;
use super::types::Ty;
use crate::schema::SchemaRef;
use place::{Down, Origin, Place};
use range::{Entry, Size, all_sizes};

const LIST: u64 = 10;
const MAP: u64 = 30;

/// The most that evaluating a checked expression on a value of this schema costs.
pub(crate) fn estimate<'a>(expr: &Expr, types: &Types<'a>, schema: SchemaRef<'a>, is_resource: bool) -> u64 {
    let root = Place::Schema { schema, is_resource };
    Estimator { types, root, scope: Vec::new() }.expr(expr).cost
}

/// How often a value of this schema can be in an object at most, when no list or map around it says how long it is.
pub(crate) fn most_often(schema: SchemaRef<'_>, is_resource: bool) -> u64 {
    Place::Schema { schema, is_resource }.most_often()
}

struct Estimator<'t, 'a> {
    types: &'t Types<'a>,
    root: Place<'a>,
    scope: Vec<(String, Local<'a>)>,
}

/// A variable that a macro binds.
#[derive(Clone, Copy)]
struct Local<'a> {
    origin: Origin<'a>,
    size: Option<Size>,
}

/// What is known of an expression.
#[derive(Clone)]
struct Estimate<'a> {
    cost: u64,
    origin: Origin<'a>,
    size: Option<Size>,
    entry: Option<Entry>,
    ty: Ty<'a>,
}

impl Estimate<'_> {
    fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }

    /// How large its elements are, if it is made of them.
    fn elements(&self) -> Option<Size> {
        self.entry.map(|entry| entry.value)
    }
}

impl<'a> Estimator<'_, 'a> {
    fn expr(&mut self, expr: &Expr) -> Estimate<'a> {
        let ty = self.types.of(expr);
        match &expr.kind {
            Kind::Literal(literal) => self.sized(ty, 0, Some(literal_size(literal))),
            Kind::Ident(name) => self.ident(name, ty),
            Kind::Select { operand, field, test, optional } => self.select(operand, field, *test, *optional, ty),
            Kind::Index { operand, index, optional } => self.index(operand, index, *optional, ty),
            Kind::Call { target, function, args } => self.call(target.as_deref(), function, args, ty),
            Kind::Logic { terms, .. } => {
                let cost = terms.iter().map(|term| self.expr(term).cost).fold(0, u64::saturating_add);
                self.sized(ty, cost, None)
            }
            Kind::Conditional(parts) => self.conditional(parts, ty),
            Kind::List(items) => {
                let items: Vec<_> = items.iter().map(|(item, _)| self.expr(item)).collect();
                let entry = Entry::of_list(all_sizes(items.iter().map(Estimate::size)));
                self.literal(ty, LIST, items.len(), items.iter(), entry)
            }
            Kind::Map(entries) => {
                let keys: Vec<_> = entries.iter().map(|(key, _, _)| self.expr(key)).collect();
                let values: Vec<_> = entries.iter().map(|(_, value, _)| self.expr(value)).collect();
                let sizes = |of: &[Estimate<'a>]| all_sizes(of.iter().map(Estimate::size));
                let entry = Entry { is_list: false, key: sizes(&keys), value: sizes(&values) };
                self.literal(ty, MAP, keys.len(), keys.iter().chain(&values), entry)
            }
            Kind::Macro(inner) if matches!(inner.kind, MacroKind::OptMap | MacroKind::OptFlatMap) => {
                self.optional(inner, ty)
            }
            Kind::Macro(inner) => self.comprehension(inner, ty),
        }
    }

    /// A value the rule makes; what does not vary in size has one even if nothing else is known.
    fn sized(&self, ty: Ty<'a>, cost: u64, size: Option<Size>) -> Estimate<'a> {
        let size = size.or_else(|| is_fixed(&ty).then_some(Size::ONE));
        Estimate { cost, origin: Origin::Made, size, entry: None, ty }
    }

    fn literal<'e>(
        &self,
        ty: Ty<'a>,
        base: u64,
        count: usize,
        parts: impl Iterator<Item = &'e Estimate<'a>>,
        entry: Entry,
    ) -> Estimate<'a>
    where
        'a: 'e,
    {
        let cost = parts.fold(base, |sum, part| sum.saturating_add(part.cost));
        Estimate { entry: Some(entry), ..self.sized(ty, cost, Some(Size::exactly(count as u64))) }
    }

    fn ident(&self, name: &str, ty: Ty<'a>) -> Estimate<'a> {
        let local = self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, local)| *local);
        let origin = local.map_or(Origin::At(self.root), |local| local.origin);
        let size = origin.size().or_else(|| is_fixed(&ty).then_some(Size::ONE)).or(local.and_then(|local| local.size));
        Estimate { cost: 1, origin, size, entry: None, ty }
    }

    fn select(&mut self, operand: &Expr, field: &str, test: bool, optional: bool, ty: Ty<'a>) -> Estimate<'a> {
        // Half of the name of a type has no type of its own.
        if !self.types.has(operand) {
            return self.ident(field, ty);
        }
        let of = self.expr(operand);
        if test {
            return self.sized(ty, of.cost, None);
        }
        if optional {
            return self.sized(ty, of.cost.saturating_add(1), None);
        }
        let step = u64::from(matches!(of.ty, Ty::Map(..) | Ty::Object(_)));
        let origin = of.origin.down(self.root, Down::Field(field));
        let made = self.sized(ty, of.cost.saturating_add(step), origin.size());
        Estimate { origin, ..made }
    }

    fn index(&mut self, operand: &Expr, index: &Expr, optional: bool, ty: Ty<'a>) -> Estimate<'a> {
        let (of, by) = (self.expr(operand), self.expr(index));
        let cost = of.cost.saturating_add(by.cost).saturating_add(1);
        if optional || matches!(of.ty, Ty::Optional(_)) {
            return self.sized(ty, cost, None);
        }
        let origin = of.origin.down(self.root, Down::Elements);
        Estimate { origin, ..self.sized(ty, cost, of.elements().or(origin.size())) }
    }

    fn call(&mut self, target: Option<&Expr>, function: &str, args: &[Expr], ty: Ty<'a>) -> Estimate<'a> {
        // What names a library has no type of its own.
        let receiver = target.filter(|target| self.types.has(target)).map(|target| self.expr(target));
        let estimates: Vec<_> = args.iter().map(|arg| self.expr(arg)).collect();
        let parts = receiver.iter().chain(&estimates).fold(0, |sum: u64, part| sum.saturating_add(part.cost));
        if let ("dyn", [arg]) = (function, estimates.as_slice()) {
            return Estimate { cost: parts.saturating_add(1), origin: Origin::Made, ty, ..arg.clone() };
        }
        let library = target.filter(|_| receiver.is_none()).and_then(super::checker::dotted_name);
        let name = library.map_or_else(|| function.to_owned(), |library| format!("{library}.{function}"));
        let call =
            calls::Call { name: &name, receiver: receiver.as_ref(), args: &estimates, sources: args, root: self.root };
        let outcome = call.estimate();
        let entry = outcome.entry;
        Estimate { entry, ..self.sized(ty, parts.saturating_add(outcome.cost), outcome.size) }
    }

    fn conditional(&mut self, parts: &[Expr; 3], ty: Ty<'a>) -> Estimate<'a> {
        let [condition, yes, no] = parts.each_ref().map(|part| self.expr(part));
        let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
        let entry = Entry::either(yes.entry, no.entry);
        Estimate { entry, ..self.sized(ty, cost, Some(yes.size().or(no.size()))) }
    }

    /// `a.optMap(x, …)`: `a` is asked whether it has a value, and for the value; the body may run once.
    fn optional(&mut self, inner: &Macro, ty: Ty<'a>) -> Estimate<'a> {
        let of = self.expr(&inner.range);
        let asked = of.cost.saturating_add(1);
        let value_type = match &of.ty {
            Ty::Optional(value) => (**value).clone(),
            other => other.clone(),
        };
        let value = self.sized(value_type, asked, None);
        self.scope.push((inner.first.clone(), Local { origin: Origin::Made, size: value.size }));
        let body = self.expr(&inner.body);
        self.scope.pop();
        let wrapped = u64::from(inner.kind == MacroKind::OptMap);
        let bound = [LIST, asked, body.cost, wrapped].into_iter().fold(asked, u64::saturating_add);
        self.sized(ty, bound, Some(Size::UNKNOWN))
    }

    fn comprehension(&mut self, inner: &Macro, ty: Ty<'a>) -> Estimate<'a> {
        let range = self.expr(&inner.range);
        let before = self.scope.len();
        self.bind(inner, &range);
        let filter = inner.filter.as_ref().map(|filter| self.expr(filter));
        let body = self.expr(&inner.body);
        self.scope.truncate(before);
        let steps = Steps::of(inner.kind);
        let mut each = body.cost.saturating_add(steps.each);
        if let Some(filter) = &filter {
            each = each.saturating_add(filter.cost);
        }
        let turns = range.size();
        let cost = [steps.once, turns.max.saturating_mul(each)].into_iter().fold(range.cost, u64::saturating_add);
        let made_list = matches!(inner.kind, MacroKind::Map | MacroKind::Filter | MacroKind::TransformList);
        let item = if inner.kind == MacroKind::Filter { self.item_size(&range) } else { body.size() };
        let entry = made_list.then(|| Entry::of_list(Size::exactly(0).or(item)));
        let size = if steps.collects { turns } else { Size::ONE };
        Estimate { entry, ..self.sized(ty, cost, Some(size)) }
    }

    /// Brings the variables of a macro into scope.
    fn bind(&mut self, inner: &Macro, range: &Estimate<'a>) {
        let is_list = self.is_list(range);
        let local = |down, size| Local { origin: range.origin.down(self.root, down), size };
        let key = range.entry.map(|entry| entry.key);
        let value = range.elements();
        let keys = local(if is_list { Down::Positions } else { Down::Keys }, key);
        let values = local(Down::Elements, value);
        match &inner.second {
            Some(second) => self.scope.extend([(inner.first.clone(), keys), (second.clone(), values)]),
            None => self.scope.push((inner.first.clone(), if is_list { values } else { keys })),
        }
    }

    fn is_list(&self, range: &Estimate<'a>) -> bool {
        range.entry.map_or(matches!(range.ty, Ty::List(_)), |entry| entry.is_list)
    }

    /// How large what is looped over is, item by item.
    fn item_size(&self, range: &Estimate<'a>) -> Size {
        let down = if self.is_list(range) { Down::Elements } else { Down::Keys };
        let fixed = match &range.ty {
            Ty::List(item) => is_fixed(item),
            Ty::Map(key, _) => is_fixed(key),
            _ => false,
        };
        let known = range.entry.map(|entry| if entry.is_list { entry.value } else { entry.key });
        let size = range.origin.down(self.root, down).size().or(fixed.then_some(Size::ONE)).or(known);
        size.unwrap_or(Size::UNKNOWN)
    }
}

/// What a macro costs beside the range and the body.
struct Steps {
    /// Once: what it starts with, and reading what it comes to.
    once: u64,
    /// For each element: asking whether to go on, and noting the outcome.
    each: u64,
    /// Whether it makes a list or map.
    collects: bool,
}

impl Steps {
    fn of(kind: MacroKind) -> Self {
        let (once, each, collects) = match kind {
            MacroKind::All => (1, 3, false),
            MacroKind::Exists => (1, 4, false),
            MacroKind::ExistsOne => (2, 2, false),
            MacroKind::Map | MacroKind::TransformList => (LIST + 1, LIST + 2, true),
            MacroKind::Filter => (LIST + 1, LIST + 3, true),
            MacroKind::TransformMap => (MAP + 1, 3, true),
            MacroKind::TransformMapEntry | MacroKind::OptMap | MacroKind::OptFlatMap => (MAP + 1, 2, true),
        };
        Self { once, each, collects }
    }
}

fn literal_size(literal: &Literal) -> Size {
    Size::exactly(match literal {
        Literal::String(text) => text.chars().count() as u64,
        Literal::Bytes(bytes) => bytes.len() as u64,
        Literal::Null | Literal::Bool(_) | Literal::Int(_) | Literal::Uint(_) | Literal::Double(_) => 1,
    })
}

/// Whether all values of a type are of one size.
fn is_fixed(ty: &Ty<'_>) -> bool {
    match ty {
        Ty::Bool | Ty::Double | Ty::Duration | Ty::Int | Ty::Timestamp | Ty::Uint => true,
        Ty::Optional(inner) => is_fixed(inner),
        _ => false,
    }
}
