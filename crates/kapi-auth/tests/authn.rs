//! Authentication from end to end, and impersonation, as seen on a real kube-apiserver 1.34.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use jiff::SignedDuration;
use kapi_auth::{
    Authenticator, ClientCertificates, Credentials, ImpersonationHeaders, StaticTokens, User, impersonate,
};
use pki::{Authority, ClientProfile, ServerProfile, Subject, SubjectAltNames, SystemKeys, Validity, validity_from};
use serde_json::json;
use support::{Objects, admin, alice, at, authorizer, binding, role};

fn authority() -> Authority {
    let validity = validity_from(at("2026-01-01T00:00:00Z"), SignedDuration::from_hours(24 * 3650));
    Authority::new(&Subject::named("kubernetes"), validity, &SystemKeys).unwrap()
}

fn authenticator(ca: &Authority, anonymous: bool) -> Authenticator {
    let mut static_tokens = StaticTokens::default();
    static_tokens.insert("s3cret", User::new("alice", ["devs"]));
    Authenticator {
        certificates: Some(ClientCertificates::new(&ca.certificate_pem()).unwrap()),
        static_tokens,
        service_accounts: None,
        bootstrap_tokens: true,
        anonymous,
        audiences: vec!["https://x".to_owned()],
        objects: Arc::new(Objects::default()),
    }
}

#[test]
fn credentials_become_users() {
    let ca = authority();
    let year = Validity { not_before: at("2026-06-01T00:00:00Z"), not_after: at("2027-06-01T00:00:00Z") };
    let client = |subject: Subject, from: &Authority| {
        from.issue_client(&ClientProfile { subject, validity: year }, &SystemKeys).unwrap().certificate.der().to_vec()
    };
    let jane = client(Subject::named("jane").organization("devs").organization("ops"), &ca);
    let nobody = client(Subject::default().organization("devs"), &ca);
    let foreign = client(Subject::named("jane"), &authority());
    let hosts = SubjectAltNames::from_hosts(["jane"]);
    let profile = ServerProfile { subject: Subject::named("jane"), hosts, validity: year };
    let server = ca.issue_server(&profile, &SystemKeys).unwrap().certificate.der().to_vec();
    let (now, late, early) = (at("2026-11-15T00:00:00Z"), at("2027-06-01T00:00:01Z"), at("2026-05-31T23:59:59Z"));
    let (token, bad) = (Some("Bearer s3cret"), Some("Bearer wrong"));
    let jane_user = Some("jane[devs,ops,system:authenticated]");
    let alice_user = Some("alice[devs,system:authenticated]");
    let nobody_user = Some("system:anonymous[system:unauthenticated]");
    let rows = [
        (Some(&jane), None, now, jane_user),
        (Some(&jane), bad, now, jane_user),
        (Some(&jane), None, late, None),
        (Some(&jane), None, early, None),
        // A bad certificate does not spoil a good token.
        (Some(&jane), token, late, alice_user),
        (Some(&foreign), None, now, None),
        (Some(&foreign), token, now, alice_user),
        (Some(&server), None, now, None),
        (Some(&nobody), None, now, nobody_user),
        (None, token, now, alice_user),
        (None, bad, now, None),
        (None, Some("Basic eDp5"), now, nobody_user),
        (None, Some("Bearer"), now, nobody_user),
        (None, None, now, nobody_user),
    ];
    let authenticator = authenticator(&ca, true);
    for (number, (certificate, authorization, now, expected)) in rows.into_iter().enumerate() {
        let chain: Vec<&[u8]> = certificate.into_iter().map(Vec::as_slice).collect();
        let answer = authenticator.authenticate(&Credentials { certificates: &chain, authorization }, now);
        let answer = answer.map(|user| format!("{}[{}]", user.name, user.groups.join(",")));
        match expected {
            Some(user) => assert_eq!(answer.unwrap(), user, "row {number}"),
            None => {
                let error = answer.unwrap_err();
                assert_eq!(
                    (error.code, error.message.as_str(), error.details),
                    (401, "Unauthorized", None),
                    "row {number}"
                );
            }
        }
    }
    let garbage: [&[u8]; 1] = [b"garbage"];
    assert!(authenticator.authenticate(&Credentials { certificates: &garbage, authorization: None }, now).is_err());
    let chain: [&[u8]; 1] = [&jane];
    let user = authenticator.authenticate(&Credentials { certificates: &chain, authorization: None }, now).unwrap();
    assert!(user.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256="));
    assert!(!format!("{:?}", authenticator.static_tokens).contains("s3cret"));
    let expired = validity_from(at("2025-01-01T00:00:00Z"), SignedDuration::from_hours(24));
    let old = Authority::new(&Subject::named("old"), expired, &SystemKeys).unwrap();
    let believed = ClientCertificates::new(&old.certificate_pem()).unwrap();
    let profile = ClientProfile { subject: Subject::named("jane"), validity: expired };
    let leaf = old.issue_client(&profile, &SystemKeys).unwrap().certificate;
    assert!(believed.verify(leaf.der(), &[], at("2025-01-01T12:00:00Z")).unwrap().is_some());
    assert!(believed.verify(leaf.der(), &[], at("2025-01-02T12:00:00Z")).is_err());
    let strict = self::authenticator(&ca, false);
    assert_eq!(strict.authenticate(&Credentials::default(), now).unwrap_err().code, 401);
}

#[test]
fn impersonation_is_checked_part_by_part() {
    let rules = json!([
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scopes"], "verbs": ["impersonate"]},
    ]);
    let world =
        authorizer(&[role("ClusterRole", "", "imp", rules), binding("", "imp", "ClusterRole:imp", &["User:alice"])]);
    let (alice, admin) = (alice(), admin());
    let refused = |what: &str, name: &str, resource: &str, group: &str, scope: &str| {
        Err(format!(
            "{what} \"{name}\" is forbidden: User \"alice\" cannot impersonate resource \"{resource}\" in API group \"{group}\" {scope}"
        ))
    };
    let cluster = "at the cluster scope";
    let authn = "authentication.k8s.io";
    type Headers = &'static [(&'static str, &'static str)];
    let rows: Vec<(&User, Headers, Result<&str, String>)> = vec![
        (&alice, &[("Impersonate-User", "bob")], Ok("bob||system:authenticated|")),
        (&alice, &[("Impersonate-User", "carol")], refused("users", "carol", "users", "", cluster)),
        (
            &alice,
            &[("Impersonate-User", "system:serviceaccount:au-one:bot")],
            refused("serviceaccounts", "bot", "serviceaccounts", "", "in the namespace \"au-one\""),
        ),
        (
            &alice,
            &[("Impersonate-User", "system:serviceaccount:Au:bot")],
            refused("users", "system:serviceaccount:Au:bot", "users", "", cluster),
        ),
        (
            &alice,
            &[("Impersonate-User", "bob"), ("Impersonate-Group", "g1")],
            refused("groups", "g1", "groups", "", cluster),
        ),
        (
            &alice,
            &[("Impersonate-User", "bob"), ("Impersonate-Uid", "u1")],
            refused("uids.authentication.k8s.io", "u1", "uids", authn, cluster),
        ),
        (
            &alice,
            &[("Impersonate-User", "bob"), ("Impersonate-Extra-Scopes", "s1"), ("impersonate-extra-scopes", "s2")],
            Ok("bob||system:authenticated|scopes=s1,s2"),
        ),
        (
            &alice,
            &[("Impersonate-User", "bob"), ("Impersonate-Extra-acme.com%2fproject", "s1")],
            refused("userextras.authentication.k8s.io", "s1", "userextras/acme.com/project", authn, cluster),
        ),
        (&admin, &[("Impersonate-User", "system:anonymous")], Ok("system:anonymous||system:unauthenticated|")),
        (
            &admin,
            &[("Impersonate-User", "system:serviceaccount:au-one:bot")],
            Ok(
                "system:serviceaccount:au-one:bot||system:serviceaccounts,system:serviceaccounts:au-one,system:authenticated|",
            ),
        ),
        (
            &admin,
            &[("Impersonate-User", "system:serviceaccount:au-one:bot"), ("Impersonate-Group", "g")],
            Ok("system:serviceaccount:au-one:bot||g,system:authenticated|"),
        ),
        (
            &admin,
            &[("Impersonate-User", "x"), ("Impersonate-Group", "system:unauthenticated"), ("Impersonate-Group", "g2")],
            Ok("x||system:unauthenticated,g2|"),
        ),
        (
            &admin,
            &[
                ("Impersonate-User", "x"),
                ("Impersonate-Group", "system:masters"),
                ("Impersonate-Uid", "u"),
                ("Impersonate-Extra-a%2Fb", "1"),
            ],
            Ok("x|u|system:masters,system:authenticated|a/b=1"),
        ),
        (
            &admin,
            &[("Impersonate-Group", "g")],
            Err("requested [{Group  g    }] without impersonating a user".to_owned()),
        ),
        (
            &admin,
            &[("Impersonate-Uid", "g")],
            Err("requested [{UID  g  authentication.k8s.io/v1  }] without impersonating a user".to_owned()),
        ),
        (
            &admin,
            &[("Impersonate-Extra-Foo", "g")],
            Err("requested [{UserExtra  g  authentication.k8s.io/v1  foo}] without impersonating a user".to_owned()),
        ),
    ];
    for (requestor, headers, expected) in rows {
        let headers = ImpersonationHeaders::collect(headers.iter().copied());
        assert!(!headers.is_empty());
        let answer = impersonate(requestor, &headers, &world).map_err(|e| e.to_string()).map(|user| {
            let extra: Vec<_> = user.extra.iter().map(|(key, values)| format!("{key}={}", values.join(","))).collect();
            format!("{}|{}|{}|{}", user.name, user.uid, user.groups.join(","), extra.join(";"))
        });
        assert_eq!(answer, expected.map(str::to_owned));
    }
    for (key, expected) in [("a%2fb", "a/b"), ("a%zz", "a%zz"), ("a%2", "a%2"), ("%ff", "%ff")] {
        let name = format!("Impersonate-Extra-{key}");
        assert_eq!(ImpersonationHeaders::collect([(name.as_str(), "v")]).extras[0].0, expected);
    }
    assert!(ImpersonationHeaders::collect([("Accept", "x"), ("Impersonate-User", "")]).is_empty());
}
