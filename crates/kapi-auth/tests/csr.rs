//! CertificateSigningRequests: rights, automatic approval and signing, with the texts of kube-controller-manager 1.34.
#![allow(clippy::unwrap_used)]

mod support;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::SignedDuration;
use kapi_auth::csr::{
    Approval, Signing, SigningAuthority, auto_approve, check_approval, check_signing, check_subject, sign,
};
use pki::{Authority, Certificate, Subject, SystemKeys, validity_from};
use serde_json::{Value, json};
use support::{alice, at, authorizer, binding, role};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const NODE: &str = include_str!("../../pki/fixtures/p384.csr");
const OTHER: &str = include_str!("../../pki/fixtures/other.csr");
const WITH_NAME: &str = include_str!("../../pki/fixtures/serving.csr");
const MASTERS: &str = include_str!("../../pki/fixtures/masters.csr");

fn csr(request: &str, signer: &str, usages: &[&str], conditions: &[&str]) -> Value {
    let conditions: Vec<_> = conditions.iter().map(|kind| json!({"type": kind, "status": "True"})).collect();
    json!({"metadata": {"name": "au"}, "spec": {"request": STANDARD.encode(request), "signerName": signer,
        "usages": usages, "username": "system:node:p384", "groups": ["system:nodes"]},
        "status": {"conditions": conditions}})
}

#[test]
fn approving_and_signing_need_the_right_for_the_signer() {
    let grant = |verb: &str, name: &str| {
        let rules = json!([{"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": [verb], "resourceNames": [name]}]);
        authorizer(&[role("ClusterRole", "", "g", rules), binding("", "g", "ClusterRole:g", &["User:alice"])])
    };
    let pending = csr(NODE, KUBELET, &["client auth"], &[]);
    let failed = csr(NODE, KUBELET, &["client auth"], &["Failed"]);
    let refused = |verb: &str| {
        format!(
            "certificatesigningrequests.certificates.k8s.io \"au\" is forbidden: user not permitted to {verb} requests with signerName \"{KUBELET}\""
        )
    };
    for (verb, name, may_approve, may_sign) in [
        ("approve", KUBELET, true, false),
        ("approve", "kubernetes.io/*", true, false),
        ("approve", "example.com/*", false, false),
        ("sign", KUBELET, false, true),
        ("sign", "kubernetes.io/*", false, true),
        ("sign", SERVING, false, false),
    ] {
        let world = grant(verb, name);
        let approved = check_approval(&alice(), &pending, &world).err().map(|e| e.message);
        assert_eq!(approved, (!may_approve).then(|| refused("approve")), "{verb} {name}");
        let signed = check_signing(&alice(), &pending, &failed, &world).err().map(|e| e.message);
        assert_eq!(signed, (!may_sign).then(|| refused("sign")), "{verb} {name}");
        assert!(check_signing(&alice(), &pending, &pending, &world).is_ok());
    }
}

#[test]
fn nobody_becomes_a_master_by_request() {
    let refused = format!(
        "certificatesigningrequests.certificates.k8s.io \"au\" is forbidden: use of {CLIENT} signer with system:masters group is not allowed"
    );
    for (request, signer, expected) in [
        (MASTERS, CLIENT, Some(refused.as_str())),
        (MASTERS, "example.com/mine", None),
        (OTHER, CLIENT, None),
        ("garbage", "example.com/mine", None),
    ] {
        let message = check_subject(&csr(request, signer, &[], &[])).err().map(|e| e.message);
        assert_eq!(message.as_deref(), expected);
    }
    assert_eq!(check_subject(&csr("garbage", CLIENT, &[], &[])).unwrap_err().code, 403);
}

#[test]
fn kubelets_approve_themselves_if_allowed() {
    let world = |subresource: &str| {
        let resource = format!("certificatesigningrequests/{subresource}");
        let rules = json!([{"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": ["create"]}]);
        authorizer(&[role("ClusterRole", "", "g", rules), binding("", "g", "ClusterRole:g", &["Group:system:nodes"])])
    };
    let own = csr(NODE, KUBELET, &["client auth", "digital signature"], &[]);
    let mut other = own.clone();
    other["spec"]["username"] = "system:bootstrap:abcdef".into();
    let mut signed = own.clone();
    signed["status"]["certificate"] = "x".into();
    let approve = |which: &str| {
        Approval::Approve(json!({"type": "Approved", "status": "True", "reason": "AutoApproved",
            "message": format!("Auto approving {which}kubelet client certificate after SubjectAccessReview.")}))
    };
    let rows = [
        (&own, "selfnodeclient", approve("self ")),
        (&own, "nodeclient", approve("")),
        (&own, "nothing", Approval::Unauthorized(vec!["selfnodeclient", "nodeclient"])),
        (&other, "selfnodeclient", Approval::Unauthorized(vec!["nodeclient"])),
        (&other, "nodeclient", approve("")),
        (&signed, "nodeclient", Approval::None),
        (&csr(NODE, KUBELET, &["client auth", "digital signature"], &["Denied"]), "nodeclient", Approval::None),
        (&csr(NODE, KUBELET, &["client auth", "digital signature"], &["Approved"]), "nodeclient", Approval::None),
        (&csr(NODE, KUBELET, &["client auth"], &[]), "nodeclient", Approval::None),
        (&csr(OTHER, KUBELET, &["client auth", "digital signature"], &[]), "nodeclient", Approval::None),
        (&csr(NODE, CLIENT, &["client auth", "digital signature"], &[]), "nodeclient", Approval::None),
        (&csr("garbage", KUBELET, &["client auth", "digital signature"], &[]), "nodeclient", Approval::None),
    ];
    for (number, (csr, right, expected)) in rows.into_iter().enumerate() {
        assert_eq!(auto_approve(csr, &world(right)), expected, "row {number}");
    }
}

#[test]
fn approved_requests_are_signed_or_failed() {
    let now = at("2026-11-15T10:02:26Z");
    let ca =
        Authority::new(&Subject::named("ca"), validity_from(now, SignedDuration::from_hours(24 * 3650)), &SystemKeys);
    let ca = ca.unwrap();
    let with =
        SigningAuthority { authority: &ca, max_lifetime: SignedDuration::from_hours(24 * 365), keys: &SystemKeys };
    let approved = |request, signer, usages: &[&str]| csr(request, signer, usages, &["Approved"]);
    let failed = |message: &str| {
        Signing::Fail(json!({"type": "Failed", "status": "True", "reason": "SignerValidationFailure",
            "message": message, "lastUpdateTime": "2026-11-15T10:02:26Z"}))
    };
    let mut done = approved(OTHER, CLIENT, &["client auth"]);
    done["status"]["certificate"] = "x".into();
    let rows = [
        (csr(OTHER, CLIENT, &["client auth"], &[]), Signing::None),
        (csr(OTHER, CLIENT, &["client auth"], &["Approved", "Denied"]), Signing::None),
        (csr(OTHER, CLIENT, &["client auth"], &["Approved", "Failed"]), Signing::None),
        (approved(OTHER, "example.com/mine", &["client auth"]), Signing::None),
        (done, Signing::None),
        (
            approved(NODE, KUBELET, &["client auth"]),
            failed("usages did not match [client auth digital signature key encipherment]"),
        ),
        (
            approved(OTHER, KUBELET, &["client auth", "digital signature"]),
            failed("subject organization is not system:nodes"),
        ),
        (
            approved(NODE, SERVING, &["server auth", "digital signature"]),
            failed("DNS or IP subjectAltName is required"),
        ),
        (
            approved(OTHER, CLIENT, &["client auth", "server auth"]),
            failed("invalid usage for client certificate: server auth"),
        ),
    ];
    for (number, (csr, expected)) in rows.into_iter().enumerate() {
        assert_eq!(sign(&csr, &with, now).unwrap(), expected, "row {number}");
    }
    for (request, signer, usages, seconds, ends) in [
        (NODE, KUBELET, vec!["client auth", "digital signature"], None, "2027-11-15T09:57:26Z"),
        (
            WITH_NAME,
            SERVING,
            vec!["server auth", "digital signature", "key encipherment"],
            Some(3600),
            "2026-11-15T11:02:26Z",
        ),
        (OTHER, CLIENT, vec!["client auth"], None, "2027-11-15T09:57:26Z"),
    ] {
        let mut csr = approved(request, signer, &usages);
        if let Some(seconds) = seconds {
            csr["spec"]["expirationSeconds"] = seconds.into();
        }
        let Signing::Issue(pem) = sign(&csr, &with, now).unwrap() else { panic!("not signed") };
        let certificate = Certificate::from_pem(&pem).unwrap();
        assert_eq!(certificate.not_before(), at("2026-11-15T09:57:26Z"));
        assert_eq!(certificate.not_after(), at(ends));
    }
    assert!(sign(&approved("garbage", CLIENT, &["client auth"]), &with, now).is_err());
}
