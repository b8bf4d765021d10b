//! Pairs of JSON and protobuf recorded off a real kube-apiserver (`tests/data/record.py`).
#![expect(clippy::unwrap_used, reason = "the helpers of tests stop at anything unexpected, as tests do")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kapi_proto::{decode, decode_watch_event, encode, encode_list, encode_watch_event, split_frame};
use serde_json::{Value, json};

struct Pair {
    name: String,
    json: Value,
    protobuf: Vec<u8>,
}

fn pairs() -> Vec<Pair> {
    let lines = include_str!("data/pairs.jsonl").lines();
    lines
        .map(|line| {
            let mut pair: Value = serde_json::from_str(line).unwrap();
            Pair {
                name: pair["name"].as_str().unwrap().to_owned(),
                protobuf: STANDARD.decode(pair["protobuf"].as_str().unwrap()).unwrap(),
                json: pair["json"].take(),
            }
        })
        .collect()
}

/// Without what messages do not hold: nulls, empty lists, and the kind of objects inside of objects.
fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            for list in ["items", "volumeClaimTemplates"] {
                let items = fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
                for item in items.filter_map(Value::as_object_mut).filter(|item| item.contains_key("metadata")) {
                    item.remove("apiVersion");
                    item.remove("kind");
                }
            }
            let kept = fields.into_iter().map(|(name, value)| (name, without_nothing(value)));
            Value::Object(kept.filter(|(_, value)| !value.is_null() && value != &Value::Array(Vec::new())).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nothing).collect()),
        other => other,
    }
}

#[test]
fn every_built_in_kind_is_recorded() {
    let resources: Value = serde_json::from_str(include_str!("../../kapi-kinds/src/generated/resources.json")).unwrap();
    let pairs = pairs();
    for resource in resources["resources"].as_array().unwrap() {
        let text = |name: &str| resource[name].as_str().unwrap();
        let (group, version, kind) = (text("group"), text("version"), text("kind"));
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        assert!(kapi_proto::knows(&api_version, kind), "{api_version} {kind}");
        let is_recorded = pairs.iter().any(|pair| pair.json["apiVersion"] == api_version && pair.json["kind"] == kind);
        // Two that cannot be read, and one whose answers differ in order.
        let is_left_out = ["Binding", "ComponentStatus", "SelfSubjectRulesReview"].contains(&kind);
        assert!(is_recorded || is_left_out, "{api_version} {kind}");
    }
}

#[test]
fn decoding_gives_the_json_of_the_server() {
    for Pair { name, json, protobuf } in pairs() {
        let decoded = decode(&protobuf).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded.api_version, json["apiVersion"], "{name}");
        assert_eq!(decoded.kind, json["kind"], "{name}");
        assert_eq!(without_nothing(decoded.value), without_nothing(json), "{name}");
    }
}

#[test]
fn encoding_gives_the_bytes_of_the_server() {
    for Pair { name, json, protobuf } in pairs() {
        let encoded = encode(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(encoded == protobuf, "{name}: {:?} instead of {:?}", decode(&encoded), decode(&protobuf));
    }
}

#[test]
fn lists_may_come_item_by_item() {
    let lists: Vec<Pair> = pairs().into_iter().filter(|pair| pair.json["items"].is_array()).collect();
    assert!(lists.len() >= 2);
    for Pair { name, json, protobuf } in lists {
        let (api_version, kind) = (json["apiVersion"].as_str().unwrap(), json["kind"].as_str().unwrap());
        let encoded = encode_list(api_version, kind, &json["metadata"], json["items"].as_array().unwrap());
        assert!(encoded.unwrap() == protobuf, "{name}");
    }
    assert!(encode_list("v1", "Pod", &json!({}), [json!({})]).is_err());
}

/// Bodies of kubectl 1.36: `create deployment d --image=nginx --replicas=0`, `create token default`, `create pdb x`.
#[test]
fn what_kubectl_sends_is_read() {
    let table = [
        (
            concat!(
                "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50Eq0BCiUKAWQSABoKa3Byb3RvLWNsaSIAKgAyADgAQgBaCAoDYXBwEgFkEnYI",
                "ABIKCggKA2FwcBIBZBpeChoKABIAGgAiACoAMgA4AEIAWggKA2FwcBIBZBJAEiIKBW5naW54EgVuZ2lueCoAQgBqAHIAgAEA",
                "iAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA",
            ),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "d", "namespace": "kproto-cli", "labels": {"app": "d"}},
                "spec": {
                    "replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "strategy": {},
                    "template": {
                        "metadata": {"labels": {"app": "d"}},
                        "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": {}}]},
                    },
                },
                "status": {},
            }),
        ),
        (
            concat!(
                "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIaChAKABIAGgAiACoAMgA4AEIAEgAaBAoA",
                "EgAaACIA",
            ),
            json!({
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": {},
                "status": {"token": ""},
            }),
        ),
        (
            concat!(
                "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSPQobCgF4EgAaCmtwcm90by1jbGkiACoAMgA4AEIAEhIK",
                "BggAEAEaABIICgYKAWESAWIaCggAGAAgACgAMAAaACIA",
            ),
            json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": "x", "namespace": "kproto-cli"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
                "status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
            }),
        ),
    ];
    for (body, value) in table {
        let body = STANDARD.decode(body).unwrap();
        assert_eq!(decode(&body).unwrap().value, value);
        assert_eq!(encode(&value).unwrap(), body);
    }
}

#[test]
fn watches_have_the_frames_of_the_server() {
    let recorded: Value = serde_json::from_str(include_str!("data/watch.json")).unwrap();
    let stream = STANDARD.decode(recorded["frames"].as_str().unwrap()).unwrap();
    let events = recorded["events"].as_array().unwrap();
    let mut rest = stream.as_slice();
    for event in events {
        let event_type = event["type"].as_str().unwrap();
        let (frame, behind) = split_frame(rest).unwrap();
        let decoded = decode_watch_event(frame).unwrap();
        assert_eq!(decoded.event_type, event_type);
        assert_eq!(without_nothing(decoded.object.value), without_nothing(event["object"].clone()));
        let encoded = encode_watch_event(event_type, &event["object"]).unwrap();
        assert_eq!(split_frame(&encoded).map(|(frame, behind)| (frame.len(), behind.len())), Some((frame.len(), 0)));
        assert_eq!(decode_watch_event(&encoded[4..]), decode_watch_event(frame));
        rest = behind;
    }
    assert!(!events.is_empty() && rest.is_empty());
    assert_eq!(split_frame(&stream[..stream.len() - 1]), None);
}
