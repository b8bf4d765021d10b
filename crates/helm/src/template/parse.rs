//! Makes trees of tokens, with the rules and the complaints of Go's text/template.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use super::constant;
use super::functions;
use super::lex::{Kind, Token, tokens};
use super::node::{Branch, Command, Names, Node, Operand, OperandKind, Pipe, Source, TemplateCall, Tree};

/// How deep blocks and parentheses may be nested.
const MAX_NESTING: usize = 200;

/// Why a template cannot be parsed: `name:line`, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) location: String,
    pub(crate) message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "template: {}: {}", self.location, self.message)
    }
}

/// All trees of a text: what it defines, and itself.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<Tree>, ParseError> {
    let source = Rc::new(Source { name: name.to_owned(), text: text.to_owned() });
    let (tokens, complaint) = tokens(text);
    let mut parser = Parser {
        tokens,
        complaint,
        next: 0,
        furthest: 0,
        source: source.clone(),
        variables: vec!["$".into()],
        ranges: 0,
        nesting: 0,
        action: None,
        trees: Vec::new(),
    };
    match parser.file() {
        Ok(root) => {
            let tree = Tree { name: name.into(), source, root, included: Cell::default() };
            parser.add(tree).map_err(|message| parser.error(message))?;
            Ok(parser.trees)
        }
        Err(message) => Err(parser.error(message)),
    }
}

/// Whether a tree prints nothing: such a one does not replace another.
pub(crate) fn is_empty(tree: &Tree) -> bool {
    tree.root.iter().all(|node| matches!(node, Node::Text(range) if tree.source.part(range).trim().is_empty()))
}

type Parsed<T> = Result<T, String>;

/// What ends a list of statements.
#[derive(PartialEq)]
enum Ending {
    End,
    Else,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::End { "{{end}}" } else { "{{else}}" })
    }
}

enum Statement {
    Node(Node),
    Ending(Ending),
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    /// What the error among the tokens says.
    complaint: String,
    next: usize,
    /// The last token that was looked at: errors name its line.
    furthest: usize,
    source: Rc<Source>,
    variables: Vec<Rc<str>>,
    ranges: usize,
    nesting: usize,
    /// Where the action that is looked at begins.
    action: Option<usize>,
    trees: Vec<Tree>,
}

impl<'a> Parser<'a> {
    fn error(&self, message: String) -> ParseError {
        let furthest = self.tokens.get(self.furthest).or(self.tokens.last()).map_or(0, |token| token.position);
        ParseError { location: format!("{}:{}", self.source.name, self.source.line(furthest)), message }
    }

    fn token(&mut self, index: usize) -> Token<'a> {
        self.furthest = self.furthest.max(index.min(self.tokens.len().saturating_sub(1)));
        let last = || Token { kind: Kind::Eof, text: "", position: self.source.text.len() };
        self.tokens.get(index).or(self.tokens.last()).copied().unwrap_or_else(last)
    }

    fn peek(&mut self) -> Token<'a> {
        self.token(self.next)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.token(self.next);
        self.next += 1;
        token
    }

    fn peek_non_space(&mut self) -> Token<'a> {
        while self.peek().kind == Kind::Space {
            self.next += 1;
        }
        self.peek()
    }

    fn take_non_space(&mut self) -> Token<'a> {
        self.peek_non_space();
        self.take()
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token<'a>> {
        let token = self.take_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    fn unexpected(&self, token: &Token<'_>, context: &str) -> String {
        if token.kind != Kind::Error {
            return format!("unexpected {token} in {context}");
        }
        let line = match self.action.map(|action| self.source.line(action)) {
            Some(line) if line != self.source.line(token.position) => line,
            _ => return self.complaint.clone(),
        };
        let begun = format!(" started at {}:{line}", self.source.name);
        let action = if self.complaint.ends_with(" action") { "" } else { " in action" };
        format!("{}{action}{begun}", self.complaint)
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("blocks are nested too deep".to_owned());
        }
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    fn add(&mut self, tree: Tree) -> Parsed<()> {
        match self.trees.iter_mut().find(|other| other.name == tree.name) {
            None => self.trees.push(tree),
            Some(other) if is_empty(other) => *other = tree,
            Some(_) if is_empty(&tree) => {}
            Some(_) => {
                let name = super::print::quote(tree.name.as_bytes());
                return Err(format!("template: multiple definition of template {name}"));
            }
        }
        Ok(())
    }

    fn file(&mut self) -> Parsed<Vec<Node>> {
        // A text and an action have as many tokens on average.
        let mut root = Vec::with_capacity(self.tokens.len() / 4);
        while self.peek().kind != Kind::Eof {
            let begun = self.next;
            if self.peek().kind == Kind::LeftDelim {
                self.next += 1;
                if self.take_non_space().kind == Kind::Define {
                    self.define()?;
                    continue;
                }
                self.next = begun;
            }
            match self.statement()? {
                Statement::Node(node) => root.push(node),
                Statement::Ending(ending) => return Err(format!("unexpected {ending}")),
            }
        }
        Ok(root)
    }

    fn define(&mut self) -> Parsed<()> {
        const CONTEXT: &str = "define clause";
        let name = self.take_non_space();
        let name = self.template_name(&name, CONTEXT)?;
        self.expect(Kind::RightDelim, CONTEXT)?;
        let root = self.body(CONTEXT)?;
        self.add(Tree { name, source: self.source.clone(), root, included: Cell::default() })
    }

    /// The statements of a template of its own, up to its end.
    fn body(&mut self, context: &str) -> Parsed<Vec<Node>> {
        let outside = std::mem::replace(&mut self.variables, vec!["$".into()]);
        let ranges = std::mem::take(&mut self.ranges);
        let (root, ending) = self.deeper(Self::statements)?;
        self.variables = outside;
        self.ranges = ranges;
        if ending == Ending::End { Ok(root) } else { Err(format!("unexpected {ending} in {context}")) }
    }

    fn template_name(&mut self, token: &Token<'_>, context: &str) -> Parsed<Rc<str>> {
        match token.kind {
            Kind::String | Kind::RawString => Ok(constant::unquote(token.text)?.into()),
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn statements(&mut self) -> Parsed<(Vec<Node>, Ending)> {
        let mut nodes = Vec::new();
        while self.peek_non_space().kind != Kind::Eof {
            match self.statement()? {
                Statement::Node(node) => nodes.push(node),
                Statement::Ending(ending) => return Ok((nodes, ending)),
            }
        }
        Err("unexpected EOF".to_owned())
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let token = self.take_non_space();
        match token.kind {
            Kind::Text => Ok(Statement::Node(Node::Text(token.position..token.position + token.text.len()))),
            Kind::LeftDelim => {
                self.action = Some(token.position);
                let statement = self.action()?;
                self.action = None;
                Ok(statement)
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Parsed<Statement> {
        let token = self.peek_non_space();
        self.next += 1;
        let node = match token.kind {
            Kind::Block => self.block()?,
            Kind::Break => self.jump("{{break}}", Node::Break)?,
            Kind::Continue => self.jump("{{continue}}", Node::Continue)?,
            Kind::Else => {
                if !matches!(self.peek_non_space().kind, Kind::If | Kind::With) {
                    self.expect(Kind::RightDelim, "else")?;
                }
                return Ok(Statement::Ending(Ending::Else));
            }
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Statement::Ending(Ending::End));
            }
            Kind::If => Node::If(self.control("if")?),
            Kind::Range => Node::Range(self.control("range")?),
            Kind::With => Node::With(self.control("with")?),
            Kind::Template => self.template()?,
            _ => {
                self.next -= 1;
                Node::Action(self.pipeline("command", Kind::RightDelim)?)
            }
        };
        Ok(Statement::Node(node))
    }

    fn jump(&mut self, name: &str, node: Node) -> Parsed<Node> {
        self.expect(Kind::RightDelim, name)?;
        if self.ranges == 0 { Err(format!("{name} outside {{{{range}}}}")) } else { Ok(node) }
    }

    fn block(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.take_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        let root = self.body(CONTEXT)?;
        self.add(Tree { name: name.clone(), source: self.source.clone(), root, included: Cell::default() })?;
        Ok(Node::Template(Box::new(TemplateCall { position: token.position, name, pipe: Some(pipe) })))
    }

    fn template(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.take_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = match self.peek_non_space().kind {
            Kind::RightDelim => {
                self.next += 1;
                None
            }
            _ => Some(self.pipeline(CONTEXT, Kind::RightDelim)?),
        };
        Ok(Node::Template(Box::new(TemplateCall { position: token.position, name, pipe })))
    }

    fn control(&mut self, context: &'static str) -> Parsed<Box<Branch>> {
        let variables = self.variables.len();
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        let is_range = usize::from(context == "range");
        self.ranges += is_range;
        let (then, ending) = self.deeper(Self::statements)?;
        self.ranges -= is_range;
        let otherwise = match ending {
            Ending::End => None,
            Ending::Else => Some(self.otherwise(context)?),
        };
        self.variables.truncate(variables);
        Ok(Box::new(Branch { pipe, then, otherwise }))
    }

    fn otherwise(&mut self, context: &'static str) -> Parsed<Vec<Node>> {
        let kind = self.peek().kind;
        if context == "if" && kind == Kind::If {
            self.next += 1;
            return Ok(vec![Node::If(self.deeper(|parser| parser.control("if"))?)]);
        }
        if context == "with" && kind == Kind::With {
            self.next += 1;
            return Ok(vec![Node::With(self.deeper(|parser| parser.control("with"))?)]);
        }
        match self.deeper(Self::statements)? {
            (nodes, Ending::End) => Ok(nodes),
            (_, ending) => Err(format!("expected end; found {ending}")),
        }
    }

    fn pipeline(&mut self, context: &'static str, end: Kind) -> Parsed<Pipe> {
        let position = self.peek_non_space().position;
        let mut pipe = Pipe { position, variables: Vec::new(), assigns: false, commands: Vec::with_capacity(1) };
        while self.declaration(&mut pipe, context)? {}
        loop {
            let token = self.take_non_space();
            match token.kind {
                kind if kind == end => break,
                Kind::Bool
                | Kind::CharConstant
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.next -= 1;
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
        if pipe.commands.is_empty() {
            return Err(format!("missing value for {context}"));
        }
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            use OperandKind::{Bool, Dot, Nil, Number, Text};
            let first = command.args.first().map(|operand| &operand.kind);
            if matches!(first, Some(Bool(_) | Dot | Nil | Number(_) | Text { .. })) {
                return Err(format!("non executable command in pipeline stage {}", index + 1));
            }
        }
        Ok(pipe)
    }

    /// Reads a variable that is declared or assigned; true when another must follow.
    fn declaration(&mut self, pipe: &mut Pipe, context: &str) -> Parsed<bool> {
        let variable = self.peek_non_space();
        if variable.kind != Kind::Variable {
            return Ok(false);
        }
        let begun = self.next;
        self.next += 1;
        let next = self.peek_non_space();
        match next.kind {
            Kind::Assign | Kind::Declare => pipe.assigns = next.kind == Kind::Assign,
            Kind::Char if next.text == "," => {}
            _ => {
                self.next = begun;
                return Ok(false);
            }
        }
        self.next += 1;
        let name: Rc<str> = variable.text.into();
        pipe.variables.push(name.clone());
        self.variables.push(name);
        if next.kind != Kind::Char {
            return Ok(false);
        }
        if context == "range" && pipe.variables.len() < 2 {
            return match self.peek_non_space().kind {
                Kind::Variable | Kind::RightDelim | Kind::RightParen => Ok(true),
                _ => Err("range can only initialize variables".to_owned()),
            };
        }
        Err(format!("too many declarations in {context}"))
    }

    fn command(&mut self) -> Parsed<Command> {
        let mut command = Command { position: self.peek_non_space().position, args: Vec::with_capacity(2) };
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                command.args.push(operand);
            }
            let token = self.take();
            match token.kind {
                Kind::Space => {}
                Kind::RightDelim | Kind::RightParen => {
                    self.next -= 1;
                    break;
                }
                Kind::Pipe => break,
                _ => return Err(self.unexpected(&token, "operand")),
            }
        }
        if command.args.is_empty() { Err("empty command".to_owned()) } else { Ok(command) }
    }

    fn operand(&mut self) -> Parsed<Option<Operand>> {
        let begun = self.peek_non_space();
        if begun.kind == Kind::Field {
            let names = self.names(begun.position);
            // Go takes what follows the first name for where it stands.
            let position = names.second().map_or(begun.position, |second| begun.position + second);
            return Ok(Some(Operand { position, kind: OperandKind::Field(names) }));
        }
        let Some(mut operand) = self.term()? else { return Ok(None) };
        let position = self.peek().position;
        let names = self.names(position);
        if names.is_empty() {
            return Ok(Some(operand));
        }
        match &mut operand.kind {
            OperandKind::Variable(_, fields) => {
                *fields = names;
                operand.position = position;
            }
            OperandKind::Function(_) | OperandKind::Pipe(_) | OperandKind::Chain(..) => {
                operand = Operand { position, kind: OperandKind::Chain(Box::new(operand), names) };
            }
            _ => {
                let shown = super::print::quote(operand.to_string().as_bytes());
                return Err(format!("unexpected . after term {shown}"));
            }
        }
        Ok(Some(operand))
    }

    /// The fields that stand at a position.
    fn names(&mut self, position: usize) -> Names {
        let mut end = position;
        while self.peek().kind == Kind::Field {
            end += self.take().text.len();
        }
        Names { source: self.source.clone(), range: position..end }
    }

    fn no_names(&self, position: usize) -> Names {
        Names { source: self.source.clone(), range: position..position }
    }

    fn term(&mut self) -> Parsed<Option<Operand>> {
        let token = self.take_non_space();
        let kind = match token.kind {
            Kind::Identifier => {
                let undefined = || format!("function {} not defined", super::print::quote(token.text.as_bytes()));
                OperandKind::Function(functions::find(token.text).ok_or_else(undefined)?)
            }
            Kind::Dot => OperandKind::Dot,
            Kind::Nil => OperandKind::Nil,
            Kind::Variable => {
                let known = self.variables.iter().find(|name| ***name == *token.text);
                let Some(known) = known else {
                    return Err(format!("undefined variable {}", super::print::quote(token.text.as_bytes())));
                };
                OperandKind::Variable(known.clone(), self.no_names(token.position))
            }
            Kind::Bool => OperandKind::Bool(token.text == "true"),
            Kind::CharConstant | Kind::Number => OperandKind::Number(Box::new(constant::number(token.text)?)),
            Kind::LeftParen => {
                let pipe = self.deeper(|parser| parser.pipeline("parenthesized pipeline", Kind::RightParen))?;
                OperandKind::Pipe(Box::new(pipe))
            }
            Kind::String | Kind::RawString => {
                let text = constant::unquote(token.text)?;
                let is_simple = token.kind == Kind::String && matches!(text, Cow::Borrowed(_));
                let written = (!is_simple).then(|| token.text.into());
                OperandKind::Text { text: text.into(), written }
            }
            _ => {
                self.next -= 1;
                return Ok(None);
            }
        };
        let position = match &kind {
            OperandKind::Pipe(pipe) => pipe.position,
            _ => token.position,
        };
        Ok(Some(Operand { position, kind }))
    }
}
