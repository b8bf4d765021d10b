//! Who sees what, and kubeconfigs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde_json::{Value, json};

use crate::plane::{Plane, ageless, ended, failed};

impl Plane {
    /// Lets a user read these resources of a team.
    pub(crate) async fn grant(&self, user: &str, team: &str, resources: &[&str]) {
        let rules = json!([{"apiGroups": ["*"], "resources": resources, "verbs": ["get", "list", "watch"]}]);
        self.make::<Role>(json!({"metadata": {"name": user}, "rules": rules}), Some(team)).await;
        let binding = json!({
            "metadata": {"name": user}, "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "Role", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
        });
        self.make::<RoleBinding>(binding, Some(team)).await;
    }

    /// Lets a user see which teams there are.
    async fn show_teams(&self, user: &str) {
        self.grant_everywhere(user, &["teams"], &["get", "list"]).await;
    }

    /// Lets a user see one team, as Butler does for its members.
    async fn show_team(&self, user: &str, team: &str) {
        let name = format!("{user}-{team}");
        let rules = json!([{
            "apiGroups": ["butler.butlerlabs.dev"], "resources": ["teams"], "resourceNames": [team], "verbs": ["get"],
        }]);
        self.make::<ClusterRole>(json!({"metadata": {"name": name}, "rules": rules}), None).await;
        let binding = json!({
            "metadata": {"name": name}, "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"},
        });
        self.make::<ClusterRoleBinding>(binding, None).await;
    }

    /// Lets a user do this with these resources, wherever they are.
    pub(crate) async fn grant_everywhere(&self, user: &str, resources: &[&str], verbs: &[&str]) {
        let rules = json!([{"apiGroups": ["*"], "resources": resources, "verbs": verbs}]);
        self.make::<ClusterRole>(json!({"metadata": {"name": user}, "rules": rules}), None).await;
        let binding = json!({
            "metadata": {"name": user}, "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
        });
        self.make::<ClusterRoleBinding>(binding, None).await;
    }
}

#[tokio::test]
async fn a_name_without_a_team_must_be_the_only_one() {
    let plane = Plane::start().await;
    for (team, name) in [("team-a", "my-cluster"), ("team-a", "twin"), ("team-b", "twin")] {
        plane.cluster(team, name, json!({}), json!({"phase": "Ready"})).await;
    }
    let team = async |arguments: &str| {
        let object: Value = serde_json::from_str(&plane.done(arguments).await).unwrap();
        object["metadata"]["namespace"].as_str().unwrap().to_owned()
    };
    assert_eq!(team("cluster get my-cluster -o json").await, "team-a");
    assert_eq!(team("cluster get twin -n team-b -o json").await, "team-b");
    assert_eq!(team("cluster get team-b/twin -o json").await, "team-b");
    let twins = failed(2, "2 clusters are called \"twin\": name the team with -n, one of team-a, team-b");
    assert_eq!(plane.run("cluster get twin").await, twins);
    let mut command = plane.command("cluster get twin -o name");
    command.env("BUTLER_TEAM", "team-b");
    assert_eq!(ended(command).await.code, 0);
    let mut command = plane.command("cluster get twin -o name");
    command.env("KUBECONFIG", plane.kubeconfig("admin", "team-a"));
    assert_eq!(ended(command).await.code, 0);
    let missing = "there is no cluster \"my-cluster\" in team team-b; `butlerctl cluster list` shows what there is";
    assert_eq!(plane.run("cluster get my-cluster -n team-b").await, failed(3, missing));
    let missing = "there is no cluster \"x\" among those you may see; `butlerctl cluster list` shows what there is";
    assert_eq!(plane.run("cluster get x").await, failed(3, missing));
}

#[tokio::test]
async fn members_see_their_teams_alone() {
    let plane = Plane::start().await;
    for team in ["team-a", "team-b"] {
        plane.cluster(team, "my-cluster", json!({}), json!({"phase": "Ready"})).await;
    }
    plane.grant("alice", "team-a", &["tenantclusters"]).await;
    let alice = async |arguments: &str, namespace: &str| {
        let mut command = plane.command(arguments);
        command.env("KUBECONFIG", plane.kubeconfig("alice", namespace));
        ended(command).await
    };
    let blind = failed(
        5,
        "you may not look into all teams, and are a member of none: name one with -n TEAM, or set BUTLER_TEAM",
    );
    for arguments in ["cluster list", "cluster get my-cluster"] {
        assert_eq!(alice(arguments, "").await, blind, "{arguments}");
        let own = alice(&format!("{arguments} -o name"), "team-a").await;
        assert_eq!(own.out, "tenantcluster.butler.butlerlabs.dev/my-cluster\n", "{own:?}");
    }
    assert_eq!(alice("cluster list -n team-b", "").await.code, 5);
    plane.show_team("alice", "team-a").await;
    for arguments in ["cluster list -o name", "cluster get my-cluster -o name"] {
        let own = alice(arguments, "").await;
        assert_eq!(own.out, "tenantcluster.butler.butlerlabs.dev/my-cluster\n", "{own:?}");
    }
    plane.show_teams("alice").await;
    for arguments in ["cluster list -o name", "cluster get my-cluster -o name"] {
        let own = alice(arguments, "").await;
        assert_eq!(own.out, "tenantcluster.butler.butlerlabs.dev/my-cluster\n", "{own:?}");
    }
    let table = alice("cluster list", "").await.out;
    assert_eq!(
        ageless(&table),
        "\
NAME         TEAM     PHASE   VERSION   WORKERS   ENDPOINT   WAITING FOR   AGE
my-cluster   team-a   Ready   <none>    <none>    <none>     <none>        0s
"
    );
}

/// A cluster whose tenant API is the API under test itself.
async fn with_a_kubeconfig() -> (Plane, String) {
    let plane = Plane::start().await;
    let status = json!({"phase": "Ready", "kubeconfigSecretRef": {"name": "admin-of-it"}});
    plane.cluster("team-a", "my-cluster", json!({}), status).await;
    let tenant = fs::read_to_string(plane.kubeconfig("admin", "")).unwrap();
    let secret = json!({"metadata": {"name": "admin-of-it"}, "stringData": {"value": tenant}});
    plane.make::<Secret>(secret, Some("team-a")).await;
    (plane, tenant)
}

#[tokio::test]
async fn the_kubeconfig_is_printed_as_it_is() {
    let (plane, tenant) = with_a_kubeconfig().await;
    assert_eq!(plane.done("cluster kubeconfig my-cluster").await, tenant);
    plane.cluster("team-a", "new", json!({}), json!({"phase": "Pending"})).await;
    let told = "new has no kubeconfig yet, it is Pending: `butlerctl cluster wait new -n team-a`";
    assert_eq!(plane.run("cluster kubeconfig new").await, failed(3, told));
    plane.grant("alice", "team-a", &["tenantclusters"]).await;
    let mut command = plane.command("cluster kubeconfig my-cluster -n team-a");
    command.env("KUBECONFIG", plane.kubeconfig("alice", ""));
    let told = "you may not read the kubeconfig of my-cluster: look with --viewer, or ask an operator of team team-a";
    assert_eq!(ended(command).await, failed(5, told));
    let mut command = plane.command("cluster kubeconfig my-cluster -n team-a --viewer");
    command.env("KUBECONFIG", plane.kubeconfig("alice", ""));
    let told = "you may not read the kubeconfig of my-cluster: ask an admin of team team-a";
    assert_eq!(ended(command).await, failed(5, told));
}

#[tokio::test]
async fn a_kubeconfig_is_merged_into_what_is_there() {
    let (plane, tenant) = with_a_kubeconfig().await;
    let file = plane.folder().join("mine");
    let mine = "apiVersion: v1\nkind: Config\ncurrent-context: mine\ncontexts:\n- name: mine\n  context: {cluster: c, user: u}\n";
    fs::write(&file, mine).unwrap();
    let merge = format!("cluster kubeconfig my-cluster --merge --into {}", file.display());
    for _ in 0..2 {
        assert_eq!(plane.done(&merge).await, "");
    }
    let read = || kernel::yaml::value(&fs::read_to_string(&file).unwrap()).unwrap();
    let names: Vec<Value> = read()["contexts"].as_array().unwrap().iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!((names, &read()["current-context"]), (vec![json!("mine"), json!("team-a/my-cluster")], &json!("mine")));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    plane.done(&format!("{merge} --use")).await;
    assert_eq!(read()["current-context"], "team-a/my-cluster");
    // It works: the program itself can use the context.
    let mut command = plane.command("cluster list -o name --context team-a/my-cluster");
    command.env("KUBECONFIG", &file);
    assert_eq!(ended(command).await.out, "tenantcluster.butler.butlerlabs.dev/my-cluster\n");

    // What `butler up` wrote is no place to keep things, wherever its data directory is; the home directory is.
    let home = plane.folder().join(".kube/config");
    for folder in [".butler/local", "elsewhere"] {
        let folder = plane.folder().join(folder);
        let local = folder.join("kubeconfig");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("butler.lock"), "").unwrap();
        fs::write(&local, &tenant).unwrap();
        let mut command = plane.command("cluster kubeconfig my-cluster --merge");
        command.env("KUBECONFIG", &local);
        let said = ended(command).await;
        let told = "merged into HOME: kubectl --kubeconfig HOME --context team-a/my-cluster get nodes\n\
            LOCAL is written by `butler up` at every start, and stays as it is; --into FILE names another place\n";
        let told = told.replace("HOME", home.to_str().unwrap()).replace("LOCAL", local.to_str().unwrap());
        assert_eq!((said.code, said.err), (0, told));
        assert!(home.exists() && fs::read_to_string(&local).unwrap() == tenant);
        let refused = plane.run(&format!("cluster kubeconfig my-cluster --merge --into {}", local.display())).await;
        assert_eq!((refused.code, fs::read_to_string(&local).unwrap()), (2, tenant.clone()), "{refused:?}");
    }
}

#[tokio::test]
async fn nodes_are_asked_through_the_clusters_own_kubeconfig() {
    let (plane, _) = with_a_kubeconfig().await;
    assert_eq!(plane.run("cluster nodes my-cluster").await.err, "my-cluster has no nodes.\n");
    let node = json!({
        "metadata": {"name": "worker-1", "labels": {"node-role.kubernetes.io/worker": ""}},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.40.2.7"}],
            "nodeInfo": {
                "kubeletVersion": "v1.30.0", "architecture": "", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                "kubeProxyVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": "",
            },
        },
    });
    plane.make::<Node>(node, None).await;
    assert_eq!(
        ageless(&plane.done("cluster nodes my-cluster").await),
        "\
NAME       STATUS   ROLES    AGE   VERSION   ADDRESS
worker-1   Ready    worker   0s    v1.30.0   10.40.2.7
"
    );
    assert_eq!(plane.done("cluster nodes my-cluster -o name").await, "node/worker-1\n");
}
