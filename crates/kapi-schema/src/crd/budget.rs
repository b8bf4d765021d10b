//! What the rules of a schema may cost, one by one and together.

use serde_json::{Map, Value};

use crate::field::{FieldError, Path};

/// The most a rule may cost over all places it is run at.
const PER_RULE: u64 = 10_000_000;
/// The most all rules of a schema may cost together.
const PER_SCHEMA: u64 = 100_000_000;
/// How many of the most expensive rules are named.
const NAMED: usize = 4;

/// What the rules seen so far cost.
#[derive(Default)]
pub(super) struct Budget {
    total: u64,
    /// The most expensive first.
    expensive: Vec<(Path, u64)>,
}

impl Budget {
    pub(super) fn spend(&mut self, path: &Path, cost: u64) {
        self.total = self.total.saturating_add(cost);
        // A hundredth of all is not what makes it too much.
        if cost >= PER_SCHEMA / 100 {
            self.expensive.push((path.clone(), cost));
            self.expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED);
        }
    }

    /// What to say if it is too much for a schema, which is at `path`.
    pub(super) fn errors(self, path: &Path) -> Vec<FieldError> {
        if self.total <= PER_SCHEMA {
            return Vec::new();
        }
        let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let mut errors: Vec<FieldError> =
            self.expensive.iter().map(|(path, _)| FieldError::forbidden(path, detail)).collect();
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(path, exceeds(what, self.total, PER_SCHEMA)));
        errors
    }
}

/// What to say of a rule that alone is too expensive.
pub(super) fn too_much_for_one(what: &str, cost: u64) -> Option<String> {
    (cost > PER_RULE).then(|| exceeds(what, cost, PER_RULE))
}

#[expect(clippy::cast_precision_loss, reason = "the factor is told roughly")]
fn exceeds(what: &str, cost: u64, limit: u64) -> String {
    let factor = match cost as f64 / limit as f64 {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// How often what is inside of a schema can be in one value of it; none if there is no telling.
pub(super) fn copies(schema: &Map<String, Value>) -> Option<u64> {
    let limit = |key: &str| Some(schema.get(key)?.as_i64()?.max(0).unsigned_abs());
    match schema.get("type").and_then(Value::as_str) {
        Some("object") if schema.get("additionalProperties").is_some_and(|of| !of.is_null()) => limit("maxProperties"),
        Some("array") => limit("maxItems"),
        _ => Some(1),
    }
}
