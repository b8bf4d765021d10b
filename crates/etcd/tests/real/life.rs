//! Tenants are made, repaired, measured and removed.

use etcd::{Error, KeyRange, Permission, ROOT, Tenancy, Usage, testing::Etcd};

use crate::{etcd_program, fill, tenant};

#[tokio::test]
async fn a_tenant_is_made_once_and_repaired() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let (a, b) = (tenant("a"), tenant("b"));
    assert!(!tenancy.exists(&a).await.unwrap());
    tenancy.ensure(&b).await.unwrap();
    for _ in 0..2 {
        tenancy.ensure(&a).await.unwrap();
    }
    assert!(tenancy.exists(&a).await.unwrap());
    assert_eq!(tenancy.users().await.unwrap(), [a.user(), b.user()]);

    // Somebody gave it more, and took its own.
    root.grant_permission(a.user(), &b.keys()).await.unwrap();
    root.grant_permission(a.user(), &KeyRange::key("/b")).await.unwrap();
    root.grant_role(a.user(), b.user()).await.unwrap();
    root.revoke_permission(a.user(), &a.keys()).await.unwrap();
    tenancy.ensure(&a).await.unwrap();
    let own = Permission { range: a.keys(), read_write: true };
    assert_eq!(root.permissions_of(a.user()).await.unwrap(), Some(vec![own]));
    assert_eq!(root.roles_of(a.user()).await.unwrap(), Some(vec![a.user().to_owned()]));
    // Once more of what is there already is no error.
    root.grant_role(a.user(), a.user()).await.unwrap();
    root.grant_permission(a.user(), &a.keys()).await.unwrap();
}

#[tokio::test]
async fn a_removed_tenant_leaves_nothing_and_its_neighbours_everything() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let (gone, neighbour) = (tenant("gone"), tenant("gone-not"));
    for tenant in [&gone, &neighbour] {
        tenancy.ensure(tenant).await.unwrap();
    }
    // More than a batch.
    fill(&root, &gone, 2100).await;
    fill(&root, &neighbour, 2).await;
    for _ in 0..2 {
        tenancy.remove(&gone).await.unwrap();
    }
    assert_eq!(root.count(&gone.keys()).await.unwrap(), 0);
    assert!(!tenancy.exists(&gone).await.unwrap());
    assert_eq!(tenancy.users().await.unwrap(), [neighbour.user()]);
    assert_eq!(root.permissions_of(gone.user()).await.unwrap(), None);
    assert_eq!(root.count(&neighbour.keys()).await.unwrap(), 2);
    // Keys without a user are something to remove too.
    fill(&root, &gone, 1).await;
    assert!(tenancy.exists(&gone).await.unwrap());
    tenancy.remove(&gone).await.unwrap();
    assert!(!tenancy.exists(&gone).await.unwrap());
}

#[tokio::test]
async fn usage_is_what_was_written() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let (a, empty) = (tenant("a"), tenant("empty"));
    // Several pages; others' keys do not count.
    fill(&root, &a, 1234).await;
    fill(&root, &tenant("ab"), 3).await;
    let length = "/a/key-00000".len() + "value".len();
    assert_eq!(tenancy.usage(&a).await.unwrap(), Usage { keys: 1234, bytes: 1234 * length as u64 });
    assert_eq!(tenancy.usage(&empty).await.unwrap(), Usage::default());

    // A page of these is more than a client takes at once.
    let large = vec![0; 1 << 20];
    for number in 0..20 {
        root.put(format!("/a/large-{number:02}"), large.clone()).await.unwrap();
    }
    let many = root.page(&a.keys(), 10_000, false).await;
    assert!(matches!(many, Err(Error::TooLarge(_))), "{:?}", many.map(|page| page.entries.len()));
    let bytes = 1234 * length + 20 * ("/a/large-00".len() + large.len());
    assert_eq!(tenancy.usage(&a).await.unwrap(), Usage { keys: 1254, bytes: bytes as u64 });
}

#[tokio::test]
async fn many_tenants_come_and_go_at_once() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let tenancy = Tenancy::new(etcd.client(ROOT).unwrap()).unwrap();
    let coming_and_going = (0..30).map(|number| {
        let (etcd, tenancy) = (&etcd, &tenancy);
        async move {
            let tenant = tenant(&format!("t{number}"));
            tenancy.ensure(&tenant).await.unwrap();
            // Its keys are written while others change what permissions there are.
            fill(&etcd.client(tenant.user()).unwrap(), &tenant, 10).await;
            assert_eq!(tenancy.usage(&tenant).await.unwrap().keys, 10);
            if number % 2 == 0 {
                tenancy.remove(&tenant).await.unwrap();
            }
        }
    });
    futures::future::join_all(coming_and_going).await;
    assert_eq!(tenancy.users().await.unwrap().len(), 15);
}
