//! `--set` and its kin: `a.b[0].c=1,d={x,y}`.

use serde_json::{Number, Value as Json};

use super::{MAX_DEPTH, Values};

/// The largest index of a list, as in Helm.
const MAX_INDEX: usize = 65_536;
/// How deep names may be nested, as in Helm.
const MAX_NESTING: usize = 30;

/// Why a text sets nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed parsing --set data: {0}")]
pub struct SetError(String);

/// What the text after `=` becomes.
type Read<'a> = &'a dyn Fn(&str) -> Result<Json, String>;

/// `--set`: words that look like numbers, truths or null are those.
pub fn set(values: &mut Values, text: &str) -> Result<(), SetError> {
    Parser { text, position: 0, read: &|word| Ok(typed(word)), whole: Whole::Lists }.run(values)
}

/// `--set-string`: everything is a text.
pub fn set_string(values: &mut Values, text: &str) -> Result<(), SetError> {
    Parser { text, position: 0, read: &|word| Ok(word.into()), whole: Whole::Lists }.run(values)
}

/// `--set-file`: what stands after `=` names something that `read` gives the content of.
pub fn set_file(
    values: &mut Values,
    text: &str,
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(), SetError> {
    Parser { text, position: 0, read: &|name| read(name).map(Json::String), whole: Whole::Words }.run(values)
}

/// `--set-json`: `name=json`, or a whole object.
pub fn set_json(values: &mut Values, text: &str) -> Result<(), SetError> {
    if text.trim_start().starts_with('{') {
        let parsed = serde_json::from_str(text).map_err(|error| SetError(error.to_string()))?;
        let Json::Object(mut fields) = parsed else { return Ok(()) };
        fields.values_mut().for_each(super::floats);
        super::merge(values, fields);
        return Ok(());
    }
    Parser { text, position: 0, read: &|word| Ok(word.into()), whole: Whole::Json }.run(values)
}

/// `--set-literal`: everything after the first `=` is the text.
pub fn set_literal(values: &mut Values, text: &str) -> Result<(), SetError> {
    Parser { text, position: 0, read: &|word| Ok(word.into()), whole: Whole::Rest }.run(values)
}

/// What may stand after `=`.
#[derive(Clone, Copy, PartialEq)]
enum Whole {
    /// A word, or a list in braces.
    Lists,
    /// A word.
    Words,
    /// JSON.
    Json,
    /// All that is left.
    Rest,
}

fn typed(word: &str) -> Json {
    if word.eq_ignore_ascii_case("true") {
        return true.into();
    }
    if word.eq_ignore_ascii_case("false") {
        return false.into();
    }
    if word.eq_ignore_ascii_case("null") {
        return Json::Null;
    }
    if word == "0" {
        return 0.into();
    }
    // A leading zero means that the zero matters.
    let is_plain = !word.starts_with('0') && !word.starts_with('+');
    match word.parse::<i64>() {
        Ok(number) if is_plain => Json::Number(Number::from(number)),
        _ => word.into(),
    }
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    read: Read<'a>,
    whole: Whole,
}

impl<'a> Parser<'a> {
    fn run(mut self, values: &mut Values) -> Result<(), SetError> {
        // One assignment after the other; each is one level of names.
        while self.position < self.text.len() {
            self.key(values, 0).map_err(SetError)?;
        }
        Ok(())
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    /// Characters up to one of `stops`, a backslash taking the meaning of the next, and the stop itself.
    fn until(&mut self, stops: &str) -> (String, Option<char>) {
        let mut word = String::new();
        let mut chars = self.rest().chars();
        while let Some(c) = chars.next() {
            self.position += c.len_utf8();
            if c == '\\' && self.whole != Whole::Rest {
                if let Some(next) = chars.next() {
                    self.position += next.len_utf8();
                    word.push(next);
                }
            } else if stops.contains(c) {
                return (word, Some(c));
            } else {
                word.push(c);
            }
        }
        (word, None)
    }

    fn key(&mut self, values: &mut Values, depth: usize) -> Result<(), String> {
        if depth > MAX_NESTING {
            return Err(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NESTING}"
            ));
        }
        let stops = if self.whole == Whole::Rest { "=[." } else { "=[,." };
        let (name, stop) = self.until(stops);
        match stop {
            None if name.is_empty() => Ok(()),
            None => Err(format!("key {name:?} has no value")),
            Some('[') => {
                let index = self.index()?;
                let mut list = match values.remove(&name) {
                    Some(Json::Array(items)) => items,
                    _ => Vec::new(),
                };
                let outcome = self.item(&mut list, index, depth);
                values.insert(name, Json::Array(list));
                outcome
            }
            Some('=') => {
                let value = self.value()?;
                values.insert(name, value);
                Ok(())
            }
            Some(',') => {
                values.insert(name.clone(), "".into());
                Err(format!("key {name:?} has no value (cannot end with ,)"))
            }
            Some(_) => {
                let mut inner = match values.remove(&name) {
                    Some(Json::Object(fields)) => fields,
                    _ => Values::new(),
                };
                let outcome = self.key(&mut inner, depth + 1);
                if inner.is_empty() && outcome.is_ok() {
                    return Err(format!("key map {name:?} has no value"));
                }
                values.insert(name, Json::Object(inner));
                outcome
            }
        }
    }

    fn index(&mut self) -> Result<usize, String> {
        let (digits, stop) = self.until("]");
        if stop.is_none() {
            return Err("error parsing index: unexpected end".to_owned());
        }
        let index: i64 = digits
            .parse()
            .map_err(|_| format!("error parsing index: strconv.Atoi: parsing {digits:?}: invalid syntax"))?;
        let index = usize::try_from(index).map_err(|_| format!("negative {index} index not allowed"))?;
        if index > MAX_INDEX {
            return Err(format!("index of {index} is greater than maximum supported index of {MAX_INDEX}"));
        }
        Ok(index)
    }

    fn item(&mut self, list: &mut Vec<Json>, index: usize, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("lists are nested too deep".to_owned());
        }
        if list.len() <= index {
            list.resize(index + 1, Json::Null);
        }
        let Some(slot) = list.get_mut(index) else { return Ok(()) };
        let (unexpected, stop) = self.until("[.=");
        if !unexpected.is_empty() {
            return Err(format!("unexpected data at end of array index: {unexpected:?}"));
        }
        match stop {
            None => Ok(()),
            Some('=') => {
                *slot = self.value()?;
                Ok(())
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = match slot.take() {
                    Json::Array(items) => items,
                    _ => Vec::new(),
                };
                let outcome = self.item(&mut inner, next, depth + 1);
                *slot = Json::Array(inner);
                outcome
            }
            Some(_) => {
                let mut inner = match slot.take() {
                    Json::Object(fields) => fields,
                    _ => Values::new(),
                };
                let outcome = self.key(&mut inner, depth + 1);
                *slot = Json::Object(inner);
                outcome
            }
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        match self.whole {
            Whole::Rest => {
                let rest = self.rest();
                self.position = self.text.len();
                (self.read)(rest)
            }
            Whole::Json => self.json(),
            Whole::Lists if self.rest().starts_with('{') => {
                self.position += 1;
                self.list()
            }
            Whole::Lists | Whole::Words => {
                let (word, _) = self.until(",");
                (self.read)(&word)
            }
        }
    }

    fn json(&mut self) -> Result<Json, String> {
        let mut stream = serde_json::Deserializer::from_str(self.rest()).into_iter::<Json>();
        let mut json = match stream.next() {
            Some(parsed) => parsed.map_err(|error| error.to_string())?,
            None => Json::Null,
        };
        self.position += stream.byte_offset();
        super::floats(&mut json);
        let rest = self.rest().trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            self.position = self.text.len() - after.len();
        } else if !rest.is_empty() {
            return Err(format!("unexpected data after JSON: {rest}"));
        }
        Ok(json)
    }

    /// `{a,b}`, the brace being read.
    fn list(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        loop {
            let (word, stop) = self.until(",}");
            match stop {
                Some(',') => items.push((self.read)(&word)?),
                Some(_) => {
                    if !(word.is_empty() && items.is_empty()) {
                        items.push((self.read)(&word)?);
                    }
                    if self.rest().starts_with(',') {
                        self.position += 1;
                    }
                    return Ok(Json::Array(items));
                }
                None => return Err("list must terminate with '}'".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assignments_become_values() {
        for (text, expected) in [
            ("a=1", json!({"a": 1})),
            ("a=1,b=x", json!({"a": 1, "b": "x"})),
            ("a.b.c=true", json!({"a": {"b": {"c": true}}})),
            ("a=null", json!({"a": null})),
            ("a=", json!({"a": ""})),
            ("a=007,b=+1,c=1.5,d=0", json!({"a": "007", "b": "+1", "c": "1.5", "d": 0})),
            ("a={x,2,true}", json!({"a": ["x", 2, true]})),
            ("a={}", json!({"a": []})),
            ("a={x},b=1", json!({"a": ["x"], "b": 1})),
            ("a[0]=x,a[2].b=1", json!({"a": ["x", null, {"b": 1}]})),
            ("a[0][1]=x", json!({"a": [[null, "x"]]})),
            ("a\\.b=1", json!({"a.b": 1})),
            ("a=x\\,y", json!({"a": "x,y"})),
            ("a=b=c", json!({"a": "b=c"})),
        ] {
            let mut values = Values::new();
            set(&mut values, text).unwrap();
            assert_eq!(Json::Object(values), expected, "{text}");
        }
        for bad in ["a", "a,b=1", "a[x]=1", "a[-1]=1", "a[99999]=1", "a={x", "a.b"] {
            assert!(set(&mut Values::new(), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_forms() {
        let mut values = Values::new();
        set_string(&mut values, "a=1,b={1,2}").unwrap();
        set_json(&mut values, "c={\"x\": [1, true]},d=null").unwrap();
        set_json(&mut values, "{\"e\": {\"f\": 2}}").unwrap();
        set_literal(&mut values, "g.h=a,b\\c=d").unwrap();
        set_file(&mut values, "i=name", &|name| Ok(format!("<{name}>"))).unwrap();
        let expected = json!({"a": "1", "b": ["1", "2"], "c": {"x": [1.0, true]}, "d": null, "e": {"f": 2.0},
            "g": {"h": "a,b\\c=d"}, "i": "<name>"});
        assert_eq!(Json::Object(values), expected);
    }
}
