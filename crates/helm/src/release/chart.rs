//! Charts as records have them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};

use crate::chart::{Chart, Dependency, File, Maintainer, Metadata};

/// A chart as a record has it. Subcharts are not in it; what they made is in the manifest.
pub fn stored(chart: &Chart) -> Json {
    let lock = chart.lock.as_deref().and_then(|lock| std::str::from_utf8(lock).ok());
    let lock = lock.and_then(|lock| kernel::yaml::value(lock).ok()).unwrap_or_default();
    let schema = chart.schema_file.as_ref().map(|file| BASE64_STANDARD.encode(file));
    let mut values = Json::Object(chart.values.clone());
    integers(&mut values);
    json!({
        "metadata": metadata(&chart.metadata),
        "lock": lock,
        "templates": files(&chart.templates),
        "values": values,
        "schema": schema,
        "files": files(&chart.files),
    })
}

/// Writes whole numbers as Go does, without a fraction.
pub(super) fn integers(json: &mut Json) {
    match json {
        Json::Number(number) => {
            // Beyond this, Go writes an exponent, and so do we.
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e18);
            if let (true, Some(float)) = (number.is_f64(), whole) {
                #[allow(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
                let integer = float as i64;
                *number = integer.into();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(integers),
        Json::Object(fields) => fields.values_mut().for_each(integers),
        _ => {}
    }
}

fn files(files: &[File]) -> Json {
    if files.is_empty() {
        return Json::Null;
    }
    let file = |file: &File| json!({"name": file.name, "data": BASE64_STANDARD.encode(&file.content)});
    files.iter().map(file).collect()
}

/// Fields that say nothing are left out.
fn said(fields: Json) -> Json {
    let is_empty = |value: &Json| match value {
        Json::Null | Json::Bool(false) => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match fields {
        Json::Object(fields) => {
            Json::Object(fields.into_iter().filter(|(_, value)| !is_empty(value)).collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn metadata(metadata: &Metadata) -> Json {
    said(json!({
        "name": metadata.name,
        "home": metadata.home,
        "sources": metadata.sources,
        "version": metadata.version,
        "description": metadata.description,
        "keywords": metadata.keywords,
        "maintainers": metadata.maintainers.iter().map(maintainer).collect::<Json>(),
        "icon": metadata.icon,
        "apiVersion": metadata.api_version,
        "condition": metadata.condition,
        "tags": metadata.tags,
        "appVersion": metadata.app_version,
        "deprecated": metadata.deprecated,
        "annotations": metadata.annotations,
        "kubeVersion": metadata.kube_version,
        "dependencies": metadata.dependencies.iter().map(dependency).collect::<Json>(),
        "type": metadata.kind,
    }))
}

fn maintainer(maintainer: &Maintainer) -> Json {
    said(json!({"name": maintainer.name, "email": maintainer.email, "url": maintainer.url}))
}

fn dependency(dependency: &Dependency) -> Json {
    let mut fields = said(json!({
        "name": dependency.name,
        "version": dependency.version,
        "condition": dependency.condition,
        "tags": dependency.tags,
        "enabled": dependency.enabled,
        "import-values": dependency.import_values,
        "alias": dependency.alias,
    }));
    // Helm writes this one always.
    fields["repository"] = dependency.repository.clone().into();
    fields
}
