//! JSONPath as printer columns, scale and selectable fields use it: the dialect of client-go.

use serde_json::Value;

/// A path that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathError(String);

fn fail<T>(message: impl Into<String>) -> Result<T, JsonPathError> {
    Err(JsonPathError(message.into()))
}

/// Filters may hold paths with filters; nobody needs many of them in one another.
const MAX_NESTING: usize = 16;

/// A parsed path, such as `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// `[*]` and `.*`
    Wildcard,
    /// `..`: this value and all below it.
    Descend,
    Slice {
        from: Option<i64>,
        to: Option<i64>,
        by: Option<i64>,
    },
    Index(i64),
    Union(Vec<JsonPath>),
    Filter {
        left: Operand,
        test: Option<(Comparison, Operand)>,
    },
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Reads a path; a surrounding `{}` is allowed.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let bare = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        Parser { rest: bare, nesting: 0 }.path()
    }

    /// What the path finds. Missing keys and indexes find nothing.
    pub fn eval<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.eval(value, &mut next);
            }
            found = next;
        }
        found
    }
}

impl Step {
    fn eval<'a>(&self, value: &'a Value, out: &mut Vec<&'a Value>) {
        match self {
            Self::Field(name) => out.extend(value.as_object().and_then(|map| map.get(name))),
            Self::Wildcard => match value {
                Value::Object(map) => out.extend(map.values()),
                Value::Array(items) => out.extend(items),
                _ => {}
            },
            Self::Descend => descend(value, out),
            Self::Index(index) => {
                if let Value::Array(items) = value {
                    let at = if *index < 0 { *index + len(items) } else { *index };
                    out.extend(usize::try_from(at).ok().and_then(|at| items.get(at)));
                }
            }
            Self::Slice { from, to, by } => {
                if let Value::Array(items) = value {
                    out.extend(slice(items, *from, *to, *by));
                }
            }
            Self::Union(paths) => out.extend(paths.iter().flat_map(|path| path.eval(value))),
            Self::Filter { left, test } => {
                if let Value::Array(items) = value {
                    out.extend(items.iter().filter(|item| passes(item, left, test.as_ref())));
                }
            }
        }
    }
}

fn len(items: &[Value]) -> i64 {
    i64::try_from(items.len()).unwrap_or(i64::MAX)
}

fn slice(items: &[Value], from: Option<i64>, to: Option<i64>, by: Option<i64>) -> Vec<&Value> {
    let bound = |at: i64| if at < 0 { at.saturating_add(len(items)) } else { at };
    let from = bound(from.unwrap_or(0)).max(0);
    let to = bound(to.unwrap_or(len(items))).min(len(items));
    let by = usize::try_from(by.unwrap_or(1)).unwrap_or(1).max(1);
    (from..to).step_by(by).filter_map(|at| items.get(usize::try_from(at).ok()?)).collect()
}

fn descend<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        out.push(value);
        match value {
            Value::Object(map) => pending.extend(map.values().rev()),
            Value::Array(items) => pending.extend(items.iter().rev()),
            _ => {}
        }
    }
}

fn passes(item: &Value, left: &Operand, test: Option<&(Comparison, Operand)>) -> bool {
    let left = left.eval(item);
    match test {
        None => left.is_some(),
        Some((comparison, right)) => match (left, right.eval(item)) {
            (Some(left), Some(right)) => comparison.holds(left, right),
            _ => false,
        },
    }
}

impl Operand {
    fn eval<'a>(&'a self, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(path) => path.eval(item).into_iter().next(),
            Self::Literal(value) => Some(value),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            _ => None,
        };
        match (self, order) {
            (_, None) => false,
            (Self::Equal, Some(order)) => order.is_eq(),
            (Self::NotEqual, Some(order)) => order.is_ne(),
            (Self::Less, Some(order)) => order.is_lt(),
            (Self::LessOrEqual, Some(order)) => order.is_le(),
            (Self::Greater, Some(order)) => order.is_gt(),
            (Self::GreaterOrEqual, Some(order)) => order.is_ge(),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn path(&mut self) -> Result<JsonPath, JsonPathError> {
        let mut steps = Vec::new();
        while let Some(c) = self.rest.chars().next() {
            if let Some(after) = self.rest.strip_prefix("[?(") {
                self.rest = after;
                steps.push(self.filter()?);
            } else if let Some(after) = self.rest.strip_prefix("..") {
                if steps.last() == Some(&Step::Descend) {
                    return fail("invalid multiple recursive descent");
                }
                self.rest = after;
                steps.push(Step::Descend);
                if after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '*') {
                    steps.extend(self.field());
                }
            } else {
                self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
                match c {
                    ' ' | '@' | '$' => {}
                    '.' => steps.extend(self.field()),
                    '[' => self.bracket(&mut steps)?,
                    c if c.is_alphanumeric() || c == '_' => return fail(format!("unrecognized identifier {c}")),
                    c => return fail(format!("unrecognized character in action: U+{:04X} '{c}'", c as u32)),
                }
            }
        }
        Ok(JsonPath { steps })
    }

    /// A name up to the next separator, `\` taking the next character as it is.
    fn field(&mut self) -> Option<Step> {
        let mut name = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        self.rest = self.rest.get(end..).unwrap_or_default();
        match name.as_str() {
            "" => None,
            "*" => Some(Step::Wildcard),
            _ => Some(Step::Field(name)),
        }
    }

    fn bracket(&mut self, steps: &mut Vec<Step>) -> Result<(), JsonPathError> {
        let Some((inside, after)) = self.rest.split_once(']') else { return fail("unterminated array") };
        self.rest = after;
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        if let [only] = parts.as_slice() {
            steps.extend(self.element(only)?);
            return Ok(());
        }
        let paths =
            parts.into_iter().map(|part| Ok(JsonPath { steps: self.element(part)? })).collect::<Result<_, _>>()?;
        steps.push(Step::Union(paths));
        Ok(())
    }

    /// `0`, `1:3`, `*` or `'name'`.
    fn element(&self, text: &str) -> Result<Vec<Step>, JsonPathError> {
        if text == "*" {
            return Ok(vec![Step::Wildcard]);
        }
        let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(name) = quoted {
            // client-go reads the name as a path again: dots in it separate unless they are escaped.
            return Ok(Parser { rest: &format!(".{name}"), nesting: self.nesting + 1 }.path()?.steps);
        }
        let number = |text: &str| -> Result<Option<i64>, JsonPathError> {
            if text.is_empty() {
                return Ok(None);
            }
            text.parse().map(Some).map_err(|_| JsonPathError(format!("array index {text} is not a number")))
        };
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '-' || c == ':');
        if text.is_empty() || !digits(text) {
            return fail(format!("invalid array index {text}"));
        }
        let mut parts = text.split(':');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(index), None, ..) => Ok(vec![Step::Index(number(index)?.unwrap_or_default())]),
            (Some(from), Some(to), by, None) => {
                Ok(vec![Step::Slice { from: number(from)?, to: number(to)?, by: number(by.unwrap_or_default())? }])
            }
            _ => fail(format!("invalid array index {text}")),
        }
    }

    fn filter(&mut self) -> Result<Step, JsonPathError> {
        if self.nesting >= MAX_NESTING {
            return fail("filters are nested too deeply");
        }
        let end = filter_end(self.rest).ok_or_else(|| JsonPathError("unterminated filter".into()))?;
        let inside = self.rest.get(..end).unwrap_or_default();
        let after = self.rest.get(end + 1..).unwrap_or_default();
        let Some(after) = after.strip_prefix(']') else { return fail("unclosed array expect ]") };
        self.rest = after;
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let Some(at) = inside.find(is_operator).filter(|at| *at > 0) else {
            return Ok(Step::Filter { left: self.operand(inside)?, test: None });
        };
        let (left, rest) = inside.split_at(at);
        let right = rest.trim_start_matches(is_operator);
        let comparison = match rest.get(..rest.len() - right.len()).unwrap_or_default() {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            other => return fail(format!("unrecognized filter operator {other}")),
        };
        Ok(Step::Filter { left: self.operand(left)?, test: Some((comparison, self.operand(right)?)) })
    }

    fn operand(&self, text: &str) -> Result<Operand, JsonPathError> {
        let text = text.trim();
        for quote in ['"', '\''] {
            if let Some(inside) = text.strip_prefix(quote) {
                let Some(inside) = inside.strip_suffix(quote) else { return fail("unterminated quoted string") };
                return Ok(Operand::Literal(Value::from(inside.replace("\\\"", "\"").replace("\\'", "'"))));
            }
        }
        match text {
            "true" => return Ok(Operand::Literal(Value::Bool(true))),
            "false" => return Ok(Operand::Literal(Value::Bool(false))),
            _ => {}
        }
        if let Ok(number) = text.parse::<i64>() {
            return Ok(Operand::Literal(Value::from(number)));
        }
        if let Ok(number) = text.parse::<f64>() {
            return Ok(Operand::Literal(Value::from(number)));
        }
        Ok(Operand::Path(Parser { rest: text, nesting: self.nesting + 1 }.path()?))
    }
}

/// Where the `)` that closes a filter stands, quotes respected.
fn filter_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (')', None) => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_what_they_name() {
        let object = json!({
            "metadata": {"annotations": {"a.b/c": "dotted"}, "name": "n"},
            "spec": {"replicas": 3, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"n": "z", "v": 3}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        });
        let cases = [
            (".spec.replicas", json!([3])),
            ("{.spec.replicas}", json!([3])),
            (".spec.absent", json!([])),
            ("$.metadata.name", json!(["n"])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type=='Other')].status", json!(["False"])),
            (".status.conditions[?(@.absent)].status", json!([])),
            (".spec.list[?(@.v>=2)].n", json!(["y", "z"])),
            (".spec.list[0].n", json!(["x"])),
            (".spec.list[-1].n", json!(["z"])),
            (".spec.list[9].n", json!([])),
            (".spec.list[*].n", json!(["x", "y", "z"])),
            (".spec.list[0:2].n", json!(["x", "y"])),
            (".spec.list[::2].n", json!(["x", "z"])),
            (".spec.list[0,2].n", json!(["x", "z"])),
            ("..n", json!(["x", "y", "z"])),
            (".metadata.annotations.a\\.b/c", json!(["dotted"])),
            (".metadata.annotations['a\\.b/c']", json!(["dotted"])),
            (".metadata['name']", json!(["n"])),
        ];
        for (path, expected) in cases {
            let found: Vec<Value> = JsonPath::parse(path).unwrap().eval(&object).into_iter().cloned().collect();
            assert_eq!(Value::Array(found), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_told() {
        let cases = [
            (".a[", "unterminated array"),
            (".a[x]", "invalid array index x"),
            (".a[?(@.b", "unterminated filter"),
            ("....a", "invalid multiple recursive descent"),
            (".a#", ""),
        ];
        for (path, expected) in cases {
            match JsonPath::parse(path) {
                Err(error) => assert_eq!(error.to_string(), expected, "{path}"),
                Ok(_) => assert_eq!(expected, "", "{path}"),
            }
        }
    }
}
