//! Bytes made to do harm, and bytes that are odd but right.

use serde_json::json;

use crate::table::table;
use crate::wire::Writer;
use crate::{ProtoError, decode, decode_message, decode_or, encode, encode_message, is_protobuf};

const SCHEMA: &str = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const POD_SPEC: &str = "k8s.io.api.core.v1.PodSpec";

/// A field that holds another message.
fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes_field(number, content);
    writer.bytes
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &type_meta), field(2, raw)].concat()
}

#[test]
fn nesting_is_limited() {
    // `not` within `not`, `items` within `items`, and envelopes within envelopes.
    let (mut not, mut items, mut lists) = (Vec::new(), Vec::new(), envelope("v1", "List", &[]));
    for _ in 0..5_000 {
        not = field(28, &not);
        items = field(24, &field(1, &items));
        lists = envelope("v1", "List", &field(2, &field(1, &lists)));
    }
    assert_eq!(decode_message(SCHEMA, &not), Err(ProtoError::TooDeep));
    assert_eq!(decode_message(SCHEMA, &items), Err(ProtoError::TooDeep));
    assert_eq!(decode(&lists), Err(ProtoError::TooDeep));

    let mut value = json!({});
    for _ in 0..200 {
        value = json!({ "not": value });
    }
    assert_eq!(encode_message(SCHEMA, &value), Err(ProtoError::TooDeep));
}

#[test]
fn what_is_decoded_can_be_parsed_as_json() {
    let (mut schema, mut raw) = (Vec::new(), "1".to_owned());
    for _ in 0..60 {
        schema = field(29, &[field(1, b"p"), field(2, &schema)].concat());
        raw = format!("[{raw}]");
    }
    let crd_version = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation";
    let deepest = (0..60).find_map(|fewer| {
        let mut schema = field(8, &field(1, raw.get(fewer..raw.len() - fewer).unwrap().as_bytes()));
        for _ in 0..30 {
            schema = field(29, &[field(1, b"p"), field(2, &schema)].concat());
        }
        decode_message(crd_version, &field(1, &schema)).ok()
    });
    let text = deepest.unwrap().to_string();
    assert!(text.matches('[').count() > 50, "{text}");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    assert_eq!(decode_message(crd_version, &field(1, &schema)), Err(ProtoError::TooDeep));
}

#[test]
fn few_bytes_do_not_become_many_objects() {
    let containers = field(2, &[]).repeat(1_000_000);
    assert_eq!(decode_message(POD_SPEC, &containers), Err(ProtoError::TooManyObjects));
    let env = field(2, &field(7, &[field(1, b"A"), field(2, b"b")].concat()).repeat(100_000));
    assert!(decode_message(POD_SPEC, &env).is_ok());
}

#[test]
fn lengths_are_not_believed() {
    for length in [&[0x7f][..], &[0xff, 0xff, 0xff, 0x7f], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]] {
        let bytes = [&[0x12], length, b"short"].concat();
        assert_eq!(decode_message(POD_SPEC, &bytes), Err(ProtoError::UnexpectedEnd));
    }
}

#[test]
fn malformed_bodies_are_told_as_the_real_server_tells_them() {
    let config_map = |raw: &[u8]| envelope("v1", "ConfigMap", raw);
    let table = [
        (vec![], "empty data"),
        (b"abc".to_vec(), "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0".to_vec(), "empty body"),
        (b"k8s\0\xff".to_vec(), "unexpected EOF"),
        (config_map(&[0x0a, 0x7f]), "unexpected EOF"),
        (config_map(&[0x04]), "proto: ConfigMap: wiretype end group for non-group"),
        (config_map(&[0x00, 0x01]), "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (config_map(&[0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]), "proto: integer overflow"),
        (envelope("v1", "Nope", &[]), "no kind \"Nope\" is registered for version \"v1\""),
        (envelope("v1", "", &[]), "Object 'Kind' is missing"),
        (envelope("", "Pod", &[]), "Object 'apiVersion' is missing"),
    ];
    for (bytes, text) in table {
        assert_eq!(decode(&bytes).unwrap_err().to_string(), text);
    }
}

#[test]
fn what_the_envelope_leaves_out_comes_from_the_path() {
    let decoded = decode_or(&envelope("", "", &[]), "v1", "ConfigMap").unwrap();
    assert_eq!(decoded.value, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}));
    let decoded = decode_or(&envelope("v1", "Secret", &[]), "v1", "ConfigMap").unwrap();
    assert_eq!(decoded.kind, "Secret");
}

#[test]
fn the_answer_of_the_api_root_has_no_version() {
    let versions = json!({"kind": "APIVersions", "versions": ["v1"]});
    let bytes = encode(&versions).unwrap();
    assert!(bytes.starts_with(b"k8s\0\x0a\x0f\x0a\0\x12\x0bAPIVersions"));
    assert_eq!(decode(&bytes).unwrap().value, versions);
}

#[test]
fn odd_but_right_bytes_are_read() {
    let table = [
        // A message in two parts.
        (
            [field(1, &field(1, b"a")), field(1, &field(3, b"n"))].concat(),
            "k8s.io.api.core.v1.ConfigMap",
            json!({"metadata": {"name": "a", "namespace": "n"}}),
        ),
        // The last of two scalars counts, zero or not.
        (
            [field(1, b"a"), field(1, b"b"), field(4, b"x"), field(4, b"")].concat(),
            "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            json!({"name": "b"}),
        ),
        // Packed numbers.
        (
            field(4, &[1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            "k8s.io.api.core.v1.PodSecurityContext",
            json!({"supplementalGroups": [1, 2, -1]}),
        ),
        // Fields that nobody knows.
        (field(900, b"future"), "k8s.io.api.core.v1.PodSecurityContext", json!({})),
        // Map entries without a key or a value.
        (field(2, &[]), "k8s.io.api.core.v1.ConfigMap", json!({"metadata": {}, "data": {"": ""}})),
        // Text that is no UTF-8.
        (field(1, b"a\xff"), "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta", json!({"name": "a\u{fffd}"})),
        // Pointers to zero.
        (
            [0x08, 0x00].to_vec(),
            "k8s.io.api.apps.v1.DeploymentSpec",
            json!({"replicas": 0, "strategy": {}, "template": {"metadata": {}, "spec": {}}}),
        ),
    ];
    for (bytes, name, value) in table {
        assert_eq!(decode_message(name, &bytes), Ok(value), "{name}");
    }
}

#[test]
fn values_of_the_wrong_type_are_refused() {
    let pod = "k8s.io.api.core.v1.Pod";
    let table = [
        (json!([]), "Pod: expected an object"),
        (json!({"spec": 1}), "spec: expected an object"),
        (json!({"metadata": {"name": 5}}), "name: expected a string"),
        (json!({"metadata": {"labels": []}}), "labels: expected an object"),
        (json!({"metadata": {"creationTimestamp": "now"}}), "creationTimestamp: expected a time"),
        (json!({"spec": {"containers": {}}}), "containers: expected a list"),
        (json!({"spec": {"priority": 3_000_000_000_u32}}), "priority: expected a 32-bit integer"),
        (json!({"spec": {"priority": 1.5}}), "priority: expected a 32-bit integer"),
        (json!({"spec": {"hostNetwork": "true"}}), "hostNetwork: expected a boolean"),
        (json!({"spec": {"overhead": {"cpu": true}}}), "overhead: expected a quantity"),
    ];
    for (value, text) in table {
        assert_eq!(encode_message(pod, &value).unwrap_err().to_string(), text);
    }
    let secret = json!({"data": {"k": "not base64!"}});
    let error = encode_message("k8s.io.api.core.v1.Secret", &secret).unwrap_err();
    assert_eq!(error.to_string(), "data: expected base64 text");
}

#[test]
fn custom_kinds_are_not_known() {
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
    let unknown = ProtoError::UnknownKind { api_version: "example.com/v1".to_owned(), kind: "Widget".to_owned() };
    assert_eq!(encode(&widget), Err(unknown));
    assert!(table().of_kind("example.com/v1", "DeleteOptions").is_some());
}

#[test]
fn media_types_are_recognized() {
    let table = [
        ("application/vnd.kubernetes.protobuf", true),
        ("application/vnd.kubernetes.protobuf;stream=watch", true),
        (" Application/vnd.Kubernetes.Protobuf ; as=PartialObjectMetadata", true),
        ("application/json", false),
        ("application/vnd.kubernetes.protobuf+x", false),
        ("", false),
    ];
    for (media_type, expected) in table {
        assert_eq!(is_protobuf(media_type), expected, "{media_type}");
    }
}
