//! `kill -9` under write load: what was acknowledged stays, revisions are given once, watchers miss nothing.
//!
//! `BUTLER_CRASH_SEED` repeats a run's choices.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop and may talk"
)]

// The tests use different halves of it.
#[allow(dead_code)]
mod common;
mod crash {
    pub(crate) mod dice;
    pub(crate) mod model;
    pub(crate) mod watcher;
    pub(crate) mod writer;
}

use std::collections::BTreeSet;
use std::time::Duration;

use common::{Butler, client};
use crash::dice::Dice;
use crash::model;
use crash::watcher::Watcher;
use crash::writer::Writer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use tokio::sync::mpsc;

const ROUNDS: u64 = 50;
const WRITERS: u64 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_kill_nine() {
    let mut dice = Dice::seeded();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut writers: Vec<Writer> = (0..WRITERS).map(|number| Writer::new(number, dice.fork())).collect();
    let mut watcher = Watcher::default();
    let mut revisions = BTreeSet::new();

    for round in 0..=ROUNDS {
        let butler = Butler::up(data);
        let api: Api<ConfigMap> = Api::default_namespaced(client(data).await);
        let listed = api.list(&ListParams::default()).await.unwrap();
        if watcher.position().is_empty() {
            watcher.begin(&listed);
        }
        let found = model::objects(&listed);
        for writer in &mut writers {
            writer.compare(&found);
        }
        model::nothing_else(&found, &writers);

        let mark = model::config_map(&format!("round-{round}"), "");
        let mark = api.create(&PostParams::default(), &mark).await.unwrap();
        let mark = model::revision(&mark);
        model::unused(&mut revisions, mark);
        let stream = watcher.resume(&api).await;
        watcher.read_until(stream, mark).await;
        watcher.saw_all_of(&writers);
        assert_eq!(watcher.state(), &model::objects(&api.list(&ListParams::default()).await.unwrap()));
        if round == ROUNDS {
            break;
        }

        let (acknowledge, mut acknowledged) = mpsc::unbounded_channel();
        let writing: Vec<_> =
            writers.drain(..).map(|writer| tokio::spawn(writer.write(api.clone(), acknowledge.clone()))).collect();
        drop(acknowledge);
        let stream = watcher.resume(&api).await;
        let watching = tokio::spawn(watcher.read_to_the_end(stream));
        for _ in 0..dice.below(100) {
            let revision = acknowledged.recv().await.expect("the writers go on until the kill");
            revision.into_iter().for_each(|revision| model::unused(&mut revisions, revision));
        }
        // Somewhere between two answers.
        tokio::time::sleep(Duration::from_micros(dice.below(4000))).await;
        butler.kill();
        while let Some(revision) = acknowledged.recv().await {
            revision.into_iter().for_each(|revision| model::unused(&mut revisions, revision));
        }
        for writer in writing {
            writers.push(writer.await.unwrap());
        }
        watcher = watching.await.unwrap();
    }
    println!("{} acknowledged writes, {} watched changes", revisions.len(), watcher.seen());
    assert!(revisions.len() as u64 > ROUNDS * 10, "the load was too small to prove anything");
}
