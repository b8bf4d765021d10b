//! The grammar of label selectors, with the complaints of apimachinery's parser.

use std::collections::BTreeSet;

use serde_json::Value;

use super::labels::{LabelSelectorError, Operator, Requirement};
use crate::field::{FieldError, Path};
use crate::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

fn keyword(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => return None,
    })
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn scan(text: &str) -> Vec<(Token, String)> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_space);
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, String::new()));
            return tokens;
        };
        if !is_special(first) {
            let end = rest.find(|c| is_special(c) || is_space(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            tokens.push((keyword(word).unwrap_or(Token::Identifier), word.to_owned()));
            rest = after;
            continue;
        }
        let symbol = |length: usize| rest.get(..length).and_then(|symbol| Some((keyword(symbol)?, symbol)));
        let longest = symbol(2).or_else(|| symbol(1));
        match longest {
            Some((token, symbol)) => {
                tokens.push((token, symbol.to_owned()));
                rest = rest.get(symbol.len()..).unwrap_or_default();
            }
            None => {
                let (symbols, after) = rest.split_at(rest.find(|c| !is_special(c)).unwrap_or(rest.len()));
                tokens.push((Token::Error, format!("error expected: keyword found '{symbols}'")));
                rest = after;
            }
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, LabelSelectorError> {
    let mut parser = Parser { tokens: scan(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        let (token, literal) = parser.peek();
        match token {
            Token::Identifier | Token::Not => {
                let requirement = parser
                    .requirement()
                    .map_err(|error| LabelSelectorError(format!("unable to parse requirement: {error}")))?;
                requirements.push(requirement);
                let (token, literal) = parser.next();
                match token {
                    Token::End => return Ok(requirements),
                    Token::Comma => {
                        let (token, literal) = parser.peek();
                        if !matches!(token, Token::Identifier | Token::Not) {
                            return fail(format!("found '{literal}', expected: identifier after ','"));
                        }
                    }
                    _ => return fail(format!("found '{literal}', expected: ',' or 'end of string'")),
                }
            }
            Token::End => return Ok(requirements),
            _ => return fail(format!("found '{literal}', expected: !, identifier, or 'end of string'")),
        }
    }
}

fn fail<T>(message: String) -> Result<T, LabelSelectorError> {
    Err(LabelSelectorError(message))
}

struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

impl Parser {
    /// The next token, operators that are words being words.
    fn peek(&self) -> (Token, String) {
        let (token, literal) = self.tokens.get(self.at).cloned().unwrap_or((Token::End, String::new()));
        (if matches!(token, Token::In | Token::NotIn) { Token::Identifier } else { token }, literal)
    }

    fn next(&mut self) -> (Token, String) {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, LabelSelectorError> {
        let (mut token, mut literal) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, literal) = self.next();
        }
        if token != Token::Identifier {
            return fail(format!("found '{literal}', expected: identifier"));
        }
        let key = literal;
        let wrong = names::qualified_name(&key);
        if !wrong.is_empty() {
            let error = FieldError::invalid(&Path::root(), &Value::from(key), wrong.join("; "));
            return fail(error.to_string());
        }
        if negated {
            return Requirement::new(&key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(&key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => self.exact_value()?,
        };
        Requirement::new(&key, operator, values.into_iter().collect())
    }

    fn operator(&mut self) -> Result<Operator, LabelSelectorError> {
        let (token, literal) = self.tokens.get(self.at).cloned().unwrap_or((Token::End, String::new()));
        self.at += 1;
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => return fail(format!("found '{literal}', expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn values(&mut self) -> Result<BTreeSet<String>, LabelSelectorError> {
        let (token, literal) = self.next();
        if token != Token::Open {
            return fail(format!("found '{literal}' expected: '('"));
        }
        let (token, literal) = self.peek();
        match token {
            Token::Identifier | Token::Comma => {
                let values = self.identifiers()?;
                if self.next().0 != Token::Close {
                    return fail(format!("found '{literal}', expected: ')'"));
                }
                Ok(values)
            }
            Token::Close => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            _ => fail(format!("found '{literal}', expected: ',', ')' or identifier")),
        }
    }

    fn identifiers(&mut self) -> Result<BTreeSet<String>, LabelSelectorError> {
        let mut values = BTreeSet::new();
        loop {
            let (token, literal) = self.next();
            match token {
                Token::Identifier => {
                    values.insert(literal);
                    let (token, literal) = self.peek();
                    match token {
                        Token::Comma => {}
                        Token::Close => return Ok(values),
                        _ => return fail(format!("found '{literal}', expected: ',' or ')'")),
                    }
                }
                Token::Comma => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            self.next();
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                _ => return fail(format!("found '{literal}', expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, LabelSelectorError> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Identifier, literal) => Ok(BTreeSet::from([literal])),
            (_, literal) => fail(format!("found '{literal}', expected: identifier")),
        }
    }
}
