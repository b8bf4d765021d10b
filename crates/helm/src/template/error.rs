//! What goes wrong while a template runs, told in Go's and Helm's words.

use super::node::Source;

/// What a function reports.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Something is wrong.
    Message(String),
    /// A limit of rendering is reached: nobody may go on as if nothing were wrong.
    Limit(&'static str),
    /// `fail` or `required`: what the chart's author wants to be read.
    Abort(String),
    /// A template of this name does not exist.
    NoTemplate(String),
    /// A template that the function ran has failed.
    Nested(Box<ExecError>),
    /// The same, with words in front.
    Within(String, Box<ExecError>),
}

impl Fault {
    /// More was to be made than [`super::MAX_MADE`].
    pub(crate) const TOO_LARGE: Self = Self::Limit("the result is too large");
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

/// Where execution failed, and why.
#[derive(Debug, Clone)]
pub(crate) struct ExecError {
    /// `file:line:column`
    pub(crate) location: String,
    /// The template that was executed.
    pub(crate) template: String,
    /// The part of it, as Go prints it.
    pub(crate) context: String,
    /// The function that was called, if one failed.
    pub(crate) calling: Option<&'static str>,
    pub(crate) fault: Fault,
}

impl ExecError {
    pub(crate) fn new(source: &Source, template: &str, position: usize, context: String, fault: Fault) -> Self {
        Self { location: source.location(position), template: template.to_owned(), context, calling: None, fault }
    }

    /// The words of the chart's author, if it was them who stopped.
    fn abort(&self) -> Option<&str> {
        match &self.fault {
            Fault::Abort(message) => Some(message),
            Fault::Nested(inner) | Fault::Within(_, inner) => inner.abort(),
            Fault::Message(_) | Fault::Limit(_) | Fault::NoTemplate(_) => None,
        }
    }

    /// All in one line, as Go's text/template tells it.
    pub(crate) fn flat(&self) -> String {
        let Self { location, template, context, .. } = self;
        let calling = self.calling.map(|name| format!("error calling {name}: ")).unwrap_or_default();
        let name = super::print::quote(template.as_bytes());
        format!("template: {location}: executing {name} at <{context}>: {calling}{}", self.fault.flat())
    }

    /// One paragraph for each template on the way, if nothing but templates is on the way.
    fn trace(&self, out: &mut String) -> bool {
        let name = super::print::quote(self.template.as_bytes());
        out.push_str(&format!("{}\n  executing {name} at <{}>:\n    ", self.location, self.context));
        match (&self.fault, self.calling) {
            (Fault::Message(_) | Fault::Limit(_), None) => {
                out.push_str(&self.fault.flat());
                true
            }
            (Fault::Nested(inner), Some(calling)) => {
                out.push_str(&format!("error calling {calling}:\n"));
                inner.trace(out)
            }
            (Fault::Nested(inner), None) => inner.trace(out),
            (Fault::NoTemplate(_), Some(calling)) => {
                out.push_str(&format!("error calling {calling}:\n{}", self.fault.flat()));
                true
            }
            _ => false,
        }
    }

    /// As `helm` prints it.
    pub(crate) fn told(&self) -> String {
        if let Some(message) = self.abort() {
            return format!("execution error at ({}): {message}", self.location);
        }
        let mut trace = String::new();
        if self.trace(&mut trace) { trace } else { self.flat() }
    }
}

impl Fault {
    pub(crate) fn flat(&self) -> String {
        match self {
            Self::Message(message) | Self::Abort(message) => message.clone(),
            Self::Limit(words) => (*words).to_owned(),
            Self::NoTemplate(name) => {
                format!(
                    "template: no template {} associated with template \"gotpl\"",
                    super::print::quote(name.as_bytes())
                )
            }
            Self::Nested(inner) => inner.flat(),
            Self::Within(words, inner) => format!("{words}{}", inner.flat()),
        }
    }
}
