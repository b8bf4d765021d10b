//! From tokens to expressions.

use super::ast::{Expr, Kind, Literal, Macro, MacroKind};
use super::lexer::{Fault, Token, TokenKind, scan};

/// Hostile rules must not exhaust the stack. cel-go, whose stacks grow, stops at 250.
const MAX_NESTING: usize = 100;
const MAX_DEPTH: u16 = 200;
const MAX_CHARACTERS: usize = 100_000;

const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
];
const MORE_RESERVED: [&str; 3] = ["var", "void", "while"];

/// Reads an expression.
pub(crate) fn parse(source: &str) -> Result<Expr, Fault> {
    let size = source.chars().count();
    if size > MAX_CHARACTERS {
        let message = format!("expression code point size exceeds limit: size: {size}, limit {MAX_CHARACTERS}");
        return Err(Fault { at: 0, message });
    }
    let mut parser = Parser { tokens: scan(source)?, at: 0, nesting: 0 };
    let expr = parser.expr()?;
    let rest = parser.peek();
    if rest.kind != TokenKind::End {
        return parser.fault(rest.at, format!("Syntax error: extraneous input '{}' expecting <EOF>", rest.text));
    }
    Ok(expr)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
}

type Parsed<T> = Result<T, Fault>;

impl Parser {
    fn peek(&self) -> Token {
        let end = Token { at: 0, kind: TokenKind::End, text: "<EOF>".into() };
        self.tokens.get(self.at).or(self.tokens.last()).cloned().unwrap_or(end)
    }

    fn is(&self, symbol: &str) -> bool {
        self.tokens.get(self.at).is_some_and(|token| token.kind == TokenKind::Symbol && token.text == symbol)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn take(&mut self, symbol: &str) -> Option<u32> {
        self.is(symbol).then(|| self.next().at)
    }

    fn expect(&mut self, symbol: &str) -> Parsed<u32> {
        match self.take(symbol) {
            Some(at) => Ok(at),
            None => {
                let token = self.peek();
                self.fault(token.at, format!("Syntax error: missing '{symbol}' at '{}'", token.text))
            }
        }
    }

    fn fault<T>(&self, at: u32, message: impl Into<String>) -> Parsed<T> {
        Err(Fault { at, message: message.into() })
    }

    fn node(&self, at: u32, kind: Kind) -> Parsed<Expr> {
        let mut below = 0;
        let mut deeper = |expr: &Expr| below = below.max(expr.depth);
        match &kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => deeper(operand),
            Kind::Index { operand, index, .. } => {
                deeper(operand);
                deeper(index);
            }
            Kind::Call { target, args, .. } => {
                target.iter().for_each(|target| deeper(target));
                args.iter().for_each(&mut deeper);
            }
            Kind::Logic { terms, .. } => terms.iter().for_each(deeper),
            Kind::Conditional(parts) => parts.iter().for_each(deeper),
            Kind::List(items) => items.iter().for_each(|(item, _)| deeper(item)),
            Kind::Map(entries) => entries.iter().for_each(|(key, value, _)| {
                deeper(key);
                deeper(value);
            }),
            Kind::Macro(inner) => {
                deeper(&inner.range);
                deeper(&inner.body);
                inner.filter.iter().for_each(deeper);
            }
        }
        if below >= MAX_DEPTH {
            return self.fault(at, "expression recursion limit exceeded: 250");
        }
        Ok(Expr { at, depth: below + 1, kind })
    }

    fn call(&self, at: u32, function: &str, target: Option<Expr>, args: Vec<Expr>) -> Parsed<Expr> {
        self.node(at, Kind::Call { target: target.map(Box::new), function: function.to_owned(), args })
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.fault(self.peek().at, "expression recursion limit exceeded: 250");
        }
        let condition = self.binary(0)?;
        let expr = match self.take("?") {
            None => condition,
            Some(at) => {
                let yes = self.binary(0)?;
                self.expect(":")?;
                let no = self.expr()?;
                self.node(at, Kind::Conditional(Box::new([condition, yes, no])))?
            }
        };
        self.nesting -= 1;
        Ok(expr)
    }

    /// Operators of at least this rank. One function for all ranks keeps the stack short.
    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some((rank, operator)) = self.operator().filter(|(rank, _)| *rank >= least) {
            let at = self.next().at;
            let right = self.binary(rank + 1)?;
            left = match (operator, left.kind) {
                ("&&", Kind::Logic { and: true, terms }) => self.longer(left.at, true, terms, right)?,
                ("||", Kind::Logic { and: false, terms }) => self.longer(left.at, false, terms, right)?,
                ("&&" | "||", kind) => {
                    let terms = vec![Expr { kind, ..left }];
                    self.longer(at, operator == "&&", terms, right)?
                }
                (function, kind) => self.call(at, function, None, vec![Expr { kind, ..left }, right])?,
            };
        }
        Ok(left)
    }

    fn longer(&self, at: u32, and: bool, mut terms: Vec<Expr>, last: Expr) -> Parsed<Expr> {
        terms.push(last);
        self.node(at, Kind::Logic { and, terms })
    }

    /// The rank and name of the operator that comes next.
    fn operator(&self) -> Option<(u8, &'static str)> {
        let token = self.tokens.get(self.at)?;
        if token.kind == TokenKind::Ident {
            return (token.text == "in").then_some((2, "@in"));
        }
        if token.kind != TokenKind::Symbol {
            return None;
        }
        Some(match token.text.as_str() {
            "||" => (0, "||"),
            "&&" => (1, "&&"),
            "<" => (2, "_<_"),
            "<=" => (2, "_<=_"),
            ">" => (2, "_>_"),
            ">=" => (2, "_>=_"),
            "==" => (2, "_==_"),
            "!=" => (2, "_!=_"),
            "+" => (3, "_+_"),
            "-" => (3, "_-_"),
            "*" => (4, "_*_"),
            "/" => (4, "_/_"),
            "%" => (4, "_%_"),
            _ => return None,
        })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        for (symbol, function) in [("!", "!_"), ("-", "-_")] {
            let Some(at) = self.take(symbol) else { continue };
            let mut times = 1;
            while self.take(symbol).is_some() {
                times += 1;
            }
            if symbol == "-" && times == 1 {
                // A minus before a number is part of it.
                let number = self.peek();
                let negated = match number.kind {
                    TokenKind::Literal(Literal::Int(value)) => Some(Literal::Int(value.wrapping_neg())),
                    TokenKind::Literal(Literal::Double(value)) => Some(Literal::Double(-value)),
                    _ => None,
                };
                if let Some(literal) = negated {
                    self.at += 1;
                    let expr = self.node(at, Kind::Literal(literal))?;
                    return self.postfix(expr);
                }
            }
            let operand = self.member()?;
            return if times % 2 == 0 { Ok(operand) } else { self.call(at, function, None, vec![operand]) };
        }
        self.member()
    }

    fn member(&mut self) -> Parsed<Expr> {
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn postfix(&mut self, mut expr: Expr) -> Parsed<Expr> {
        loop {
            if let Some(at) = self.take(".") {
                let name = self.field_name(|found| {
                    let found = if found == "<EOF>" { "" } else { found };
                    format!("no viable alternative at input '.{found}'")
                })?;
                match self.take("(") {
                    Some(open) => {
                        let args = self.args(")")?;
                        expr = self.method(open, expr, name, args)?;
                    }
                    None => {
                        let kind = Kind::Select { operand: Box::new(expr), field: name, test: false, optional: false };
                        expr = self.node(at, kind)?;
                    }
                }
            } else if let Some(at) = self.take(".?") {
                let field = self.field_name(|found| {
                    format!("mismatched input '{found}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}")
                })?;
                let kind = Kind::Select { operand: Box::new(expr), field, test: false, optional: true };
                expr = self.node(at, kind)?;
            } else if let Some((at, optional)) =
                self.take("[").map(|at| (at, false)).or(self.take("[?").map(|at| (at, true)))
            {
                let index = Box::new(self.expr()?);
                self.expect("]")?;
                expr = self.node(at, Kind::Index { operand: Box::new(expr), index, optional })?;
            } else {
                return Ok(expr);
            }
        }
    }

    /// The name of a field, or the fault in whatever stands there instead.
    fn field_name(&mut self, fault: impl Fn(&str) -> String) -> Parsed<String> {
        let token = self.next();
        match token.kind {
            TokenKind::Ident => Ok(token.text.trim_matches('`').to_owned()),
            _ => self.fault(token.at, format!("Syntax error: {}", fault(&token.text))),
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let leading_dot = self.take(".").is_some();
        let token = self.next();
        match (&token.kind, token.text.as_str()) {
            (TokenKind::Literal(literal), _) if !leading_dot => {
                if *literal == Literal::Int(i64::MIN) {
                    return self.fault(token.at, "invalid int literal");
                }
                self.node(token.at, Kind::Literal(literal.clone()))
            }
            (TokenKind::Symbol, "(") if !leading_dot => {
                let inside = self.expr()?;
                self.expect(")")?;
                Ok(inside)
            }
            (TokenKind::Symbol, "[" | "[?") if !leading_dot => self.list(&token),
            (TokenKind::Symbol, "{" | "{?") if !leading_dot => self.map(&token),
            (TokenKind::Ident, "true") => self.node(token.at, Kind::Literal(Literal::Bool(true))),
            (TokenKind::Ident, "false") => self.node(token.at, Kind::Literal(Literal::Bool(false))),
            (TokenKind::Ident, "null") => self.node(token.at, Kind::Literal(Literal::Null)),
            (TokenKind::Ident, "in") => self.unexpected(&token),
            (TokenKind::Ident, name) => {
                if RESERVED.contains(&name) || MORE_RESERVED.contains(&name) {
                    return self.fault(token.at, format!("reserved identifier: {name}"));
                }
                match self.take("(") {
                    Some(open) => {
                        let args = self.args(")")?;
                        self.function(open, name, args)
                    }
                    None => self.node(token.at, Kind::Ident(name.to_owned())),
                }
            }
            _ => self.unexpected(&token),
        }
    }

    fn unexpected<T>(&self, token: &Token) -> Parsed<T> {
        let expected = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                        BYTES, IDENTIFIER}";
        self.fault(token.at, format!("Syntax error: mismatched input '{}' expecting {expected}", token.text))
    }

    fn args(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        if self.take(close).is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if self.take(",").is_none() {
                self.expect(close)?;
                return Ok(args);
            }
        }
    }

    fn list(&mut self, open: &Token) -> Parsed<Expr> {
        let mut items = Vec::new();
        let mut optional = open.text == "[?";
        while optional || self.take("]").is_none() {
            items.push((self.expr()?, optional));
            if self.take(",").is_none() {
                self.expect("]")?;
                break;
            }
            optional = self.take("?").is_some();
        }
        self.node(open.at, Kind::List(items))
    }

    fn map(&mut self, open: &Token) -> Parsed<Expr> {
        let mut entries = Vec::new();
        let mut optional = open.text == "{?";
        while optional || self.take("}").is_none() {
            let key = self.expr()?;
            self.expect(":")?;
            entries.push((key, self.expr()?, optional));
            if self.take(",").is_none() {
                self.expect("}")?;
                break;
            }
            optional = self.take("?").is_some();
        }
        self.node(open.at, Kind::Map(entries))
    }

    fn function(&self, at: u32, name: &str, mut args: Vec<Expr>) -> Parsed<Expr> {
        if name == "has" && args.len() == 1 {
            let Some(arg) = args.pop() else { return self.call(at, name, None, args) };
            return match arg.kind {
                Kind::Select { operand, field, .. } => {
                    self.node(at, Kind::Select { operand, field, test: true, optional: false })
                }
                _ => self.fault(arg.at, "invalid argument to has() macro"),
            };
        }
        self.call(at, name, None, args)
    }

    fn method(&self, at: u32, target: Expr, name: String, args: Vec<Expr>) -> Parsed<Expr> {
        match macro_kind(&name, args.len()) {
            Some((kind, two)) => self.macro_call(at, kind, two, target, args),
            None => self.call(at, &name, Some(target), args),
        }
    }

    fn macro_call(&self, at: u32, kind: MacroKind, two: bool, range: Expr, args: Vec<Expr>) -> Parsed<Expr> {
        let mut args = args.into_iter();
        let variable = |args: &mut std::vec::IntoIter<Expr>| match args.next() {
            Some(Expr { kind: Kind::Ident(name), .. }) => Ok(name),
            Some(Expr { at, .. }) => Err(Fault { at, message: "argument must be a simple name".to_owned() }),
            None => Err(Fault { at, message: "argument must be a simple name".to_owned() }),
        };
        let first = variable(&mut args)?;
        let second = if two { Some(variable(&mut args)?) } else { None };
        let rest: Vec<Expr> = args.collect();
        let mut rest = rest.into_iter();
        let (filter, body) = match (rest.next(), rest.next()) {
            (Some(filter), Some(body)) => (Some(filter), body),
            (Some(body), None) => (None, body),
            _ => return self.fault(at, "macro takes an expression"),
        };
        self.node(at, Kind::Macro(Box::new(Macro { kind, range, first, second, filter, body })))
    }
}

/// The macro a method call of this many arguments is, and whether it has two variables.
fn macro_kind(name: &str, args: usize) -> Option<(MacroKind, bool)> {
    Some(match (name, args) {
        ("all", 2) => (MacroKind::All, false),
        ("all", 3) => (MacroKind::All, true),
        ("exists", 2) => (MacroKind::Exists, false),
        ("exists", 3) => (MacroKind::Exists, true),
        ("exists_one" | "existsOne", 2) => (MacroKind::ExistsOne, false),
        ("existsOne", 3) => (MacroKind::ExistsOne, true),
        ("map", 2 | 3) => (MacroKind::Map, false),
        ("filter", 2) => (MacroKind::Filter, false),
        ("transformList", 3 | 4) => (MacroKind::TransformList, true),
        ("transformMap", 3 | 4) => (MacroKind::TransformMap, true),
        ("transformMapEntry", 3 | 4) => (MacroKind::TransformMapEntry, true),
        ("optMap", 2) => (MacroKind::OptMap, false),
        ("optFlatMap", 2) => (MacroKind::OptFlatMap, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read() {
        let good = [
            "self.a + 1 > 2 && (x || !y)",
            "a ? b : c ? d : e",
            "[1, 2, 3].all(x, x > 0)",
            "{'a': 1, ?'b': optional.of(2)}",
            "[?a, b]",
            "a.?b[?c].orValue(1)",
            "r'\\d' + \"\\n\" + '''x'''",
            "-9223372036854775808 < 0x1F && 1u < 2u && 1.5e3 > .5",
            "m.transformMap(k, v, v > 1, v + 1)",
            "has(self.a.b) // why",
        ];
        for source in good {
            assert!(parse(source).is_ok(), "{source}: {:?}", parse(source));
        }
    }

    #[test]
    fn what_is_no_expression_is_told() {
        let cases = [
            (
                "a +",
                3,
                "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
            ),
            ("a b", 2, "Syntax error: extraneous input 'b' expecting <EOF>"),
            ("has(a)", 4, "invalid argument to has() macro"),
            ("while", 0, "reserved identifier: while"),
            ("9223372036854775808", 0, "invalid int literal"),
            ("a # b", 2, "Syntax error: token recognition error at: '#'"),
        ];
        for (source, at, message) in cases {
            assert_eq!(parse(source), Err(Fault { at, message: message.into() }), "{source}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(parse(&nested).unwrap_err().message.contains("recursion limit"));
        let chain = vec!["1"; 5_000].join("+");
        assert!(parse(&chain).unwrap_err().message.contains("recursion limit"));
        let logic = vec!["true"; 5_000].join("&&");
        assert!(parse(&logic).is_ok());
        let negations = format!("{}true", "!".repeat(50_000));
        assert!(parse(&negations).is_ok());
    }
}
