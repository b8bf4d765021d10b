//! A tenant's certificate opens the tenant's own keys, and nothing else.

use etcd::{Error, KeyRange, ROOT, Tenancy, testing::Etcd};

use crate::{
    etcd_program,
    foreign::{self, LeasedPut, Numbers},
    tenant,
};

fn range(start: &'static str, end: &'static str) -> KeyRange {
    KeyRange { start: start.into(), end: end.into() }
}

fn denied<T: std::fmt::Debug>(what: &str, answer: Result<T, Error>) {
    assert!(matches!(answer, Err(Error::Denied(_))), "{what}: {answer:?}");
}

#[tokio::test]
async fn a_tenant_reaches_its_own_keys_alone() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    // One's name begins with the other's.
    let (abc, abcd) = (tenant("abc"), tenant("abcd"));
    tenancy.ensure(&abc).await.unwrap();
    tenancy.ensure(&abcd).await.unwrap();

    let mine = etcd.client(abc.user()).unwrap();
    mine.put("/abc/pods/x", "mine").await.unwrap();
    let theirs = etcd.client(abcd.user()).unwrap();
    theirs.put("/abcd/pods/x", "theirs").await.unwrap();
    assert_eq!(mine.page(&abc.keys(), 10, false).await.unwrap().entries, [("/abc/pods/x".into(), "mine".into())]);

    for keys in [
        abcd.keys(),
        KeyRange::key("/abcd/pods/x"),
        // All that begins with "/abc"; one key more on either side; everything; everything behind.
        range("/abc", "/abd"),
        range("/abc/", "/abc1"),
        range("/abc.", "/abc0"),
        range("\0", "\0"),
        range("/abc/", "\0"),
        KeyRange::key("/abc0"),
        KeyRange::key("compact_rev_key"),
    ] {
        denied("read", mine.page(&keys, 10, false).await);
        denied("list", mine.page(&keys, 10, true).await);
        denied("count", mine.count(&keys).await);
        denied("delete", mine.delete(&keys).await);
        let transaction = foreign::reading_transaction(&keys);
        let nested = foreign::nested(transaction.clone());
        for transaction in [transaction, nested] {
            denied("transaction", foreign::call(&mine, "/etcdserverpb.KV/Txn", &transaction).await);
        }
        let watch = foreign::watch(&etcd.access(abc.user()).unwrap(), &keys).await.unwrap();
        assert!(watch.canceled && watch.cancel_reason.contains("permission denied"), "{keys:?}: {watch:?}");
    }
    let watch = foreign::watch(&etcd.access(abc.user()).unwrap(), &abc.keys()).await.unwrap();
    assert!(watch.created && !watch.canceled, "{watch:?}");
    denied("write", mine.put("/abcd/pods/x", "mine").await);
    denied("write beside", mine.put("/abc0", "mine").await);
    assert_eq!(root.count(&abcd.keys()).await.unwrap(), 1);
}

#[tokio::test]
async fn a_tenant_cannot_see_or_change_who_may_do_what() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let (a, b) = (tenant("a"), tenant("b"));
    tenancy.ensure(&a).await.unwrap();
    tenancy.ensure(&b).await.unwrap();

    let mine = etcd.client(a.user()).unwrap();
    denied("users", mine.users().await);
    denied("a user", mine.roles_of(b.user()).await);
    denied("a role", mine.permissions_of(b.user()).await);
    denied("another's role", mine.grant_role(a.user(), b.user()).await);
    denied("root's role", mine.grant_role(a.user(), ROOT).await);
    denied("another's keys", mine.grant_permission(a.user(), &b.keys()).await);
    denied("a new user", mine.add_user("eve").await);
    denied("a user's end", mine.delete_user(b.user()).await);
    denied("a role's end", mine.delete_role(b.user()).await);
    denied("status", mine.auth_enabled().await);

    // A certificate of the right authority for a user that does not exist, or exists no more.
    denied("nobody", etcd.client("nobody").unwrap().page(&a.keys(), 1, true).await);
    let former = etcd.client(b.user()).unwrap();
    former.put("/b/x", "x").await.unwrap();
    tenancy.remove(&b).await.unwrap();
    denied("a former tenant", former.put("/b/x", "x").await);
}

#[tokio::test]
async fn a_tenant_cannot_disturb_the_others() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let (a, b) = (tenant("a"), tenant("b"));
    tenancy.ensure(&a).await.unwrap();
    tenancy.ensure(&b).await.unwrap();
    let (mine, theirs) = (etcd.client(a.user()).unwrap(), etcd.client(b.user()).unwrap());

    // A lease takes the keys along that were written with it.
    let lease = 7;
    let grant = Numbers { first: 600, second: lease, third: 0 };
    foreign::call(&theirs, "/etcdserverpb.Lease/LeaseGrant", &grant).await.unwrap();
    let put = LeasedPut { key: "/b/event".to_owned(), lease };
    foreign::call(&theirs, "/etcdserverpb.KV/Put", &put).await.unwrap();

    let raise_no_space = Numbers { first: 1, second: 0, third: 1 };
    for (path, message) in [
        ("/etcdserverpb.Lease/LeaseRevoke", Numbers { first: lease, ..Numbers::default() }),
        ("/etcdserverpb.KV/Compact", Numbers { first: 2, ..Numbers::default() }),
        ("/etcdserverpb.Maintenance/Alarm", raise_no_space),
        ("/etcdserverpb.Maintenance/Defragment", Numbers::default()),
        ("/etcdserverpb.Maintenance/Snapshot", Numbers::default()),
        ("/etcdserverpb.Cluster/MemberRemove", Numbers { first: 1, ..Numbers::default() }),
        ("/etcdserverpb.Auth/AuthDisable", Numbers::default()),
        ("/etcdserverpb.Auth/RoleList", Numbers::default()),
    ] {
        denied(path, foreign::call(&mine, path, &message).await);
    }
    assert_eq!(root.count(&b.keys()).await.unwrap(), 1);
    assert_eq!(root.status().await.unwrap().alarms, []);
}
