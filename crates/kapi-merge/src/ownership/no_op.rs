//! Writes that change nothing.

use serde_json::Value;

use super::managed::entries_of;
use crate::typed::same;

/// Gives `new` the times of `live` if nothing but times in `managedFields` differs, so that a write without effect
/// does not change the object. Call it last, with both objects as they would be stored.
pub fn keep_times_of_no_op(live: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (entries_of(live), entries_of(new)) else { return };
    if before.len() != after.len() || after.is_empty() {
        return;
    }
    let is_same_but_time = |(a, b): (&Value, &Value)| match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let covers = |x: &serde_json::Map<String, Value>, y: &serde_json::Map<String, Value>| {
                x.iter().all(|(key, value)| key == "time" || y.get(key).is_some_and(|twin| same(value, twin)))
            };
            covers(a, b) && covers(b, a)
        }
        _ => false,
    };
    if !before.iter().zip(after).all(is_same_but_time) || !is_same_elsewhere(live, new) {
        return;
    }
    let before = before.clone();
    if let Some(entries) = new.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields")) {
        *entries = Value::Array(before);
    }
}

fn is_same_elsewhere(live: &Value, new: &Value) -> bool {
    let (Value::Object(live), Value::Object(new)) = (live, new) else { return false };
    live.len() == new.len()
        && live.iter().all(|(key, value)| match (key.as_str(), new.get(key)) {
            ("metadata", Some(Value::Object(new))) => value.as_object().is_some_and(|live| {
                live.len() == new.len()
                    && live.iter().all(|(key, value)| {
                        key == "managedFields" || new.get(key).is_some_and(|twin| same(value, twin))
                    })
            }),
            (_, Some(twin)) => same(value, twin),
            (_, None) => false,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_times_are_taken_back() {
        let object = |time: &str, data: &str| json!({"metadata": {"name": "a", "managedFields": [{"manager": "m", "time": time}]}, "data": data});
        let live = object("2024-01-01T00:00:00Z", "x");
        let mut idle = object("2025-01-01T00:00:00Z", "x");
        keep_times_of_no_op(&live, &mut idle);
        assert_eq!(idle, live);
        let mut busy = object("2025-01-01T00:00:00Z", "y");
        keep_times_of_no_op(&live, &mut busy);
        assert_eq!(busy, object("2025-01-01T00:00:00Z", "y"));
    }
}
