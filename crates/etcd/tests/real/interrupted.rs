//! Whatever is interrupted, before or after any call, is finished by doing it again.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use etcd::{Client, Error, Permission, ROOT, Tenancy, Tenant, Transport, testing::Etcd};
use futures::future::BoxFuture;

use crate::{etcd_program, fill, tenant};

/// Breaks off after some calls; the last one may have reached etcd with its answer lost.
struct Interrupted {
    inner: Arc<dyn Transport>,
    calls: usize,
    reaches: bool,
    made: AtomicUsize,
}

impl Transport for Interrupted {
    fn call(&self, path: &'static str, message: Bytes) -> BoxFuture<'_, Result<Bytes, Error>> {
        Box::pin(async move {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            if number < self.calls || number == self.calls && self.reaches {
                let answer = self.inner.call(path, message).await;
                if number < self.calls {
                    return answer;
                }
            }
            Err(Error::Unreachable("interrupted".to_owned()))
        })
    }
}

fn interrupted(client: &Client, calls: usize, reaches: bool) -> Tenancy {
    let inner = client.transport().clone();
    let transport = Interrupted { inner, calls, reaches, made: AtomicUsize::new(0) };
    Tenancy::new(Client::over(Arc::new(transport), client.user())).unwrap()
}

/// All ways to be interrupted within `calls` calls, numbered.
fn ways(calls: usize) -> impl Iterator<Item = (usize, bool)> {
    (0..calls).flat_map(|call| [(call, false), (call, true)])
}

async fn assert_complete(root: &Client, tenant: &Tenant, context: (usize, bool)) {
    let own = Permission { range: tenant.keys(), read_write: true };
    assert_eq!(root.permissions_of(tenant.user()).await.unwrap(), Some(vec![own]), "{context:?}");
    assert_eq!(root.roles_of(tenant.user()).await.unwrap(), Some(vec![tenant.user().to_owned()]), "{context:?}");
}

#[tokio::test]
async fn making_and_removing_a_tenant() {
    let Some(program) = etcd_program() else { return };
    let etcd = Etcd::start(&program).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let neighbour = tenant("n");
    tenancy.ensure(&neighbour).await.unwrap();
    fill(&root, &neighbour, 3).await;

    // Two to see what is there, four to make it.
    const ENSURE: usize = 6;
    // Two to see, one to revoke, three for the keys, two to delete, three to see that all is gone.
    const REMOVE: usize = 11;
    for way @ (calls, reaches) in ways(ENSURE) {
        let tenant = tenant(&format!("e{calls}{reaches}"));
        interrupted(&root, calls, reaches).ensure(&tenant).await.unwrap_err();
        tenancy.ensure(&tenant).await.unwrap();
        assert_complete(&root, &tenant, way).await;
        // Also what is half made can be removed.
        tenancy.remove(&tenant).await.unwrap();
        interrupted(&root, calls, reaches).ensure(&tenant).await.unwrap_err();
        tenancy.remove(&tenant).await.unwrap();
        assert!(!tenancy.exists(&tenant).await.unwrap(), "{way:?}");
    }
    for way @ (calls, reaches) in ways(REMOVE) {
        let tenant = tenant(&format!("r{calls}{reaches}"));
        tenancy.ensure(&tenant).await.unwrap();
        fill(&root, &tenant, 3).await;
        interrupted(&root, calls, reaches).remove(&tenant).await.unwrap_err();
        tenancy.remove(&tenant).await.unwrap();
        assert!(!tenancy.exists(&tenant).await.unwrap(), "{way:?}");
        // Also what is half removed can be made again.
        tenancy.ensure(&tenant).await.unwrap();
        interrupted(&root, calls, reaches).remove(&tenant).await.ok();
        tenancy.ensure(&tenant).await.unwrap();
        assert_complete(&root, &tenant, way).await;
        tenancy.remove(&tenant).await.unwrap();
    }
    // These were all the calls there are.
    let tenant = tenant("whole");
    interrupted(&root, ENSURE, false).ensure(&tenant).await.unwrap();
    fill(&root, &tenant, 3).await;
    interrupted(&root, REMOVE, false).remove(&tenant).await.unwrap();
    assert_eq!(tenancy.users().await.unwrap(), [neighbour.user()]);
    assert_eq!(root.count(&neighbour.keys()).await.unwrap(), 3);
}

#[tokio::test]
async fn switching_authentication_on() {
    let Some(program) = etcd_program() else { return };
    // Status, user, role, switch.
    const CALLS: usize = 4;
    futures::future::join_all(ways(CALLS).map(|way| interrupted_bootstrap(&program, way))).await;
    let etcd = Etcd::start_open(&program, 1, &[]).await.unwrap();
    interrupted(&etcd.client(ROOT).unwrap(), CALLS, false).bootstrap_auth().await.unwrap();
}

async fn interrupted_bootstrap(program: &Path, way @ (calls, reaches): (usize, bool)) {
    let etcd = Etcd::start_open(program, 1, &[]).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    interrupted(&root, calls, reaches).bootstrap_auth().await.unwrap_err();
    for _ in 0..2 {
        Tenancy::new(root.clone()).unwrap().bootstrap_auth().await.unwrap();
    }
    assert!(root.auth_enabled().await.unwrap(), "{way:?}");
    let nobody = etcd.client("nobody").unwrap().put("/x", "x").await;
    assert!(matches!(nobody, Err(Error::Denied(_))), "{way:?}: {nobody:?}");
}
