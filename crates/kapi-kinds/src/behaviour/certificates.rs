//! CertificateSigningRequests.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;
use x509_parser::prelude::FromDer as _;

use super::check::{Errors, invalid_shown, one_of, supported};
use super::scalar::decode_base64;
use super::value::{dig, int, keep, list, present, reach_mut, remove, text, texts};
use super::{Behaviour, diff, shape};
use crate::meta;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
const FINAL: [&str; 3] = ["Approved", "Denied", "Failed"];

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "CertificateSigningRequest").then(|| Behaviour {
        prepare_create: |request| {
            shape::reset_status(request);
            // Who asks is known to the server alone, which sets these.
            if let Some(spec) = request.get_mut("spec") {
                for field in ["username", "uid", "groups", "extra"] {
                    remove(spec, field);
                }
            }
        },
        prepare_update: |new, old| {
            keep(new, old, "spec");
            keep(new, old, "status");
        },
        prepare_status: |new, old| keep(new, old, "spec"),
        validate,
        validate_update: |new, old| validate_change(new, old, &[]),
        validate_status: |new, old| validate_change(new, old, &["certificate"]),
        validate_name: meta::any,
        fields: |request| vec![("spec.signerName", text(dig(request, &["spec"]), "signerName").to_owned())],
        ..Behaviour::builtin()
    })
}

/// The hooks of `/approval`, which changes conditions and nothing else.
pub fn prepare_approval(new: &mut Value, old: &Value) {
    let conditions = dig(new, &["status", "conditions"]).clone();
    keep(new, old, "spec");
    keep(new, old, "status");
    if let Some(status) = reach_mut(new, &["status"]) {
        super::value::set(status, "conditions", conditions);
    }
}

/// What is wrong with a change through `/approval`.
pub fn validate_approval(new: &Value, old: &Value) -> Vec<FieldError> {
    validate_change(new, old, &["approval"])
}

fn validate(request: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(request, &["spec"]);
    if let Err(error) = check_request(text(spec, "request")) {
        // Go prints bytes as base64.
        let shown = dig(spec, &["request"]);
        errors.push(FieldError::invalid(&path.child("request"), shown, error));
    }
    let usages = texts(spec, "usages");
    let at = path.child("usages");
    if usages.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    for (i, usage) in usages.iter().enumerate() {
        supported(usage, &at.index(i), &USAGES, &mut errors);
        if usages.iter().take(i).any(|other| other == usage) {
            errors.push(FieldError::duplicate(&at.index(i), &(*usage).into()));
        }
    }
    let signer = text(spec, "signerName");
    let at = path.child("signerName");
    if signer == "kubernetes.io/legacy-unknown" {
        let detail = "the legacy signerName is not allowed via this API version";
        errors.push(FieldError::invalid(&at, &signer.into(), detail));
    } else {
        validate_signer(signer, &at, &mut errors);
    }
    if let Some(seconds) = int(spec, "expirationSeconds").filter(|seconds| *seconds < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::invalid(&path.child("expirationSeconds"), &seconds.into(), detail));
    }
    validate_conditions(request, &mut errors);
    errors
}

/// Whether the bytes are one PEM block with a well-formed request.
fn check_request(encoded: &str) -> Result<(), String> {
    let wrong = "PEM block type must be CERTIFICATE REQUEST";
    let bytes = decode_base64(encoded).unwrap_or_default();
    let (_, block) = x509_parser::pem::parse_x509_pem(&bytes).map_err(|_| wrong.to_owned())?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(wrong.to_owned());
    }
    x509_parser::certification_request::X509CertificationRequest::from_der(&block.contents)
        .map(drop)
        .map_err(|_| "asn1: structure error: tags don't match".to_owned())
}

fn validate_signer(signer: &str, path: &Path, errors: &mut Errors) {
    if signer.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((domain, name)) = signer.split_once('/').filter(|(_, name)| !name.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path, &signer.into(), detail));
        return;
    };
    if domain.len() > 253 {
        errors.push(FieldError::too_long(path, 253));
    }
    let mut refuse = |part: &str, label: &str, messages: Vec<String>| {
        for message in messages {
            let detail = format!("validating label {}: {message}", kapi_schema::field::go_quote(label));
            errors.push(FieldError::invalid(path, &part.into(), detail));
        }
    };
    if let Some(label) = domain.split('.').find(|label| !meta::is_dns_label(label).is_empty()) {
        refuse(domain, label, meta::is_dns_label(label));
    }
    let bad_name = name.split('.').find(|label| !meta::is_dns_subdomain(label).is_empty());
    if let Some(label) = bad_name {
        refuse(name, label, meta::is_dns_subdomain(label));
    }
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, &domain.into(), detail));
    }
    if signer.len() > 571 {
        errors.push(FieldError::too_long(path, 571));
    }
}

fn validate_conditions(request: &Value, errors: &mut Errors) {
    let path = Path::new("status.conditions");
    let conditions = list(dig(request, &["status"]), "conditions");
    for (i, condition) in conditions.iter().enumerate() {
        let at = path.index(i);
        let kind = text(condition, "type");
        if kind.is_empty() {
            errors.push(FieldError::required(&at.child("type"), ""));
        }
        let statuses: &[&str] = if FINAL.contains(&kind) { &["True"] } else { &["False", "True", "Unknown"] };
        one_of(text(condition, "status"), &at.child("status"), statuses, errors);
        let before = || conditions.iter().take(i).map(|other| text(other, "type"));
        let opposite = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !opposite.is_empty() && before().any(|other| other == opposite) {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(&path, &kind.into(), detail));
        }
        if before().any(|other| other == kind) {
            errors.push(FieldError::duplicate(&at.child("type"), &kind.into()));
        }
    }
}

fn of_type<'a>(request: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(dig(request, &["status"]), "conditions").iter().filter(|condition| text(condition, "type") == kind).collect()
}

fn validate_change(new: &Value, old: &Value, may: &[&str]) -> Errors {
    let mut errors = validate(new);
    let path = Path::new("status.conditions");
    for kind in FINAL {
        if of_type(new, kind).len() < of_type(old, kind).len() {
            let detail = format!("updates may not remove a condition of type \"{kind}\"");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    for kind in ["Approved", "Denied"].into_iter().filter(|_| !may.contains(&"approval")) {
        let (now, was) = (of_type(new, kind), of_type(old, kind));
        if now.len() > was.len() {
            let detail = format!("updates may not add a condition of type \"{kind}\"");
            errors.push(FieldError::forbidden(&path, detail));
        } else if now.len() == was.len() && now != was {
            let (now, was) = (serde_json::json!(now), serde_json::json!(was));
            let change = diff::fields_that_differ(&was, &now);
            let detail = format!("updates may not modify a condition of type \"{kind}\"\n{change}");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    let certificate = |request: &Value| present(dig(request, &["status"]), "certificate").cloned();
    let (now, was) = (certificate(new), certificate(old));
    let path = Path::new("status.certificate");
    if now != was {
        if !may.contains(&"certificate") {
            errors.push(FieldError::forbidden(&path, "updates may not set certificate content"));
        } else if was.is_some() {
            errors.push(FieldError::forbidden(&path, "updates may not modify existing certificate content"));
        }
        if let Some(error) = now.as_ref().and_then(Value::as_str).and_then(|now| check_certificate(now).err()) {
            errors.push(invalid_shown(&path, "\"<certificate data>\"", error));
        }
    }
    errors
}

/// Whether the bytes are certificates in PEM, one after the other.
fn check_certificate(encoded: &str) -> Result<(), String> {
    let bytes = decode_base64(encoded).unwrap_or_default();
    let mut rest = bytes.as_slice();
    let mut blocks = 0;
    while let Ok((after, block)) = x509_parser::pem::parse_x509_pem(rest) {
        if block.label != "CERTIFICATE" {
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found \"{}\"", block.label));
        }
        block.parse_x509().map_err(|_| "x509: malformed certificate".to_owned())?;
        blocks += 1;
        if after.len() >= rest.len() {
            break;
        }
        rest = after;
    }
    if blocks == 0 { Err("must contain at least one CERTIFICATE PEM block".to_owned()) } else { Ok(()) }
}
