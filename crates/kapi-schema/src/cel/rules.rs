//! The rules of a schema, compiled once and kept with the kind.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::ast::{Expr, Kind};
use super::checker::{check, display};
use super::cost;
use super::eval::Evaluator;
use super::fieldpath;
use super::library::Patterns;
use super::parser::parse;
use super::types::{Ty, declared};
use super::walk;
use crate::field::{FieldError, Path};
use crate::schema::{Additional, Rule, SchemaRef};

/// An expression ready to run.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) expr: Expr,
    pub(super) patterns: Patterns,
}

/// A rule ready to run.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    pub(super) program: Result<Program, String>,
    pub(super) message: Option<Program>,
    pub(super) uses_old_self: bool,
    pub(super) field_path: Option<String>,
}

/// The rules of a schema.
#[derive(Debug, Default)]
pub struct CelRules {
    pub(super) by_node: HashMap<u32, Vec<CompiledRule>>,
    /// Nodes at or below which there are rules.
    pub(super) on_the_way: HashSet<u32>,
    pub(super) is_resource: bool,
}

/// What running the rules found.
#[derive(Debug, Default)]
pub struct CelOutcome {
    /// Rules that do not hold.
    pub errors: Vec<FieldError>,
    /// Rules that did not hold before either, on values the update leaves alone: told as warnings.
    pub warnings: Vec<FieldError>,
}

impl CelRules {
    /// Compiles all rules of a kind's schema.
    pub fn compile(schema: SchemaRef<'_>) -> Self {
        Self::compile_at(schema, true)
    }

    /// The same for a part of a schema, which may not be that of a resource.
    pub(crate) fn compile_at(schema: SchemaRef<'_>, is_resource: bool) -> Self {
        let mut rules = Self { is_resource, ..Self::default() };
        rules.add(schema, is_resource);
        rules
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// Runs the rules over an object. Transition rules run only with an old one.
    pub fn validate(&self, new: &Value, old: Option<&Value>, schema: SchemaRef<'_>, root: &Path) -> CelOutcome {
        walk::run(self, new, old, schema, root, true)
    }

    /// The same with nothing tolerated for being unchanged.
    pub(crate) fn validate_strictly(
        &self,
        new: &Value,
        old: Option<&Value>,
        schema: SchemaRef<'_>,
        root: &Path,
    ) -> Vec<FieldError> {
        walk::run(self, new, old, schema, root, false).errors
    }

    fn add(&mut self, schema: SchemaRef<'_>, is_resource: bool) -> bool {
        let node = schema.node();
        let mut any = !node.rules.is_empty();
        if any && let Some(ty) = declared(schema, is_resource) {
            let compiled = node.rules.iter().map(|rule| compile(rule, &ty, schema, is_resource)).collect();
            self.by_node.insert(schema.id(), compiled);
        }
        let mut below = |rules: &mut Self, id: u32| {
            let child = schema.at(id);
            any |= rules.add(child, child.node().embedded_resource);
        };
        node.items.iter().for_each(|&id| below(self, id));
        node.properties.values().for_each(|&id| below(self, id));
        if let Additional::Of(id) = node.additional {
            below(self, id);
        }
        if any {
            self.on_the_way.insert(schema.id());
        }
        any
    }
}

fn compile<'a>(rule: &Rule, ty: &Ty<'a>, schema: SchemaRef<'a>, is_resource: bool) -> CompiledRule {
    let checked = check_rule(rule, ty, schema, is_resource);
    let program = match checked.error {
        Some(error) => Err(error),
        None => parse(&rule.rule)
            .map(|expr| Program { patterns: Patterns::of(&expr), expr })
            .map_err(|fault| display(&rule.rule, &[fault])),
    };
    let message = match (&rule.message_expression, checked.message_error) {
        (Some(source), None) if !source.trim().is_empty() => {
            parse(source).ok().map(|expr| Program { patterns: Patterns::of(&expr), expr })
        }
        _ => None,
    };
    let field_path = rule
        .field_path
        .as_deref()
        .and_then(|text| fieldpath::resolve(text, schema, true).ok())
        .map(|(path, _)| path.as_str().to_owned());
    CompiledRule { rule: rule.clone(), program, message, uses_old_self: checked.uses_old_self, field_path }
}

/// What checking the rules of a node found.
pub(crate) struct Checked {
    pub(crate) rules: Vec<RuleFault>,
    /// How often the node can be in an object at most, when nothing around it says.
    pub(crate) most_often: u64,
}

/// What checking a rule found.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RuleFault {
    /// Why the rule does not compile.
    pub(crate) error: Option<String>,
    /// Why its `messageExpression` does not.
    pub(crate) message_error: Option<String>,
    /// Whether it is a transition rule.
    pub(crate) uses_old_self: bool,
    /// The most that running it once costs.
    pub(crate) cost: u64,
    /// The same of its `messageExpression`, if it has one that compiles.
    pub(crate) message_cost: Option<u64>,
}

/// Checks the rules of one node; none if rules cannot see values of this node at all.
pub(crate) fn check_rules(schema: SchemaRef<'_>, is_resource: bool) -> Option<Checked> {
    let ty = declared(schema, is_resource)?;
    let rules = schema.node().rules.iter().map(|rule| check_rule(rule, &ty, schema, is_resource)).collect();
    Some(Checked { rules, most_often: cost::most_often(schema, is_resource) })
}

fn check_rule<'a>(rule: &Rule, ty: &Ty<'a>, schema: SchemaRef<'a>, is_resource: bool) -> RuleFault {
    let mut found = RuleFault::default();
    if rule.rule.trim().is_empty() {
        return found;
    }
    let old_self = match rule.optional_old_self {
        Some(true) => Ty::Optional(std::sync::Arc::new(ty.clone())),
        _ => ty.clone(),
    };
    let variables = [("self", ty.clone()), ("oldSelf", old_self)];
    let type_of = |source: &str| match parse(source) {
        Ok(expr) => match check(&expr, &variables) {
            Ok(types) => {
                let (ty, cost) = (types.of(&expr), cost::estimate(&expr, &types, schema, is_resource));
                Ok((expr, ty, cost))
            }
            Err(faults) => Err(display(source, &faults)),
        },
        Err(fault) => Err(display(source, &[fault])),
    };
    match type_of(&rule.rule) {
        Err(error) => {
            found.error = Some(format!("compilation failed: {error}"));
            return found;
        }
        Ok((expr, ty, cost)) => {
            if ty != Ty::Bool {
                found.error = Some("cel expression must evaluate to a bool".into());
                return found;
            }
            if let Some(error) = impossible_constant(&expr) {
                found.error = Some(format!("program instantiation failed: {error}"));
                return found;
            }
            found.uses_old_self = expr.uses("oldSelf");
            found.cost = cost;
        }
    }
    if let Some(source) = rule.message_expression.as_deref().filter(|source| !source.is_empty()) {
        match type_of(source) {
            Err(error) => found.message_error = Some(format!("messageExpression compilation failed: {error}")),
            Ok((_, Ty::String, cost)) => found.message_cost = Some(cost),
            Ok(_) => found.message_error = Some("messageExpression must evaluate to a string".into()),
        }
    }
    found
}

/// Conversions of constants are done when compiling; what is wrong with them is told then.
fn impossible_constant(expr: &Expr) -> Option<String> {
    let patterns = Patterns::default();
    let mut found = None;
    expr.walk(&mut |expr| {
        let Kind::Call { target: None, function, args } = &expr.kind else { return };
        let constant = matches!(args.as_slice(), [Expr { kind: Kind::Literal(_), .. }]);
        let conversion = matches!(
            function.as_str(),
            "int" | "uint" | "double" | "bool" | "string" | "bytes" | "duration" | "timestamp"
        );
        if found.is_none() && constant && conversion {
            found = Evaluator::new(Vec::new(), &patterns).eval(expr).err().map(|error| error.to_string());
        }
    });
    found
}
