//! A CustomResourceDefinition as a whole.

use serde_json::{Map, Value};

use super::{internal, parts, validate_crd_schema};
use crate::field::{FieldError, Path};
use crate::names::{dns1035_label, dns1123_subdomain};

const APPROVAL: &str = "api-approved.kubernetes.io";

/// What may stand at the root of a schema when there is a status subresource, by Go name and by key.
const ROOT_KEYWORDS: [(&str, &str); 22] = [
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"),
    ("XValidations", "x-kubernetes-validations"),
];

/// What is wrong with a CustomResourceDefinition whose defaults are filled in; `old` is the one it replaces.
///
/// The metadata every object has is not looked at, but for the name, which must say what the CRD is for.
pub fn validate_crd(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    if old.is_none() {
        let name = crd.get("metadata").and_then(|metadata| metadata.get("name")).unwrap_or(&Value::Null);
        let wanted = format!("{}.{}", text(at(spec, "names"), "plural"), text(spec, "group"));
        if name.as_str() != Some(wanted.as_str()) {
            let detail = "must be spec.names.plural+\".\"+spec.group";
            errors.push(FieldError::invalid(&Path::new("metadata.name"), name, detail));
        }
    }
    spec_errors(spec, old.map(|old| at(old, "spec")), &Path::new("spec"), &mut errors);
    if let Some(old) = old {
        immutable(crd, old, &mut errors);
    }
    let status = crd.get("status").unwrap_or(&Value::Null);
    errors.extend(parts::names(at(status, "acceptedNames"), &Path::new("status.acceptedNames")));
    stored_versions(status, spec, &mut errors);
    approval(crd, old, &mut errors);
    let open = |crd: &Value| at(at(crd, "spec"), "preserveUnknownFields") == &Value::Bool(true);
    if open(crd) && !old.is_some_and(open) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                      instead";
        errors.push(FieldError::invalid(&Path::new("spec.preserveUnknownFields"), &Value::Bool(true), detail));
    }
    errors
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// The versions, with what they all share taken out: the server judges that once, above them.
struct Versions<'a> {
    absent: bool,
    each: Vec<Map<String, Value>>,
    shared: [Option<&'a Value>; 4],
}

const SHARED: [&str; 4] = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];

impl<'a> Versions<'a> {
    fn of(spec: &'a Value) -> Self {
        let versions: Vec<&'a Value> = at(spec, "versions").as_array().into_iter().flatten().collect();
        let mut each: Vec<Map<String, Value>> =
            versions.iter().map(|version| version.as_object().cloned().unwrap_or_default()).collect();
        let shared = SHARED.map(|key| {
            let value = versions.first().and_then(|first| first.get(key)).filter(|value| !value.is_null());
            let same = versions.iter().all(|version| version.get(key).filter(|value| !value.is_null()) == value);
            if same {
                each.iter_mut().for_each(|version| drop(version.remove(key)));
            }
            value.filter(|_| same)
        });
        Self { absent: at(spec, "versions").is_null(), each, shared }
    }
}

/// Whether a version had the same schema before.
fn is_unchanged(spec: &Value, old: Option<&Value>, version: &str) -> bool {
    let schema = |spec: &Value| {
        let versions = at(spec, "versions").as_array().into_iter().flatten();
        versions.into_iter().find(|known| text(known, "name") == version).map(|known| at(known, "schema").clone())
    };
    old.is_some_and(|old| schema(old).is_some() && schema(old) == schema(spec))
}

fn spec_errors(spec: &Value, old: Option<&Value>, path: &Path, errors: &mut Vec<FieldError>) {
    let group = text(spec, "group");
    let group_path = path.child("group");
    let wrong = dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required(&group_path, ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid(&group_path, &Value::from(group), wrong.join(",")));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(&group_path, &Value::from(group), detail));
    }
    match text(spec, "scope") {
        "" => errors.push(FieldError::required(&path.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => {
            let scopes = ["Cluster", "Namespaced"];
            errors.push(FieldError::not_supported(&path.child("scope"), &Value::from(other), &scopes));
        }
    }
    let versions = Versions::of(spec);
    let [schema, subresources, columns, selectable] = versions.shared;
    let openapi =
        |schema: Option<&'_ Value>| schema.map(|schema| at(schema, "openAPIV3Schema").clone()).filter(Value::is_object);
    let shared_openapi = openapi(schema);
    let has_status = |subresources: Option<&Value>| subresources.is_some_and(|s| !at(s, "status").is_null());
    if shared_openapi.is_none() {
        for (i, version) in versions.each.iter().enumerate() {
            if openapi(version.get("schema")).is_none() {
                let at = path.child("versions").index(i).child("schema").child("openAPIV3Schema");
                errors.push(FieldError::required(&at, ""));
            }
        }
    }
    for (i, version) in versions.each.iter().enumerate() {
        let path = path.child("versions").index(i);
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let wrong = dns1035_label(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&path.child("name"), &Value::from(name), wrong.join(",")));
        }
        errors.extend(parts::deprecation(version, &path));
        let own = openapi(version.get("schema"));
        let status = has_status(subresources.or(version.get("subresources")));
        let unchanged = is_unchanged(spec, old, name);
        schema_errors(own.as_ref(), status, unchanged, &path.child("schema.openAPIV3Schema"), errors);
        errors.extend(parts::subresources(version.get("subresources"), &path.child("subresources")));
        errors.extend(parts::columns(version.get("additionalPrinterColumns"), &path.child("additionalPrinterColumns")));
        let own = own.or_else(|| shared_openapi.clone());
        let fields_path = path.child("selectableFields");
        errors.extend(parts::selectable(version.get("selectableFields"), own.as_ref(), &fields_path));
    }
    counts(&versions, path, errors);
    names(spec, path, errors);
    let any_status = has_status(subresources) || versions.each.iter().any(|v| has_status(v.get("subresources")));
    let first = versions.each.first().and_then(|first| first.get("name")).and_then(Value::as_str).unwrap_or_default();
    let unchanged = is_unchanged(spec, old, first);
    schema_errors(shared_openapi.as_ref(), any_status, unchanged, &path.child("validation.openAPIV3Schema"), errors);
    errors.extend(parts::subresources(subresources, &path.child("subresources")));
    errors.extend(parts::columns(columns, &path.child("additionalPrinterColumns")));
    errors.extend(parts::selectable(selectable, shared_openapi.as_ref(), &path.child("selectableFields")));
    errors.extend(parts::conversion(spec.get("conversion"), &path.child("conversion")));
}

fn schema_errors(
    openapi: Option<&Value>,
    has_status: bool,
    is_unchanged: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let Some(openapi) = openapi else { return };
    if has_status && let Some(map) = openapi.as_object() {
        let said = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "";
        let ty = text(openapi, "type");
        let stray = map.iter().any(|(key, value)| said(value) && !ROOT_KEYWORDS.iter().any(|(_, known)| known == key));
        if !ty.is_empty() && ty != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                          enabled";
            errors.push(FieldError::invalid(&path.child("type"), &Value::from(ty), detail));
        } else if stray {
            let known: Vec<&str> = ROOT_KEYWORDS.iter().map(|(name, _)| *name).collect();
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                known.join(" ")
            );
            errors.push(internal::invalid(path, internal::schema(openapi), detail));
        }
    }
    errors.extend(validate_crd_schema(openapi, path, is_unchanged));
}

fn counts(versions: &Versions<'_>, path: &Path, errors: &mut Vec<FieldError>) {
    let path = path.child("versions");
    let names: Vec<&Value> = versions.each.iter().filter_map(|version| version.get("name")).collect();
    if names.iter().enumerate().any(|(i, name)| names.iter().take(i).any(|earlier| earlier == name)) {
        let printed = internal::versions(&versions.each);
        errors.push(internal::invalid(&path, printed, "must contain unique version names"));
    }
    let storage = versions.each.iter().filter(|version| version.get("storage") == Some(&Value::Bool(true))).count();
    if storage != 1 {
        let printed = if versions.absent { "null".into() } else { internal::versions(&versions.each) };
        errors.push(internal::invalid(&path, printed, "must have exactly one version marked as storage version"));
    }
    // The first version is also the version the oldest clients saw, and is judged once more as such.
    if let Some(first) = names.first().and_then(|name| name.as_str()).filter(|name| !name.is_empty()) {
        let wrong = dns1035_label(first);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&Path::new("spec.version"), &Value::from(first), wrong.join(",")));
        }
    }
}

fn names(spec: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let names = at(spec, "names");
    let path = path.child("names");
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(names, key).is_empty() {
            errors.push(FieldError::required(&path.child(key), ""));
        }
    }
    errors.extend(parts::names(names, &path));
}

fn immutable(crd: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let established = at(at(old, "status"), "conditions")
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True");
    let spec =
        |crd: &Value, way: &[&str]| way.iter().fold(at(crd, "spec").clone(), |value, key| at(&value, key).clone());
    let fields: [(&[&str], bool); 4] = [
        (&["scope"], established),
        (&["names", "kind"], established),
        (&["group"], true),
        (&["names", "plural"], true),
    ];
    for (way, fixed) in fields {
        let (new, before) = (spec(crd, way), spec(old, way));
        if fixed && new != before {
            let path = Path::new(format!("spec.{}", way.join(".")));
            errors.push(FieldError::invalid(&path, &new, "field is immutable"));
        }
    }
}

fn stored_versions(status: &Value, spec: &Value, errors: &mut Vec<FieldError>) {
    let path = Path::new("status.storedVersions");
    let stored = at(status, "storedVersions");
    let list: Vec<&str> = stored.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if list.is_empty() {
        errors.push(FieldError::invalid(&path, stored, "must have at least one stored version"));
        return;
    }
    let versions: Vec<&Value> = at(spec, "versions").as_array().into_iter().flatten().collect();
    for version in &versions {
        let name = text(version, "name");
        if version.get("storage") == Some(&Value::Bool(true)) && !list.contains(&name) {
            errors.push(FieldError::invalid(&path, stored, format!("must have the storage version {name}")));
        }
    }
    for (i, name) in list.iter().enumerate() {
        if !versions.iter().any(|version| text(version, "name") == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(&path.index(i), &Value::from(*name), detail));
        }
    }
}

/// Groups of the Kubernetes community need their approval.
fn approval(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    #[derive(PartialEq)]
    enum State {
        Missing,
        Bypassed,
        Approved,
        Invalid,
    }
    let group = text(at(crd, "spec"), "group");
    let protected = ["k8s.io", "kubernetes.io"];
    if !protected.iter().any(|own| group == *own || group.ends_with(&format!(".{own}"))) {
        return;
    }
    let annotation = |crd: &Value| text(at(at(crd, "metadata"), "annotations"), APPROVAL).to_owned();
    let state = |text: &str| match text {
        "" => State::Missing,
        text if text.starts_with("unapproved") => State::Bypassed,
        text if text.split_once("://").is_some_and(|(_, host)| !host.is_empty()) => State::Approved,
        _ => State::Invalid,
    };
    let value = annotation(crd);
    let new = state(&value);
    if old.is_some_and(|old| state(&annotation(old)) == new) {
        return;
    }
    let path = Path::new("metadata.annotations").key(APPROVAL);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match new {
        State::Missing => {
            let detail = format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
            errors.push(FieldError::required(&path, detail));
        }
        State::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting \
                 with \"unapproved\", {see}"
            );
            errors.push(FieldError::invalid(&path, &Value::from(value), detail));
        }
        State::Approved | State::Bypassed => {}
    }
}
