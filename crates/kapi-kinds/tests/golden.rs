//! The built-in kinds answer as a real kube-apiserver does: the same defaults, the same errors, word for word.
//!
//! The cases were recorded by `tests/record/record.py`.

#![allow(clippy::unwrap_used)]

use kapi_kinds::{Behaviour, behaviour, meta};
use serde_json::{Value, json};

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

fn hooks(object: &Value) -> Behaviour {
    let group = text(object, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    behaviour(group, text(object, "kind"))
}

/// What the server itself gives or changes: identity, time, allocated addresses, and what admission adds.
fn without_server_parts(mut object: Value, given: &Value) -> Value {
    let kind = text(&object, "kind").to_owned();
    if let Some(meta) = object["metadata"].as_object_mut() {
        for field in ["uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "selfLink"] {
            meta.remove(field);
        }
        if kind.starts_with("PersistentVolume") {
            meta.remove("finalizers");
        }
    }
    if kind == "Service" && given["spec"]["clusterIP"] != "None" {
        let spec = object["spec"].as_object_mut().unwrap();
        for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
            spec.remove(field);
        }
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            port.as_object_mut().unwrap().remove("nodePort");
        }
    }
    if kind == "Pod" {
        let spec = object["spec"].as_object_mut().unwrap();
        spec.remove("priority");
        if given["spec"].get("preemptionPolicy").is_none() {
            spec.remove("preemptionPolicy");
        }
        if let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) {
            tolerations.retain(|toleration| !text(toleration, "key").starts_with("node.kubernetes.io/"));
            if tolerations.is_empty() {
                spec.remove("tolerations");
            }
        }
        for condition in object["status"]["conditions"].as_array_mut().into_iter().flatten() {
            condition.as_object_mut().unwrap().remove("lastTransitionTime");
        }
    }
    if kind == "PersistentVolume" {
        object["status"].as_object_mut().unwrap().remove("lastPhaseTransitionTime");
    }
    if kind == "CertificateSigningRequest" {
        let spec = object["spec"].as_object_mut().unwrap();
        for field in ["username", "groups", "extra", "uid"] {
            spec.remove(field);
        }
    }
    object
}

fn causes(errors: &[kapi_schema::field::FieldError]) -> Vec<Vec<String>> {
    let of = |error: &kapi_schema::field::FieldError| {
        vec![error.path.to_string(), error.kind.reason().to_owned(), first_line(&error.body())]
    };
    without_repeats(errors.iter().map(of).collect())
}

fn recorded_causes(case: &Value) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = serde_json::from_value(case["causes"].clone()).unwrap();
    all.iter_mut().for_each(|cause| cause[2] = first_line(&cause[2]));
    // A generated name ends in something random.
    if case["given"]["metadata"].get("generateName").is_some() {
        all.retain(|cause| cause[0] != "metadata.name");
    }
    without_repeats(all)
}

/// What follows on further lines is a picture of Go's own structs, which nobody parses.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").to_owned()
}

/// Kubernetes looks at some things twice and says so twice, but not in the message.
fn without_repeats(all: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut once: Vec<Vec<String>> = Vec::new();
    for cause in all {
        if !once.contains(&cause) {
            once.push(cause);
        }
    }
    once
}

/// Compares an answer with the recorded one; the difference, if there is one.
fn compare(case: &Value, outcome: Result<Value, Vec<kapi_schema::field::FieldError>>) -> Option<String> {
    let code = case["code"].as_u64().unwrap();
    match outcome {
        Ok(_) if code >= 300 => Some(format!("accepted, but kube-apiserver says {code}: {}", case["message"])),
        Err(errors) if code < 300 => Some(format!("refused, but kube-apiserver accepts: {:#?}", causes(&errors))),
        Ok(mut object) => {
            kapi_kinds::settle_empties(&mut object);
            let ours = without_server_parts(object, &case["given"]);
            let theirs = without_server_parts(case["object"].clone(), &case["given"]);
            (ours != theirs).then(|| difference("", &ours, &theirs))
        }
        Err(errors) => {
            let (mut ours, mut theirs) = (causes(&errors), recorded_causes(case));
            if case["unordered"] == true {
                ours.sort();
                theirs.sort();
            }
            (ours != theirs).then(|| format!("ours:   {ours:#?}\ntheirs: {theirs:#?}"))
        }
    }
}

fn difference(path: &str, ours: &Value, theirs: &Value) -> String {
    if let (Some(a), Some(b)) = (ours.as_object(), theirs.as_object()) {
        let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
        return keys
            .filter(|key| a.get(*key) != b.get(*key))
            .map(|key| {
                let absent = json!("<absent>");
                difference(&format!("{path}/{key}"), a.get(key).unwrap_or(&absent), b.get(key).unwrap_or(&absent))
            })
            .collect();
    }
    format!("{path}: ours {ours}, theirs {theirs}\n")
}

/// Whether the case was refused by something other than the kind: admission, allocation, or the decoder's own words.
fn refused_while_decoding(case: &Value, error: &str) -> Option<String> {
    let message = text(case, "message");
    let agrees = case["code"] == 400 && message.ends_with(error);
    (!agrees).then(|| format!("ours:   400 {error}\ntheirs: {} {message}", case["code"]))
}

fn create(case: &Value) -> Option<String> {
    let mut object = case["given"].clone();
    let hooks = hooks(&object);
    if let Err(error) = (hooks.decode)(&mut object) {
        return refused_while_decoding(case, &error);
    }
    let meta = &mut object["metadata"];
    if case["namespaced"] == true {
        meta["namespace"] = "kinds".into();
    }
    let uid = case["object"]["metadata"]["uid"].as_str().or_else(|| uid_in_message(case)).unwrap_or("uid").to_owned();
    meta["uid"] = uid.into();
    if meta.get("name").is_none() && meta.get("generateName").is_some() {
        meta["name"] = "generated".into();
    }
    (hooks.default)(&mut object);
    (hooks.prepare_create)(&mut object);
    let mut errors = meta::validate_meta(&object, case["namespaced"] == true, &hooks);
    errors.extend((hooks.validate)(&object));
    compare(case, if errors.is_empty() { Ok(object) } else { Err(errors) })
}

/// Jobs name their uid in errors.
fn uid_in_message(case: &Value) -> Option<&str> {
    let message = case["message"].as_str()?;
    let at = message.find("controller-uid\":\"")? + "controller-uid\":\"".len();
    message.get(at..at + 36)
}

fn update(case: &Value) -> Option<String> {
    let mut object = case["given"].clone();
    let hooks = hooks(&object);
    if let Err(error) = (hooks.decode)(&mut object) {
        return refused_while_decoding(case, &error);
    }
    let old = &case["old"];
    object["metadata"]["creationTimestamp"] = old["metadata"]["creationTimestamp"].clone();
    (hooks.default)(&mut object);
    (hooks.prepare_update)(&mut object, old);
    let mut errors = meta::validate_meta_update(&object, old, &hooks);
    errors.extend((hooks.validate_update)(&object, old));
    compare(case, if errors.is_empty() { Ok(object) } else { Err(errors) })
}

fn update_status(case: &Value) -> Option<String> {
    let mut object = case["given"].clone();
    let hooks = hooks(&object);
    if let Err(error) = (hooks.decode)(&mut object) {
        return refused_while_decoding(case, &error);
    }
    let old = &case["old"];
    (hooks.default)(&mut object);
    (hooks.prepare_status)(&mut object, old);
    let mut errors = meta::validate_meta_update(&object, old, &hooks);
    errors.extend((hooks.validate_status)(&object, old));
    compare(case, if errors.is_empty() { Ok(object) } else { Err(errors) })
}

fn run(file: &str, check: fn(&Value) -> Option<String>) {
    let cases: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!cases.is_empty());
    let failures: Vec<String> = cases
        .iter()
        .filter(|case| case["code"] != 403 && case["code"] != 409)
        .filter_map(|case| check(case).map(|why| format!("--- {}\n{why}", text(case, "case"))))
        .collect();
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn creations() {
    run(include_str!("golden/create.jsonl"), create);
}

#[test]
fn updates() {
    run(include_str!("golden/update.jsonl"), update);
}

#[test]
fn updates_of_status() {
    run(include_str!("golden/status.jsonl"), update_status);
}

#[test]
fn warnings() {
    let mut seen = 0;
    for line in include_str!("golden/create.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        // The case of all quantities holds some whose thousandths overflow in Go, which then takes them for fractions.
        if !case["object"].is_object() || line.contains("1000000e-3") {
            continue;
        }
        let expected: Vec<String> = serde_json::from_value(case["warnings"].clone()).unwrap_or_default();
        seen += expected.len();
        let object = &case["object"];
        assert_eq!((hooks(object).warnings)(object), expected, "{}", text(&case, "case"));
    }
    assert!(seen > 0);
}

#[test]
fn defaulting_twice_changes_nothing() {
    for line in include_str!("golden/create.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if !case["object"].is_object() {
            continue;
        }
        let mut object = case["object"].clone();
        let hooks = hooks(&object);
        (hooks.decode)(&mut object).unwrap();
        (hooks.default)(&mut object);
        assert_eq!(object, case["object"], "{}", text(&case, "case"));
    }
}
