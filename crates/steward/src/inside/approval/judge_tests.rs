//! Requests, and what becomes of them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::ByteString;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType, string::Ia5String};
use serde_json::json;

use super::*;

fn rules() -> Rules {
    Rules {
        allowed_subnets: Vec::new(),
        service_cidrs: vec!["10.96.0.0/16".parse().unwrap()],
        cluster_domain: "green.local".to_owned(),
        endpoint_host: "api.example.com".to_owned(),
    }
}

fn node() -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "n1"},
        "status": {"addresses": [
            {"type": "Hostname", "address": "N1"},
            {"type": "InternalIP", "address": "198.18.0.7"},
            {"type": "InternalIP", "address": "fd00::7"},
            {"type": "InternalDNS", "address": "n1.nodes.example.com"},
            {"type": "ExternalIP", "address": "not an address"},
        ]},
    }))
    .unwrap()
}

/// A sound request of node n1, before something is changed.
struct Asked {
    common_name: &'static str,
    organizations: Vec<&'static str>,
    names: Vec<&'static str>,
    addresses: Vec<&'static str>,
    others: Vec<SanType>,
    username: &'static str,
    groups: Vec<&'static str>,
    usages: Vec<&'static str>,
    signer: &'static str,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            common_name: "system:node:n1",
            organizations: vec!["system:nodes"],
            names: vec!["n1"],
            addresses: vec!["198.18.0.7"],
            others: Vec::new(),
            username: "system:node:n1",
            groups: vec!["system:nodes", "system:authenticated"],
            usages: vec!["digital signature", "server auth"],
            signer: SIGNER,
        }
    }
}

impl Asked {
    fn request(&self) -> CertificateSigningRequest {
        let mut params = CertificateParams::default();
        let mut subject = DistinguishedName::new();
        for organization in &self.organizations {
            subject.push(DnType::OrganizationName, *organization);
        }
        subject.push(DnType::CommonName, self.common_name);
        params.distinguished_name = subject;
        let names = self.names.iter().map(|name| SanType::DnsName(text(name)));
        let addresses = self.addresses.iter().map(|address| SanType::IpAddress(address.parse().unwrap()));
        params.subject_alt_names = names.chain(addresses).chain(self.others.iter().cloned()).collect();
        let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let mut request = CertificateSigningRequest::default();
        request.spec.request = ByteString(pem.into_bytes());
        request.spec.signer_name = self.signer.to_owned();
        request.spec.username = Some(self.username.to_owned());
        request.spec.groups = Some(self.groups.iter().map(|group| (*group).to_owned()).collect());
        request.spec.usages = Some(self.usages.iter().map(|usage| (*usage).to_owned()).collect());
        request
    }
}

fn text(text: &str) -> Ia5String {
    text.try_into().unwrap()
}

fn asked(change: impl FnOnce(&mut Asked)) -> CertificateSigningRequest {
    let mut asked = Asked::default();
    change(&mut asked);
    asked.request()
}

fn deny(reason: &str) -> Verdict {
    Verdict::Deny(reason.to_owned())
}

fn wait(reason: &str) -> Verdict {
    Verdict::Wait(reason.to_owned())
}

#[test]
fn a_node_gets_its_own_names_and_no_others() {
    for (request, expected) in [
        (asked(|_| {}), Verdict::Approve),
        (asked(|a| a.usages = vec!["digital signature", "key encipherment", "server auth"]), Verdict::Approve),
        (asked(|a| a.names = vec!["N1", "n1.Nodes.example.com"]), Verdict::Approve),
        (asked(|a| a.addresses = vec!["fd00::7", "198.18.0.7"]), Verdict::Approve),
        (asked(|a| a.names.clear()), Verdict::Approve),
        (asked(|a| a.addresses.clear()), Verdict::Approve),
        // Not known of the node (yet).
        (asked(|a| a.names = vec!["n1", "n2"]), wait("node n1 does not report n2 as its own")),
        (asked(|a| a.names = vec!["1"]), wait("node n1 does not report 1 as its own")),
        (asked(|a| a.addresses = vec!["198.18.0.8"]), wait("node n1 does not report 198.18.0.8 as its own")),
        (asked(|a| a.addresses = vec!["fd00::8"]), wait("node n1 does not report fd00::8 as its own")),
        // Never a node's.
        (asked(|a| a.names = vec!["kubernetes"]), deny("\"kubernetes\" is not a name a node can have")),
        (asked(|a| a.names = vec!["kubernetes.default"]), deny("\"kubernetes.default\" is not a name a node can have")),
        (
            asked(|a| a.names = vec!["kubernetes.default.svc"]),
            deny("\"kubernetes.default.svc\" is not a name a node can have"),
        ),
        (asked(|a| a.names = vec!["x.svc.green.local"]), deny("\"x.svc.green.local\" is not a name a node can have")),
        (asked(|a| a.names = vec!["API.example.com."]), deny("\"api.example.com\" is not a name a node can have")),
        (asked(|a| a.names = vec!["*.example.com"]), deny("\"*.example.com\" is not a name a node can have")),
        (asked(|a| a.names = vec!["localhost"]), deny("\"localhost\" is not a name a node can have")),
        (asked(|a| a.addresses = vec!["127.0.0.1"]), deny("127.0.0.1 is not an address a node can have")),
        (asked(|a| a.addresses = vec!["::ffff:127.0.0.1"]), deny("127.0.0.1 is not an address a node can have")),
        (asked(|a| a.addresses = vec!["10.96.0.1"]), deny("10.96.0.1 belongs to the network of Services")),
        (
            asked(|a| {
                a.names.clear();
                a.addresses.clear();
            }),
            deny("DNS or IP subjectAltName is required"),
        ),
        (asked(|a| a.others = vec![SanType::URI(text("spiffe://x/y"))]), deny("URI subjectAltNames are not allowed")),
        (asked(|a| a.others = vec![SanType::Rfc822Name(text("a@b.c"))]), deny("Email subjectAltNames are not allowed")),
    ] {
        assert_eq!(judge(&request, Some(&node()), &rules()), expected);
    }
}

#[test]
fn only_the_node_itself_may_ask_and_only_for_serving() {
    for (request, expected) in [
        // Somebody else asks, or for something else.
        (asked(|a| a.username = "alice"), Verdict::Ignore),
        (asked(|a| a.username = "system:node:"), Verdict::Ignore),
        (asked(|a| a.username = "system:bootstrap:abcdef"), Verdict::Ignore),
        (asked(|a| a.signer = "kubernetes.io/kube-apiserver-client-kubelet"), Verdict::Ignore),
        // A node asks for what is not its own.
        (asked(|a| a.groups = vec!["system:authenticated"]), deny("system:node:n1 is not in the group system:nodes")),
        (asked(|a| a.common_name = "system:node:n2"), deny("system:node:n1 asks for a certificate of system:node:n2")),
        (asked(|a| a.common_name = "n1"), deny("subject common name does not begin with system:node:")),
        (asked(|a| a.organizations = vec!["system:masters"]), deny("subject organization is not system:nodes")),
        (
            asked(|a| a.organizations = vec!["system:nodes", "system:masters"]),
            deny("subject organization is not system:nodes"),
        ),
        (
            asked(|a| a.usages = vec!["digital signature", "client auth"]),
            deny("usages did not match [digital signature key encipherment server auth]"),
        ),
        (
            asked(|a| a.usages = vec!["digital signature", "server auth", "client auth"]),
            deny("usages did not match [digital signature key encipherment server auth]"),
        ),
        (asked(|a| a.usages.clear()), deny("usages did not match [digital signature key encipherment server auth]")),
    ] {
        assert_eq!(judge(&request, Some(&node()), &rules()), expected);
    }
}

#[test]
fn broken_requests_are_denied() {
    let sound = asked(|_| {});
    let pem = String::from_utf8(sound.spec.request.0.clone()).unwrap();
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let mut der = BASE64_STANDARD.decode(body).unwrap();
    *der.last_mut().unwrap() ^= 1;
    let forged = format!(
        "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
        BASE64_STANDARD.encode(der)
    );
    for (request, reason) in [
        ("hello", "unable to parse certificate request: PEM block type must be CERTIFICATE REQUEST"),
        (forged.as_str(), "unable to verify certificate request signature: the signature does not match the key"),
    ] {
        let mut broken = sound.clone();
        broken.spec.request = ByteString(request.into());
        assert_eq!(judge(&broken, Some(&node()), &rules()), deny(reason));
    }
}

#[test]
fn the_node_must_be_there() {
    assert_eq!(judge(&asked(|_| {}), None, &rules()), wait("there is no node n1 yet"));
    let other = Node { metadata: kube::api::ObjectMeta { name: Some("n2".into()), ..Default::default() }, ..node() };
    assert_eq!(judge(&asked(|_| {}), Some(&other), &rules()), wait("there is no node n1 yet"));
    let silent = Node { status: None, ..node() };
    let expected = wait("node n1 does not report 198.18.0.7 as its own");
    assert_eq!(judge(&asked(|_| {}), Some(&silent), &rules()), expected);
}

#[test]
fn what_is_decided_stays_decided() {
    for status in [
        json!({"conditions": [{"type": "Approved", "status": "True"}]}),
        json!({"conditions": [{"type": "Denied", "status": "True"}]}),
        json!({"conditions": [{"type": "Failed", "status": "True"}]}),
        json!({"certificate": "AAAA"}),
    ] {
        let mut request = asked(|_| {});
        request.status = Some(serde_json::from_value(status).unwrap());
        assert_eq!(judge(&request, Some(&node()), &rules()), Verdict::Ignore);
    }
}

#[test]
fn nodes_may_be_confined_to_subnets() {
    let confined = Rules { allowed_subnets: vec!["198.18.0.0/24".parse().unwrap()], ..rules() };
    assert_eq!(judge(&asked(|_| {}), Some(&node()), &confined), Verdict::Approve);
    let outside = Rules { allowed_subnets: vec!["198.19.0.0/24".parse().unwrap()], ..rules() };
    let expected = deny("198.18.0.7 is in none of the subnets nodes may join from");
    assert_eq!(judge(&asked(|_| {}), Some(&node()), &outside), expected);
}
