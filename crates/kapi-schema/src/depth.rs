//! How deep a value may be. Everything here that walks a value recurses into it.

use serde_json::Value;

/// Deeper values are refused: JSON parsers stop at 128, and patches could only go on from there on purpose.
pub const MAX_DEPTH: usize = 256;

/// Whether a value is nested too deeply to be worked on. The server asks once, before anything else looks at it.
pub fn too_deep(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => next.extend(items.iter().filter(|item| item.is_array() || item.is_object())),
                Value::Object(map) => next.extend(map.values().filter(|item| item.is_array() || item.is_object())),
                _ => {}
            }
        }
        if next.is_empty() {
            return false;
        }
        level = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn depth_is_measured() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        assert!(!too_deep(&nested(MAX_DEPTH)));
        assert!(too_deep(&nested(MAX_DEPTH + 1)));
    }
}
