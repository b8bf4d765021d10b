//! What Go's JSON decoder says of malformed text: people and tools read these messages.

/// The message of Go's decoder for `text`, or none if it is well-formed JSON.
pub fn syntax_error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.document().err()
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// What an open list or map waits for after a value.
enum Open {
    List,
    Map,
}

type Scanned<T = ()> = Result<T, String>;

impl Scanner<'_> {
    fn document(&mut self) -> Scanned {
        let mut open: Vec<Open> = Vec::new();
        loop {
            // One value, or the start of one.
            self.skip_space();
            match self.need()? {
                b'{' => {
                    self.at += 1;
                    self.skip_space();
                    if self.need()? == b'}' {
                        self.at += 1;
                    } else {
                        self.key()?;
                        open.push(Open::Map);
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.skip_space();
                    if self.need()? == b']' {
                        self.at += 1;
                    } else {
                        open.push(Open::List);
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => return self.wrong("looking for beginning of value"),
            }
            // What follows it, closing all that ends here.
            loop {
                self.skip_space();
                match open.last() {
                    None if self.at >= self.text.len() => return Ok(()),
                    None => return self.wrong("after top-level value"),
                    Some(Open::List) => match self.need()? {
                        b',' => {
                            self.at += 1;
                            break;
                        }
                        b']' => self.at += 1,
                        _ => return self.wrong("after array element"),
                    },
                    Some(Open::Map) => match self.need()? {
                        b',' => {
                            self.at += 1;
                            self.skip_space();
                            self.key()?;
                            break;
                        }
                        b'}' => self.at += 1,
                        _ => return self.wrong("after object key:value pair"),
                    },
                }
                open.pop();
            }
        }
    }

    fn key(&mut self) -> Scanned {
        if self.need()? != b'"' {
            return self.wrong("looking for beginning of object key string");
        }
        self.string()?;
        self.skip_space();
        if self.need()? != b':' {
            return self.wrong("after object key");
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.need()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    match self.need()? {
                        b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
                        b'u' => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.need()?.is_ascii_hexdigit() {
                                    return self.wrong("in \\u hexadecimal character escape");
                                }
                                self.at += 1;
                            }
                        }
                        _ => return self.wrong("in string escape code"),
                    }
                }
                byte if byte < 0x20 => return self.wrong("in string literal"),
                _ => self.at += 1,
            }
        }
    }

    fn literal(&mut self, word: &str) -> Scanned {
        for expected in word.bytes() {
            if self.need()? != expected {
                return self.wrong(&format!("in literal {word} (expecting {})", quoted(expected)));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.need()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return self.wrong("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.need()?.is_ascii_digit() {
                return self.wrong("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.need()?, b'+' | b'-') {
                self.at += 1;
            }
            if !self.need()?.is_ascii_digit() {
                return self.wrong("in exponent of numeric literal");
            }
            self.digits();
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn need(&self) -> Scanned<u8> {
        self.peek().ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn wrong<T>(&self, context: &str) -> Scanned<T> {
        Err(format!("invalid character {} {context}", quoted(self.need()?)))
    }
}

fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => {
            // Go takes the byte for a code point.
            let text = kapi_schema::field::go_quote(&char::from(byte).to_string());
            format!("'{}'", text.trim_matches('"'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from the real server.
    #[test]
    fn messages_are_those_of_go() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("nope", "invalid character 'o' in literal null (expecting 'u')"),
            ("{", "unexpected end of JSON input"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
            ("1 2", "invalid character '2' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            ("\"\\u12x\"", "invalid character 'x' in \\u hexadecimal character escape"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("'a'", "invalid character '\\'' looking for beginning of value"),
        ];
        for (text, message) in cases {
            assert_eq!(syntax_error(text.as_bytes()).as_deref(), Some(message), "{text}");
        }
        assert_eq!(syntax_error(br#" {"a": [1, -2.5e+3, {}, [], "\u00e9", true, null]} "#), None);
    }
}
