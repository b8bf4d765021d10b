//! Whatever fails does so in time, and says what it is.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use etcd::{
    Access, Alarm, Client, Error, ROOT, Tenancy,
    testing::{self, Etcd},
};
use pki::{Authority, Subject, SystemKeys};

use crate::{etcd_program, fill, tenant};

fn authority(name: &str) -> Authority {
    Authority::new(&Subject::named(name), testing::validity(), &SystemKeys).unwrap()
}

/// The error of a call, which must come within the deadline.
async fn error_in_time(access: &Access) -> Error {
    let begun = Instant::now();
    let error = Client::new(access).unwrap().status().await.unwrap_err();
    let scheduling = Duration::from_secs(1);
    assert!(begun.elapsed() < access.deadline + scheduling, "{error} after {:?}", begun.elapsed());
    error
}

#[tokio::test]
async fn nobody_there() {
    let ca = authority("ca");
    // One refuses connections, one takes them and never says a word.
    let closed = format!("127.0.0.1:{}", testing::free_ports(1).unwrap()[0]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (silent.local_addr().unwrap().to_string(), silent);
    let access = |endpoints: &[&String]| Access {
        deadline: Duration::from_millis(300),
        ..testing::access(&ca, &ca, ROOT, &endpoints.iter().map(|one| (*one).clone()).collect::<Vec<_>>()).unwrap()
    };
    let refused = "Connection refused (os error 111)";
    assert_eq!(
        error_in_time(&access(&[&closed])).await.to_string(),
        format!(
            "etcd cannot be reached: {closed}: {refused}. Check that it runs, and that its endpoints are right and open \
             from here"
        )
    );
    let unreachable = Error::Unreachable(format!("{}: no answer in time", silent.0));
    assert_eq!(error_in_time(&access(&[&silent.0])).await, unreachable);
    let Error::Unreachable(text) = error_in_time(&access(&[&silent.0, &closed])).await else { panic!() };
    assert_eq!(text, format!("{}: no answer in time, {closed}: {refused}", silent.0));
}

#[tokio::test]
async fn certificates_that_do_not_fit() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let (own, other) = (etcd.authority(), authority("other"));
    let wrong_ca = error_in_time(&testing::access(&other, own, ROOT, etcd.endpoints()).unwrap()).await;
    let text = format!("{}: invalid peer certificate: UnknownIssuer", etcd.endpoints()[0]);
    assert_eq!(wrong_ca, Error::Untrusted(text));
    let wrong_client = error_in_time(&testing::access(own, &other, ROOT, etcd.endpoints()).unwrap()).await;
    let text = format!("{}: received fatal alert: UnknownCA", etcd.endpoints()[0]);
    assert_eq!(wrong_client, Error::Untrusted(text));

    let access = etcd.access(ROOT).unwrap();
    let nonsense = Access { certificate: "nonsense".to_owned(), ..access.clone() };
    let nowhere = Access { endpoints: vec![], ..access.clone() };
    let no_address = Access { endpoints: vec!["a b".to_owned()], ..access.clone() };
    let other_key = Access { key: etcd.access(ROOT).unwrap().key, ..access };
    for access in [nonsense, nowhere, no_address, other_key] {
        let refused = Client::new(&access).err();
        assert!(matches!(refused, Some(Error::Invalid(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn members_that_are_down() {
    let Some(program) = etcd_program() else { return };
    let mut etcd = Etcd::start_open(&program, 3, &[]).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    tenancy.bootstrap_auth().await.unwrap();
    let tenant = tenant("a");
    tenancy.ensure(&tenant).await.unwrap();

    etcd.stop(0).await.unwrap();
    // Both the client that was connected to it and a new one.
    let fresh = etcd.client(ROOT).unwrap();
    for client in [&root, &fresh] {
        fill_patiently(client, "/a/x").await;
        assert!(client.status().await.unwrap().has_leader);
    }

    etcd.stop(1).await.unwrap();
    // The survivor notices within an election that it is alone.
    let begun = Instant::now();
    let error = loop {
        let error = tenancy.usage(&tenant).await.unwrap_err();
        if !matches!(error, Error::Unreachable(_)) || begun.elapsed() > Duration::from_secs(30) {
            break error;
        }
    };
    assert_eq!(error, Error::NoLeader("etcdserver: no leader".to_owned()));
}

/// Writes a key; an election may be going on.
async fn fill_patiently(client: &Client, key: &'static str) {
    let begun = Instant::now();
    while let Err(error) = client.put(key, "x").await {
        assert!(matches!(error, Error::NoLeader(_)), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{error}");
    }
}

#[tokio::test]
async fn a_full_database() {
    let Some(program) = etcd_program() else { return };
    let quota: u64 = 4 << 20;
    let etcd = Etcd::start_open(&program, 1, &[&format!("--quota-backend-bytes={quota}")]).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    tenancy.bootstrap_auth().await.unwrap();
    let tenant = tenant("a");
    tenancy.ensure(&tenant).await.unwrap();
    fill(&root, &tenant, 3).await;
    let before = root.status().await.unwrap();
    assert_eq!((before.version.as_str(), before.has_leader, before.quota), ("3.6.16", true, quota));
    assert_eq!((before.weakness(), before.alarms), (None, vec![]));

    let mut written = 0;
    let error = loop {
        match root.put(format!("/a/large-{written}"), vec![0; 1 << 18]).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 100);
    };
    assert_eq!(error, Error::NoSpace("etcdserver: mvcc: database space exceeded".to_owned()));
    let full = root.status().await.unwrap();
    assert_eq!(full.alarms, [Alarm::NoSpace]);
    assert!(full.size > quota / 2 && full.size_in_use <= full.size, "{full:?}");
    // Making room is still possible.
    tenancy.remove(&tenant).await.unwrap();
    assert!(!tenancy.exists(&tenant).await.unwrap());
}

#[tokio::test]
async fn tenants_are_not_managed_by_others() {
    let Some(program) = etcd_program() else { return };
    let open = Etcd::start_open(&program, 1, &[]).await.unwrap();
    let refused = Tenancy::new(open.client("admin").unwrap()).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "the client certificate for etcd is of \"admin\": tenants are managed with one whose common name is \"root\""
    );
    assert!(!open.client(ROOT).unwrap().auth_enabled().await.unwrap());
}
