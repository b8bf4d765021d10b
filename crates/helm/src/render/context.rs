//! What templates see: `.Values`, `.Chart`, `.Release`, `.Files`, `.Capabilities`, `.Subcharts`, `.Template`.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value as Json;

use super::{Capabilities, Release};
use crate::chart::{Chart, Dependency};
use crate::template::{Element, HelmVersion, Native, Value};
use crate::values::Values;

/// The Helm whose behaviour this is.
const HELM_VERSION: &str = "v4.2.3";

/// A template with what it sees.
pub(super) struct Template<'c> {
    pub(super) name: String,
    pub(super) text: Cow<'c, str>,
    base_path: String,
    scope: Value,
}

impl Template<'_> {
    /// What it sees, its own name included. Templates of one chart share it.
    pub(super) fn data(&self) -> Value {
        if let Some(scope) = self.scope.as_map() {
            let fields = [("Name", self.name.as_str()), ("BasePath", self.base_path.as_str())];
            let own = Value::map_of(Element::Values, fields.map(|(key, value)| (key, Value::text(value))));
            scope.set("Template", own);
        }
        self.scope.clone()
    }
}

/// All templates of a chart and its subcharts.
pub(super) fn templates<'c>(
    chart: &'c Chart,
    values: &Values,
    release: &Release,
    capabilities: &Capabilities,
) -> Vec<Template<'c>> {
    let shared = Shared { release: release_value(release), capabilities: capabilities_value(capabilities) };
    let mut templates = Vec::new();
    let values = Value::map_of(Element::Values, values.iter().map(|(key, value)| (key.as_str(), Value::from(value))));
    collect(chart, chart.name(), true, &values, &shared, &mut templates);
    templates
}

struct Shared {
    release: Value,
    capabilities: Value,
}

fn collect<'c>(
    chart: &'c Chart,
    path: &str,
    is_root: bool,
    values: &Value,
    shared: &Shared,
    templates: &mut Vec<Template<'c>>,
) -> Value {
    let files = chart.files.iter().map(|file| (Rc::from(file.name.as_str()), Rc::from(&*file.content)));
    let subcharts = Value::map::<&str>([]);
    let scope = Value::map_of(
        Element::Values,
        [
            ("Chart", chart_value(chart, is_root)),
            ("Files", Value::native(Native::Files(files.collect()))),
            ("Release", shared.release.clone()),
            ("Capabilities", shared.capabilities.clone()),
            ("Values", values.clone()),
            ("Subcharts", subcharts.clone()),
        ],
    );
    for subchart in &chart.dependencies {
        let inner = values.as_map().and_then(|values| values.get(subchart.name()));
        let inner = inner.filter(|inner| inner.as_map().is_some());
        let inner = inner.unwrap_or_else(|| Value::map_of::<&str>(Element::Values, []));
        let path = format!("{path}/charts/{}", subchart.name());
        let seen = collect(subchart, &path, false, &inner, shared, templates);
        if let Some(subcharts) = subcharts.as_map() {
            subcharts.set(subchart.name(), seen);
        }
    }
    for file in &chart.templates {
        let is_partial = file.name.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        if chart.is_library() && !is_partial {
            continue;
        }
        templates.push(Template {
            name: format!("{path}/{}", file.name),
            // Hardly any is not UTF-8, and to see that it is takes less time than to mend it.
            text: std::str::from_utf8(&file.content).map_or_else(|_| String::from_utf8_lossy(&file.content), Cow::from),
            base_path: format!("{path}/templates"),
            scope: scope.clone(),
        });
    }
    scope
}

fn release_value(release: &Release) -> Value {
    Value::map([
        ("Name", Value::text(release.name.as_str())),
        ("Namespace", Value::text(release.namespace.as_str())),
        ("IsUpgrade", Value::Bool(release.is_upgrade)),
        ("IsInstall", Value::Bool(!release.is_upgrade)),
        ("Revision", Value::int(i64::try_from(release.revision).unwrap_or(i64::MAX))),
        ("Service", Value::text("Helm")),
    ])
}

fn capabilities_value(capabilities: &Capabilities) -> Value {
    let version = &capabilities.kube_version;
    let mut numbers = version.trim_start_matches('v').split('.');
    let mut next = || numbers.next().unwrap_or_default().to_owned();
    let kube = Native::KubeVersion { version: version.clone(), major: next(), minor: next() };
    let versions = capabilities.api_versions.iter().map(|version| version.as_str().into()).collect();
    let helm = HelmVersion {
        version: HELM_VERSION.to_owned(),
        commit: String::new(),
        go: String::new(),
        client: "v1.36".to_owned(),
    };
    Value::native(Native::Capabilities {
        kube: Value::native(kube),
        versions: Value::native(Native::Versions(versions)),
        helm: Value::native(Native::HelmVersion(helm)),
    })
}

fn chart_value(chart: &Chart, is_root: bool) -> Value {
    let metadata = &chart.metadata;
    let text = |text: &str| Value::text(text);
    let texts = |texts: &[String]| Value::texts(texts.iter().map(String::as_str));
    let maintainers = metadata.maintainers.iter().map(|maintainer| {
        let fields = [("Name", &maintainer.name), ("Email", &maintainer.email), ("URL", &maintainer.url)];
        Value::map(fields.map(|(key, value)| (key, text(value))))
    });
    let annotations = metadata.annotations.as_ref().map_or(Value::Nil, |annotations| {
        Value::map_of(Element::Text, annotations.iter().map(|(key, value)| (key.as_str(), text(value))))
    });
    Value::map([
        ("Name", text(&metadata.name)),
        ("Home", text(&metadata.home)),
        ("Sources", texts(&metadata.sources)),
        ("Version", text(&metadata.version)),
        ("Description", text(&metadata.description)),
        ("Keywords", texts(&metadata.keywords)),
        ("Maintainers", Value::list(maintainers.collect())),
        ("Icon", text(&metadata.icon)),
        ("APIVersion", text(&metadata.api_version)),
        ("Condition", text(&metadata.condition)),
        ("Tags", text(&metadata.tags)),
        ("AppVersion", text(&metadata.app_version)),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Annotations", annotations),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Dependencies", Value::list(metadata.dependencies.iter().map(dependency_value).collect())),
        ("Type", text(&metadata.kind)),
        ("IsRoot", Value::Bool(is_root)),
    ])
}

fn dependency_value(dependency: &Dependency) -> Value {
    let text = |text: &str| Value::text(text);
    Value::map([
        ("Name", text(&dependency.name)),
        ("Version", text(&dependency.version)),
        ("Repository", text(&dependency.repository)),
        ("Condition", text(&dependency.condition)),
        ("Tags", Value::texts(dependency.tags.iter().map(String::as_str))),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", Value::from(&Json::Array(dependency.import_values.clone()))),
        ("Alias", text(&dependency.alias)),
    ])
}
