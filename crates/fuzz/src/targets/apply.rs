//! Server-side apply and who owns what. An input is `{"kind", "live", "change"}`.

use std::collections::HashMap;
use std::sync::LazyLock;

use kapi_merge::ownership::validate_managed_fields;
use kapi_merge::{ApplyRequest, FieldSet, KindOrigin, UpdateRequest, apply, track_update};
use kapi_schema::Schema;
use kapi_schema::field::Path;
use serde_json::Value;

use super::Target;
use crate::laws::same;
use crate::mutate::Form;
use crate::recordings;

pub(super) const TARGET: Target = Target {
    name: "apply",
    run,
    form: Form::Json,
    words: &[
        "managedFields",
        "fieldsV1",
        "fieldsType",
        "manager",
        "operation",
        "Apply",
        "Update",
        "subresource",
        "time",
        "f:spec",
        "f:metadata",
        "k:{\"name\":\"a\"}",
        "k:{\"port\":80,\"protocol\":\"TCP\"}",
        "k:{",
        "v:\"a\"",
        "v:1",
        "i:0",
        ".",
        "name",
        "port",
        "protocol",
        "items",
        "tags",
        "labels",
        "finalizers",
        "spec",
        "status",
        "metadata",
        "a",
        "fuzz",
        "apiVersion",
        "kubectl.kubernetes.io/last-applied-configuration",
        "annotations",
        "free",
        "embedded",
        "matrix",
    ],
    seeds: || {
        Ok(recordings::writes(&["apply", "update", "create"])?
            .iter()
            .map(|write| write.to_string().into_bytes())
            .collect())
    },
};

/// A kind that recordings use.
pub(super) struct Kind {
    pub(super) schema: Schema,
    origin: KindOrigin,
    name: &'static str,
    api_version: &'static str,
}

const BUILT_IN: [(&str, &str); 5] =
    [("Pod", "v1"), ("Service", "v1"), ("ConfigMap", "v1"), ("Deployment", "apps/v1"), ("Namespace", "v1")];

static KINDS: LazyLock<HashMap<&str, Kind>> = LazyLock::new(|| {
    let mut kinds = HashMap::new();
    for (name, api_version) in BUILT_IN {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if let Some(schema) = kapi_kinds::schema(group, version, name) {
            kinds.insert(name, Kind { schema, origin: KindOrigin::BuiltIn, name, api_version });
        }
    }
    let widget = recordings::document("crates/kapi-merge/tests/schemas/widget.json").ok();
    if let Some(schema) = widget.and_then(|openapi| Schema::parse(&openapi).ok()) {
        let (name, api_version) = ("Widget", "merge.example.com/v1");
        kinds.insert(name, Kind { schema, origin: KindOrigin::Custom, name, api_version });
    }
    kinds
});

/// The kind an input names.
pub(super) fn kind(write: &Value) -> Option<&'static Kind> {
    KINDS.get(write["kind"].as_str()?)
}

fn run(input: &[u8]) -> Result<(), String> {
    let Ok(mut write) = serde_json::from_slice::<Value>(input) else { return Ok(()) };
    let Some(kind) = kind(&write) else { return Ok(()) };
    let mut change = write["change"].take();
    let live = write["live"].take();
    let live = live.is_object().then_some(&live);
    // Objects of other kinds never come this far.
    if let Some(fields) = change.as_object_mut() {
        fields.insert("kind".to_owned(), kind.name.into());
        fields.insert("apiVersion".to_owned(), kind.api_version.into());
    }
    let reset_fields = FieldSet::of_fields(&[&["status"]]);
    let request = ApplyRequest {
        manager: "fuzz",
        force: true,
        api_version: kind.api_version,
        kind: kind.name,
        subresource: "",
        now: "2026-01-01T00:00:00Z",
        origin: kind.origin,
        versions: &[kind.api_version],
        reset_fields: &reset_fields,
    };
    let schema = kind.schema.root();
    // Conflicts have their own tests; here they must only be found.
    let _conflict = apply(live, &change, schema, &ApplyRequest { force: false, manager: "other", ..request });
    if let Ok(once) = apply(live, &change, schema, &request) {
        let managed = validate_managed_fields(&once, &Path::new("metadata"));
        same("what apply writes into managedFields is valid", &managed, &Vec::new())?;
        // Where nothing is owned, the next apply takes the object for one from before there was ownership.
        if once.pointer("/metadata/managedFields").is_some() {
            let twice = apply(Some(&once), &change, schema, &request);
            let twice =
                twice.map_err(|error| format!("what can be applied once can be applied twice, but: {error}"))?;
            same("applied twice is applied once", &once, &twice)?;
        }
    }
    let update = UpdateRequest {
        manager: "fuzz",
        api_version: kind.api_version,
        subresource: "",
        now: request.now,
        origin: kind.origin,
        versions: request.versions,
        reset_fields: &reset_fields,
    };
    track_update(live, &mut change, schema, &update);
    Ok(())
}
