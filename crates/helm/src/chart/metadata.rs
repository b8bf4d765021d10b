//! `Chart.yaml`

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use crate::semver::Version;

/// What `Chart.yaml` says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Its home page.
    #[serde(deserialize_with = "text")]
    pub home: String,
    /// Where it is made.
    #[serde(deserialize_with = "texts")]
    pub sources: Vec<String>,
    /// Its version.
    #[serde(deserialize_with = "text")]
    pub version: String,
    /// What it is for.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// Words to find it by.
    #[serde(deserialize_with = "texts")]
    pub keywords: Vec<String>,
    /// Who keeps it.
    #[serde(deserialize_with = "or_default")]
    pub maintainers: Vec<Maintainer>,
    /// A picture.
    #[serde(deserialize_with = "text")]
    pub icon: String,
    /// `v1` or `v2`.
    #[serde(deserialize_with = "text")]
    pub api_version: String,
    /// Of what belongs to dependencies.
    #[serde(deserialize_with = "text")]
    pub condition: String,
    /// Of what belongs to dependencies.
    #[serde(deserialize_with = "text")]
    pub tags: String,
    /// The version of what it installs.
    #[serde(deserialize_with = "text")]
    pub app_version: String,
    /// Whether nobody should use it any more.
    #[serde(deserialize_with = "or_default")]
    pub deprecated: bool,
    /// Anything else.
    #[serde(deserialize_with = "text_map")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// The range of Kubernetes versions it works with.
    #[serde(deserialize_with = "text")]
    pub kube_version: String,
    /// The charts it needs.
    #[serde(deserialize_with = "or_default")]
    pub dependencies: Vec<Dependency>,
    /// `application` or `library`.
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
}

/// Somebody who keeps a chart.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Maintainer {
    /// Their name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Their mail address.
    #[serde(deserialize_with = "text")]
    pub email: String,
    /// Their page.
    #[serde(deserialize_with = "text")]
    pub url: String,
}

/// A chart that another one needs.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// Its name; while values are put together, its alias.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// The range of versions that will do.
    #[serde(deserialize_with = "text")]
    pub version: String,
    /// Where it is from.
    #[serde(deserialize_with = "text")]
    pub repository: String,
    /// Paths of values of which the first that is there switches it on or off.
    #[serde(deserialize_with = "text")]
    pub condition: String,
    /// Names under `tags` that switch it on or off together with others.
    #[serde(deserialize_with = "texts")]
    pub tags: Vec<String>,
    /// Whether it is on.
    #[serde(skip)]
    pub enabled: bool,
    /// Values of it that become values of the chart that needs it.
    #[serde(rename = "import-values", deserialize_with = "or_default")]
    pub import_values: Vec<Json>,
    /// Another name for it.
    #[serde(deserialize_with = "text")]
    pub alias: String,
}

impl Default for Dependency {
    fn default() -> Self {
        Self {
            name: String::new(),
            version: String::new(),
            repository: String::new(),
            condition: String::new(),
            tags: Vec::new(),
            enabled: true,
            import_values: Vec::new(),
            alias: String::new(),
        }
    }
}

impl Metadata {
    /// Reads `Chart.yaml`.
    pub(super) fn read(yaml: &str) -> Result<Self, String> {
        let json = kernel::yaml::value(yaml).map_err(|error| error.to_string())?;
        serde_json::from_value(if json.is_null() { Json::Object(serde_json::Map::new()) } else { json })
            .map_err(|error| error.to_string())
    }

    /// Reads `requirements.yaml`, where charts of the first version have their dependencies.
    pub(super) fn read_requirements(yaml: &str) -> Result<Vec<Dependency>, String> {
        Ok(Self::read(yaml)?.dependencies)
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        if self.api_version.is_empty() {
            return Err("chart.metadata.apiVersion is required".to_owned());
        }
        if self.name.is_empty() {
            return Err("chart.metadata.name is required".to_owned());
        }
        if self.name.contains(['/', '\\']) || matches!(self.name.as_str(), "." | "..") {
            return Err(format!("chart.metadata.name {:?} is invalid", self.name));
        }
        if self.version.is_empty() {
            return Err("chart.metadata.version is required".to_owned());
        }
        if Version::parse(&self.version).is_err() {
            return Err(format!("chart.metadata.version {:?} is invalid", self.version));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return Err("chart.metadata.type must be application or library".to_owned());
        }
        for dependency in &self.dependencies {
            let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
            if dependency.name.is_empty() {
                return Err("dependencies must have a name".to_owned());
            }
            if !dependency.alias.chars().all(valid) {
                return Err(format!("dependency {:?} has disallowed characters in the alias", dependency.name));
            }
        }
        Ok(())
    }
}

/// A text; numbers and truths are texts where one is expected.
fn plain(json: &Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(crate::template::json::number_text(number)),
        Json::Bool(value) => Some(value.to_string()),
        Json::Null => Some(String::new()),
        Json::Array(_) | Json::Object(_) => None,
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let json = Json::deserialize(deserializer)?;
    plain(&json).ok_or_else(|| serde::de::Error::custom("expected a text"))
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let items: Vec<Json> = or_default(deserializer)?;
    items.iter().map(|item| plain(item).ok_or_else(|| serde::de::Error::custom("expected a text"))).collect()
}

fn text_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let Some(fields) = Option::<BTreeMap<String, Json>>::deserialize(deserializer)? else { return Ok(None) };
    let texts = fields.into_iter().map(|(key, value)| {
        let value = plain(&value).ok_or_else(|| serde::de::Error::custom("expected a text"))?;
        Ok((key, value))
    });
    texts.collect::<Result<_, _>>().map(Some)
}

/// Null is as good as nothing.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
