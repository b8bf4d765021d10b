//! helm goes on with our releases, and we with helm's.

use serde_json::Value;

use crate::common::{VERSIONS, real_helm};
use crate::differential::{cases, compare, plainly, steps};
use crate::side::{NAMESPACE, RELEASE, Side, Unpacked};

/// Lives a life in which helm and we take turns, beside one that is ours alone: both leave the same behind.
async fn take_turns(version: &str, name: &str, helm_begins: bool) -> Vec<String> {
    let Some(program) = real_helm(version) else { return Vec::new() };
    let case = cases().into_iter().find(|case| case.name == name).unwrap();
    let unpacked = Unpacked::new(&case);
    let (mixed, ours) = tokio::join!(Side::start(), Side::start());
    let mut differences = Vec::new();
    for (index, step) in steps(&case).iter().enumerate() {
        let place = format!("helm {version}: {name}: {step} (helm {})", if helm_begins { "begins" } else { "follows" });
        if (index % 2 == 0) == helm_begins {
            mixed.helm(&program, &unpacked.path, step).await.unwrap_or_else(|error| panic!("{place}: {error}"));
        } else {
            mixed.ours(&unpacked.chart, step).await.unwrap_or_else(|error| panic!("{place}: {error}"));
        }
        ours.ours(&unpacked.chart, step).await.unwrap();
        let (their, our) = tokio::join!(mixed.objects(), ours.objects());
        compare(&format!("{place}: objects"), &their, &our, &mut differences);
        let (their, our) = tokio::join!(mixed.history(), ours.history());
        let told = |history: Vec<Value>| history.into_iter().map(plainly).collect::<Vec<_>>();
        compare(&format!("{place}: history"), &told(their), &told(our), &mut differences);
    }
    differences
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_and_we_take_turns() {
    let mut differences = Vec::new();
    for (version, name, helm_begins) in [
        ("4.2", "plain", true),
        ("4.2", "plain", false),
        ("4.2", "hooks", false),
        ("3.17", "plain", true),
        ("3.17", "plain", false),
        ("3.17", "hooks", true),
    ] {
        differences.extend(take_turns(version, name, helm_begins).await);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_tells_of_our_releases() {
    let case = cases().into_iter().find(|case| case.name == "plain").unwrap();
    let unpacked = Unpacked::new(&case);
    let side = Side::start().await;
    side.ours(&unpacked.chart, "install").await.unwrap();
    side.ours(&unpacked.chart, "upgrade --set name=two").await.unwrap();
    for program in VERSIONS.iter().filter_map(|version| real_helm(version)) {
        let json = async |arguments: &[&str]| -> Value {
            let printed = side.run(&program, &[arguments, &["--output", "json"]].concat()).await.unwrap();
            serde_json::from_str(&printed).unwrap()
        };
        let list = json(&["list"]).await;
        let told = ["name", "namespace", "revision", "status", "chart"]
            .map(|field| list[0][field].as_str().unwrap().to_owned());
        assert_eq!(told, [RELEASE, NAMESPACE, "2", "deployed", "c-1.0.0"]);
        let history = json(&["history", RELEASE]).await;
        let told: Vec<(&Value, &Value)> =
            history.as_array().unwrap().iter().map(|entry| (&entry["status"], &entry["description"])).collect();
        let expected =
            [("superseded", "Install complete"), ("deployed", "Upgrade complete")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(told, expected.iter().map(|(a, b): &(Value, Value)| (a, b)).collect::<Vec<_>>());
        let status = json(&["status", RELEASE]).await;
        assert_eq!((&status["version"], &status["info"]["status"]), (&2.into(), &"deployed".into()));
        assert_eq!(status["info"]["notes"], "two is installed.\n\n");
        let values = json(&["get", "values", RELEASE]).await;
        assert_eq!(values, serde_json::json!({"name": "two"}));
        let all = side.run(&program, &["get", "all", RELEASE]).await.unwrap();
        assert!(all.contains("# Source: c/templates/objects.yaml"), "{all}");
    }
}

/// What helm's records have beyond what we know outlives our writing them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_helm_keep_what_we_do_not_know() {
    let Some(program) = real_helm("4.2") else { return };
    let case = cases().into_iter().find(|case| case.name == "plain").unwrap();
    let unpacked = Unpacked::new(&case);
    let side = Side::start().await;
    side.helm(&program, &unpacked.path, "install --labels team=a").await.unwrap();
    let before = side.actions().history(NAMESPACE, RELEASE).await.unwrap().remove(0);
    assert!(before.chart["modtime"].is_string(), "{}", before.chart);
    side.ours(&unpacked.chart, "upgrade --set name=two").await.unwrap();
    let after = side.actions().history(NAMESPACE, RELEASE).await.unwrap();
    assert_eq!((&after[0].chart, &after[0].labels), (&before.chart, &before.labels));
    assert_eq!(after[1].labels.get("team").map(String::as_str), Some("a"));
}
