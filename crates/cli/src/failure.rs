//! Why a command did not do what was asked: a sentence for people, an exit code for programs.

use kube::core::Status;

/// What a failed command exits with. `butlerctl --help` and docs/butlerctl.md print this table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// It did not work.
    Failed = 1,
    /// The command line is wrong, or lacks something.
    Usage = 2,
    /// What was named is not there.
    NotFound = 3,
    /// It did not happen in time.
    TimedOut = 4,
    /// The user may not do that.
    NotAllowed = 5,
    /// The change breaks a rule, or collides with another.
    Refused = 6,
    /// The API cannot be reached.
    Unreachable = 7,
}

/// The table of exit codes, for people.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0  done
  1  it did not work
  2  the command line is wrong or lacks something
  3  what was named is not there
  4  it did not happen in time
  5  you may not do that
  6  refused: the change breaks a rule or collides with another
  7  the API cannot be reached";

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// For programs.
    pub(crate) code: Code,
    /// For people; empty when there is nobody left to read it.
    pub(crate) message: String,
}

/// What a command comes to.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Code::Failed, message)
    }

    /// Whether trying to read was answered with "you may not".
    pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
        matches!(error, kube::Error::Api(status) if status.is_forbidden())
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => of_status(&status),
            kube::Error::Service(source) => {
                Self::new(Code::Unreachable, format!("the API cannot be reached: {}", chain(source.as_ref())))
            }
            kube::Error::HyperError(source) => {
                Self::new(Code::Unreachable, format!("the connection to the API broke: {}", chain(&source)))
            }
            other => Self::failed(chain(&other)),
        }
    }
}

impl From<kube::runtime::watcher::Error> for Failure {
    fn from(error: kube::runtime::watcher::Error) -> Self {
        use kube::runtime::watcher::Error;
        match error {
            Error::InitialListFailed(source) | Error::WatchStartFailed(source) | Error::WatchFailed(source) => {
                source.into()
            }
            Error::WatchError(status) => of_status(&status),
            other => Self::failed(chain(&other)),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // Whoever read our output has read enough.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::failed("");
        }
        Self::failed(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(format!("the API answered with something unexpected: {error}"))
    }
}

impl From<kernel::yaml::YamlError> for Failure {
    fn from(error: kernel::yaml::YamlError) -> Self {
        Self::failed(error.to_string())
    }
}

fn of_status(status: &Status) -> Failure {
    let code = match status.code {
        401 | 403 => Code::NotAllowed,
        404 => Code::NotFound,
        409 | 422 => Code::Refused,
        504 => Code::TimedOut,
        _ => Code::Failed,
    };
    if status.code == 404 && status.details.is_none() {
        let message =
            "the API knows no such kind: Butler is not installed there; choose another with --kubeconfig or --context";
        return Failure::new(code, message);
    }
    if let Some((kind, faults)) = faulty_fields(&status.message) {
        let told: Vec<String> = faults.iter().map(|fault| fault.told(kind)).collect();
        return Failure::new(Code::Refused, format!("refused:\n{}", told.join("\n")));
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<String> =
        causes.filter(|cause| !cause.field.is_empty()).map(|cause| rule(&cause.field, &cause.message)).collect();
    let what = status.details.as_ref().filter(|details| !details.name.is_empty());
    let message = match (causes.as_slice(), what) {
        ([], _) => status.message.clone(),
        (causes, Some(what)) => format!("{} {:?} is refused:\n{}", what.kind, what.name, causes.join("\n")),
        (causes, None) => format!("refused:\n{}", causes.join("\n")),
    };
    Failure::new(code, message)
}

/// What is wrong with the fields of an object that was sent.
enum Fault<'a> {
    Unknown(&'a str),
    Doubled(&'a str),
}

impl Fault<'_> {
    fn told(&self, kind: &str) -> String {
        match self {
            Self::Unknown(field) => {
                let above = explained(kind, field);
                format!("  {field}: there is no such field; `kubectl explain {above}` lists those there are")
            }
            Self::Doubled(field) => format!("  {field}: it is there twice; keep one"),
        }
    }
}

/// The fields that the API does not take, and the kind they were meant for, out of its own words.
fn faulty_fields(message: &str) -> Option<(&str, Vec<Fault<'_>>)> {
    if let Some((before, faults)) = message.split_once("strict decoding error: ") {
        let fault = |told| {
            let (what, field): (&str, &str) = told;
            let field = field.strip_suffix('"')?;
            match what {
                "unknown field" => Some(Fault::Unknown(field)),
                "duplicate field" => Some(Fault::Doubled(field)),
                _ => None,
            }
        };
        // What is not understood as a whole is told in the API's words.
        let faults: Option<Vec<Fault<'_>>> =
            faults.split(", ").map(|told| told.split_once(" \"").and_then(fault)).collect();
        return Some((before.split(' ').next()?, faults?));
    }
    let (before, field) = message.strip_suffix(": field not declared in schema")?.rsplit_once("): .")?;
    Some((before.rsplit_once("Kind=")?.1, vec![Fault::Unknown(field)]))
}

/// What to ask `kubectl explain` about a field that is not there: what it would be in.
fn explained(kind: &str, field: &str) -> String {
    let above = field.rsplit_once('.').map_or("", |(above, _)| above);
    let names = above.split('.').map(|name| name.split('[').next().unwrap_or_default());
    let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
    [kind.to_lowercase()].into_iter().chain(names).collect::<Vec<_>>().join(".")
}

/// A broken rule: the field, and the sentence without what the server repeats of the value.
fn rule(field: &str, message: &str) -> String {
    let told = ["object", "string", "array", "integer"].iter().find_map(|type_| {
        let prefix = format!("Invalid value: \"{type_}\": ");
        message.strip_prefix(&prefix)
    });
    let told = told.unwrap_or(message);
    // Rules often begin with the field as people write it.
    let short = field.strip_prefix("spec.").unwrap_or(field);
    let told = told.strip_prefix(&format!("{short}: ")).unwrap_or(told);
    // What is about the whole object is about no field.
    if field == "<nil>" { format!("  {told}") } else { format!("  {field}: {told}") }
}

/// An error and all that caused it, each said once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refusals_name_the_field_and_the_way_out() {
        let status = json!({
            "code": 422, "reason": "Invalid", "message": "long", "details": {
                "kind": "TenantCluster", "name": "my-cluster", "causes": [
                    {"field": "spec.kubernetesVersion", "reason": "FieldValueInvalid",
                     "message": "Invalid value: \"string\": kubernetesVersion cannot go from v1.34.2 back to v1.32.0: choose v1.34.2 or newer"},
                    {"field": "<nil>", "reason": "FieldValueInvalid", "message": "Invalid value: \"object\": choose another name"},
                    {"field": "spec.workers.replicas", "reason": "FieldValueInvalid",
                     "message": "Invalid value: 5000: spec.workers.replicas in body should be less than or equal to 1000"},
                ],
            },
        });
        let failure = of_status(&serde_json::from_value(status).unwrap());
        assert_eq!(failure.code, Code::Refused);
        assert_eq!(
            failure.message,
            "TenantCluster \"my-cluster\" is refused:\n  \
             spec.kubernetesVersion: kubernetesVersion cannot go from v1.34.2 back to v1.32.0: choose v1.34.2 or newer\n  \
             choose another name\n  \
             spec.workers.replicas: Invalid value: 5000: spec.workers.replicas in body should be less than or equal to 1000"
        );
    }

    #[test]
    fn fields_that_are_not_there_are_named() {
        let strict = "TenantCluster in version \"v1alpha1\" cannot be handled as a TenantCluster: strict decoding error: \
                      unknown field \"spec.worker\", duplicate field \"spec.paused\", unknown field \"spec.workerPools[0].size\"";
        let applied = "failed to create typed patch object (team-a/x; butler.butlerlabs.dev/v1alpha1, Kind=TenantCluster): \
                       .spec.worker: field not declared in schema";
        let one = "  spec.worker: there is no such field; `kubectl explain tenantcluster.spec` lists those there are";
        let two = "  spec.workerPools[0].size: there is no such field; `kubectl explain tenantcluster.spec.workerPools` lists those there are";
        for (message, code, expected) in [
            (strict, 400, format!("refused:\n{one}\n  spec.paused: it is there twice; keep one\n{two}")),
            (applied, 500, format!("refused:\n{one}")),
        ] {
            let failure = of_status(&Status::failure(message, "").with_code(code));
            assert_eq!((failure.code, failure.message), (Code::Refused, expected));
        }
    }

    #[test]
    fn answers_have_codes() {
        for (code, expected) in [
            (401, Code::NotAllowed),
            (403, Code::NotAllowed),
            (409, Code::Refused),
            (500, Code::Failed),
            (504, Code::TimedOut),
        ] {
            assert_eq!(of_status(&Status::failure("m", "r").with_code(code)).code, expected, "{code}");
        }
        let unknown_kind = of_status(&Status::failure("404 page not found", "").with_code(404));
        assert!(unknown_kind.message.contains("Butler is not installed there"), "{unknown_kind}");
    }

    #[test]
    fn the_help_lists_every_code() {
        for code in 1..=7 {
            assert!(EXIT_CODES.contains(&format!("\n  {code}  ")), "{code}");
        }
    }
}
