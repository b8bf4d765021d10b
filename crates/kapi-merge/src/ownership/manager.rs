//! Names of managers.

use kapi_schema::field::{FieldError, Path};
use serde_json::json;

/// Longest name of a manager, in bytes.
pub const MAX_MANAGER_LENGTH: usize = 128;

/// The manager of a request that names none: what its User-Agent says before the first `/`.
pub fn manager_from_user_agent(user_agent: &str) -> String {
    let product = user_agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for c in product.chars().filter(|&c| is_printable(c)) {
        if name.len() + c.len_utf8() > MAX_MANAGER_LENGTH {
            break;
        }
        name.push(c);
    }
    name
}

/// What is wrong with a `fieldManager`, `path` being where it was said.
pub fn validate_manager_name(manager: &str, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MAX_MANAGER_LENGTH {
        errors.push(FieldError::too_long(path, MAX_MANAGER_LENGTH));
    }
    for (position, c) in manager.char_indices().filter(|(_, c)| !is_printable(*c)) {
        let detail = format!("invalid character {} (at position {position})", code_point(c));
        errors.push(FieldError::invalid(path, &json!(manager), detail));
    }
    errors
}

/// Go's idea of printable: no control, format or private characters, and of spaces only the ASCII one.
fn is_printable(c: char) -> bool {
    match c {
        ' ' => true,
        c if c.is_control() || c.is_whitespace() => false,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => false,
        '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{fffb}' | '\u{f0000}'..='\u{10ffff}' => false,
        _ => true,
    }
}

/// `%#U`: the number, and the character where it can be printed.
fn code_point(c: char) -> String {
    if is_printable(c) { format!("U+{:04X} '{c}'", c as u32) } else { format!("U+{:04X}", c as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_become_names() {
        assert_eq!(manager_from_user_agent("kubectl/v1.34.0 (linux/amd64)"), "kubectl");
        assert_eq!(manager_from_user_agent("a\u{7}b"), "ab");
        assert_eq!(manager_from_user_agent(""), "");
        assert_eq!(manager_from_user_agent(&"é".repeat(100)).len(), 128);
    }

    #[test]
    fn bad_names_are_refused_in_the_real_words() {
        let path = Path::new("fieldManager");
        let texts = |name: &str| -> Vec<String> {
            validate_manager_name(name, &path).iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts(&"a".repeat(129)), ["fieldManager: Too long: may not be more than 128 bytes"]);
        assert_eq!(texts("a\tb"), [r#"fieldManager: Invalid value: "a\tb": invalid character U+0009 (at position 1)"#]);
        assert!(texts("kubectl edit").is_empty());
    }
}
