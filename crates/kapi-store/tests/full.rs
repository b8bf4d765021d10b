//! A disk that is full for a while: what was acknowledged stays, and the store goes on once there is room.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kapi_store::{Action, Body, Expect, Op, Store};

/// A small disk, there as long as this.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(folder.path()).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(Self(folder))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

/// An object that cannot be packed.
fn put(store: &Store, key: &str, expect: Expect) -> Op {
    let numbers = std::iter::successors(Some(key.len() as u32), |n| Some(n.wrapping_mul(1_664_525).wrapping_add(1)));
    let text: String = numbers.take(8 << 10).map(|n| char::from(b'A' + (n >> 27) as u8 % 26)).collect();
    let body = Body::new(format!(r#"{{"metadata":{{"name":"{key}","text":"{text}"}}}}"#).into_bytes(), 13);
    Op { collection: store.collection("a/things"), key: key.into(), expect, action: Action::Put(body) }
}

async fn commit(store: &Store, op: Op) -> Result<u64, String> {
    store.commit(vec![op]).await.map(|made| made[0].revision).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_store_goes_on_once_its_disk_has_room_again() {
    let Some(disk) = Disk::new() else {
        println!("skipped: a small disk cannot be mounted here (no root?)");
        return;
    };
    let store = Store::open(&disk.path("store")).unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let doomed = format!("{round}-doomed");
        let made = commit(&store, put(&store, &doomed, Expect::Absent)).await.unwrap();
        let changed = commit(&store, put(&store, &doomed, Expect::Revision(made))).await.unwrap();
        let mut last = changed;
        let ballast = disk.path("ballast");
        fill(&ballast);
        // At first there is no room to forget anything either; later there is what was free in the file.
        let has_forgotten = store.compact(changed).await.is_ok();
        assert!(round > 0 || !has_forgotten);
        for number in 0.. {
            let key = format!("{round}-{number}");
            let Ok(made) = commit(&store, put(&store, &key, Expect::Absent)).await else { break };
            acknowledged.push((key, made));
            last = made;
            assert!(number < 10_000, "the disk never was full");
        }
        std::fs::remove_file(&ballast).unwrap();
        let begun = Instant::now();
        let key = format!("{round}-after");
        let made = loop {
            match commit(&store, put(&store, &key, Expect::Absent)).await {
                Ok(made) => break made,
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(made, last + 1, "what failed has no revision");
        acknowledged.push((key, made));
        let mut deletion = put(&store, &doomed, Expect::Revision(changed));
        deletion.action = Action::Delete;
        commit(&store, deletion).await.unwrap();
        store.compact(u64::MAX).await.unwrap();
    }
    let there = |store: &Store| -> Vec<(String, u64)> {
        let mut items: Vec<_> = store.collection("a/things").list("", None, usize::MAX).items;
        items.sort_by_key(|item| item.revision);
        items.into_iter().map(|item| (item.key.into(), item.revision)).collect()
    };
    assert_eq!(there(&store), acknowledged);
    drop(store);
    assert_eq!(there(&Store::open(&disk.path("store")).unwrap()), acknowledged);
}
