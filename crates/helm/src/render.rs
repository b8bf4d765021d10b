//! Rendering: a chart, values and a release become files.

mod context;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::chart::{Chart, ChartError};
use crate::manifest::{ManifestError, Manifests};
use crate::semver::{Constraint, Version};
use crate::template::{self, Executor, Fault, Machine, ParseError, STACK};
use crate::values::{self, SchemaError, Values};

/// What a rendering is for.
#[derive(Debug, Clone)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// Where it is installed.
    pub namespace: String,
    /// How often it was installed or upgraded, this time included.
    pub revision: u64,
    /// Whether this is an upgrade, and not the first installation.
    pub is_upgrade: bool,
}

/// What a cluster can do.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Its version, as in `v1.34.0`.
    pub kube_version: String,
    /// Its API versions: `apps/v1`, and `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
}

/// Asked by `lookup`.
pub trait Cluster: Sync {
    /// An object, or a list of them if there is no name; none if it is not there.
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Json>, String>;
}

/// A cluster that is not there: nothing is ever found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Cluster for Offline {
    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Option<Json>, String> {
        Ok(None)
    }
}

/// Where passwords and the like come from.
pub trait Random: Sync {
    /// Fills a buffer.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String>;
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        aws_lc_rs::rand::fill(buffer).map_err(|_| "no randomness".to_owned())
    }
}

/// All that could make two renderings of the same chart differ.
pub struct Surroundings<'a> {
    /// The time.
    pub now: Timestamp,
    /// Randomness.
    pub random: &'a dyn Random,
    /// The cluster.
    pub cluster: &'a dyn Cluster,
}

/// Why a chart cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The chart is incomplete.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The chart does not fit the cluster.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {found}")]
    KubeVersion {
        /// What it wants.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// Values cannot be put together.
    #[error("{0}")]
    Values(String),
    /// Values do not fit a schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A library chart was to be installed.
    #[error("library charts are not installable")]
    Library,
    /// A template is no template.
    #[error("parse error at ({location}): {reason}")]
    Parse {
        /// `file:line`
        location: String,
        /// What is wrong.
        reason: String,
        /// The line.
        snippet: String,
    },
    /// A template failed.
    #[error("{message}")]
    Template {
        /// What Helm would say.
        message: String,
        /// `file:line:column`
        location: String,
        /// The line.
        snippet: String,
    },
    /// What came out is not what Kubernetes takes.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// What rendering gave.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// The files, by their path beginning with the chart's name.
    pub files: BTreeMap<String, String>,
    /// All values, as the templates saw them at first.
    pub values: Values,
    /// The chart without what is switched off.
    pub chart: Chart,
}

impl Rendered {
    /// Takes the files apart.
    pub fn manifests(&self) -> Result<Manifests, RenderError> {
        Ok(Manifests::new(&self.chart, &self.files)?)
    }
}

/// Renders a chart with the values that were given.
pub fn render(
    chart: &Chart,
    given: &Values,
    release: &Release,
    capabilities: &Capabilities,
    surroundings: &Surroundings<'_>,
) -> Result<Rendered, RenderError> {
    if chart.is_library() {
        return Err(RenderError::Library);
    }
    chart.check_dependencies()?;
    let mut chart = chart.clone();
    values::process_dependencies(&mut chart, given).map_err(RenderError::Values)?;
    check_kube_version(&chart, capabilities)?;
    let values = values::coalesce(&chart, given).map_err(RenderError::Values)?;
    values::validate(&chart, &values)?;
    // Recursion in templates is bounded, but deeper than what threads have by default.
    let work = || stacker::grow(STACK, || execute(&chart, &values, release, capabilities, surroundings));
    let files = catch_unwind(AssertUnwindSafe(work));
    let files = files.map_err(|_| RenderError::Values("rendering was cut short".to_owned()))??;
    Ok(Rendered { files, values, chart })
}

fn check_kube_version(chart: &Chart, capabilities: &Capabilities) -> Result<(), RenderError> {
    let wanted = &chart.metadata.kube_version;
    if wanted.is_empty() {
        return Ok(());
    }
    let fits = match (Constraint::parse(wanted), Version::parse(&capabilities.kube_version)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(RenderError::KubeVersion { wanted: wanted.clone(), found: capabilities.kube_version.clone() })
}

fn execute(
    chart: &Chart,
    values: &Values,
    release: &Release,
    capabilities: &Capabilities,
    surroundings: &Surroundings<'_>,
) -> Result<BTreeMap<String, String>, RenderError> {
    let mut templates = context::templates(chart, values, release, capabilities);
    // Deeper files first, and the last name first: so the definition that counts is the one of the outermost chart.
    let depth = |name: &str| name.bytes().filter(|byte| *byte == b'/').count();
    templates.sort_by_cached_key(|template| Reverse((depth(&template.name), template.name.clone())));
    let mut executor = Executor::new(Machine::new(surroundings));
    for template in &templates {
        executor
            .define(template::parse(&template.name, &template.text).map_err(|error| unparsable(&templates, error))?);
    }
    let mut files = BTreeMap::new();
    for template in &templates {
        if template.name.rsplit('/').next().is_some_and(|base| base.starts_with('_')) {
            continue;
        }
        let data = template.data();
        let printed = executor.execute(&template.name, &data).map_err(|fault| failed(&templates, fault))?;
        files.insert(template.name.clone(), printed);
    }
    Ok(files)
}

/// The line of a template that `file:line` or `file:line:column` names.
fn snippet(templates: &[context::Template<'_>], location: &str) -> String {
    let found = templates.iter().find_map(|template| {
        let rest = location.strip_prefix(&template.name)?.strip_prefix(':')?;
        let line: usize = rest.split(':').next()?.parse().ok()?;
        template.text.lines().nth(line.checked_sub(1)?)
    });
    readable(found.unwrap_or_default().to_owned())
}

/// More than this nobody reads, and a status has no place for. A thousand templates within each other take less.
const MAX_TOLD: usize = 128 << 10;

/// A text without its middle, if it is too long: what went wrong is at its end, where at its beginning.
fn readable(text: String) -> String {
    if text.len() <= MAX_TOLD {
        return text;
    }
    let (before, after) = (text.floor_char_boundary(MAX_TOLD / 2), text.ceil_char_boundary(text.len() - MAX_TOLD / 2));
    format!("{} … {}", text.get(..before).unwrap_or_default(), text.get(after..).unwrap_or_default())
}

fn unparsable(templates: &[context::Template<'_>], error: ParseError) -> RenderError {
    let snippet = snippet(templates, &error.location);
    // Helm tells what stands behind the last colon.
    let reason = error.message.rsplit(": ").next().unwrap_or_default().to_owned();
    RenderError::Parse { location: error.location, reason: readable(reason), snippet }
}

fn failed(templates: &[context::Template<'_>], fault: Fault) -> RenderError {
    match fault {
        Fault::Nested(error) => RenderError::Template {
            message: readable(error.told()),
            snippet: snippet(templates, &error.location),
            location: error.location.clone(),
        },
        other => {
            RenderError::Template { message: readable(other.flat()), location: String::new(), snippet: String::new() }
        }
    }
}
