//! From CEL source to tokens.

use std::sync::Arc;

use super::ast::Literal;

/// A token and the offset of its first character.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: u32,
    pub(super) kind: TokenKind,
    /// As it is written, for messages.
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Ident,
    Literal(Literal),
    Symbol,
    End,
}

/// What is wrong with the source, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) at: u32,
    pub(crate) message: String,
}

const SYMBOLS: [&str; 28] = [
    "&&", "||", "==", "!=", "<=", ">=", "[?", ".?", "{?", "<", ">", "!", "?", ":", "+", "-", "*", "/", "%", "(", ")",
    "[", "]", "{", "}", ",", ".", "=",
];

pub(super) fn scan(source: &str) -> Result<Vec<Token>, Fault> {
    let chars: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let kind = lexer.token()?;
        let text: String = chars.get(start..lexer.at).unwrap_or_default().iter().collect();
        let end = kind == TokenKind::End;
        tokens.push(Token { at: offset(start), kind, text: if end { "<EOF>".into() } else { text } });
        if end {
            return Ok(tokens);
        }
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn fault<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault { at: offset(at), message: message.into() })
    }

    fn skip_blank(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.at += 1,
                '/' if self.peek(1) == Some('/') => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind, Fault> {
        let Some(c) = self.peek(0) else { return Ok(TokenKind::End) };
        if let Some((bytes, raw)) = self.string_prefix() {
            return self.string(bytes, raw);
        }
        if c.is_ascii_alphabetic() || c == '_' {
            while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                self.at += 1;
            }
            return Ok(TokenKind::Ident);
        }
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) {
            return self.number();
        }
        if c == '`' {
            let start = self.at;
            self.at += 1;
            while let Some(c) = self.peek(0) {
                self.at += 1;
                if c == '`' {
                    return Ok(TokenKind::Ident);
                }
            }
            return self.fault(start, "Syntax error: token recognition error at: '`'");
        }
        for symbol in SYMBOLS {
            if symbol.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c)) {
                // `a ?.b : c` must not be taken for an optional entry: `{?` and `[?` only stand at openings.
                self.at += symbol.len();
                return Ok(TokenKind::Symbol);
            }
        }
        self.fault(self.at, format!("Syntax error: token recognition error at: '{c}'"))
    }

    /// Whether a string begins here, and whether it is one of bytes, and raw.
    fn string_prefix(&self) -> Option<(bool, bool)> {
        let quote = |c: Option<char>| matches!(c, Some('"' | '\''));
        let (a, b, c) = (self.peek(0), self.peek(1), self.peek(2));
        if quote(a) {
            return Some((false, false));
        }
        match (a?.to_ascii_lowercase(), b.map(|b| b.to_ascii_lowercase())) {
            ('r', _) if quote(b) => Some((false, true)),
            ('b', _) if quote(b) => Some((true, false)),
            ('b', Some('r')) | ('r', Some('b')) if quote(c) => Some((true, true)),
            _ => None,
        }
    }

    fn string(&mut self, bytes: bool, raw: bool) -> Result<TokenKind, Fault> {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphabetic()) {
            self.at += 1;
        }
        let Some(quote) = self.peek(0) else { return Ok(TokenKind::End) };
        let triple = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        self.at += if triple { 3 } else { 1 };
        let mut out: Vec<u8> = Vec::new();
        loop {
            let Some(c) = self.peek(0) else {
                let rest: String = self.chars.get(start..).unwrap_or_default().iter().collect();
                return self.fault(start, format!("Syntax error: token recognition error at: '{rest}'"));
            };
            if c == quote && (!triple || (self.peek(1) == Some(quote) && self.peek(2) == Some(quote))) {
                self.at += if triple { 3 } else { 1 };
                break;
            }
            if !triple && matches!(c, '\n' | '\r') {
                let rest: String = self.chars.get(start..self.at).unwrap_or_default().iter().collect();
                return self.fault(start, format!("Syntax error: token recognition error at: '{rest}'"));
            }
            self.at += 1;
            if c == '\\' && !raw {
                self.escape(bytes, &mut out)?;
            } else {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        Ok(TokenKind::Literal(if bytes {
            Literal::Bytes(out.into())
        } else {
            Literal::String(Arc::from(String::from_utf8_lossy(&out).as_ref()))
        }))
    }

    fn escape(&mut self, bytes: bool, out: &mut Vec<u8>) -> Result<(), Fault> {
        let start = self.at - 1;
        let Some(c) = self.peek(0) else {
            return self.fault(start, "unable to unescape string, found '\\' as last character");
        };
        self.at += 1;
        let simple = match c {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '\'' | '"' | '`' | '?' => c as u8,
            _ => 0,
        };
        if simple != 0 {
            out.push(simple);
            return Ok(());
        }
        let (digits, radix) = match c {
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => return self.fault(start, "unable to unescape string"),
        };
        let text: String = self.chars.get(self.at..self.at + digits).unwrap_or_default().iter().collect();
        self.at += digits;
        let Ok(code) = u32::from_str_radix(&text, radix) else { return self.fault(start, "unable to unescape string") };
        if bytes && digits <= 3 {
            out.push(u8::try_from(code & 0xff).unwrap_or_default());
            return Ok(());
        }
        let Some(c) = char::from_u32(code) else { return self.fault(start, "invalid unicode code point") };
        out.extend(c.encode_utf8(&mut [0; 4]).bytes());
        Ok(())
    }

    fn number(&mut self) -> Result<TokenKind, Fault> {
        let start = self.at;
        let take = |lexer: &mut Self, fits: fn(&char) -> bool| {
            while lexer.peek(0).as_ref().is_some_and(fits) {
                lexer.at += 1;
            }
        };
        let text = |lexer: &Self, from: usize| -> String {
            lexer.chars.get(from..lexer.at).unwrap_or_default().iter().collect()
        };
        if self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X')) {
            self.at += 2;
            take(self, char::is_ascii_hexdigit);
            let digits = text(self, start + 2);
            return self.integer(start, &digits, 16);
        }
        take(self, char::is_ascii_digit);
        let mut float = false;
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            float = true;
            self.at += 1;
            take(self, char::is_ascii_digit);
        }
        let exponent_at = if matches!(self.peek(1), Some('+' | '-')) { 2 } else { 1 };
        if matches!(self.peek(0), Some('e' | 'E')) && self.peek(exponent_at).is_some_and(|c| c.is_ascii_digit()) {
            float = true;
            self.at += exponent_at;
            take(self, char::is_ascii_digit);
        }
        let digits = text(self, start);
        if !float {
            return self.integer(start, &digits, 10);
        }
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(TokenKind::Literal(Literal::Double(value))),
            _ => self.fault(start, "invalid double literal"),
        }
    }

    fn integer(&mut self, start: usize, digits: &str, radix: u32) -> Result<TokenKind, Fault> {
        let Ok(value) = u64::from_str_radix(digits, radix) else { return self.fault(start, "invalid int literal") };
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            return Ok(TokenKind::Literal(Literal::Uint(value)));
        }
        // One past the largest is kept for the parser: with a minus before it, it is the smallest.
        match i64::try_from(value) {
            Ok(value) => Ok(TokenKind::Literal(Literal::Int(value))),
            Err(_) if value == 1 << 63 => Ok(TokenKind::Literal(Literal::Int(i64::MIN))),
            Err(_) => self.fault(start, "invalid int literal"),
        }
    }
}
