//! ServiceAccount tokens: those of a real kube-apiserver 1.34 are understood, ours say the same.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jiff::Timestamp;
use kapi_auth::{
    LegacyToken, StatusError, TokenIssuer, TokenRequest, TokenRequestOutcome, TokenVerifier, User, create_token,
};
use pki::{PublicKey, ServiceAccountKey, SystemKeys};
use serde_json::{Value, json};
use support::{Objects, at, object};

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const ACCOUNT_UID: &str = "08eb3680-e1ba-4855-9bb4-a5053dfceacd";
const NODE_UID: &str = "dbd26ce7-b8ee-441b-99b2-cbaff9f972be";
const POD_UID: &str = "02cea617-c166-40fc-8ad7-ae2180907a21";
const ID: &str = "2f0c56ff-57b7-47b6-8980-be4447a9d7c8";

fn objects() -> Objects {
    let pod = |name: &str, uid: &str, account: &str, node: &str| {
        let mut pod = object("au-one", name, uid);
        pod["spec"] = json!({"serviceAccountName": account, "nodeName": node});
        pod
    };
    Objects::default()
        .with("serviceaccounts", object("au-one", "bot", ACCOUNT_UID))
        .with("pods", pod("p", POD_UID, "bot", "au-n1"))
        .with("pods", pod("lost", "u-lost", "bot", "gone"))
        .with("pods", pod("unscheduled", "u-un", "bot", ""))
        .with("pods", pod("q", "u-q", "default", ""))
        .with("secrets", object("au-one", "s", "u-s"))
        .with("nodes", object("", "au-n1", NODE_UID))
}

fn audiences(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn deleted(mut object: Value, when: &str) -> Value {
    object["metadata"]["deletionTimestamp"] = when.into();
    object
}

#[test]
fn tokens_of_kube_apiserver_are_understood() {
    let key = PublicKey::from_pem(include_str!("fixtures/kube-apiserver-sa.pub")).unwrap();
    assert_eq!(key.key_id(), "GIiXo2_-W6q6Qib3Rg4wAPULDsJsTpRZwhWh172R3ys");
    let verifier = TokenVerifier::new(audiences(&[ISSUER]), vec![key], audiences(&[ISSUER]));
    let plain = include_str!("fixtures/kube-apiserver-plain.jwt");
    let bound = include_str!("fixtures/kube-apiserver-pod.jwt");
    let now = at("2026-11-15T10:01:00Z");
    let user = verifier.verify(plain, &audiences(&[ISSUER]), &objects(), now).unwrap().unwrap().user;
    assert_eq!(user.name, "system:serviceaccount:au-one:bot");
    assert_eq!(user.uid, ACCOUNT_UID);
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:au-one"]);
    let extra = |user: &User, key: &str| user.extra[&format!("authentication.kubernetes.io/{key}")].join(",");
    assert_eq!(extra(&user, "credential-id"), "JTI=a25114ad-556d-4a11-ab61-6965013882af");
    let user = verifier.verify(bound, &audiences(&[ISSUER]), &objects(), now).unwrap().unwrap().user;
    for (key, value) in [
        ("credential-id", "JTI=0826a6e2-41bc-409b-8254-90e6fd94c8ad"),
        ("pod-name", "p"),
        ("pod-uid", POD_UID),
        ("node-name", "au-n1"),
        ("node-uid", NODE_UID),
    ] {
        assert_eq!(extra(&user, key), value);
    }
    let gone = |text: &str| at(text);
    let account = object("au-one", "bot", ACCOUNT_UID);
    let invalidated = "service account token has been invalidated";
    let recreated = objects().with("pods", object("au-one", "p", "new"));
    let rows: Vec<(&str, Objects, &[&str], Timestamp, String)> = vec![
        (
            plain,
            objects(),
            &["z"],
            now,
            format!("token audiences [\"{ISSUER}\"] is invalid for the target audiences [\"z\"]"),
        ),
        (plain, objects(), &[ISSUER], gone("2026-11-15T10:43:36Z"), "service account token has expired".to_owned()),
        (plain, objects(), &[ISSUER], gone("2026-11-15T10:43:35Z"), String::new()),
        (
            plain,
            objects(),
            &[ISSUER],
            gone("2026-11-15T09:41:34Z"),
            "service account token is not valid yet".to_owned(),
        ),
        (
            plain,
            objects().without("serviceaccounts", "au-one", "bot"),
            &[ISSUER],
            now,
            "serviceaccount \"bot\" not found".to_owned(),
        ),
        (
            plain,
            objects().with("serviceaccounts", object("au-one", "bot", "new")),
            &[ISSUER],
            now,
            format!("service account UID (new) does not match claim ({ACCOUNT_UID})"),
        ),
        (
            plain,
            objects().with("serviceaccounts", deleted(account.clone(), "2026-11-15T09:59:59Z")),
            &[ISSUER],
            now,
            "service account au-one/bot has been deleted".to_owned(),
        ),
        (
            plain,
            objects().with("serviceaccounts", deleted(account, "2026-11-15T10:00:30Z")),
            &[ISSUER],
            now,
            String::new(),
        ),
        (bound, objects().without("pods", "au-one", "p"), &[ISSUER], now, invalidated.to_owned()),
        (
            bound,
            recreated,
            &[ISSUER],
            now,
            format!("pod UID (new) does not match service account pod ref claim ({POD_UID})"),
        ),
        // A token bound to a pod names its node, but does not die with it.
        (bound, objects().without("nodes", "", "au-n1"), &[ISSUER], now, String::new()),
    ];
    for (number, (token, objects, asked, now, expected)) in rows.into_iter().enumerate() {
        let answer = verifier.verify(token, &audiences(asked), &objects, now);
        assert_eq!(answer.err().unwrap_or_default(), expected, "row {number}");
    }
}

#[test]
fn forged_tokens_are_refused_and_foreign_ones_left_alone() {
    let key = PublicKey::from_pem(include_str!("fixtures/kube-apiserver-sa.pub")).unwrap();
    let verifier = TokenVerifier::new(audiences(&[ISSUER]), vec![key], audiences(&[ISSUER]));
    let real = include_str!("fixtures/kube-apiserver-plain.jwt");
    let parts: Vec<_> = real.split('.').collect();
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let kid = "GIiXo2_-W6q6Qib3Rg4wAPULDsJsTpRZwhWh172R3ys";
    let with_header = |header: Value, signature: &str| format!("{}.{}.{signature}", encode(header), parts[1]);
    let claims = encode(json!({"iss": ISSUER, "sub": "system:serviceaccount:kube-system:root"}));
    let crypto = "go-jose/go-jose: error in cryptographic primitive";
    let rows = [
        (format!("{}.{}.{}", parts[0], claims, parts[2]), Err(crypto)),
        (with_header(json!({"alg": "none"}), ""), Err(crypto)),
        (with_header(json!({"alg": "HS256", "kid": kid}), parts[2]), Err(crypto)),
        (with_header(json!({"alg": "RS256", "kid": kid}), parts[2]), Err(crypto)),
        (with_header(json!({"alg": "ES256", "kid": "other"}), parts[2]), Err("invalid signature, no keys found")),
        (format!("{real}AAAA"), Err(crypto)),
        (format!("{}.{}.{}", parts[0], encode(json!({"iss": "https://elsewhere"})), parts[2]), Ok(())),
        (format!("{}.{}", parts[0], parts[1]), Ok(())),
        (format!("{real}.x"), Ok(())),
        (format!("{}.!!.{}", parts[0], parts[2]), Ok(())),
        ("{\"payload\": \"x\"}".to_owned(), Ok(())),
        ("..".to_owned(), Ok(())),
        (String::new(), Ok(())),
        ("a".repeat(100_000), Ok(())),
    ];
    for (token, expected) in rows {
        let answer = verifier.verify(&token, &audiences(&[ISSUER]), &objects(), at("2026-11-15T10:01:00Z"));
        let answer = answer.map(|accepted| assert_eq!(accepted, None)).map_err(|e| e.to_string());
        assert_eq!(answer, expected.map_err(str::to_owned), "{token:.60}");
    }
}

fn issuer() -> (TokenIssuer, TokenVerifier) {
    let key = Arc::new(ServiceAccountKey::generate(&SystemKeys).unwrap());
    let verifier = TokenVerifier::new(audiences(&[ISSUER]), vec![key.public_key().clone()], audiences(&[ISSUER]));
    (TokenIssuer::new(ISSUER, key), verifier)
}

fn request(object: &Value, max: Option<i64>, issuer: &TokenIssuer) -> Result<TokenRequestOutcome, StatusError> {
    let own = audiences(&[ISSUER]);
    let request = TokenRequest {
        namespace: "au-one",
        name: "bot",
        object,
        audiences: &own,
        max_seconds: max,
        now: at("2026-11-15T10:00:07Z"),
        id: ID,
    };
    create_token(&request, issuer, &objects())
}

fn claims_of(object: &Value) -> String {
    let token = object["status"]["token"].as_str().unwrap();
    String::from_utf8(URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap()).unwrap()
}

#[test]
fn issued_claims_are_those_of_kube_apiserver() {
    let (issuer, verifier) = issuer();
    let bound = |kind: &str, name: &str| json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}});
    let with = |mut spec: Value, more: Value| {
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let head = |aud: &str, exp: i64| {
        format!(
            "{{\"aud\":[{aud}],\"exp\":{exp},\"iat\":1794736807,\"iss\":\"{ISSUER}\",\"jti\":\"{ID}\",\"kubernetes.io\":{{\"namespace\":\"au-one\","
        )
    };
    let account = format!("\"serviceaccount\":{{\"name\":\"bot\",\"uid\":\"{ACCOUNT_UID}\"}}");
    let tail = "},\"nbf\":1794736807,\"sub\":\"system:serviceaccount:au-one:bot\"}";
    let node = format!("\"node\":{{\"name\":\"au-n1\",\"uid\":\"{NODE_UID}\"}},");
    let pod = format!("\"pod\":{{\"name\":\"p\",\"uid\":\"{POD_UID}\"}},");
    let own = format!("\"{ISSUER}\"");
    let rows = [
        (json!({}), format!("{}{account}{tail}", head(&own, 1794740407)), "2026-11-15T11:00:07Z"),
        (bound("Pod", "p"), format!("{}{node}{pod}{account}{tail}", head(&own, 1794740407)), "2026-11-15T11:00:07Z"),
        (
            bound("Pod", "lost"),
            format!(
                "{}\"node\":{{\"name\":\"gone\"}},\"pod\":{{\"name\":\"lost\",\"uid\":\"u-lost\"}},{account}{tail}",
                head(&own, 1794740407)
            ),
            "2026-11-15T11:00:07Z",
        ),
        (
            bound("Pod", "unscheduled"),
            format!("{}\"pod\":{{\"name\":\"unscheduled\",\"uid\":\"u-un\"}},{account}{tail}", head(&own, 1794740407)),
            "2026-11-15T11:00:07Z",
        ),
        (
            with(bound("Pod", "p"), json!({"expirationSeconds": 3607})),
            format!("{}{node}{pod}{account},\"warnafter\":1794740414{tail}", head(&own, 1826272807)),
            "2026-11-15T11:00:14Z",
        ),
        (
            with(bound("Pod", "p"), json!({"expirationSeconds": 3607, "audiences": ["x"]})),
            format!("{}{node}{pod}{account}{tail}", head("\"x\"", 1794740414)),
            "2026-11-15T11:00:14Z",
        ),
        (
            json!({"expirationSeconds": 3607}),
            format!("{}{account}{tail}", head(&own, 1794740414)),
            "2026-11-15T11:00:14Z",
        ),
        (
            with(bound("Secret", "s"), json!({"audiences": ["x", "y"]})),
            format!("{}\"secret\":{{\"name\":\"s\",\"uid\":\"u-s\"}},{account}{tail}", head("\"x\",\"y\"", 1794740407)),
            "2026-11-15T11:00:07Z",
        ),
        (bound("Node", "au-n1"), format!("{}{node}{account}{tail}", head(&own, 1794740407)), "2026-11-15T11:00:07Z"),
    ];
    for (spec, expected, ends) in rows {
        let object = request(&json!({"spec": spec}), None, &issuer).unwrap().object;
        assert_eq!(claims_of(&object), expected);
        assert_eq!(object["status"]["expirationTimestamp"], ends);
        assert_eq!(
            object["metadata"],
            json!({"name": "bot", "namespace": "au-one", "uid": ACCOUNT_UID,
            "creationTimestamp": "2026-11-15T10:00:07Z"})
        );
        let token = object["status"]["token"].as_str().unwrap();
        let asked = object["spec"]["audiences"].as_array().unwrap().iter().map(|a| a.as_str().unwrap().to_owned());
        let accepted = verifier.verify(token, &asked.collect::<Vec<_>>(), &objects(), at("2026-11-15T10:00:07Z"));
        assert_eq!(accepted.unwrap().unwrap().user.uid, ACCOUNT_UID);
    }
    let shortened = request(&json!({"spec": {"expirationSeconds": 7200}}), Some(3600), &issuer).unwrap();
    assert_eq!(shortened.object["spec"]["expirationSeconds"], 3600);
    assert_eq!(shortened.warnings, ["requested expiration of 7200 seconds shortened to 3600 seconds"]);
    let keys = issuer.jwks();
    assert_eq!(keys["keys"][0]["alg"], "ES256");
    assert_eq!(
        issuer.openid_configuration("https://x/openid/v1/jwks")["id_token_signing_alg_values_supported"],
        json!(["ES256"])
    );
}

#[test]
fn requests_are_refused_as_by_kube_apiserver() {
    let (issuer, _) = issuer();
    let reference = |value: Value| json!({"spec": {"boundObjectRef": value}});
    let seconds = |value: i64| json!({"spec": {"expirationSeconds": value}});
    let too_short = |n: i64| {
        format!(
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: {n}: may not specify a duration less than 10 minutes"
        )
    };
    let rows = [
        (seconds(599), 422, too_short(599)),
        (seconds(0), 422, too_short(0)),
        (
            seconds(4294967297),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds".to_owned(),
        ),
        (
            json!({"metadata": {"name": "x"}}),
            422,
            "TokenRequest.authentication.k8s.io \"bot\" is invalid: metadata.name: Invalid value: \"x\": must match the service account name if specified".to_owned(),
        ),
        (
            json!({"metadata": {"namespace": "x"}}),
            400,
            "the namespace of the provided object does not match the namespace sent on the request".to_owned(),
        ),
        (
            json!({"metadata": {"uid": "x"}}),
            409,
            format!("Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"bot\": the UID in the token request (x) does not match the UID of the service account ({ACCOUNT_UID})"),
        ),
        (reference(json!({"kind": "Pod", "apiVersion": "v1", "name": "nope"})), 404, "pods \"nope\" not found".to_owned()),
        (reference(json!({"kind": "Secret", "name": "nope"})), 404, "secrets \"nope\" not found".to_owned()),
        (
            reference(json!({"kind": "ConfigMap", "apiVersion": "v1", "name": "x"})),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap".to_owned(),
        ),
        (
            reference(json!({"kind": "Deployment", "apiVersion": "apps/v1", "name": "x"})),
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment".to_owned(),
        ),
        (reference(json!({"name": "x"})), 400, "cannot bind token to object of type /, Kind=".to_owned()),
        (
            reference(json!({"kind": "Pod", "apiVersion": "v1", "name": "q"})),
            400,
            "cannot bind token for serviceaccount \"bot\" to pod running with different serviceaccount name.".to_owned(),
        ),
        (
            reference(json!({"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "bad"})),
            409,
            "Operation cannot be fulfilled on Pod \"p\": the UID in the bound object reference (bad) does not match the UID in record. The object might have been deleted and then recreated".to_owned(),
        ),
    ];
    for (object, code, message) in rows {
        let error = request(&object, None, &issuer).err().unwrap();
        assert_eq!((error.code, error.message), (code, message), "{object}");
    }
    let own = audiences(&[ISSUER]);
    let nobody = TokenRequest {
        namespace: "au-one",
        name: "nope",
        object: &json!({}),
        audiences: &own,
        max_seconds: None,
        now: at("2026-11-15T10:00:07Z"),
        id: ID,
    };
    let error = create_token(&nobody, &issuer, &objects()).err().unwrap();
    assert_eq!((error.code, error.message.as_str()), (404, "serviceaccounts \"nope\" not found"));
}

#[test]
fn tokens_in_secrets_are_compared_with_the_secret() {
    let (issuer, verifier) = issuer();
    let account = object("au-one", "bot", ACCOUNT_UID);
    let token = issuer.issue_legacy(&LegacyToken { service_account: &account, secret_name: "leg" }).unwrap();
    let secret = |token: &str| {
        let mut secret = object("au-one", "leg", "u-leg");
        secret["data"] = json!({"token": STANDARD.encode(token)});
        secret
    };
    let good = objects().with("secrets", secret(token.expose()));
    let mut invalid = secret(token.expose());
    invalid["metadata"]["labels"] = json!({"kubernetes.io/legacy-token-invalid-since": "2026-01-01"});
    let marked = "the token in secret au-one/leg for service account au-one/bot has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token";
    let rows = [
        (good.clone(), ""),
        (objects(), "Token has been invalidated"),
        (
            objects().with("secrets", deleted(secret(token.expose()), "2026-11-15T10:00:00Z")),
            "Token has been invalidated",
        ),
        (objects().with("secrets", secret("other")), "Token does not match server's copy"),
        (good.clone().without("serviceaccounts", "au-one", "bot"), "serviceaccount \"bot\" not found"),
        (
            good.clone().with("serviceaccounts", object("au-one", "bot", "new")),
            "ServiceAccount UID (new) does not match claim (08eb3680-e1ba-4855-9bb4-a5053dfceacd)",
        ),
        (
            good.clone().with("serviceaccounts", deleted(account, "2026-11-15T10:00:00Z")),
            "ServiceAccount au-one/bot has been deleted",
        ),
        (objects().with("secrets", invalid), marked),
    ];
    for (objects, expected) in rows {
        let answer = verifier.verify(token.expose(), &audiences(&[ISSUER]), &objects, at("2026-11-15T10:00:07Z"));
        assert_eq!(answer.err().unwrap_or_default(), expected);
    }
    let user =
        verifier.verify(token.expose(), &audiences(&[ISSUER]), &good, at("2099-01-01T00:00:00Z")).unwrap().unwrap();
    assert_eq!((user.user.name.as_str(), user.user.extra.len()), ("system:serviceaccount:au-one:bot", 0));
    assert!(verifier.verify(token.expose(), &audiences(&["x"]), &good, at("2026-01-01T00:00:00Z")).is_err());
}
