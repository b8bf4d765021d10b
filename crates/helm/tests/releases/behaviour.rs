//! What this crate does beyond what helm can be compared with: refusals, waiting, taking back, repairing.

use std::time::Duration;

use helm::action::{ActionError, Actions, Options};
use helm::chart::{Chart, File};
use helm::release::{Release, Status};
use helm::values::Values;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::side::{NAMESPACE, RELEASE, Side, kind, options};

/// A chart of one template.
fn chart(template: &str) -> Chart {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned().into() };
    let files =
        vec![file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"), file("templates/objects.yaml", template)];
    Chart::from_files(files).unwrap()
}

fn config_map(name: &str, word: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{word: {word}}}\n---\n")
}

fn values(json: Value) -> Values {
    json.as_object().unwrap().clone()
}

async fn install(side: &Side, template: &str, options: &Options) -> Result<Release, ActionError> {
    side.actions().install(RELEASE, &chart(template), &Values::new(), options).await
}

async fn upgrade(side: &Side, template: &str, options: &Options) -> Result<Release, ActionError> {
    side.actions().upgrade(RELEASE, &chart(template), &Values::new(), options).await
}

fn config_maps(side: &Side) -> Api<DynamicObject> {
    Api::namespaced_with(side.client.clone(), NAMESPACE, &kind("", "ConfigMap", "configmaps"))
}

async fn names(side: &Side) -> Vec<String> {
    let listed = config_maps(side).list(&ListParams::default()).await.unwrap();
    listed.items.into_iter().filter_map(|item| item.metadata.name).collect()
}

async fn statuses(side: &Side) -> Vec<(u32, Status)> {
    side.actions().records(NAMESPACE).index(RELEASE).await.unwrap()
}

#[tokio::test]
async fn of_two_who_write_a_record_one_loses_and_reads_again() {
    let side = Side::start().await;
    let mut own = install(&side, &config_map("a", "one"), &options(NAMESPACE)).await.unwrap();
    let records = side.actions().records(NAMESPACE);
    let now = jiff::Timestamp::now();
    // What an action gives back can be written again, as often as one likes.
    own.info.description = "mine".to_owned();
    let mut theirs = records.last(RELEASE).await.unwrap().unwrap();
    records.update(&mut own, now).await.unwrap();
    records.update(&mut own, now).await.unwrap();
    theirs.info.description = "theirs".to_owned();
    let lost = records.update(&mut theirs, now).await.unwrap_err();
    assert!(lost.is_conflict() && !ActionError::from(lost).is_final());
    let mut theirs = records.last(RELEASE).await.unwrap().unwrap();
    assert_eq!(theirs.info.description, "mine");
    records.update(&mut theirs, now).await.unwrap();
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_is_written() {
    let side = Side::start().await;
    let theirs = Options { namespace: "other".to_owned(), create_namespace: true, ..options("other") };
    let shared = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shared}\n";
    side.actions().install("theirs", &chart(shared), &Values::new(), &theirs).await.unwrap();
    let noise: Vec<u8> = {
        let mut bytes = vec![0; 2 << 20];
        helm::render::Random::fill(&helm::render::SystemRandom, &mut bytes).unwrap();
        bytes
    };
    let mut large = chart(&config_map("a", "b"));
    large.files.push(File { name: "noise".to_owned(), content: noise.into() });
    let plain = |rest: &str| chart(&format!("{}{rest}", config_map("a", "b")));
    for (chart, name, reason, told) in [
        (plain(shared), RELEASE, "OwnedByOthers", "ClusterRole shared of release other/theirs: they exist"),
        (
            plain("apiVersion: a.example.com/v1\nkind: Odd\nmetadata: {name: x}\n"),
            RELEASE,
            "UnknownKind",
            "Odd x: the cluster knows no kind Odd of a.example.com/v1: install what defines it first",
        ),
        (
            plain("apiVersion: v1\nkind: ConfigMap\n"),
            RELEASE,
            "BadManifest",
            "c/templates/objects.yaml: it has no metadata.name",
        ),
        (plain("{{ fail \"no\" }}"), RELEASE, "RenderFailed", "no"),
        (plain(""), "Bad_Name", "BadName", "\"Bad_Name\" is no name of a release"),
        (large, RELEASE, "RecordTooLarge", "and a Secret holds"),
    ] {
        let error = side.actions().install(name, &chart, &Values::new(), &options(NAMESPACE)).await.unwrap_err();
        assert_eq!((error.reason(), error.is_final()), (reason, true), "{error}");
        assert!(error.to_string().contains(told), "{error}");
        let namespaces: Api<DynamicObject> = Api::all_with(side.client.clone(), &kind("", "Namespace", "namespaces"));
        assert!(namespaces.get_opt(NAMESPACE).await.unwrap().is_none(), "{error}: the namespace was made");
    }
    // With leave, what is others' becomes ours.
    let taking = Options { take_ownership: true, ..options(NAMESPACE) };
    install(&side, shared, &taking).await.unwrap();
    assert_eq!(install(&side, shared, &taking).await.unwrap_err().reason(), "NameInUse");
    // What another release took is not removed with the first.
    side.actions().uninstall("theirs", &theirs).await.unwrap();
    let roles: Api<DynamicObject> =
        Api::all_with(side.client.clone(), &kind("rbac.authorization.k8s.io", "ClusterRole", "clusterroles"));
    assert!(roles.get_opt("shared").await.unwrap().is_some());
}

#[tokio::test]
async fn secrets_are_not_repeated() {
    let side = Side::start().await;
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: kubernetes.io/tls\nstringData: {tls.key: hunter2}\n";
    let error = install(&side, secret, &options(NAMESPACE)).await.unwrap_err();
    assert_eq!((error.reason(), error.is_final()), ("Refused", true), "{error}");
    assert_eq!(error.to_string(), "cannot apply Secret shop/s: data[tls.crt] is not valid");
    let failed = side.actions().history(NAMESPACE, RELEASE).await.unwrap().remove(0);
    assert_eq!(failed.info.description, format!("Release \"{RELEASE}\" failed: {error}"));
}

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: i}]}\n";

#[tokio::test]
async fn what_is_not_ready_in_time_is_told() {
    let side = Side::start().await;
    let waiting = Options { wait: true, timeout: Duration::from_millis(300), ..options(NAMESPACE) };
    let error = install(&side, WEB, &waiting).await.unwrap_err();
    assert_eq!(error.to_string(), "after 0 s Deployment shop/web is not ready: 0 of 1 pods are there");
    assert_eq!((error.reason(), error.is_final()), ("NotReady", false));
    assert_eq!(statuses(&side).await, [(1, Status::Failed)]);
}

#[tokio::test]
async fn waiting_ends_when_all_is_ready() {
    let side = Side::start().await;
    let deployments: Api<DynamicObject> =
        Api::namespaced_with(side.client.clone(), NAMESPACE, &kind("apps", "Deployment", "deployments"));
    let waiting = Options { wait: true, ..options(NAMESPACE) };
    let status = json!({"status": {
        "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z", "lastUpdateTime": "2030-01-01T00:00:00Z"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "lastTransitionTime": "2030-01-01T00:00:00Z", "lastUpdateTime": "2030-01-01T00:00:00Z"},
        ],
    }});
    let becomes_ready = async {
        let there =
            kube::runtime::wait::await_condition(deployments.clone(), "web", |found: Option<&DynamicObject>| {
                found.is_some()
            });
        there.await.unwrap();
        // Not before the deployment is known to be unready, which it is from the beginning.
        deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    };
    let (release, ()) = tokio::join!(install(&side, WEB, &waiting), becomes_ready);
    assert_eq!(release.unwrap().info.status, Status::Deployed);
}

#[tokio::test]
async fn what_fails_is_taken_back() {
    let side = Side::start().await;
    let atomic = Options { atomic: true, ..options(NAMESPACE) };
    let fails = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: fail, annotations: {helm.sh/hook: \"post-install,post-upgrade\"}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n";
    let error = install(&side, &format!("{}{fails}", config_map("one", "a")), &atomic).await.unwrap_err();
    assert_eq!(error.to_string(), "the post-install hook Job shop/fail failed: Ran; uninstalled again");
    assert_eq!((statuses(&side).await, names(&side).await), (vec![], vec![]));
    install(&side, &config_map("one", "a"), &atomic).await.unwrap();
    let error = upgrade(&side, &format!("{}{fails}", config_map("two", "b")), &atomic).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the post-upgrade hook Job shop/fail failed: Ran; went back to what was there before, as revision 3"
    );
    assert_eq!(names(&side).await, ["one"]);
    let expected = [(1, Status::Superseded), (2, Status::Failed), (3, Status::Deployed)];
    assert_eq!(statuses(&side).await, expected);
}

#[tokio::test]
async fn what_did_not_come_to_run_is_on_record_as_failed() {
    let side = Side::start().await;
    install(&side, &config_map("one", "a"), &options(NAMESPACE)).await.unwrap();
    upgrade(&side, &config_map("one", "b"), &options(NAMESPACE)).await.unwrap();
    let because = Options { failed_because: Some("no pod runs".to_owned()), ..options(NAMESPACE) };
    side.actions().rollback(RELEASE, None, &because).await.unwrap();
    let history = side.actions().history(NAMESPACE, RELEASE).await.unwrap();
    let told: Vec<_> = history.iter().map(|old| (old.info.status, old.info.description.as_str())).collect();
    let failed = format!("Upgrade \"{RELEASE}\" failed: no pod runs");
    let expected = [
        (Status::Superseded, "Install complete"),
        (Status::Failed, failed.as_str()),
        (Status::Deployed, "Rollback to 1"),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_was_applied_is_known_by_its_generation() {
    let side = Side::start().await;
    let options = options(NAMESPACE);
    let template = |replicas: u32| {
        let pods = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}";
        let spec = format!("{{replicas: {replicas}, selector: {{matchLabels: {{a: b}}}}, template: {pods}}}");
        let deployment = format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec: {spec}\n");
        format!("{}{deployment}", config_map("a", "b"))
    };
    let first = install(&side, &template(1), &options).await.unwrap();
    let deployments: Api<DynamicObject> =
        Api::namespaced_with(side.client.clone(), NAMESPACE, &kind("apps", "Deployment", "deployments"));
    let uid = deployments.get("d").await.unwrap().metadata.uid.unwrap();
    assert_eq!(first.generations, [(uid.clone(), 1)].into());
    let second = upgrade(&side, &template(2), &options).await.unwrap();
    assert_eq!(second.generations, [(uid, 2)].into());
}

#[tokio::test]
async fn drift_is_found_and_repaired() {
    let side = Side::start().await;
    let actions: Actions = side.actions();
    let labels = [("team".to_owned(), "a".to_owned())].into();
    let options = Options { labels, ..options(NAMESPACE) };
    let both = format!("{}{}", config_map("one", "a"), config_map("two", "b"));
    let release = install(&side, &both, &options).await.unwrap();
    assert_eq!(actions.drift(&release).await.unwrap(), []);
    let wanted = Actions::objects(&release).unwrap();
    let label = |object: &DynamicObject| object.metadata.labels.as_ref().unwrap().get("team").cloned();
    assert_eq!(wanted.iter().map(label).collect::<Vec<_>>(), [Some("a".to_owned()), Some("a".to_owned())]);
    let before = config_maps(&side).get("one").await.unwrap();
    config_maps(&side).delete("two", &DeleteParams::default()).await.unwrap();
    let edit = json!({"data": {"word": "edited", "more": "stays"}});
    config_maps(&side).patch("one", &PatchParams::default(), &Patch::Merge(edit)).await.unwrap();
    let told = |found: Vec<helm::action::ObjectRef>| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = ["ConfigMap shop/one", "ConfigMap shop/two"];
    assert_eq!(told(actions.drift(&release).await.unwrap()), expected);
    assert_eq!(told(actions.repair(&release).await.unwrap()), expected);
    assert_eq!(told(actions.repair(&release).await.unwrap()), [""; 0]);
    let one = config_maps(&side).get("one").await.unwrap();
    assert_eq!(one.data["data"], json!({"word": "a", "more": "stays"}));
    assert_eq!(one.metadata.labels, before.metadata.labels);
    assert_eq!(names(&side).await, ["one", "two"]);
}

#[tokio::test]
async fn a_kind_that_is_gone_is_drift_and_comes_back() {
    const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: bells.shop.example.com}\nspec:\n  group: shop.example.com\n  names: {kind: Bell, plural: bells, singular: bell, listKind: BellList}\n  scope: Namespaced\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n---\n";
    const BELL: &str = "apiVersion: shop.example.com/v1\nkind: Bell\nmetadata: {name: bell}\nspec: {loud: true}\n";
    let told = |found: Vec<helm::action::ObjectRef>| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    for is_template in [false, true] {
        let side = Side::start().await;
        let bystander = config_map("a", "b");
        let (actions, options) = (side.actions(), options(NAMESPACE));
        let release = if is_template {
            // Helm, too, knows no kind before its definition is there.
            install(&side, &format!("{bystander}{DEFINITION}"), &options).await.unwrap();
            let both = chart(&format!("{bystander}{DEFINITION}{BELL}"));
            actions.upgrade(RELEASE, &both, &Values::new(), &options).await.unwrap()
        } else {
            let mut defining = chart(&format!("{bystander}{BELL}"));
            defining.files.push(File { name: "crds/bells.yaml".to_owned(), content: DEFINITION.to_owned().into() });
            actions.install(RELEASE, &defining, &Values::new(), &options).await.unwrap()
        };
        let definition = kind("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
        let definitions: Api<DynamicObject> = Api::all_with(side.client.clone(), &definition);
        let (by_template, bell) = (["CustomResourceDefinition bells.shop.example.com"], ["Bell shop/bell"]);
        let repaired = [&by_template[usize::from(!is_template)..], &bell].concat();
        // Before and after a restart.
        for actions in [actions, side.actions()] {
            definitions.delete("bells.shop.example.com", &DeleteParams::default()).await.unwrap();
            let is_gone = |found: Option<&DynamicObject>| found.is_none();
            let gone = kube::runtime::wait::await_condition(definitions.clone(), "bells.shop.example.com", is_gone);
            gone.await.unwrap();
            let missing = told(actions.drift(&release).await.unwrap());
            assert_eq!(missing, [&by_template[usize::from(!is_template)..], &["Bell bell"]].concat());
            assert_eq!(told(actions.repair(&release).await.unwrap()), repaired);
            assert_eq!(told(actions.drift(&release).await.unwrap()), [""; 0]);
        }
    }
}

#[tokio::test]
async fn histories_have_an_end() {
    let side = Side::start().await;
    let short = Options { max_history: 3, ..options(NAMESPACE) };
    install(&side, &config_map("a", "one"), &short).await.unwrap();
    for word in ["two", "three", "four", "five"] {
        upgrade(&side, &config_map("a", word), &short).await.unwrap();
    }
    let expected = [(3, Status::Superseded), (4, Status::Superseded), (5, Status::Deployed)];
    assert_eq!(statuses(&side).await, expected);
    let error = side.actions().rollback(RELEASE, Some(1), &short).await.unwrap_err();
    assert_eq!((error.reason(), error.to_string()), ("NotInstalled", "release rel revision 1 is not there".to_owned()));
}

/// What cannot be changed back makes every way back fail.
fn immutable(name: &str, word: &str) -> String {
    config_map(name, word).replace("kind: ConfigMap\n", "kind: ConfigMap\nimmutable: true\n")
}

#[tokio::test]
async fn a_failed_revision_leaves_nothing_behind_when_its_record_goes() {
    let side = Side::start().await;
    let short = Options { max_history: 3, ..options(NAMESPACE) };
    install(&side, &config_map("stuck", "a"), &short).await.unwrap();
    upgrade(&side, &immutable("stuck", "b"), &short).await.unwrap();
    let refused = |only: &str| format!("{}{}", config_map("aside", only), config_map("stuck", "c"));
    let first = refused("x").replace("aside", "only-first");
    for template in [first, refused("y"), refused("z"), refused("x")] {
        assert_eq!(upgrade(&side, &template, &short).await.unwrap_err().reason(), "Refused");
    }
    assert_eq!(statuses(&side).await, [(2, Status::Deployed), (5, Status::Failed), (6, Status::Failed)]);
    assert_eq!(names(&side).await, ["aside", "stuck"]);
    for failed in 6..10 {
        assert_eq!(side.actions().rollback(RELEASE, Some(failed), &short).await.unwrap_err().reason(), "Refused");
    }
    // The way back is still there, although nothing is deployed.
    assert_eq!(statuses(&side).await, [(2, Status::Superseded), (9, Status::Failed), (10, Status::Failed)]);
    let back = side.actions().rollback(RELEASE, None, &short).await.unwrap();
    assert_eq!((back.info.description.as_str(), names(&side).await), ("Rollback to 2", vec!["stuck".to_owned()]));
}

#[tokio::test]
async fn what_failed_twice_is_removed_with_all_it_left() {
    let side = Side::start().await;
    let broken = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 0}]}\n";
    install(&side, &format!("{}{broken}", config_map("one", "a")), &options(NAMESPACE)).await.unwrap_err();
    upgrade(&side, &format!("{}{broken}", config_map("two", "a")), &options(NAMESPACE)).await.unwrap_err();
    // Nothing that failed becomes complete because going back to it failed as well.
    side.actions().rollback(RELEASE, Some(1), &options(NAMESPACE)).await.unwrap_err();
    assert_eq!(statuses(&side).await, [(1, Status::Failed), (2, Status::Failed), (3, Status::Failed)]);
    assert_eq!(names(&side).await, ["one", "two"]);
    side.actions().uninstall(RELEASE, &options(NAMESPACE)).await.unwrap();
    assert_eq!((statuses(&side).await, names(&side).await), (vec![], vec![]));
}

#[tokio::test]
async fn what_was_uninstalled_can_be_installed_again() {
    let side = Side::start().await;
    let keeping = Options { keep_history: true, ..options(NAMESPACE) };
    assert!(side.actions().uninstall(RELEASE, &keeping).await.unwrap().is_none());
    install(&side, &config_map("a", "b"), &keeping).await.unwrap();
    let gone = side.actions().uninstall(RELEASE, &keeping).await.unwrap().unwrap();
    assert_eq!((gone.info.status, names(&side).await), (Status::Uninstalled, vec![]));
    assert_eq!(upgrade(&side, &config_map("a", "b"), &keeping).await.unwrap_err().reason(), "NotInstalled");
    install(&side, &config_map("a", "c"), &keeping).await.unwrap();
    assert_eq!(statuses(&side).await, [(1, Status::Uninstalled), (2, Status::Deployed)]);
    side.actions().uninstall(RELEASE, &options(NAMESPACE)).await.unwrap();
    assert_eq!(statuses(&side).await, []);
}

/// A pending record of ours is finished or replaced; one of somebody else's only when they must be gone.
#[tokio::test]
async fn what_others_do_is_left_to_them_for_a_while() {
    let side = Side::start().await;
    let options = options(NAMESPACE);
    let release = install(&side, &config_map("a", "b"), &options).await.unwrap();
    let secrets: Api<DynamicObject> =
        Api::namespaced_with(side.client.clone(), NAMESPACE, &kind("", "Secret", "secrets"));
    let pending = |last_deployed| {
        let mut pending = Release { revision: 2, ..release.clone() };
        pending.info.status = Status::PendingUpgrade;
        pending.info.last_deployed = Some(last_deployed);
        pending
    };
    let records = side.actions().records(NAMESPACE);
    records.create(&mut pending(jiff::Timestamp::now()), jiff::Timestamp::now()).await.unwrap();
    let theirs = json!({"metadata": {"annotations": {"meta.helm.sh/pending-by": null}}});
    secrets.patch("sh.helm.release.v1.rel.v2", &PatchParams::default(), &Patch::Merge(&theirs)).await.unwrap();
    let error = side.actions().settle(RELEASE, &options).await.unwrap_err();
    assert_eq!((error.reason(), error.is_final()), ("Busy", false), "{error}");
    assert_eq!(upgrade(&side, &config_map("a", "c"), &options).await.unwrap_err().reason(), "Busy");
    let impatient = Options { timeout: Duration::ZERO, ..options.clone() };
    let settled = side.actions().settle(RELEASE, &impatient).await.unwrap().unwrap();
    assert_eq!((settled.revision, settled.info.status), (2, Status::Deployed));
    assert_eq!(statuses(&side).await, [(1, Status::Superseded), (2, Status::Deployed)]);
    // One of ours that is no longer wanted has failed.
    records
        .create(&mut Release { revision: 3, ..pending(jiff::Timestamp::now()) }, jiff::Timestamp::now())
        .await
        .unwrap();
    upgrade(&side, &config_map("a", "d"), &options).await.unwrap();
    let expected = [(1, Status::Superseded), (2, Status::Superseded), (3, Status::Failed), (4, Status::Deployed)];
    assert_eq!(statuses(&side).await, expected);
}

/// `lookup` asks the cluster, also from within a runtime of one thread.
#[tokio::test]
async fn templates_look_things_up() {
    let side = Side::start().await;
    let namespaces: Api<DynamicObject> = Api::all_with(side.client.clone(), &kind("", "Namespace", "namespaces"));
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}, "spec": {}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  there: {{ (lookup \"v1\" \"Namespace\" \"\" \"shop\").metadata.name }}\n  not: {{ empty (lookup \"v1\" \"Namespace\" \"\" \"none\") | quote }}\n  version: {{ .Capabilities.KubeVersion.Major | quote }}\n";
    let chart = chart(template);
    side.actions().install(RELEASE, &chart, &values(json!({"a": 1})), &options(NAMESPACE)).await.unwrap();
    let made = config_maps(&side).get("a").await.unwrap();
    assert_eq!(made.data["data"], json!({"there": "shop", "not": "true", "version": "1"}));
}
