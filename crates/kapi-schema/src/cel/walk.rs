//! Running compiled rules over an object.

use serde_json::Value;

use super::eval::Evaluator;
use super::rules::{CelOutcome, CelRules, CompiledRule, Program};
use super::value::{Error, Val};
use crate::field::{ErrorKind, FieldError, Path};
use crate::schema::{Rule, SchemaRef, Type};
use crate::trail::Trail;
use crate::validate::{Correlated, ItemsBefore};

/// The most work all rules of one object may take together.
const BUDGET: u64 = 10_000_000;
/// The longest message a rule may make.
const MAX_MESSAGE: usize = 5 * 1024;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

pub(super) fn run(
    rules: &CelRules,
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
    root: &Path,
    ratchet: bool,
) -> CelOutcome {
    let mut run = Run { rules, root, budget: BUDGET, outcome: CelOutcome::default() };
    let before =
        Before { old, pair: old.filter(|_| ratchet).map(|old| Correlated::new(old, new, schema)), above: None };
    // What stopped the run has been told by whoever stopped it.
    let _ = run.value(new, schema, rules.is_resource, &Trail::default(), before);
    run.outcome
}

/// No further rules are run.
struct Stopped;

struct Run<'r> {
    rules: &'r CelRules,
    root: &'r Path,
    budget: u64,
    outcome: CelOutcome,
}

/// What was there before the update.
#[derive(Clone, Copy)]
struct Before<'a> {
    /// The old value, for transition rules.
    old: Option<&'a Value>,
    /// Old and new, for ratcheting.
    pair: Option<Correlated<'a>>,
    /// The nearest place above where old and new are known.
    above: Option<Correlated<'a>>,
}

impl<'a> Before<'a> {
    fn is_unchanged(&self) -> bool {
        self.pair.or(self.above).is_some_and(|pair| pair.is_unchanged())
    }

    fn below(self, old: Option<&'a Value>, pair: Option<Correlated<'a>>) -> Self {
        match self.pair {
            Some(above) => Self { old, pair, above: Some(above) },
            None => Self { old, ..self },
        }
    }

    fn key(self, key: &str) -> Self {
        let old = self.old.and_then(|old| old.get(key));
        if self.above.is_none() && matches!(key, "apiVersion" | "kind") {
            // Old and new were converted to the same version: a change of it cannot be seen.
            return Self { old, pair: None, above: None };
        }
        self.below(old, self.pair.and_then(|pair| pair.key(key)))
    }
}

impl<'r> Run<'r> {
    fn value<'a>(
        &mut self,
        value: &'a Value,
        schema: SchemaRef<'a>,
        is_resource: bool,
        trail: &Trail<'_>,
        before: Before<'a>,
    ) -> Result<(), Stopped>
    where
        'r: 'a,
    {
        if value.is_null() || !self.rules.on_the_way.contains(&schema.id()) {
            return Ok(());
        }
        let rules: &'r CelRules = self.rules;
        if let Some(own) = rules.by_node.get(&schema.id()) {
            self.rules_of(own, value, schema, is_resource, trail, before)?;
        }
        match value {
            Value::Array(items) => {
                let Some(item_schema) = schema.items() else { return Ok(()) };
                let olds = ItemsBefore::new(before.old, schema);
                for (i, item) in items.iter().enumerate() {
                    let before = before.below(olds.get(item), before.pair.and(olds.correlate(item)));
                    self.value(item, item_schema, item_schema.node().embedded_resource, &trail.item(i), before)?;
                }
            }
            Value::Object(map) => {
                for (key, child) in map {
                    if let Some(property) = schema.property(key) {
                        let resource = property.node().embedded_resource;
                        self.value(child, property, resource, &trail.field(key), before.key(key))?;
                    } else if let Some(entry) = schema.additional() {
                        let resource = entry.node().embedded_resource;
                        self.value(child, entry, resource, &trail.entry(key), before.key(key))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules_of<'a>(
        &mut self,
        rules: &'a [CompiledRule],
        value: &'a Value,
        schema: SchemaRef<'a>,
        is_resource: bool,
        trail: &Trail<'_>,
        before: Before<'a>,
    ) -> Result<(), Stopped> {
        let at = || trail.path(self.root);
        let ty = schema.node().ty.map_or("", Type::name);
        if self.budget == 0 {
            self.outcome.errors.push(invalid(&at(), ty, OUT_OF_BUDGET));
            return Err(Stopped);
        }
        for compiled in rules {
            let rule = &compiled.rule;
            let program = match &compiled.program {
                Ok(program) => program,
                Err(error) => {
                    self.outcome.errors.push(invalid(
                        &trail.path(self.root),
                        ty,
                        format!("rule compile error: {error}"),
                    ));
                    continue;
                }
            };
            let optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && before.old.is_none() && !optional {
                continue;
            }
            let scope = |optional: bool| -> Result<Vec<(&'a str, Val<'a>)>, Error> {
                let mut scope = vec![("self", Val::of(value, schema, is_resource)?)];
                let old = before.old.filter(|_| compiled.uses_old_self).map(|old| Val::of(old, schema, is_resource));
                match (old.transpose()?, optional) {
                    (Some(old), true) => scope.push(("oldSelf", Val::some(old))),
                    (None, true) => scope.push(("oldSelf", Val::Optional(None))),
                    (Some(old), false) => scope.push(("oldSelf", old)),
                    (None, false) => {}
                }
                Ok(scope)
            };
            let (result, cost) = evaluate(program, scope(optional));
            self.spend(cost, &trail.path(self.root), ty)?;
            let path = || trail.path(self.root);
            let told = told(rule);
            match result {
                Ok(Val::Bool(true)) => {}
                Ok(_) => self.failed(compiled, scope(false), &path(), ty, before)?,
                Err(Error::NoSuchOverload) => {
                    let detail = format!(
                        "'no such overload': call arguments did not match a supported operator, function or macro \
                         signature for rule: {told}"
                    );
                    self.outcome.errors.push(invalid(&path(), ty, detail));
                }
                Err(error @ Error::CostLimit) => {
                    let detail = format!(
                        "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: \
                         {told}"
                    );
                    self.outcome.errors.push(invalid(&path(), ty, detail));
                    return Err(Stopped);
                }
                Err(error) => {
                    let detail = format!("{error} evaluating rule: {told}");
                    self.outcome.errors.push(invalid(&path(), ty, detail));
                }
            }
        }
        Ok(())
    }

    fn spend(&mut self, cost: u64, path: &Path, ty: &str) -> Result<(), Stopped> {
        match self.budget.checked_sub(cost) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => {
                self.outcome.errors.push(invalid(path, ty, OUT_OF_BUDGET));
                Err(Stopped)
            }
        }
    }

    /// A rule that does not hold is told in its own words.
    fn failed<'a>(
        &mut self,
        compiled: &'a CompiledRule,
        scope: Result<Vec<(&'a str, Val<'a>)>, Error>,
        path: &Path,
        ty: &str,
        before: Before<'a>,
    ) -> Result<(), Stopped> {
        let path = match &compiled.field_path {
            Some(below) => path.child(below),
            None => path.clone(),
        };
        let ratcheted = !compiled.uses_old_self && before.is_unchanged();
        let plain = match &compiled.rule.message {
            Some(message) if !message.is_empty() => message.trim().to_owned(),
            _ => format!("failed rule: {}", told(&compiled.rule)),
        };
        let mut stop = None;
        let message = match &compiled.message {
            None => plain,
            Some(program) => {
                let (result, cost) = evaluate(program, scope);
                match self.budget.checked_sub(cost) {
                    Some(rest) => self.budget = rest,
                    None => stop = Some("messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run".to_owned()),
                }
                match result {
                    Err(Error::CostLimit) => {
                        let source = compiled.rule.message_expression.as_deref().unwrap_or_default();
                        stop = Some(format!(
                            "no further validation rules will be run due to call cost exceeds limit for \
                             messageExpression: {}",
                            crate::field::go_quote(source)
                        ));
                        plain
                    }
                    Ok(Val::String(text)) => usable(&text).unwrap_or(plain),
                    _ => plain,
                }
            }
        };
        let error = match &stop {
            Some(detail) => invalid(&path, ty, detail.as_str()),
            None => by_reason(&compiled.rule, &path, ty, message),
        };
        if ratcheted {
            self.outcome.warnings.push(error);
        } else {
            self.outcome.errors.push(error);
        }
        if stop.is_some() { Err(Stopped) } else { Ok(()) }
    }
}

/// A message made by a rule, if it is one that can be told.
fn usable(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n')).then(|| text.to_owned())
}

fn evaluate<'a>(program: &'a Program, scope: Result<Vec<(&'a str, Val<'a>)>, Error>) -> (Result<Val<'a>, Error>, u64) {
    match scope {
        Ok(scope) => {
            let mut evaluator = Evaluator::new(scope, &program.patterns);
            let result = evaluator.eval(&program.expr);
            (result, evaluator.cost)
        }
        Err(error) => (Err(error), 0),
    }
}

/// What stands for the rule in messages: its message, or the rule itself.
fn told(rule: &Rule) -> &str {
    match &rule.message {
        Some(message) if !message.is_empty() => message.trim(),
        _ => rule.rule.trim(),
    }
}

fn invalid(path: &Path, ty: &str, detail: impl Into<String>) -> FieldError {
    FieldError::invalid(path, &Value::from(ty), detail)
}

fn by_reason(rule: &Rule, path: &Path, ty: &str, detail: String) -> FieldError {
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(path, detail),
        Some("FieldValueRequired") => FieldError::required(path, detail),
        Some("FieldValueDuplicate") => {
            FieldError { kind: ErrorKind::Duplicate, ..FieldError::duplicate(path, &Value::from(ty)) }
        }
        _ => invalid(path, ty, detail),
    }
}
