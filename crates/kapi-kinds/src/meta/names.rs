//! Names, labels, keys and ports: what may be written where, and the words Kubernetes refuses the rest with.
//!
//! Every function returns what is wrong, empty when nothing is.

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const DNS_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// What is wrong with a DNS subdomain name; `prefix` when it is a `generateName`.
pub fn dns_subdomain(name: &str, prefix: bool) -> Vec<String> {
    is_dns_subdomain(&masked(name, prefix))
}

/// What is wrong with a name that must be one DNS label.
pub fn dns_label(name: &str, prefix: bool) -> Vec<String> {
    is_dns_label(&masked(name, prefix))
}

/// What is wrong with the name of a Service (a DNS label of RFC 1035).
pub fn dns_1035_label(name: &str, prefix: bool) -> Vec<String> {
    is_dns_1035_label(&masked(name, prefix))
}

/// What is wrong with a name that need only be one segment of a URL path.
pub fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && (name == "." || name == "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|illegal| name.contains(illegal))
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}

/// No rule at all, for kinds whose names are checked elsewhere.
pub fn any(_name: &str, _prefix: bool) -> Vec<String> {
    Vec::new()
}

/// A `generateName` may end in the dash that the suffix follows.
fn masked(name: &str, prefix: bool) -> std::borrow::Cow<'_, str> {
    if prefix && name.len() > 1 && name.ends_with('-') {
        let keep = name.char_indices().rev().nth(1).map_or(0, |(at, _)| at);
        return format!("{}a", name.get(..keep).unwrap_or_default()).into();
    }
    name.into()
}

/// What is wrong with a lower case DNS label.
pub fn is_dns_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, LABEL_MAX);
    if !label_form(value) {
        if subdomain_form(value) {
            errors.push("must not contain dots".to_owned());
        } else {
            errors.push(regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                DNS_LABEL,
                &["my-name", "123-abc"],
            ));
        }
    }
    errors
}

/// What is wrong with a lower case DNS subdomain.
pub fn is_dns_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, SUBDOMAIN_MAX);
    if !subdomain_form(value) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            &format!("{DNS_LABEL}(\\.{DNS_LABEL})*"),
            &["example.com"],
        ));
    }
    errors
}

/// What is wrong with a DNS subdomain that may hold underscores, as DNS search paths may.
pub fn is_dns_subdomain_with_underscore(value: &str) -> Vec<String> {
    let part = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        edged(part, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), "-_")
    };
    let mut errors = too_long(value, SUBDOMAIN_MAX);
    if !value.split('.').all(part) {
        let label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            &format!("{label}(\\.{label})*"),
            &["example.com"],
        ));
    }
    errors
}

/// What is wrong with a DNS subdomain that begins with a wildcard label.
pub fn is_wildcard_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, SUBDOMAIN_MAX);
    if !value.strip_prefix("*.").is_some_and(subdomain_form) {
        errors.push(regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!("\\*\\.{DNS_LABEL}(\\.{DNS_LABEL})*"),
            &["*.example.com"],
        ));
    }
    errors
}

/// What is wrong with a DNS label of RFC 1035, which begins with a letter.
pub fn is_dns_1035_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, LABEL_MAX);
    if !label_form(value) || !value.starts_with(|c: char| c.is_ascii_lowercase()) {
        errors.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// What is wrong with a qualified name such as `example.com/role`: the key of a label, annotation, taint or condition.
pub fn is_qualified_name(value: &str) -> Vec<String> {
    let form = |part: &str| {
        regex_error(
            &format!(
                "{part}must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
            ),
            QUALIFIED_NAME,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let mut errors = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            return vec![
                form("a qualified name ")
                    + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            ];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            errors.extend(is_dns_subdomain(prefix).into_iter().map(|error| format!("prefix part {error}")));
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        errors.push(format!("name part {}", max_length(LABEL_MAX)));
    }
    if !qualified_form(name) {
        errors.push(form("name part "));
    }
    errors
}

/// What is wrong with the value of a label.
pub fn is_label_value(value: &str) -> Vec<String> {
    let mut errors = too_long(value, LABEL_MAX);
    if !value.is_empty() && !qualified_form(value) {
        errors.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({QUALIFIED_NAME})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// What is wrong with a key of a ConfigMap or Secret.
pub fn is_config_map_key(value: &str) -> Vec<String> {
    let mut errors = too_long(value, SUBDOMAIN_MAX);
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
        errors.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match value {
        "." => errors.push("must not be '.'".to_owned()),
        ".." => errors.push("must not be '..'".to_owned()),
        other if other.starts_with("..") => errors.push("must not start with '..'".to_owned()),
        _ => {}
    }
    errors
}

/// What is wrong with the name of an environment variable.
pub fn is_env_var_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if value.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=') {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

/// What is wrong with the name of an HTTP header.
pub fn is_http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// What is wrong with the name of a container port.
pub fn is_port_name(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 15);
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|b| b.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// What is wrong with a port number.
pub fn is_port_number(port: i64) -> Vec<String> {
    in_range(port, 1, 65535)
}

/// What is wrong with a number that must lie between two others.
pub fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) { Vec::new() } else { vec![range_error(low, high)] }
}

/// The words for a number out of range.
pub fn range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// What is wrong with a percentage such as `25%`.
pub fn is_percent(value: &str) -> Vec<String> {
    let number = value.strip_suffix('%').unwrap_or("");
    if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The words for a value that does not match a regular expression.
pub fn regex_error(message: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{regex}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

fn too_long(value: &str, limit: usize) -> Vec<String> {
    if value.len() > limit { vec![max_length(limit)] } else { Vec::new() }
}

fn max_length(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn label_form(value: &str) -> bool {
    edged(value, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), "-")
}

fn subdomain_form(value: &str) -> bool {
    value.split('.').all(label_form)
}

fn qualified_form(value: &str) -> bool {
    edged(value, |c| c.is_ascii_alphanumeric(), "-_.")
}

/// Whether the text is made of `edge` characters and, between the first and the last, also of `inner` ones.
fn edged(value: &str, edge: impl Fn(char) -> bool, inner: &str) -> bool {
    value.starts_with(&edge) && value.ends_with(&edge) && value.chars().all(|c| edge(c) || inner.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_subdomains() {
        for good in ["a", "a-b", "0", &"a".repeat(63)] {
            assert!(is_dns_label(good).is_empty(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", &"a".repeat(64), "é"] {
            assert!(!is_dns_label(bad).is_empty(), "{bad}");
        }
        assert_eq!(is_dns_label("a.b"), ["must not contain dots"]);
        assert!(is_dns_subdomain("a.b-c.d").is_empty());
        assert!(!is_dns_subdomain("a..b").is_empty());
        assert!(dns_subdomain("web-", true).is_empty());
        assert!(!dns_subdomain("web-", false).is_empty());
        assert!(!is_dns_1035_label("1a").is_empty());
        assert_eq!(dns_subdomain("é-", true).len(), 0, "a trailing dash hides the character before it");
    }

    #[test]
    fn qualified_names() {
        assert!(is_qualified_name("example.com/My_Name.1").is_empty());
        assert_eq!(is_qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(is_qualified_name("a/b/c").len(), 1);
        assert_eq!(is_qualified_name("").len(), 2);
    }

    #[test]
    fn path_segments() {
        assert_eq!(path_segment("..", false), ["may not be '..'"]);
        assert_eq!(path_segment("a/b%", false), ["may not contain '/'", "may not contain '%'"]);
        assert!(path_segment("system:node", false).is_empty());
    }
}
