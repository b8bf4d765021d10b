//! Cuts template text into tokens, as Go's text/template does.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Dot,
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    fn keyword(word: &str) -> Option<Self> {
        Some(match word {
            "block" => Self::Block,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" => Self::Define,
            "else" => Self::Else,
            "end" => Self::End,
            "if" => Self::If,
            "nil" => Self::Nil,
            "range" => Self::Range,
            "template" => Self::Template,
            "with" => Self::With,
            _ => return None,
        })
    }

    fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Dot
                | Self::Block
                | Self::Break
                | Self::Continue
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Nil
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

/// One token: its text, and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) position: usize,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            Kind::Eof => f.write_str("EOF"),
            Kind::Error => f.write_str(self.text),
            kind if kind.is_keyword() => write!(f, "<{}>", self.text),
            _ if self.text.chars().count() > 10 => {
                let shown: String = self.text.chars().take(10).collect();
                write!(f, "{}...", super::print::quote(shown.as_bytes()))
            }
            _ => f.write_str(&super::print::quote(self.text.as_bytes())),
        }
    }
}

const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// All tokens of `text`. If something is wrong, the last is an error, and what is wrong comes with it.
pub(super) fn tokens(text: &str) -> (Vec<Token<'_>>, String) {
    // Tokens of charts have five bytes on average.
    let tokens = Vec::with_capacity(text.len() / 5 + 4);
    let mut lexer = Lexer { text, position: 0, start: 0, parens: 0, tokens };
    let complaint = lexer.run().err().unwrap_or_default();
    if !complaint.is_empty() {
        lexer.tokens.push(Token { kind: Kind::Error, text: "", position: lexer.start });
    }
    (lexer.tokens, complaint)
}

struct Lexer<'a> {
    text: &'a str,
    position: usize,
    start: usize,
    parens: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), String> {
        loop {
            let Some(found) = left_delim(self.rest()) else {
                self.position = self.text.len();
                if self.position > self.start {
                    self.emit(Kind::Text);
                }
                self.emit(Kind::Eof);
                return Ok(());
            };
            let open = self.position + found;
            let trims = trims_left(self.slice(open + 2, self.text.len()));
            let text = self.slice(self.position, open);
            let kept = if trims { text.trim_end_matches(SPACE).len() } else { text.len() };
            self.position += kept;
            if kept > 0 {
                self.emit(Kind::Text);
            }
            self.position = open;
            self.start = open;
            self.left_delim(if trims { 2 } else { 0 })?;
        }
    }

    fn rest(&self) -> &'a str {
        self.slice(self.position, self.text.len())
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.position += next.len_utf8();
        Some(next)
    }

    fn emit(&mut self, kind: Kind) {
        let text = self.slice(self.start, self.position);
        self.tokens.push(Token { kind, text, position: self.start });
        self.start = self.position;
    }

    fn left_delim(&mut self, marker: usize) -> Result<(), String> {
        self.position += 2;
        if self.slice(self.position + marker, self.text.len()).starts_with("/*") {
            self.position += marker;
            self.start = self.position;
            return self.comment();
        }
        self.emit(Kind::LeftDelim);
        self.position += marker;
        self.start = self.position;
        self.parens = 0;
        self.action()
    }

    fn comment(&mut self) -> Result<(), String> {
        let end = self.rest().find("*/").ok_or("unclosed comment")?;
        self.position += end + 2;
        let (closed, trims) = at_right_delim(self.rest());
        if !closed {
            return Err("comment ends before closing delimiter".to_owned());
        }
        self.position += if trims { 4 } else { 2 };
        self.skip_space(trims);
        self.start = self.position;
        Ok(())
    }

    fn skip_space(&mut self, trims: bool) {
        if trims {
            let rest = self.rest();
            self.position += rest.len() - rest.trim_start_matches(SPACE).len();
        }
    }

    fn action(&mut self) -> Result<(), String> {
        loop {
            let (closed, trims) = at_right_delim(self.rest());
            if closed {
                if self.parens > 0 {
                    return Err("unclosed left paren".to_owned());
                }
                if trims {
                    self.position += 2;
                    self.start = self.position;
                }
                self.position += 2;
                self.emit(Kind::RightDelim);
                self.skip_space(trims);
                self.start = self.position;
                return Ok(());
            }
            self.inside_action()?;
        }
    }

    fn inside_action(&mut self) -> Result<(), String> {
        let next = self.next().ok_or("unclosed action")?;
        match next {
            ' ' | '\t' | '\r' | '\n' => self.space(),
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return Err("expected :=".to_owned());
                }
                self.emit(Kind::Declare);
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted('"', "unterminated quoted string", Kind::String)?,
            '`' => self.raw_quoted()?,
            '\'' => self.quoted('\'', "unterminated character constant", Kind::CharConstant)?,
            '$' => self.word(Kind::Variable)?,
            '.' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => self.word(Kind::Field)?,
            '.' | '+' | '-' | '0'..='9' => {
                self.position -= 1;
                self.number()?;
            }
            _ if is_alphanumeric(next) => self.identifier()?,
            '(' => {
                self.emit(Kind::LeftParen);
                self.parens += 1;
            }
            ')' => {
                self.parens = self.parens.checked_sub(1).ok_or("unexpected right paren")?;
                self.emit(Kind::RightParen);
            }
            ' '..='~' => self.emit(Kind::Char),
            other => return Err(format!("unrecognized character in action: {}", named(other))),
        }
        Ok(())
    }

    fn space(&mut self) {
        let mut spaces = 1;
        while self.peek().is_some_and(|next| SPACE.contains(&next)) {
            self.position += 1;
            spaces += 1;
        }
        // The last space may belong to the delimiter that follows.
        if at_right_delim(self.slice(self.position - 1, self.text.len())) == (true, true) {
            self.position -= 1;
            if spaces == 1 {
                return;
            }
        }
        self.emit(Kind::Space);
    }

    fn quoted(&mut self, quote: char, unterminated: &str, kind: Kind) -> Result<(), String> {
        loop {
            match self.next() {
                Some('\\') if self.peek().is_some_and(|next| next != '\n') => drop(self.next()),
                None | Some('\n' | '\\') => return Err(unterminated.to_owned()),
                Some(next) if next == quote => break,
                Some(_) => {}
            }
        }
        self.emit(kind);
        Ok(())
    }

    fn raw_quoted(&mut self) -> Result<(), String> {
        let end = self.rest().find('`').ok_or("unterminated raw quoted string")?;
        self.position += end + 1;
        self.emit(Kind::RawString);
        Ok(())
    }

    /// A field or a variable; its first character is read.
    fn word(&mut self, kind: Kind) -> Result<(), String> {
        if self.at_terminator() {
            self.emit(if kind == Kind::Variable { kind } else { Kind::Dot });
            return Ok(());
        }
        self.alphanumerics()?;
        self.emit(kind);
        Ok(())
    }

    fn alphanumerics(&mut self) -> Result<(), String> {
        // Hardly ever more than this, and quicker than to look at characters.
        self.position += self.rest().bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
        match self.peek() {
            Some(next) if !self.at_terminator() => Err(format!("bad character {}", named(next))),
            _ => Ok(()),
        }
    }

    fn identifier(&mut self) -> Result<(), String> {
        self.alphanumerics()?;
        let kind = match self.slice(self.start, self.position) {
            "true" | "false" => Kind::Bool,
            word => Kind::keyword(word).unwrap_or(Kind::Identifier),
        };
        self.emit(kind);
        Ok(())
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(_) => self.rest().starts_with("}}"),
        }
    }

    fn accept(&mut self, wanted: impl Fn(char) -> bool) -> bool {
        let found = self.peek().is_some_and(wanted);
        if found {
            self.next();
        }
        found
    }

    fn accept_run(&mut self, wanted: impl Fn(char) -> bool) {
        while self.accept(&wanted) {}
    }

    fn number(&mut self) -> Result<(), String> {
        self.accept(|c| "+-".contains(c));
        let mut radix = 10;
        if self.accept(|c| c == '0') {
            radix = match self.peek() {
                Some('x' | 'X') => 16,
                Some('o' | 'O') => 8,
                Some('b' | 'B') => 2,
                _ => 10,
            };
            if radix != 10 {
                self.next();
            }
        }
        let digit = |c: char| c == '_' || c.is_digit(radix);
        self.accept_run(digit);
        if self.accept(|c| c == '.') {
            self.accept_run(digit);
        }
        if radix == 10 && self.accept(|c| "eE".contains(c)) || radix == 16 && self.accept(|c| "pP".contains(c)) {
            self.accept(|c| "+-".contains(c));
            self.accept_run(|c| c == '_' || c.is_ascii_digit());
        }
        self.accept(|c| c == 'i');
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            let text = self.slice(self.start, self.position);
            return Err(format!("bad number syntax: {}", super::print::quote(text.as_bytes())));
        }
        self.emit(Kind::Number);
        Ok(())
    }
}

/// Where the next left delimiter is.
fn left_delim(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'{', bytes).find(|at| bytes.get(at + 1) == Some(&b'{'))
}

fn trims_left(after: &str) -> bool {
    matches!(after.as_bytes(), [b'-', b' ' | b'\t' | b'\r' | b'\n', ..])
}

/// Whether a right delimiter begins here, and whether it trims.
fn at_right_delim(rest: &str) -> (bool, bool) {
    match rest.as_bytes() {
        [b' ' | b'\t' | b'\r' | b'\n', b'-', b'}', b'}', ..] => (true, true),
        [b'}', b'}', ..] => (true, false),
        _ => (false, false),
    }
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// A character as Go's `%#U` prints it.
fn named(c: char) -> String {
    if c.is_control() { format!("U+{:04X}", u32::from(c)) } else { format!("U+{:04X} '{c}'", u32::from(c)) }
}
