//! `.helmignore`

use regex::Regex;

/// The rules of a chart, and the one that every chart has.
pub(super) struct Rules(Vec<Rule>);

struct Rule {
    pattern: Regex,
    /// Whether the whole path must fit, and not its last part alone.
    anchored: bool,
    folders_only: bool,
    negated: bool,
}

impl Rules {
    pub(super) fn new(text: &str) -> Self {
        Self(text.lines().chain(["templates/.?*"]).filter_map(rule).collect())
    }

    /// Whether a file or folder is left out.
    pub(super) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        self.0.iter().any(|rule| {
            let base = path.rsplit('/').next().unwrap_or_default();
            let fits = rule.pattern.is_match(if rule.anchored { path } else { base });
            // A negated rule ignores whatever does not fit.
            match rule.negated {
                true if rule.folders_only && !is_folder => true,
                true => !fits,
                false => fits && (is_folder || !rule.folders_only),
            }
        })
    }
}

fn rule(line: &str) -> Option<Rule> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') || line == "!" || line == "/" {
        return None;
    }
    let (negated, line) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (folders_only, line) = match line.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (rooted, line) = match line.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let pattern = shell_pattern(line)?;
    Some(Rule { pattern, anchored: rooted || line.contains('/'), folders_only, negated })
}

/// A pattern of Go's `filepath.Match`.
fn shell_pattern(pattern: &str) -> Option<Regex> {
    let mut expression = String::from("(?s)^");
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => {
                expression.push('[');
                for inner in chars.by_ref().take_while(|c| *c != ']') {
                    expression.push(inner);
                }
                expression.push(']');
            }
            '\\' => expression.push_str(&regex::escape(&chars.next()?.to_string())),
            other => expression.push_str(&regex::escape(&other.to_string())),
        }
    }
    expression.push('$');
    Regex::new(&expression).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_leave_files_out() {
        let rules = Rules::new("# comment\n*.txt\n/root.md\ndocs/\na/b\n");
        for (path, is_folder, expected) in [
            ("x.txt", false, true),
            ("d/x.txt", false, true),
            ("root.md", false, true),
            ("d/root.md", false, false),
            ("docs", true, true),
            ("docs", false, false),
            ("a/b", false, true),
            ("templates/.hidden", false, true),
            ("templates/a.yaml", false, false),
        ] {
            assert_eq!(rules.ignores(path, is_folder), expected, "{path}");
        }
        assert!(!Rules::new("").ignores(".helmignore", false));
    }
}
