//! Regular expressions as Go has them: RE2's syntax, written for Rust's `regex`, which matches the same way but reads
//! another language. Groups lose their names on the way, because Go allows one name several times.

mod class;
mod expand;
mod names;

pub(crate) use expand::expand;

/// How much one repetition may repeat, together with those inside of it.
const MAX_REPEAT: u32 = 1000;

/// How deep groups may be nested.
const MAX_GROUPS: usize = 1000;

/// What never matches: Go has characters that no text has.
const NEVER: &str = r"[^\x{0}-\x{10FFFF}]";

/// An expression as `regex` reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Translated {
    pub(crate) text: String,
    /// What groups are called, by their number; the first is the whole expression.
    pub(crate) names: Vec<Option<String>>,
}

/// Reads an expression; fails with Go's words.
pub(crate) fn translate(expression: &str) -> Result<Translated, String> {
    match Translator::new(expression).run() {
        Ok(translated) => Ok(translated),
        Err(Refused { why, part }) => Err(format!("error parsing regexp: {why}: `{part}`")),
    }
}

/// Why an expression is refused, and the part of it that is wrong.
struct Refused<'e> {
    why: &'static str,
    part: &'e str,
}

fn refused<'e, T>(why: &'static str, part: &'e str) -> Result<T, Refused<'e>> {
    Err(Refused { why, part })
}

/// The beginning of `text` that is no longer in `rest`, which is the end of it.
fn up_to<'e>(text: &'e str, rest: &str) -> &'e str {
    text.get(..text.len() - rest.len()).unwrap_or(text)
}

/// The first character, and what follows it.
fn next(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    Some((chars.next()?, chars.as_str()))
}

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_is_all: bool,
    /// Swaps the meaning of `*` and `*?`. It is never written, only followed.
    lazy: bool,
}

impl Flags {
    fn set(&mut self, letter: char, value: bool) -> bool {
        match letter {
            'i' => self.ignore_case = value,
            'm' => self.multi_line = value,
            's' => self.dot_is_all = value,
            'U' => self.lazy = value,
            _ => return false,
        }
        true
    }

    fn written(self) -> String {
        let all = [(self.ignore_case, 'i'), (self.multi_line, 'm'), (self.dot_is_all, 's')];
        let chosen = |wanted: bool| all.iter().filter(move |(is_set, _)| *is_set == wanted).map(|(_, letter)| letter);
        let on: String = chosen(true).collect();
        let off: String = chosen(false).collect();
        if off.is_empty() { on } else { format!("{on}-{off}") }
    }
}

/// What was last written and can be repeated.
struct Atom {
    start: usize,
    end: usize,
    is_repeated: bool,
    /// How often the innermost of it is repeated.
    weight: u32,
}

/// An open group, or the whole.
struct Group {
    /// Where its parenthesis was written.
    start: usize,
    /// What holds again once it is closed.
    outer: Flags,
    atom: Option<Atom>,
    weight: u32,
}

impl Group {
    fn settle(&mut self) {
        self.weight = self.weight.max(self.atom.take().map_or(0, |atom| atom.weight));
    }
}

struct Translator<'e> {
    whole: &'e str,
    rest: &'e str,
    out: String,
    names: Vec<Option<String>>,
    flags: Flags,
    groups: Vec<Group>,
    current: Group,
}

impl<'e> Translator<'e> {
    fn new(whole: &'e str) -> Self {
        let current = Group { start: 0, outer: Flags::default(), atom: None, weight: 0 };
        let out = String::with_capacity(whole.len());
        Self { whole, rest: whole, out, names: vec![None], flags: Flags::default(), groups: Vec::new(), current }
    }

    fn run(mut self) -> Result<Translated, Refused<'e>> {
        let mut last_repetition = None;
        while let Some((letter, after)) = next(self.rest) {
            let before = self.rest;
            let mut repetition = None;
            match letter {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.current.settle();
                    self.out.push('|');
                    self.rest = after;
                }
                '*' | '+' | '?' => {
                    self.rest = after;
                    self.repeat(before, last_repetition, letter.encode_utf8(&mut [0; 4]), 1)?;
                    repetition = Some(before);
                }
                '{' => match Bounds::read(before) {
                    Some((bounds, after)) => {
                        self.rest = after;
                        let weight =
                            bounds.weight().ok_or(Refused { why: REPEAT_COUNT, part: up_to(before, after) })?;
                        self.repeat(before, last_repetition, &bounds.written(), weight)?;
                        repetition = Some(before);
                    }
                    None => self.literal('{', after),
                },
                '[' => {
                    let (class, after) = class::bracketed(before)?;
                    self.atom(&class, after);
                }
                '.' | '^' | '$' => self.atom(letter.encode_utf8(&mut [0; 4]), after),
                '\\' => self.escape()?,
                other => self.literal(other, after),
            }
            last_repetition = repetition;
        }
        if self.groups.is_empty() {
            Ok(Translated { text: self.out, names: self.names })
        } else {
            refused("missing closing )", self.whole)
        }
    }

    fn atom(&mut self, written: &str, rest: &'e str) {
        self.current.settle();
        let start = self.out.len();
        self.out.push_str(written);
        self.current.atom = Some(Atom { start, end: self.out.len(), is_repeated: false, weight: 0 });
        self.rest = rest;
    }

    fn literal(&mut self, letter: char, rest: &'e str) {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            self.atom(&format!("\\{letter}"), rest);
        } else {
            self.atom(letter.encode_utf8(&mut [0; 4]), rest);
        }
    }

    fn escape(&mut self) -> Result<(), Refused<'e>> {
        let before = self.rest;
        let after = before.get(2..).unwrap_or_default();
        match before.as_bytes().get(1) {
            Some(b'A') => self.atom(r"\A", after),
            Some(b'z') => self.atom(r"\z", after),
            Some(b'b') => self.atom(r"(?-u:\b)", after),
            Some(b'B') => self.atom(r"(?-u:\B)", after),
            Some(b'C') => return refused("invalid escape sequence", up_to(before, after)),
            Some(b'Q') => {
                let (quoted, after) = after.split_once(r"\E").unwrap_or((after, ""));
                quoted.chars().for_each(|letter| self.literal(letter, after));
                self.rest = after;
            }
            _ => match class::escaped(before)? {
                Some((class, after)) => self.atom(&format!("[{class}]"), after),
                None => match class::character(before)? {
                    (Some(letter), after) => self.literal(letter, after),
                    (None, after) => self.atom(NEVER, after),
                },
            },
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), Refused<'e>> {
        let before = self.rest;
        let Some(special) = before.strip_prefix("(?") else {
            self.names.push(None);
            return self.begin("(", self.flags, &before[1..]);
        };
        if let Some(named) = special.strip_prefix("P<").or_else(|| special.strip_prefix('<')).filter(|n| !n.is_empty())
        {
            let Some((name, after)) = named.split_once('>') else {
                return refused("invalid named capture", before);
            };
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return refused("invalid named capture", up_to(before, after));
            }
            self.names.push(Some(name.to_owned()));
            return self.begin("(", self.flags, after);
        }
        let (mut flags, mut value, mut is_whole) = (self.flags, true, true);
        let mut rest = special;
        while let Some((letter, after)) = next(rest) {
            rest = after;
            match letter {
                '-' if value => (value, is_whole) = (false, false),
                ':' if is_whole => return self.begin(&format!("(?{}:", flags.written()), flags, rest),
                ')' if is_whole => {
                    self.out.push_str(&format!("(?{})", flags.written()));
                    (self.flags, self.rest) = (flags, rest);
                    return Ok(());
                }
                letter if flags.set(letter, value) => is_whole = true,
                _ => break,
            }
        }
        refused("invalid or unsupported Perl syntax", up_to(before, rest))
    }

    fn begin(&mut self, written: &str, inner: Flags, rest: &'e str) -> Result<(), Refused<'e>> {
        if self.groups.len() >= MAX_GROUPS {
            return refused("expression nests too deeply", self.whole);
        }
        let group = Group { start: self.out.len(), outer: self.flags, atom: None, weight: 0 };
        self.groups.push(std::mem::replace(&mut self.current, group));
        self.out.push_str(written);
        (self.flags, self.rest) = (inner, rest);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refused<'e>> {
        let Some(outer) = self.groups.pop() else { return refused("unexpected )", self.whole) };
        self.current.settle();
        let closed = std::mem::replace(&mut self.current, outer);
        self.current.settle();
        self.out.push(')');
        let (start, end) = (closed.start, self.out.len());
        self.current.atom = Some(Atom { start, end, is_repeated: false, weight: closed.weight });
        (self.flags, self.rest) = (closed.outer, &self.rest[1..]);
        Ok(())
    }

    /// Repeats what was last written. `before` begins with the repetition, and the rest is what follows it.
    fn repeat(&mut self, before: &'e str, last: Option<&'e str>, how: &str, times: u32) -> Result<(), Refused<'e>> {
        let marked = self.rest.strip_prefix('?');
        self.rest = marked.unwrap_or(self.rest);
        if let Some(last) = last {
            return refused("invalid nested repetition operator", up_to(last, self.rest));
        }
        let part = up_to(before, self.rest);
        let Some(atom) = &mut self.current.atom else {
            return refused("missing argument to repetition operator", part);
        };
        atom.weight = if how.starts_with('{') { atom.weight.max(1).saturating_mul(times) } else { atom.weight };
        if times > 1 && atom.weight > MAX_REPEAT {
            return refused(REPEAT_COUNT, part);
        }
        if atom.is_repeated {
            self.out.insert_str(atom.start, "(?:");
            self.out.insert(atom.end + 3, ')');
            atom.end += 4;
        }
        let lazy = if marked.is_some() == self.flags.lazy { "" } else { "?" };
        self.out.insert_str(atom.end, how);
        self.out.insert_str(atom.end + how.len(), lazy);
        atom.end += how.len() + lazy.len();
        atom.is_repeated = true;
        Ok(())
    }
}

const REPEAT_COUNT: &str = "invalid repeat count";

/// `{2}`, `{2,}` or `{2,3}`; numbers that are far too large are none.
struct Bounds {
    least: Option<u32>,
    most: Option<Option<u32>>,
}

impl Bounds {
    /// What begins with a brace, and what follows it. Anything else is a brace and no more.
    fn read(text: &str) -> Option<(Self, &str)> {
        let (least, rest) = Self::number(text.strip_prefix('{')?)?;
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((Self { least, most: Some(least) }, rest));
        }
        let rest = rest.strip_prefix(',')?;
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((Self { least, most: None }, rest));
        }
        let (most, rest) = Self::number(rest)?;
        Some((Self { least, most: Some(most) }, rest.strip_prefix('}')?))
    }

    fn number(text: &str) -> Option<(Option<u32>, &str)> {
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = text.split_at_checked(length)?;
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        Some((digits.parse().ok(), rest))
    }

    /// How often they repeat at most, if that is allowed.
    fn weight(&self) -> Option<u32> {
        let least = self.least.filter(|least| *least <= MAX_REPEAT)?;
        match self.most {
            None => Some(least),
            Some(most) => most.filter(|most| (least..=MAX_REPEAT).contains(most)),
        }
    }

    fn written(&self) -> String {
        let number = |number: Option<u32>| number.unwrap_or_default();
        match self.most {
            None => format!("{{{},}}", number(self.least)),
            Some(most) => format!("{{{},{}}}", number(self.least), number(most)),
        }
    }
}

#[cfg(test)]
mod tests;
