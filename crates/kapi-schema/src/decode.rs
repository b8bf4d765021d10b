//! Wrong types in built-in kinds: the errors Go's JSON decoder gives, since there a struct is the schema.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use crate::field::go_quote;
use crate::go;
use crate::schema::{SchemaRef, Type};

/// What decoding `value` into the Go type of a kind would say, as
/// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`.
///
/// OpenAPI does not know the names Go gives to string types, so those are told as `string`.
pub fn check_types_as_go(value: &Value, schema: SchemaRef<'_>, kind_name: &str) -> Option<String> {
    let place = Place { owner: kind_name.to_owned(), path: String::new() };
    if !value.is_object() && !value.is_null() {
        return Some(format!(
            "json: cannot unmarshal {} into Go value of type {}",
            go::json_type(value),
            go_type(schema)
        ));
    }
    fields(value, schema, &place)
}

/// The struct a field is in, and the way to the field.
struct Place {
    owner: String,
    path: String,
}

impl Place {
    fn field(&self, owner: &str, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { owner: owner.to_owned(), path }
    }

    fn error(&self, found: &str, wanted: &str) -> String {
        format!("json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}", self.owner, self.path)
    }
}

/// The fields of a struct. Unknown ones are somebody else's business.
fn fields(value: &Value, schema: SchemaRef<'_>, place: &Place) -> Option<String> {
    let owner = schema.node().name.as_deref().unwrap_or(&place.owner);
    let map = value.as_object()?;
    map.iter().find_map(|(key, child)| check(child, schema.property(key)?, &place.field(owner, key)))
}

fn check(value: &Value, schema: SchemaRef<'_>, place: &Place) -> Option<String> {
    let node = schema.node();
    if value.is_null() {
        return None;
    }
    match special(schema) {
        Some(Special::Quantity) => return quantity(value),
        Some(Special::IntOrString) => {
            return match value {
                Value::String(_) => None,
                other => integer(other, "int32", place),
            };
        }
        Some(Special::Raw) => return None,
        None => {}
    }
    let wrong = || {
        let is_uid = place.path == "uid" || place.path.ends_with(".uid");
        let wanted = if is_uid { "types.UID".to_owned() } else { go_type(schema) };
        Some(place.error(go::json_type(value), &wanted))
    };
    match (node.ty, value) {
        (None, _) => None,
        (Some(Type::String), Value::String(text)) => match node.format.as_deref() {
            Some("byte") => bytes(text),
            Some("date-time") => time(text),
            _ => None,
        },
        (Some(Type::Boolean), Value::Bool(_)) => None,
        (Some(Type::Integer), _) => integer(value, &go_type(schema), place),
        (Some(Type::Number), Value::Number(_)) => None,
        (Some(Type::Array), Value::Array(items)) => {
            let schema = schema.items()?;
            items.iter().find_map(|item| check(item, schema, place))
        }
        (Some(Type::Object), Value::Object(map)) => match schema.additional() {
            Some(entry) => map.values().find_map(|child| check(child, entry, place)),
            None => fields(value, schema, place),
        },
        _ => wrong(),
    }
}

/// Types with a reading of their own.
enum Special {
    Quantity,
    IntOrString,
    Raw,
}

fn special(schema: SchemaRef<'_>) -> Option<Special> {
    let node = schema.node();
    if node.int_or_string || node.format.as_deref() == Some("int-or-string") {
        return Some(Special::IntOrString);
    }
    match node.name.as_deref() {
        Some("Quantity") => Some(Special::Quantity),
        Some("IntOrString") => Some(Special::IntOrString),
        Some("RawExtension" | "JSON" | "FieldsV1" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool") => {
            Some(Special::Raw)
        }
        _ => None,
    }
}

fn integer(value: &Value, wanted: &str, place: &Place) -> Option<String> {
    let Value::Number(number) = value else { return Some(place.error(go::json_type(value), wanted)) };
    let fits = match (number.as_i64(), wanted) {
        (Some(int), "int32") => i32::try_from(int).is_ok(),
        (Some(_), _) => true,
        (None, _) => false,
    };
    (!fits).then(|| place.error(&format!("number {}", as_written(number)), wanted))
}

fn as_written(number: &Number) -> String {
    go::json(&Value::Number(number.clone()))
}

fn go_type(schema: SchemaRef<'_>) -> String {
    let node = schema.node();
    match special(schema) {
        Some(Special::Quantity) => return "resource.Quantity".into(),
        Some(Special::IntOrString) => return "intstr.IntOrString".into(),
        _ => {}
    }
    match node.ty {
        Some(Type::String) if node.format.as_deref() == Some("byte") => "[]uint8".into(),
        Some(Type::String) => "string".into(),
        Some(Type::Boolean) => "bool".into(),
        Some(Type::Integer) => if node.format.as_deref() == Some("int32") { "int32" } else { "int64" }.into(),
        Some(Type::Number) => "float64".into(),
        Some(Type::Array) => format!("[]{}", schema.items().map_or_else(|| "interface {}".into(), go_type)),
        Some(Type::Object) => match (schema.additional(), &node.name) {
            (Some(entry), _) if matches!(special(entry), Some(Special::Quantity)) => "v1.ResourceList".into(),
            (Some(entry), _) => format!("map[string]{}", go_type(entry)),
            (None, Some(name)) => format!("{}.{name}", node.package.as_deref().unwrap_or("v1")),
            (None, None) => "map[string]interface {}".into(),
        },
        None => "interface {}".into(),
    }
}

fn quantity(value: &Value) -> Option<String> {
    let text = match value {
        Value::Number(_) => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.is_empty() {
        // What is nothing but quotes is zero.
        return None;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let digits = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = unsigned.get(..unsigned.len() - digits.len()).unwrap_or_default();
    let exponent = digits.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let shaped = !number.is_empty() && exponent.bytes().all(|b| b.is_ascii_digit());
    if !shaped || !number.bytes().any(|b| b.is_ascii_digit()) {
        return Some(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned(),
        );
    }
    let known = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let exponent_form = digits.starts_with(['e', 'E'])
        && digits.get(1..).is_some_and(|rest| rest.trim_start_matches(['+', '-']).parse::<i32>().is_ok());
    if !known.contains(&digits) && !exponent_form {
        return Some("unable to parse quantity's suffix".to_owned());
    }
    None
}

fn bytes(text: &str) -> Option<String> {
    use base64::DecodeError;
    let clean: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let at = match STANDARD.decode(&clean) {
        Ok(_) => return None,
        Err(DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _)) => at,
        Err(_) => clean.len() / 4 * 4,
    };
    Some(format!("illegal base64 data at input byte {at}"))
}

fn time(text: &str) -> Option<String> {
    if text.is_empty() || crate::formats::check("date-time", text) == Some(true) {
        return None;
    }
    let year = text.get(..4).is_some_and(|year| year.bytes().all(|b| b.is_ascii_digit()));
    let (rest, expected) = match (year, text.get(4..)) {
        (true, Some(rest)) if !rest.starts_with('-') => (rest, "-"),
        (true, Some(rest)) => match rest
            .get(6..)
            .filter(|_| crate::formats::check("date", text.get(..10).unwrap_or_default()) == Some(true))
        {
            Some(time) => (time, "T"),
            None => (rest.get(1..).unwrap_or_default(), "01"),
        },
        _ => (text, "2006"),
    };
    Some(format!(
        "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as {}",
        go_quote(text),
        go_quote(rest),
        go_quote(expected)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    fn components() -> Value {
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/io.k8s.api.core.v1.{name}")});
        json!({
            "io.k8s.api.core.v1.Deployment": {"type": "object", "properties": {
                "metadata": reference("ObjectMeta"), "spec": reference("DeploymentSpec"),
                "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
            }},
            "io.k8s.api.core.v1.ObjectMeta": {"type": "object", "properties": {
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "finalizers": {"type": "array", "items": {"type": "string"}},
                "creationTimestamp": {"type": "string", "format": "date-time"},
                "generation": {"type": "integer", "format": "int64"},
            }},
            "io.k8s.api.core.v1.DeploymentSpec": {"type": "object", "properties": {
                "replicas": {"type": "integer", "format": "int32"},
                "paused": {"type": "boolean"},
                "surge": reference("IntOrString"),
                "limits": {"type": "object", "additionalProperties": reference("Quantity")},
                "containers": {"type": "array", "items": reference("Container")},
            }},
            "io.k8s.api.core.v1.Container": {"type": "object", "properties": {"name": {"type": "string"}}},
            "io.k8s.api.core.v1.IntOrString": {"type": "string", "format": "int-or-string"},
            "io.k8s.api.core.v1.Quantity": {"type": "string"},
        })
    }

    #[test]
    fn decoding_fails_as_in_go() {
        let components = components();
        let name = "io.k8s.api.core.v1.Deployment";
        let schema = Schema::parse_component(components.as_object().unwrap(), name).unwrap();
        let field = "json: cannot unmarshal";
        let into = "into Go struct field";
        let cases = [
            (json!({"spec": {"replicas": 1, "surge": "1%", "limits": {"cpu": "1Gi", "x": 2}}}), None),
            (json!({"spec": {"replicas": null}}), None),
            (
                json!({"spec": {"replicas": "x"}}),
                Some(format!("{field} string {into} DeploymentSpec.spec.replicas of type int32")),
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                Some(format!("{field} number 1.5 {into} DeploymentSpec.spec.replicas of type int32")),
            ),
            (
                json!({"spec": {"replicas": 3_000_000_000_u32}}),
                Some(format!("{field} number 3000000000 {into} DeploymentSpec.spec.replicas of type int32")),
            ),
            (json!({"spec": "x"}), Some(format!("{field} string {into} Deployment.spec of type v1.DeploymentSpec"))),
            (
                json!({"spec": {"containers": "x"}}),
                Some(format!("{field} string {into} DeploymentSpec.spec.containers of type []v1.Container")),
            ),
            (
                json!({"spec": {"containers": [1]}}),
                Some(format!("{field} number {into} DeploymentSpec.spec.containers of type v1.Container")),
            ),
            (
                json!({"spec": {"containers": [{"name": 1}]}}),
                Some(format!("{field} number {into} Container.spec.containers.name of type string")),
            ),
            (
                json!({"spec": {"surge": true}}),
                Some(format!("{field} bool {into} DeploymentSpec.spec.surge of type int32")),
            ),
            (
                json!({"spec": {"limits": []}}),
                Some(format!("{field} array {into} DeploymentSpec.spec.limits of type v1.ResourceList")),
            ),
            (
                json!({"spec": {"limits": {"cpu": "x"}}}),
                Some(
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                        .into(),
                ),
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                Some(format!("{field} number {into} ObjectMeta.metadata.labels of type string")),
            ),
            (
                json!({"metadata": {"labels": []}}),
                Some(format!("{field} array {into} ObjectMeta.metadata.labels of type map[string]string")),
            ),
            (
                json!({"metadata": {"finalizers": "x"}}),
                Some(format!("{field} string {into} ObjectMeta.metadata.finalizers of type []string")),
            ),
            (
                json!({"metadata": {"generation": "x"}}),
                Some(format!("{field} string {into} ObjectMeta.metadata.generation of type int64")),
            ),
            (
                json!({"metadata": {"creationTimestamp": 1}}),
                Some(format!("{field} number {into} ObjectMeta.metadata.creationTimestamp of type string")),
            ),
            (
                json!({"metadata": {"creationTimestamp": "x"}}),
                Some("parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"".into()),
            ),
            (json!({"data": {"a": "#"}}), Some("illegal base64 data at input byte 0".into())),
            (json!({"data": {"a": 1}}), Some(format!("{field} number {into} Deployment.data of type []uint8"))),
            (json!({"data": "x"}), Some(format!("{field} string {into} Deployment.data of type map[string][]uint8"))),
        ];
        for (value, expected) in cases {
            assert_eq!(check_types_as_go(&value, schema.root(), "Deployment"), expected, "{value}");
        }
    }
}
