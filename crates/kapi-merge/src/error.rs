//! What can go wrong, worded as kube-apiserver words it. Each variant names the HTTP answer it becomes.

use std::fmt;

/// A patch that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// 422, reason `Invalid`, with empty details. The real server keeps the reason to itself; it is here for logs.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// 413, reason `RequestEntityTooLarge`.
    #[error("{0}")]
    TooLarge(String),
    /// 500.
    #[error("{0}")]
    Internal(String),
}

/// An apply configuration that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// 409, reason `Conflict`, one cause per conflict.
    #[error("{0}")]
    Conflict(Conflicts),
    /// 500.
    #[error("{0}")]
    Internal(String),
}

/// One field that another manager owns and the configuration would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The owner as messages name it: `"kubectl-client-side-apply" using apps/v1`.
    pub manager: String,
    /// The field, as `.spec.replicas`.
    pub field: String,
}

impl Conflict {
    /// The `reason` of the Status cause.
    pub const REASON: &'static str = "FieldManagerConflict";

    /// The `message` of the Status cause.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// All conflicts of one apply, those of one manager side by side. Displays as the Status message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {}", only.manager, only.field);
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last: Option<&str> = None;
        for (index, conflict) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if last != Some(conflict.manager.as_str()) {
                writeln!(f, "conflicts with {}:", conflict.manager)?;
                last = Some(conflict.manager.as_str());
            }
            write!(f, "- {}", conflict.field)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(manager: &str, field: &str) -> Conflict {
        Conflict { manager: manager.into(), field: field.into() }
    }

    #[test]
    fn conflicts_read_as_the_real_server_writes_them() {
        let one = Conflicts(vec![conflict(r#""a" using apps/v1"#, ".spec.replicas")]);
        assert_eq!(one.to_string(), r#"Apply failed with 1 conflict: conflict with "a" using apps/v1: .spec.replicas"#);
        let many = Conflicts(vec![conflict(r#""a""#, ".x"), conflict(r#""a""#, ".y"), conflict(r#""b""#, ".x")]);
        assert_eq!(
            many.to_string(),
            "Apply failed with 3 conflicts: conflicts with \"a\":\n- .x\n- .y\nconflicts with \"b\":\n- .x"
        );
    }
}
