//! Authorities, leaves and the signing of requests, checked by parsing what was made.

#![allow(clippy::unwrap_used)]

use jiff::{SignedDuration, Timestamp};
use pki::{
    Authority, Certificate, ClientProfile, ClusterPki, KubeconfigRequest, PkiError, ServerProfile, Signer,
    SigningRequest, SigningTerms, Subject, SubjectAltNames, SystemKeys, TrustBundle, Usage, Validity, sign_request,
    validity_from,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn year() -> Validity {
    Validity { not_before: at("2026-01-01T00:00:00Z"), not_after: at("2027-01-01T00:00:00Z") }
}

fn authority() -> Authority {
    let decade = Validity { not_before: at("2025-01-01T00:00:00Z"), not_after: at("2035-01-01T00:00:00Z") };
    Authority::new(&Subject::named("kubernetes"), decade, &SystemKeys).unwrap()
}

/// Verifies the signature with the parser, which shares no code with the encoder.
fn is_signed_by(leaf: &Certificate, ca: &Certificate) -> bool {
    let (_, leaf) = x509_parser::parse_x509_certificate(leaf.der()).unwrap();
    let (_, ca) = x509_parser::parse_x509_certificate(ca.der()).unwrap();
    leaf.issuer().as_raw() == ca.subject().as_raw() && leaf.verify_signature(Some(ca.public_key())).is_ok()
}

#[test]
fn an_authority_signs_itself_and_survives_pem() {
    let ca = authority();
    assert!(ca.certificate().is_ca());
    assert!(is_signed_by(ca.certificate(), ca.certificate()));
    let again = Authority::from_pem(&ca.certificate_pem(), ca.key_pem().expose()).unwrap();
    assert_eq!(again.certificate(), ca.certificate());
    assert_eq!(
        Authority::from_pem(&ca.certificate_pem(), authority().key_pem().expose()).unwrap_err(),
        PkiError::KeyMismatch
    );
    let leaf = ca.issue_client(&ClientProfile { subject: Subject::named("x"), validity: year() }, &SystemKeys).unwrap();
    assert_eq!(
        Authority::from_pem(&leaf.certificate_pem(), leaf.key_pem().expose()).unwrap_err(),
        PkiError::NotAnAuthority
    );
}

#[test]
fn leaves_carry_what_was_asked() {
    let ca = authority();
    let subject = Subject::named("jane@example").organization("devs").organization("ops:*");
    let client = ca.issue_client(&ClientProfile { subject: subject.clone(), validity: year() }, &SystemKeys).unwrap();
    assert_eq!(client.certificate.subject(), &subject);
    assert!(is_signed_by(&client.certificate, ca.certificate()));
    assert_eq!(
        (client.certificate.not_before(), client.certificate.not_after()),
        (year().not_before, year().not_after)
    );
    assert!(!client.certificate.is_ca());

    let hosts = SubjectAltNames::from_hosts(["10.96.0.1", "kubernetes", "fd00::1", "kubernetes"]);
    let profile = ServerProfile { subject: Subject::named("kube-apiserver"), hosts: hosts.clone(), validity: year() };
    let server = ca.issue_server(&profile, &SystemKeys).unwrap();
    assert_eq!(server.certificate.alt_names(), &hosts);
    assert_eq!(hosts.dns, ["kubernetes"]);
    let (_, parsed) = x509_parser::parse_x509_certificate(server.certificate.der()).unwrap();
    let eku = parsed.extended_key_usage().unwrap().unwrap().value;
    assert!(eku.server_auth && !eku.client_auth);
    let usage = parsed.key_usage().unwrap().unwrap().value;
    assert!(usage.digital_signature() && usage.key_encipherment() && !usage.key_cert_sign());
    let (_, parsed) = x509_parser::parse_x509_certificate(client.certificate.der()).unwrap();
    assert!(parsed.extended_key_usage().unwrap().unwrap().value.client_auth);
}

#[test]
fn no_leaf_outlives_its_authority() {
    let ca = authority();
    for (not_before, not_after, expected) in [
        ("2034-01-01T00:00:00Z", "2036-01-01T00:00:00Z", Some("2035-01-01T00:00:00Z")),
        ("2034-01-01T00:00:00Z", "2034-02-01T00:00:00Z", Some("2034-02-01T00:00:00Z")),
        ("2035-01-01T00:00:00Z", "2036-01-01T00:00:00Z", None),
        // Beyond 2049 dates change their encoding.
        ("2026-01-01T00:00:00Z", "2061-05-06T07:08:09Z", Some("2035-01-01T00:00:00Z")),
    ] {
        let validity = Validity { not_before: at(not_before), not_after: at(not_after) };
        let leaf = ca.issue_client(&ClientProfile { subject: Subject::named("x"), validity }, &SystemKeys);
        assert_eq!(leaf.ok().map(|l| l.certificate.not_after()), expected.map(at));
    }
    let long = Validity { not_before: at("2026-01-01T00:00:00Z"), not_after: at("2061-05-06T07:08:09Z") };
    let ca = Authority::new(&Subject::named("long"), long, &SystemKeys).unwrap();
    assert_eq!(ca.certificate().not_after(), long.not_after);
}

#[test]
fn a_foreign_rsa_authority_signs() {
    let certificate = include_str!("../fixtures/rsa-ca.crt");
    let ca = Authority::from_pem(certificate, include_str!("../fixtures/rsa-pkcs1.key")).unwrap();
    assert_eq!(ca.certificate().subject().organizations, ["one", "two"]);
    let now = ca.certificate().not_before();
    let validity = validity_from(now, SignedDuration::from_hours(1));
    let leaf = ca.issue_client(&ClientProfile { subject: Subject::named("x"), validity }, &SystemKeys).unwrap();
    assert!(is_signed_by(&leaf.certificate, ca.certificate()));
}

#[test]
fn names_that_no_certificate_can_carry_are_refused() {
    for bad in ["", "a b", "ü.example", "a\nb"] {
        let hosts = SubjectAltNames { dns: vec![bad.to_owned()], ..SubjectAltNames::default() };
        let profile = ServerProfile { subject: Subject::named("x"), hosts, validity: year() };
        let refused = authority().issue_server(&profile, &SystemKeys).unwrap_err();
        assert_eq!(refused, PkiError::BadName { value: bad.to_owned() });
    }
}

#[test]
fn requests_are_signed_on_terms() {
    let ca = authority();
    let now = at("2026-06-01T12:00:00Z");
    let year = SignedDuration::from_hours(24 * 365);
    let request = SigningRequest::from_pem(include_bytes!("../fixtures/sans.csr")).unwrap();
    for (requested_seconds, not_after) in [
        (None, "2027-06-01T11:55:00Z"),
        (Some(3600), "2026-06-01T13:00:00Z"),
        (Some(60), "2026-06-01T12:10:00Z"),
        (Some(8 * 3600), "2026-06-01T19:55:00Z"),
        (Some(i32::MAX), "2027-06-01T11:55:00Z"),
        (Some(-1), "2026-06-01T12:10:00Z"),
    ] {
        let terms = SigningTerms { now, max_lifetime: year, requested_seconds };
        let usages = ["digital signature", "server auth"];
        let signed = sign_request(&ca, &request, &usages, terms, &SystemKeys).unwrap();
        assert_eq!(signed.not_before(), at("2026-06-01T11:55:00Z"));
        assert_eq!(signed.not_after(), at(not_after), "{requested_seconds:?}");
        assert!(is_signed_by(&signed, ca.certificate()));
        assert_eq!((signed.subject(), signed.alt_names()), (request.subject(), request.alt_names()));
        assert_eq!(signed.public_key(), request.public_key());
    }
    let terms = SigningTerms { now: at("2035-01-01T00:00:00Z"), max_lifetime: year, requested_seconds: None };
    let expired = sign_request(&ca, &request, &["client auth"], terms, &SystemKeys).unwrap_err();
    assert_eq!(expired.to_string(), "the signer has expired: NotAfter=2035-01-01T00:00:00Z");
    assert_eq!(Usage::from_name("server auth"), Some(Usage::SERVER_AUTH));
}

#[test]
fn signers_refuse_with_the_texts_of_kube_controller_manager() {
    let node = SigningRequest::from_pem(include_bytes!("../fixtures/p384.csr")).unwrap();
    let named = SigningRequest::from_pem(include_bytes!("../fixtures/sans.csr")).unwrap();
    let other = SigningRequest::from_pem(include_bytes!("../fixtures/other.csr")).unwrap();
    let noname = SigningRequest::from_pem(include_bytes!("../fixtures/not-a-node.csr")).unwrap();
    let serving = SigningRequest::from_pem(include_bytes!("../fixtures/serving.csr")).unwrap();
    let (ds, ke, ca, sa) = ("digital signature", "key encipherment", "client auth", "server auth");
    let client = "kubernetes.io/kube-apiserver-client";
    let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
    let kubelet_serving = "kubernetes.io/kubelet-serving";
    let table: &[(&str, &SigningRequest, &[&str], &str)] = &[
        (client, &other, &[ca], ""),
        (client, &named, &[ca, ds, ke], ""),
        (client, &other, &[ds], "missing required usage for client certificate: client auth"),
        (client, &other, &[], "missing required usage for client certificate: client auth"),
        (client, &other, &[ca, sa], "invalid usage for client certificate: server auth"),
        (kubelet, &node, &[ca, ds, ke], ""),
        (kubelet, &node, &[ca, ds], ""),
        (kubelet, &node, &[ca, ds, ds], ""),
        (kubelet, &node, &[ca], "usages did not match [client auth digital signature key encipherment]"),
        (kubelet, &node, &[ca, ds, sa], "usages did not match [client auth digital signature key encipherment]"),
        (kubelet, &named, &[ca, ds], "DNS subjectAltNames are not allowed"),
        (kubelet, &other, &[ca, ds], "subject organization is not system:nodes"),
        (kubelet, &noname, &[ca, ds], "subject common name does not begin with system:node:"),
        (kubelet_serving, &serving, &[sa, ds, ke], ""),
        (kubelet_serving, &serving, &[sa, ds], ""),
        (kubelet_serving, &serving, &[sa], "usages did not match [digital signature key encipherment server auth]"),
        (kubelet_serving, &node, &[sa, ds], "DNS or IP subjectAltName is required"),
        (kubelet_serving, &named, &[sa, ds], "Email subjectAltNames are not allowed"),
        (kubelet_serving, &other, &[sa, ds], "subject organization is not system:nodes"),
        ("kubernetes.io/legacy-unknown", &other, &["code signing"], ""),
    ];
    for (signer, request, usages, expected) in table {
        let refused = Signer::from_name(signer).unwrap().check(request, usages).err().map(|e| e.to_string());
        assert_eq!(refused.unwrap_or_default(), *expected, "{signer} {usages:?}");
    }
    assert_eq!(Signer::from_name("example.com/mine"), None);
}

#[test]
fn a_bundle_rotates_in_three_steps() {
    let old = authority();
    let new = authority();
    let (old_certificate, new_certificate) = (old.certificate().clone(), new.certificate().clone());
    let mut bundle = TrustBundle::new(old);
    bundle.trust(new);
    assert_eq!(bundle.signing().certificate(), &old_certificate);
    assert_eq!(Certificate::all_from_pem(&bundle.pem()).unwrap(), [old_certificate.clone(), new_certificate.clone()]);
    bundle.sign_with(&new_certificate).unwrap();
    assert_eq!(bundle.signing().certificate(), &new_certificate);
    assert!(bundle.trusts(&old_certificate));
    bundle.drop_others();
    assert!(!bundle.trusts(&old_certificate));
    assert_eq!(bundle.sign_with(&old_certificate).unwrap_err(), PkiError::KeyMismatch);
}

#[test]
fn a_cluster_has_all_it_needs() {
    let now = at("2026-06-01T12:00:00Z");
    let cluster = ClusterPki::generate(now, &SystemKeys).unwrap();
    let again = ClusterPki::from_pem(&cluster.to_pem()).unwrap();
    assert_eq!(again.cluster_ca.pem(), cluster.cluster_ca.pem());
    assert_eq!(again.service_account_key.public_key(), cluster.service_account_key.public_key());
    let validity = validity_from(now, SignedDuration::from_hours(24));
    let hosts = ["127.0.0.1".to_owned(), "api.example".to_owned()];
    let server = again.api_server(&hosts, "cluster.local", validity, &SystemKeys).unwrap();
    assert!(server.certificate.alt_names().dns.contains(&"kubernetes.default.svc.cluster.local".to_owned()));
    assert!(is_signed_by(&server.certificate, cluster.cluster_ca.signing().certificate()));
    let front = again.front_proxy_client(validity, &SystemKeys).unwrap();
    assert!(is_signed_by(&front.certificate, cluster.front_proxy_ca.signing().certificate()));
    assert!(is_signed_by(
        &again.kubelet_client(validity, &SystemKeys).unwrap().certificate,
        cluster.cluster_ca.signing().certificate()
    ));
    let request = KubeconfigRequest {
        cluster_name: "butler",
        server: "https://127.0.0.1:6443",
        user_name: "admin",
        subject: Subject::named("kubernetes-admin").organization("system:masters"),
        validity,
    };
    let kubeconfig = again.kubeconfig(&request, &SystemKeys).unwrap().to_value();
    assert_eq!(kubeconfig["current-context"], "admin@butler");
    assert!(!format!("{:?}", cluster.to_pem()).contains("PRIVATE"));
}

#[test]
fn no_damaged_document_crashes_the_parsers() {
    let flip = |der: &[u8], parse: &dyn Fn(&[u8])| {
        for at in 0..der.len() {
            parse(&der[..at]);
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = der.to_vec();
                damaged[at] ^= change;
                parse(&damaged);
            }
        }
    };
    let ca = authority();
    let profile = ClientProfile { subject: Subject::named("x").organization("y"), validity: year() };
    let leaf = ca.issue_client(&profile, &SystemKeys).unwrap();
    let mut read = 0;
    let count = std::cell::Cell::new(0);
    flip(leaf.certificate.der(), &|der| count.set(count.get() + usize::from(Certificate::from_der(der).is_ok())));
    read += count.take();
    let (_, pem) = x509_parser::pem::parse_x509_pem(include_bytes!("../fixtures/sans.csr")).unwrap();
    let original = SigningRequest::from_der(&pem.contents).unwrap();
    flip(&pem.contents, &|der| {
        if let Ok(request) = SigningRequest::from_der(der) {
            count.set(count.get() + 1);
            // Only bytes outside the signed part can change without breaking the signature.
            let same = (request.subject(), request.alt_names(), request.public_key())
                == (original.subject(), original.alt_names(), original.public_key());
            assert!(same || request.verify().is_err(), "a changed request must not verify");
        }
    });
    read += count.take();
    assert!(read > 0, "some changes leave a document that can still be read");
}
