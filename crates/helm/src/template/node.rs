//! The parsed form of a template, and how Go prints its parts in errors.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use super::functions::Function;

/// A parsed template, as `define` or a file makes it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Rc<str>,
    pub(crate) source: Rc<Source>,
    pub(crate) root: Vec<Node>,
    /// How many executions of it by `include` are under way.
    pub(crate) included: Cell<usize>,
}

/// Where a tree comes from, for errors.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    /// A part of the text.
    pub(crate) fn part(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The line of a position.
    pub(crate) fn line(&self, position: usize) -> usize {
        1 + self.text.get(..position).unwrap_or(&self.text).matches('\n').count()
    }

    /// `name:line:column` of a position, the column counted in bytes from zero.
    pub(crate) fn location(&self, position: usize) -> String {
        let before = self.text.get(..position).unwrap_or(&self.text);
        let column = before.rfind('\n').map_or(before.len(), |newline| before.len() - newline - 1);
        format!("{}:{}:{column}", self.name, self.line(position))
    }
}

/// A statement.
#[derive(Debug)]
pub(crate) enum Node {
    /// A part of the source.
    Text(Range<usize>),
    Action(Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<TemplateCall>),
    Break,
    Continue,
}

/// A condition with what follows from it.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) then: Vec<Node>,
    pub(crate) otherwise: Option<Vec<Node>>,
}

/// `{{template "name" pipeline}}`
#[derive(Debug)]
pub(crate) struct TemplateCall {
    pub(crate) position: usize,
    pub(crate) name: Rc<str>,
    pub(crate) pipe: Option<Pipe>,
}

/// `$a, $b := command | command`
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) position: usize,
    pub(crate) variables: Vec<Rc<str>>,
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command>,
}

/// Operands one after the other.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) position: usize,
    pub(crate) args: Vec<Operand>,
}

/// An operand and where it stands.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) position: usize,
    pub(crate) kind: OperandKind,
}

/// What an operand can be.
#[derive(Debug)]
pub(crate) enum OperandKind {
    Function(&'static Function),
    Field(Names),
    Variable(Rc<str>, Names),
    Chain(Box<Operand>, Names),
    Pipe(Box<Pipe>),
    Dot,
    Nil,
    Bool(bool),
    Number(Box<Number>),
    /// What it says, and how it is written if that is not simply in double quotes.
    Text {
        text: Rc<str>,
        written: Option<Box<str>>,
    },
}

/// Names of fields one after the other, as they are written in the source: `.a.b`, or nothing.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) source: Rc<Source>,
    pub(crate) range: Range<usize>,
}

impl Names {
    fn text(&self) -> &str {
        self.source.part(&self.range)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Where the second name begins.
    pub(crate) fn second(&self) -> Option<usize> {
        let mut dots = self.text().bytes().enumerate().filter(|(_, byte)| *byte == b'.');
        dots.nth(1).map(|(at, _)| at)
    }

    /// The last name, and those before it.
    pub(crate) fn split_last(&self) -> Option<(&str, impl Iterator<Item = &str>)> {
        let text = self.text();
        let at = text.bytes().rposition(|byte| byte == b'.')?;
        let mut rest = text.get(1..at);
        // Names are short: to look at their bytes is quicker than to search.
        let before = std::iter::from_fn(move || {
            let names = rest?;
            let end = names.bytes().position(|byte| byte == b'.');
            rest = end.and_then(|end| names.get(end + 1..));
            end.map_or(Some(names), |end| names.get(..end))
        });
        Some((text.get(at + 1..)?, before))
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A number constant, in all the forms it can take.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) text: String,
    pub(crate) int: Option<i64>,
    pub(crate) float: Option<f64>,
    pub(crate) is_rune: bool,
}

impl Number {
    /// Whether it is a float where any number will do.
    pub(crate) fn looks_like_float(&self) -> bool {
        let is_hex = self.text.trim_start_matches(['+', '-']).to_ascii_lowercase().starts_with("0x");
        !self.is_rune && self.text.contains(if is_hex { &['p', 'P'][..] } else { &['.', 'e', 'E', 'p', 'P'][..] })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OperandKind::Function(function) => f.write_str(function.name),
            OperandKind::Field(names) => write!(f, "{names}"),
            OperandKind::Variable(name, names) => write!(f, "{name}{names}"),
            OperandKind::Chain(operand, names) => match operand.kind {
                OperandKind::Pipe(_) => write!(f, "({operand}){names}"),
                _ => write!(f, "{operand}{names}"),
            },
            OperandKind::Pipe(pipe) => write!(f, "{pipe}"),
            OperandKind::Dot => f.write_str("."),
            OperandKind::Nil => f.write_str("nil"),
            OperandKind::Bool(value) => write!(f, "{value}"),
            OperandKind::Number(number) => f.write_str(&number.text),
            OperandKind::Text { written: Some(written), .. } => f.write_str(written),
            OperandKind::Text { text, written: None } => write!(f, "\"{text}\""),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, arg) in self.args.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            match arg.kind {
                OperandKind::Pipe(_) => write!(f, "({arg})")?,
                _ => write!(f, "{arg}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.variables.is_empty() {
            f.write_str(&self.variables.join(", "))?;
            f.write_str(if self.assigns { " = " } else { " := " })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            write!(f, "{command}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TemplateCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{template {}", super::print::quote(self.name.as_bytes()))?;
        if let Some(pipe) = &self.pipe {
            write!(f, " {pipe}")?;
        }
        f.write_str("}}")
    }
}
