//! The store as its users see it: what is acknowledged is there after reopening, histories have no gaps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use kapi_store::{Action, Body, Change, CommitError, Event, Expect, HistoryError, Op, OpenError, RestoreError, Store};
use proptest::prelude::*;

fn body(text: &str) -> Body {
    Body::new(format!(r#"{{"metadata":{{"name":"{text}"}}}}"#).into_bytes(), 13)
}

fn put(store: &Store, key: &str, expect: Expect, text: &str) -> Op {
    Op { collection: store.collection("a/things"), key: key.into(), expect, action: Action::Put(body(text)) }
}

fn delete(store: &Store, key: &str, revision: u64) -> Op {
    let expect = Expect::Revision(revision);
    Op { collection: store.collection("a/things"), key: key.into(), expect, action: Action::Delete }
}

async fn create(store: &Store, key: &str) -> u64 {
    store.commit(vec![put(store, key, Expect::Absent, key)]).await.unwrap()[0].revision
}

fn told(events: &[Arc<Event>]) -> Vec<(Change, String, u64)> {
    events.iter().map(|event| (event.change, event.key.to_string(), event.revision)).collect()
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let revision = {
        let store = Store::open(&path).unwrap();
        create(&store, "x").await;
        create(&store, "y").await
    };
    let store = Store::open(&path).unwrap();
    assert_eq!(store.revision(), revision);
    let entry = store.collection("a/things").get("y").unwrap();
    assert_eq!(&entry.bytes[..], format!(r#"{{"metadata":{{"resourceVersion":"{revision}","name":"y"}}}}"#).as_bytes());
}

#[tokio::test]
async fn large_documents_of_several_apis_are_read_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    // What all have in common, what those of one name have, and what each has alone.
    let text = |name: &str, api: &str, round: u32| {
        let common = r#""labels":{"app":"web","tier":"front"},"finalizers":["example.org/kept"],"#.repeat(6);
        format!(r#"{{"metadata":{{"uid":"{api}-{round}",{common}"name":"{name}","end":"{}"}}}}"#, name.repeat(60))
    };
    let mut expected = BTreeMap::new();
    let check = |store: &Store, expected: &BTreeMap<(String, String), String>| {
        for ((api, name), text) in expected {
            let entry = store.collection(&format!("{api}/things")).get(name).unwrap();
            let revision = format!(r#""resourceVersion":"{}","#, entry.revision);
            assert_eq!(String::from_utf8_lossy(&entry.bytes).replace(&revision, ""), *text, "{api} {name}");
        }
        for api in ["a", "b"] {
            let page = store.collection(&format!("{api}/things")).list("", None, usize::MAX);
            for item in &page.items {
                let one = store.collection(&format!("{api}/things")).get(&item.key).unwrap();
                assert_eq!((item.bytes(), item.size()), (one.bytes.clone(), one.bytes.len()));
            }
        }
    };
    {
        let store = Store::open(&path).unwrap();
        for round in 0..3 {
            for api in ["a", "b"] {
                for name in ["x", "y", "only"].into_iter().filter(|name| *name != "only" || api == "b") {
                    let collection = store.collection(&format!("{api}/things"));
                    let expect = collection.get(name).map_or(Expect::Absent, |entry| Expect::Revision(entry.revision));
                    let text = text(name, api, round);
                    let action = Action::Put(Body::new(text.clone().into_bytes(), 13));
                    store.commit(vec![Op { collection, key: name.into(), expect, action }]).await.unwrap();
                    expected.insert((api.to_owned(), name.to_owned()), text);
                    check(&store, &expected);
                }
            }
        }
    }
    check(&Store::open(&path).unwrap(), &expected);
}

#[tokio::test]
async fn expectations_are_checked_and_a_commit_is_all_or_nothing() {
    let store = Store::in_memory().unwrap();
    let revision = create(&store, "x").await;
    let both = vec![put(&store, "new", Expect::Absent, "new"), put(&store, "x", Expect::Absent, "again")];
    match store.commit(both).await {
        Err(CommitError::Conflict { op: 1, found: Some(found) }) => assert_eq!(found, revision),
        other => panic!("{other:?}"),
    }
    assert!(store.collection("a/things").get("new").is_none());
    assert_eq!(store.revision(), revision);
}

#[tokio::test]
async fn a_feed_resumes_over_a_restart_without_gaps_deletions_included() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let (start, gone) = {
        let store = Store::open(&path).unwrap();
        let start = create(&store, "x").await;
        let gone = store.commit(vec![delete(&store, "x", start)]).await.unwrap()[0].revision;
        (start, gone)
    };
    let store = Store::open(&path).unwrap();
    let things = store.collection("a/things");
    let mut feed = store.feed(&things, start).unwrap();
    let events = feed.next().await.unwrap();
    assert_eq!(told(&events), [(Change::Deleted, "x".to_owned(), gone)]);
    assert!(events[0].previous.is_some());
    let again = create(&store, "x").await;
    assert_eq!(told(&feed.next().await.unwrap()), [(Change::Added, "x".to_owned(), again)]);
}

#[tokio::test]
async fn a_feed_far_behind_gets_every_change_once() {
    let store = Store::in_memory().unwrap();
    let things = store.collection("a/things");
    let mut feed = store.feed(&things, 0).unwrap();
    let mut expected = Vec::new();
    for n in 0..1500 {
        expected.push(create(&store, &format!("k{n}")).await);
    }
    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        seen.extend(feed.next().await.unwrap().iter().map(|event| event.revision));
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn compaction_ends_history_and_keeps_the_present() {
    let store = Store::in_memory().unwrap();
    let things = store.collection("a/things");
    let first = create(&store, "x").await;
    let second = store.commit(vec![put(&store, "x", Expect::Revision(first), "two")]).await.unwrap()[0].revision;
    let third = create(&store, "y").await;
    store.compact(third).await.unwrap();
    assert_eq!(store.feed(&things, first).err(), Some(HistoryError::Compacted { asked: first, oldest: third }));
    assert_eq!(
        store.list_at(&things, second, "", None, 9).err(),
        Some(HistoryError::Compacted { asked: second, oldest: third })
    );
    assert_eq!(things.list("", None, 9).items.len(), 2);
    assert_eq!(store.list_at(&things, third, "", None, 9).unwrap().items.len(), 2);
    let ahead = store.revision() + 1;
    let future = HistoryError::Future { asked: ahead, current: third };
    assert_eq!(store.list_at(&things, ahead, "", None, 9).err(), Some(future));
}

#[tokio::test]
async fn what_exists_and_what_is_of_the_past_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let counts = |store: &Store| (store.objects(), store.superseded());
    let store = Store::open(&path).unwrap();
    let (a, b) = (create(&store, "a").await, create(&store, "b").await);
    assert_eq!(counts(&store), (2, 0));
    let changed = store.commit(vec![put(&store, "a", Expect::Revision(a), "again")]).await.unwrap()[0].revision;
    assert_eq!(counts(&store), (2, 1));
    store.commit(vec![delete(&store, "b", b)]).await.unwrap();
    assert_eq!(counts(&store), (1, 3), "the former version, the deleted one and the deletion");
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(counts(&store), (1, 3));
    store.compact(changed).await.unwrap();
    assert_eq!(counts(&store), (1, 2));
    store.compact(u64::MAX).await.unwrap();
    assert_eq!(counts(&store), (1, 0));
    drop(store);
    assert_eq!(counts(&Store::open(&path).unwrap()), (1, 0));
}

#[tokio::test]
async fn a_file_that_is_mostly_free_becomes_small_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let length = || std::fs::metadata(&path).unwrap().len();
    // Nothing in it stands twice, so it cannot be packed.
    let numbers = std::iter::successors(Some(1_u32), |n| Some(n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)));
    let large: String = numbers.take(1 << 20).map(|n| char::from(b'A' + (n >> 27) as u8 % 26)).collect();
    let (revision, kept) = {
        let store = Store::open(&path).unwrap();
        let mut revision = create(&store, "large").await;
        let kept = create(&store, "kept").await;
        for _ in 0..24 {
            let written = store.commit(vec![put(&store, "large", Expect::Revision(revision), &large)]).await.unwrap();
            revision = written[0].revision;
        }
        store.compact(revision).await.unwrap();
        (revision, kept)
    };
    let before = length();
    assert!(before > 16 << 20, "{before}");
    // What a crash in the middle of it would leave.
    std::fs::write(path.with_extension("new"), "half a file").unwrap();
    for _ in 0..2 {
        let store = Store::open(&path).unwrap();
        assert!(length() < before / 4, "{} of {before}", length());
        assert!(!path.with_extension("new").exists());
        assert_eq!((store.revision(), store.compacted()), (revision, revision));
        let things = store.collection("a/things");
        assert_eq!((things.get("large").unwrap().revision, things.get("kept").unwrap().revision), (revision, kept));
        assert!(matches!(Store::open(&path), Err(OpenError::Locked(_))));
    }
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let store = Store::open(&path).unwrap();
    create(&store, "later").await;
    drop(store);
    assert!(Store::open(&path).unwrap().collection("a/things").get("later").is_some());
}

#[tokio::test]
async fn pages_go_on_after_a_key_and_count_what_remains() {
    let store = Store::in_memory().unwrap();
    for key in ["a/1", "a/2", "a/3", "b/1"] {
        create(&store, key).await;
    }
    let things = store.collection("a/things");
    let page = things.list("a/", None, 2);
    let keys: Vec<_> = page.items.iter().map(|item| item.key.to_string()).collect();
    assert_eq!((keys, page.remaining), (vec!["a/1".into(), "a/2".into()], 1));
    let rest = things.list("a/", Some("a/2"), 2);
    assert_eq!((rest.items[0].key.as_ref(), rest.remaining), ("a/3", 0));
}

#[tokio::test]
async fn a_snapshot_is_a_store_and_never_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    create(&store, "x").await;
    let copy = dir.path().join("copy");
    store.snapshot(&copy).unwrap();
    create(&store, "later").await;
    assert!(store.snapshot(&copy).is_err());
    let restored = Store::open(&copy).unwrap();
    assert!(restored.collection("a/things").get("x").is_some());
    assert!(restored.collection("a/things").get("later").is_none());
}

#[tokio::test]
async fn a_store_is_restored_from_a_snapshot_and_never_over_another() {
    let dir = tempfile::tempdir().unwrap();
    let [snapshot, path] = ["snapshot", "store"].map(|name| dir.path().join(name));
    let store = Store::in_memory().unwrap();
    create(&store, "x").await;
    store.snapshot(&snapshot).unwrap();
    let taken = std::fs::read(&snapshot).unwrap();
    assert_eq!(std::fs::metadata(&snapshot).unwrap().permissions().mode() & 0o777, 0o600);

    Store::restore(&snapshot, &path).unwrap();
    create(&Store::open(&path).unwrap(), "later").await;
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Store::restore(&snapshot, &path), Err(RestoreError::Exists(_))));
    assert!(std::fs::read(&path).unwrap() == before);
    assert!(std::fs::read(&snapshot).unwrap() == taken);

    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(&snapshot, "not a store").unwrap();
    assert!(matches!(Store::restore(&snapshot, &elsewhere), Err(RestoreError::Unusable { .. })));
    std::fs::remove_file(&snapshot).unwrap();
    assert!(matches!(Store::restore(&snapshot, &elsewhere), Err(RestoreError::Copy { .. })));
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["store"]);
}

/// The bytes of a store that holds something, closed well or left as a crash leaves it.
async fn filled(dir: &Path, crashed: bool) -> Vec<u8> {
    let path = dir.join("whole");
    let store = Store::open(&path).unwrap();
    for number in 0..200 {
        let key = format!("key-{number}");
        store.commit(vec![put(&store, &key, Expect::Absent, &"long ".repeat(number))]).await.unwrap();
    }
    if crashed {
        return std::fs::read(&path).unwrap();
    }
    drop(store);
    std::fs::read(&path).unwrap()
}

#[tokio::test]
async fn a_damaged_file_is_one_clear_sentence_and_is_left_alone() {
    let page = 4096;
    for crashed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let whole = filled(dir.path(), crashed).await;
        // Pages with objects in them, old ones among them: which of them count only the engine knows.
        let written = |damage: &dyn Fn(&mut [u8])| {
            let mut bytes = whole.clone();
            let pages = bytes.chunks_mut(page).skip(1);
            pages.filter(|page| page.windows(9).any(|part| part == b"long long")).for_each(damage);
            bytes
        };
        for (name, damaged) in [
            ("another file", vec![b'x'; 64 * 1024]),
            ("another short file", b"not a store".to_vec()),
            ("emptied", Vec::new()),
            ("a third is left", whole[..whole.len() / 3].to_vec()),
            ("the last page is lost", whole[..whole.len() - page].to_vec()),
            ("the last byte is lost", whole[..whole.len() - 1].to_vec()),
            ("garbage at the head", [&vec![0xaa; page], &whole[page..]].concat()),
            ("garbage in the middle", written(&|page| page.fill(0xaa))),
            ("a byte in the middle", written(&|page| page[page.len() / 2] ^= 1)),
        ] {
            let path = dir.path().join("damaged");
            std::fs::write(&path, &damaged).unwrap();
            match Store::open(&path) {
                Err(OpenError::Damaged { .. }) => {
                    assert!(
                        std::fs::read(&path).unwrap() == damaged,
                        "{name}, crashed {crashed}: the file was changed"
                    );
                }
                // A crash may come while the file grows: an end that holds nothing yet is not missed.
                Ok(store) if crashed && name.starts_with("the last") => assert_eq!(count(&store), 200, "{name}"),
                outcome => panic!("{name}, crashed {crashed}: {:?}", outcome.err()),
            }
        }
        let path = dir.path().join("again");
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(count(&Store::open(&path).unwrap()), 200);
    }
}

fn count(store: &Store) -> usize {
    store.collection("a/things").list("", None, usize::MAX).items.len()
}

#[tokio::test]
async fn a_file_that_cannot_be_had_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let held = Store::open(&path).unwrap();
    create(&held, "x").await;
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(OpenError::Locked(_))));
    assert!(std::fs::read(&path).unwrap() == before);

    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(Store::open(&folder), Err(OpenError::Io { .. })));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Delete(u8),
    Compact,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..8u8).prop_map(Step::Put),
        3 => (0..8u8).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Against a model that keeps every past state: reads now and at every kept revision agree with it.
    #[test]
    fn the_store_agrees_with_a_model_of_all_its_pasts(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let mut store = Store::open(&path).unwrap();
        let mut now: BTreeMap<String, u64> = BTreeMap::new();
        let mut pasts: BTreeMap<u64, BTreeMap<String, u64>> = BTreeMap::from([(0, BTreeMap::new())]);
        for step in steps {
            match step {
                Step::Put(n) => {
                    let key = format!("k{n}");
                    let expect = now.get(&key).map_or(Expect::Absent, |&revision| Expect::Revision(revision));
                    let revision = runtime.block_on(store.commit(vec![put(&store, &key, expect, &key)])).unwrap()[0].revision;
                    now.insert(key, revision);
                    pasts.insert(revision, now.clone());
                }
                Step::Delete(n) => {
                    let key = format!("k{n}");
                    if let Some(revision) = now.remove(&key) {
                        let revision = runtime.block_on(store.commit(vec![delete(&store, &key, revision)])).unwrap()[0].revision;
                        pasts.insert(revision, now.clone());
                    }
                }
                Step::Compact => {
                    let to = store.revision() / 2;
                    runtime.block_on(store.compact(to)).unwrap();
                    pasts.retain(|&revision, _| revision >= store.compacted());
                }
                Step::Reopen => {
                    drop(store);
                    store = Store::open(&path).unwrap();
                }
            }
        }
        let things = store.collection("a/things");
        for (&revision, past) in &pasts {
            let page = store.list_at(&things, revision, "", None, usize::MAX).unwrap();
            let found: Vec<_> = page.items.iter().map(|item| (item.key.to_string(), item.bytes())).collect();
            let expected: Vec<_> = past.iter().map(|(key, at)| {
                (key.clone(), format!(r#"{{"metadata":{{"resourceVersion":"{at}","name":"{key}"}}}}"#).into())
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
