//! Snake, kebab and camel case, with the idea of a word that Sprig's library has.

use super::strings::{lower, upper};

#[derive(Clone, Copy, PartialEq)]
enum Word {
    Nothing,
    Number,
    Upper,
    Letters,
    Connector,
    Punctuation,
    Other,
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || c.is_whitespace()
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c)
}

/// Cuts off the next word: its kind, itself, and what is left.
fn next_word(text: &str) -> (Word, &str, &str) {
    let Some(first) = text.chars().next() else { return (Word::Nothing, "", "") };
    let run = |wanted: &dyn Fn(char) -> bool| text.find(|c| !wanted(c)).unwrap_or(text.len());
    let (kind, end) = if is_connector(first) {
        (Word::Connector, run(&is_connector))
    } else if is_punctuation(first) {
        (Word::Punctuation, run(&is_punctuation))
    } else if first.is_uppercase() {
        (Word::Upper, upper_word(text, first))
    } else if first.is_alphabetic() {
        (Word::Letters, run(&|c| c.is_alphabetic() && !c.is_uppercase()))
    } else if first.is_numeric() {
        (Word::Number, run(&char::is_numeric))
    } else {
        let other = |c: char| !(is_connector(c) || c.is_alphabetic() || c.is_numeric() || is_punctuation(c));
        (Word::Other, run(&other))
    };
    let (word, rest) = text.split_at(end);
    (kind, word, rest)
}

/// Where a word that begins in upper case ends: of `HTTPStatus`, the first is `HTTP`.
fn upper_word(text: &str, first: char) -> usize {
    let after = text.get(first.len_utf8()..).unwrap_or_default();
    let is_small = |c: char| c.is_alphabetic() && !c.is_uppercase();
    match after.chars().next() {
        Some(second) if second.is_uppercase() => {
            let end = text.find(|c: char| !c.is_uppercase()).unwrap_or(text.len());
            let next = text.get(end..).and_then(|rest| rest.chars().next());
            let last = text.get(..end).and_then(|word| word.chars().next_back()).map_or(0, char::len_utf8);
            if next.is_some_and(char::is_alphabetic) { end - last } else { end }
        }
        Some(second) if second.is_alphabetic() => {
            first.len_utf8() + after.find(|c| !is_small(c)).unwrap_or(after.len())
        }
        _ => first.len_utf8(),
    }
}

fn write_lower(out: &mut String, kind: Word, word: &str, connector: char) {
    if kind != Word::Upper && kind != Word::Connector {
        out.push_str(word);
        return;
    }
    out.extend(word.chars().map(|c| if is_connector(c) { connector } else { lower(c) }));
}

/// Words in lower case with a connector between them.
pub(super) fn joined_by(text: &str, connector: char) -> String {
    let separates = |kind: Word| !matches!(kind, Word::Nothing | Word::Connector | Word::Punctuation);
    let mut out = String::with_capacity(text.len() + 8);
    let (mut kind, mut word, mut rest) = next_word(text);
    while !rest.is_empty() {
        if kind != Word::Connector {
            write_lower(&mut out, kind, word, connector);
        }
        let (before, last) = (kind, word);
        (kind, word, rest) = next_word(rest);
        match before {
            Word::Number => {
                while matches!(kind, Word::Letters | Word::Number) {
                    write_lower(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if separates(kind) {
                    out.push(connector);
                }
            }
            Word::Connector => write_lower(&mut out, before, last, connector),
            Word::Punctuation => {}
            _ if kind != Word::Number => {
                if kind != Word::Connector && kind != Word::Punctuation {
                    out.push(connector);
                }
            }
            _ if rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word, rest) = next_word(rest);
                if kind != Word::Letters {
                    // A number belongs to the word before it.
                    out.push_str(number);
                    if kind != Word::Connector && kind != Word::Punctuation {
                        out.push(connector);
                    }
                } else {
                    // Unless letters go on from it.
                    out.push(connector);
                    out.push_str(number);
                    while matches!(kind, Word::Letters | Word::Number) {
                        write_lower(&mut out, kind, word, connector);
                        (kind, word, rest) = next_word(rest);
                    }
                    if separates(kind) {
                        out.push(connector);
                    }
                }
            }
        }
    }
    write_lower(&mut out, kind, word, connector);
    out
}

/// Words without connectors, each beginning in upper case.
pub(super) fn pascal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let leading = text.find(|c| !is_connector(c)).unwrap_or(text.len());
    let (connectors, rest) = text.split_at(leading);
    out.push_str(connectors);
    let mut chars = rest.chars();
    let Some(first) = chars.next() else { return out };
    let mut current = upper(first);
    // A word that begins in upper case is not in upper case as a whole.
    let mut lowers = first.is_uppercase();
    for next in chars {
        let before = current;
        current = next;
        if is_connector(current) && is_connector(before) {
            out.push(before);
            continue;
        }
        if is_connector(before) {
            lowers = current.is_uppercase();
            current = upper(current);
        } else {
            current = if lowers { lower(current) } else { current };
            out.push(before);
        }
    }
    out.push(current);
    out
}
