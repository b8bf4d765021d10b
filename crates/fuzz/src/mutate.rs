//! Small changes of an input that keep it interesting: whole words, and in JSON whole values.

use serde_json::{Map, Value};

/// What an input is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text of a small language.
    Text,
    /// A JSON document.
    Json,
}

/// Changes an input in one to four places. `words` mean something to whoever reads it.
pub fn mutate(input: &[u8], form: Form, words: &[&str], random: &mut Random) -> Vec<u8> {
    let times = 1 + random.below(4);
    if form == Form::Json
        && let Ok(mut document) = serde_json::from_slice(input)
    {
        (0..times).for_each(|_| change_value(&mut document, words, random));
        return document.to_string().into_bytes();
    }
    let mut text = input.to_vec();
    (0..times).for_each(|_| change_text(&mut text, words, random));
    text
}

/// Numbers that look random and are the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers that follow from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (splitmix64).
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % end).unwrap_or(0)
    }

    /// One of these, if there are any.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// A range within a length, mostly a short one.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let longest = if self.below(4) == 0 { length - start } else { (length - start).min(8) };
        start..start + self.below(longest + 1)
    }
}

/// How often a part may be repeated: enough to be nested deeper than any reader should follow.
const REPEATED: usize = 2000;
/// How long repeating may make a text.
const LONGEST: usize = 32 << 10;

fn change_text(text: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let range = random.range(text.len());
    let word = random.pick(words).copied().unwrap_or_default().as_bytes().to_vec();
    match random.below(7) {
        0 => drop(text.drain(range)),
        1 => drop(text.splice(range, word)),
        2 => drop(text.splice(range.start..range.start, word)),
        3 => {
            let part: Vec<u8> = text.get(range).unwrap_or_default().to_vec();
            let at = random.below(text.len() + 1);
            text.splice(at..at, part);
        }
        4 => {
            let byte = u8::try_from(random.below(256)).unwrap_or_default();
            text.splice(range, [byte]);
        }
        5 => {
            const TELLING: &[u8] = b"0123456789aAzZ .,:;!?=<>()[]{}'\"`\\/|&%$#@~^*+-_\n\t\0";
            text.splice(range.start..range.start, random.pick(TELLING).copied());
        }
        _ => {
            let part = if random.below(2) == 0 { word } else { text.get(range.clone()).unwrap_or_default().to_vec() };
            let room = LONGEST.saturating_sub(text.len()) / part.len().max(1);
            let times = random.below(REPEATED.min(room) + 1);
            text.splice(range.start..range.start, part.repeat(times));
        }
    }
}

fn change_value(document: &mut Value, words: &[&str], random: &mut Random) {
    let mut places = Vec::new();
    list_places(document, String::new(), &mut places);
    let place = random.pick(&places).cloned().unwrap_or_default();
    let elsewhere = random.pick(&places).and_then(|other| document.pointer(other)).cloned().unwrap_or_default();
    let word = random.pick(words).copied().unwrap_or_default();
    let new = if random.below(2) == 0 { elsewhere } else { scalar(word, random) };
    let operation = random.below(6);
    if operation == 0
        && let Some((parent, key)) = place.rsplit_once('/')
        && let Some(parent) = document.pointer_mut(parent)
    {
        return remove(parent, key);
    }
    let Some(value) = document.pointer_mut(&place) else { return };
    match (operation, value) {
        (1 | 2, Value::Object(fields)) => {
            let known = places.iter().filter_map(|place| place.rsplit('/').next()).collect::<Vec<_>>();
            let key = if random.below(2) == 0 { word } else { random.pick(&known).copied().unwrap_or_default() };
            fields.insert(key.replace("~1", "/").replace("~0", "~"), new);
        }
        (1 | 2, Value::Array(items)) => items.insert(random.below(items.len() + 1), new),
        (3, value) => *value = Value::Array(vec![value.take()]),
        (4, value) => *value = Value::Object(Map::from_iter([(word.to_owned(), value.take())])),
        (_, value) => *value = new,
    }
}

/// The JSON pointers of all values of a document.
fn list_places(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| list_places(item, format!("{place}/{index}"), places));
        }
        Value::Object(fields) => fields.iter().for_each(|(key, field)| {
            list_places(field, format!("{place}/{}", key.replace('~', "~0").replace('/', "~1")), places);
        }),
        _ => {}
    }
    places.push(place);
}

fn remove(parent: &mut Value, key: &str) {
    match parent {
        Value::Object(fields) => drop(fields.remove(&key.replace("~1", "/").replace("~0", "~"))),
        Value::Array(items) => match key.parse() {
            Ok(index) if index < items.len() => drop(items.remove(index)),
            _ => {}
        },
        _ => {}
    }
}

fn scalar(word: &str, random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => true.into(),
        2 => 0.into(),
        3 => (-1).into(),
        4 => i64::MAX.into(),
        5 => 1.5e300.into(),
        6 => Value::Object(Map::new()),
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_changes() {
        let changed = |form, input: &[u8], seed| mutate(input, form, &["word"], &mut Random::new(seed));
        for (form, input) in [(Form::Text, &b"a in (b, c)"[..]), (Form::Json, br#"{"a":[1,{"b":null}]}"#)] {
            for seed in 0..500 {
                assert_eq!(changed(form, input, seed), changed(form, input, seed), "{form:?} {seed}");
            }
            let mut all: Vec<Vec<u8>> = (0..500).map(|seed| changed(form, input, seed)).collect();
            all.sort();
            all.dedup();
            assert!(all.len() > 250, "{form:?}: only {} of 500 differ", all.len());
        }
    }

    #[test]
    fn changed_json_is_still_json() {
        for seed in 0..500 {
            let changed = mutate(br#"{"a/b":[1,{"b":null}]}"#, Form::Json, &["word"], &mut Random::new(seed));
            assert!(serde_json::from_slice::<Value>(&changed).is_ok(), "{seed}");
        }
    }
}
