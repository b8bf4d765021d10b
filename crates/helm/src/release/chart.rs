//! Charts as records have them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};

use crate::chart::{Chart, Dependency, File, Maintainer, Metadata};
use crate::values::integers;

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

/// The chart of a record, if all of it is there: nothing if it had subcharts.
pub fn restored(stored: &Json) -> Option<Chart> {
    let metadata = stored.get("metadata")?;
    if metadata.get("dependencies").is_some() {
        return None;
    }
    // JSON is YAML.
    let own = |name: &str, content: Vec<u8>| File { name: name.to_owned(), content: content.into() };
    let mut all = vec![own("Chart.yaml", metadata.to_string().into_bytes())];
    all.extend(stored.get("values").map(|values| own("values.yaml", values.to_string().into_bytes())));
    if let Some(schema) = stored.get("schema").and_then(Json::as_str) {
        all.push(own("values.schema.json", BASE64_STANDARD.decode(schema).ok()?));
    }
    for list in ["templates", "files"] {
        for file in stored.get(list).and_then(Json::as_array).into_iter().flatten() {
            let content = BASE64_STANDARD.decode(file.get("data")?.as_str()?).ok()?;
            all.push(own(file.get("name")?.as_str()?, content));
        }
    }
    Chart::from_files(all).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_without_subcharts_comes_back_out_of_its_record() {
        let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned().into() };
        let plain = vec![
            file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\nannotations: {a: b}\n"),
            file("values.yaml", "a: 1\nb: {c: [1.5, x]}\n"),
            file("values.schema.json", "{\"type\": \"object\"}"),
            file("templates/x.yaml", "kind: ConfigMap\n"),
            file("crds/y.yaml", "kind: CustomResourceDefinition\n"),
        ];
        let before = stored(&Chart::from_files(plain.clone()).unwrap());
        assert_eq!(stored(&restored(&before).unwrap()), before);
        let mut with_subchart = plain;
        let dependencies = b"dependencies: [{name: s, version: 1.0.0, repository: ''}]\n";
        with_subchart[0].content = [&*with_subchart[0].content, dependencies].concat().into();
        with_subchart.push(file("charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 1.0.0\n"));
        assert!(restored(&stored(&Chart::from_files(with_subchart).unwrap())).is_none());
    }
}
