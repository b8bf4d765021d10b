//! Label selectors: `app=a,tier in (x,y),!old`, or the `LabelSelector` object.

use std::fmt;

use serde_json::{Map, Value};

use super::labels_parse;
use crate::field::{FieldError, Path, aggregate, go_quote};
use crate::names;

/// A label selector that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabelSelectorError(pub(super) String);

/// How a requirement relates a label to values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `in`
    In,
    /// `notin`
    NotIn,
    /// `=`
    Equals,
    /// `==`
    DoubleEquals,
    /// `!=`
    NotEquals,
    /// The label is there.
    Exists,
    /// `!`
    DoesNotExist,
    /// `>`
    GreaterThan,
    /// `<`
    LessThan,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what, sorted.
    pub values: Vec<String>,
}

impl Requirement {
    /// A requirement, if key and values are such as labels can have.
    pub fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, LabelSelectorError> {
        let mut errors = Vec::new();
        let key_errors = names::qualified_name(key);
        if !key_errors.is_empty() {
            errors.push(FieldError::invalid(&Path::new("key"), &Value::from(key), key_errors.join("; ")));
        }
        let path = Path::new("values");
        let wrong_count = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                "for 'in', 'notin' operators, values set can't be empty"
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                "exact-match compatibility requires one single value"
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                "values set must be empty for exists and does not exist"
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                "for 'Gt', 'Lt' operators, exactly one value is required"
            }
            _ => "",
        };
        if !wrong_count.is_empty() {
            errors.push(FieldError::invalid(&path, &Value::from(values.clone()), wrong_count));
        }
        for (i, value) in values.iter().enumerate() {
            if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(FieldError::invalid(&path.index(i), &Value::from(value.as_str()), detail));
            }
        }
        for (i, value) in values.iter().enumerate() {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                let at = path.index(i).key(key);
                errors.push(FieldError::invalid(&at, &Value::from(value.as_str()), wrong.join("; ")));
            }
        }
        if errors.is_empty() {
            Ok(Self { key: key.to_owned(), operator, values })
        } else {
            Err(LabelSelectorError(aggregate(&errors)))
        }
    }

    fn matches(&self, labels: &Map<String, Value>) -> bool {
        let label = labels.get(&self.key).and_then(Value::as_str);
        let listed = |label: &str| self.values.iter().any(|value| value == label);
        let ordered = |holds: fn(i64, i64) -> bool| {
            let bound = self.values.first().and_then(|value| value.parse().ok());
            match (label.and_then(|label| label.parse().ok()), bound) {
                (Some(label), Some(bound)) => holds(label, bound),
                _ => false,
            }
        };
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => ordered(|label, bound| label > bound),
            Operator::LessThan => ordered(|label, bound| label < bound),
        }
    }
}

/// A label selector: all requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl Selector {
    /// Selects everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects nothing.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Reads a selector as it stands in a query. Nothing selects everything.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        labels_parse::parse(text).map(Self::of)
    }

    /// Reads a `LabelSelector` object: an absent one selects nothing, an empty one everything.
    pub fn from_object(selector: Option<&Value>) -> Result<Self, LabelSelectorError> {
        let Some(selector) = selector.and_then(Value::as_object) else { return Ok(Self::nothing()) };
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement::new(key, Operator::Equals, vec![value])?);
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match expression.get("operator").and_then(Value::as_str).unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    let text = format!("{} is not a valid label selector operator", go_quote(other));
                    return Err(LabelSelectorError(text));
                }
            };
            let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            requirements.push(Requirement::new(key, operator, values)?);
        }
        Ok(Self::of(requirements))
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// The requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Map<String, Value>) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let mut values = requirement.values.clone();
            values.sort();
            let (key, values) = (&requirement.key, values.join(","));
            match requirement.operator {
                Operator::In => write!(f, "{key} in ({values})"),
                Operator::NotIn => write!(f, "{key} notin ({values})"),
                Operator::Equals => write!(f, "{key}={values}"),
                Operator::DoubleEquals => write!(f, "{key}=={values}"),
                Operator::NotEquals => write!(f, "{key}!={values}"),
                Operator::GreaterThan => write!(f, "{key}>{values}"),
                Operator::LessThan => write!(f, "{key}<{values}"),
                Operator::Exists => f.write_str(key),
                Operator::DoesNotExist => write!(f, "!{key}"),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_selectors_are_read_in_one_go() {
        // Looking ahead over all symbols at each of them would take minutes.
        let symbols = ",".repeat(200_000);
        let expected = "found ',', expected: identifier after ','";
        assert_eq!(Selector::parse(&format!("a{symbols}")).unwrap_err().to_string(), expected);
    }

    #[test]
    fn selectors_are_read_and_printed() {
        let cases = [
            ("", Ok("")),
            ("a=b", Ok("a=b")),
            ("b==c, a!=d", Ok("a!=d,b==c")),
            ("x in (b,a)", Ok("x in (a,b)")),
            ("x notin (a)", Ok("x notin (a)")),
            ("x in ()", Ok("x in ()")),
            ("x in (,a)", Ok("x in (,a)")),
            ("x,!y", Ok("x,!y")),
            ("x>1,y<2", Ok("x>1,y<2")),
            ("a=", Ok("a=")),
            ("a in b", Err("unable to parse requirement: found 'b' expected: '('")),
            ("a b", Err("unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt")),
            ("=b", Err("found '=', expected: !, identifier, or 'end of string'")),
            ("a,", Err("found '', expected: identifier after ','")),
            ("a=b c", Err("found 'c', expected: ',' or 'end of string'")),
            ("!", Err("unable to parse requirement: found '', expected: identifier")),
            ("a in (b", Err("unable to parse requirement: found '', expected: ',' or ')'")),
            (
                "a>x",
                Err(
                    "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
                ),
            ),
            (
                "-=b",
                Err(
                    "unable to parse requirement: <nil>: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                ),
            ),
        ];
        for (text, expected) in cases {
            let found = Selector::parse(text).map(|selector| selector.to_string()).map_err(|error| error.to_string());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn labels_match() {
        let labels = json!({"app": "a", "n": "5"});
        let cases = [
            ("", true),
            ("app=a", true),
            ("app!=a", false),
            ("app in (a,b)", true),
            ("app notin (a,b)", false),
            ("absent notin (a)", true),
            ("absent!=a", true),
            ("app", true),
            ("!app", false),
            ("!absent", true),
            ("n>4", true),
            ("n<5", false),
            ("app>1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(Selector::parse(text).unwrap().matches(labels.as_object().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn objects_are_selectors() {
        let labels = json!({"app": "a"});
        let labels = labels.as_object().unwrap();
        let cases = [
            (json!(null), false),
            (json!({}), true),
            (json!({"matchLabels": {"app": "a"}}), true),
            (json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}), false),
            (json!({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}), true),
        ];
        for (object, expected) in cases {
            assert_eq!(Selector::from_object(Some(&object)).unwrap().matches(labels), expected, "{object}");
        }
        let wrong = json!({"matchExpressions": [{"key": "x", "operator": "Like"}]});
        assert_eq!(
            Selector::from_object(Some(&wrong)).unwrap_err().to_string(),
            "\"Like\" is not a valid label selector operator"
        );
    }
}
