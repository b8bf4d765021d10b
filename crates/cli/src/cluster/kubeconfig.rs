//! `butlerctl cluster kubeconfig`: the only command that prints a Secret.

use std::path::PathBuf;

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::ClusterPhase;
use clap::Args;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};

use super::Named;
use super::user_file::{self, Chosen};
use crate::command::Global;
use crate::failure::{Code, Failure, Outcome};
use crate::lookup::{self, Found};
use crate::output::Format;
use crate::screen::{print, tell};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Kubeconfig {
    #[command(flatten)]
    cluster: Named,
    /// The one to look with: it shows everything but Secrets, and changes nothing
    #[arg(long)]
    viewer: bool,
    /// Merge it into your kubeconfig, as context TEAM/NAME, or TEAM/NAME/viewer
    #[arg(long)]
    merge: bool,
    /// The file to merge into [default: --kubeconfig, then the first of KUBECONFIG, then ~/.kube/config; never Butler's own]
    #[arg(long, value_name = "FILE", requires = "merge")]
    into: Option<PathBuf>,
    /// Make it the current context
    #[arg(long = "use", requires = "merge")]
    make_current: bool,
}

/// Keys of Secrets under which kubeconfigs are found.
const KEYS: [&str; 3] = ["value", "kubeconfig", "admin.conf"];

impl Kubeconfig {
    pub(crate) async fn run(self, session: &Session, global: &Global) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let text = read(session, &found, self.viewer).await?;
        if !self.merge {
            return print(&printed(text, session.format)?);
        }
        let context = context_name(&found, self.viewer);
        let own = renamed(&text, &context)?;
        let Chosen { file, passed_over } = user_file::choose(self.into.as_deref(), global.kubeconfig.as_deref())?;
        user_file::update(&file, |before| {
            let merged = pki::merge_kubeconfig(before, own, self.make_current);
            let merged = merged.map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
            Ok(merged.expose().to_owned())
        })?;
        let flag = if user_file::is_usual(&file) { String::new() } else { format!("--kubeconfig {} ", file.display()) };
        tell(&format!("merged into {}: kubectl {flag}--context {context} get nodes", file.display()));
        if let Some(butlers) = passed_over {
            let told = "is written by `butler up` at every start, and stays as it is; --into FILE names another place";
            tell(&format!("{} {told}", butlers.display()));
        }
        Ok(())
    }
}

/// A kubeconfig is YAML, unless JSON is asked for.
fn printed(text: String, format: Format) -> Outcome<String> {
    if format != Format::Json {
        return Ok(text);
    }
    let value = kernel::yaml::value(&text).map_err(|_| Failure::failed(MALFORMED))?;
    Ok(format!("{}\n", serde_json::to_string_pretty(&value)?))
}

const MALFORMED: &str = "the cluster's kubeconfig is malformed";

/// The text of a cluster's kubeconfig.
pub(crate) async fn read(session: &Session, found: &Found, viewer: bool) -> Outcome<String> {
    let cluster = found.cluster()?;
    let secrets: Api<Secret> = Api::namespaced(session.client.clone(), &found.namespace);
    let name = secret_name(&cluster, &found.name, viewer);
    let secret = secrets.get_opt(&name).await.map_err(|error| match Failure::is_forbidden(&error) {
        true => Failure::new(Code::NotAllowed, refusal(found, viewer)),
        false => error.into(),
    })?;
    let phase = cluster.status.and_then(|status| status.phase).unwrap_or(ClusterPhase::Pending);
    let missing = || {
        let (known, arguments) = (&found.name, found.arguments());
        let message = match phase {
            ClusterPhase::Ready => {
                format!("the kubeconfig of {known} is lost: there is no Secret {name} in {}", found.namespace)
            }
            phase => format!("{known} has no kubeconfig yet, it is {phase}: `butlerctl cluster wait {arguments}`"),
        };
        Failure::new(Code::NotFound, message)
    };
    secret.as_ref().and_then(text_of).ok_or_else(missing)
}

/// What somebody is told who may not read it.
fn refusal(found: &Found, viewer: bool) -> String {
    let way_out = match viewer {
        true => format!("ask an admin of team {}", found.namespace),
        false => format!("look with --viewer, or ask an operator of team {}", found.namespace),
    };
    format!("you may not read the kubeconfig of {}: {way_out}", found.name)
}

/// The Secret that status names, or the one that is usually there.
fn secret_name(cluster: &TenantCluster, name: &str, viewer: bool) -> String {
    let status = cluster.status.as_ref();
    let (named, usual) = match viewer {
        true => (status.and_then(|status| status.viewer_kubeconfig_secret_ref.as_ref()), "kubeconfig-viewer"),
        false => (status.and_then(|status| status.kubeconfig_secret_ref.as_ref()), "kubeconfig"),
    };
    named.map_or_else(|| format!("{name}-{usual}"), |secret| secret.name.clone())
}

fn text_of(secret: &Secret) -> Option<String> {
    let data = secret.data.as_ref()?;
    let bytes = KEYS.iter().find_map(|key| data.get(*key))?;
    String::from_utf8(bytes.0.clone()).ok().filter(|text| !text.trim().is_empty())
}

fn context_name(found: &Found, viewer: bool) -> String {
    let rights = if viewer { "/viewer" } else { "" };
    format!("{}/{}{rights}", found.namespace, found.name)
}

/// The current context of a kubeconfig with its cluster and user, all under one name.
fn renamed(kubeconfig: &str, name: &str) -> Outcome<Value> {
    let broken = || Failure::failed(MALFORMED);
    let value = kernel::yaml::value(kubeconfig).map_err(|_| broken())?;
    let entry = |list: &str, wanted: &Value, field: &str| {
        let entries = value.get(list)?.as_array()?;
        entries.iter().find(|entry| entry.get("name") == Some(wanted))?.get(field).cloned()
    };
    let current = value.get("current-context").ok_or_else(broken)?;
    let mut context = entry("contexts", current, "context").ok_or_else(broken)?;
    let cluster =
        context.get("cluster").and_then(|cluster| entry("clusters", cluster, "cluster")).ok_or_else(broken)?;
    let user = context.get("user").and_then(|user| entry("users", user, "user")).ok_or_else(broken)?;
    context["cluster"] = name.into();
    context["user"] = name.into();
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    const TENANT: &str = "
        current-context: kubernetes-admin@my-cluster
        clusters: [{name: my-cluster, cluster: {server: 'https://10.40.0.201:6443'}}, {name: other, cluster: {}}]
        users: [{name: kubernetes-admin, user: {token: secret}}]
        contexts: [{name: kubernetes-admin@my-cluster, context: {cluster: my-cluster, user: kubernetes-admin, namespace: x}}]";

    #[test]
    fn a_kubeconfig_is_yaml_unless_json_is_asked_for() {
        for format in [Format::Table, Format::Yaml] {
            assert_eq!(printed(TENANT.to_owned(), format).unwrap(), TENANT);
        }
        let json: Value = serde_json::from_str(&printed(TENANT.to_owned(), Format::Json).unwrap()).unwrap();
        assert_eq!(json["current-context"], "kubernetes-admin@my-cluster");
        assert_eq!(printed("{".to_owned(), Format::Json).unwrap_err().message, MALFORMED);
    }

    #[test]
    fn entries_are_named_after_team_and_cluster() {
        let own = renamed(TENANT, "team-a/my-cluster").unwrap();
        assert_eq!(
            own["clusters"],
            json!([{"name": "team-a/my-cluster", "cluster": {"server": "https://10.40.0.201:6443"}}])
        );
        assert_eq!(own["users"], json!([{"name": "team-a/my-cluster", "user": {"token": "secret"}}]));
        assert_eq!(
            own["contexts"],
            json!([{"name": "team-a/my-cluster", "context":
                {"cluster": "team-a/my-cluster", "user": "team-a/my-cluster", "namespace": "x"}}])
        );
        for broken in
            ["", "[", "current-context: a", "{current-context: a, contexts: [{name: a, context: {cluster: c}}]}"]
        {
            assert!(renamed(broken, "n").is_err(), "{broken}");
        }
    }

    #[test]
    fn merging_twice_is_merging_once() {
        let own = renamed(TENANT, "t/a").unwrap();
        let before = "apiVersion: v1\nkind: Config\ncurrent-context: mine\ncontexts: [{name: mine, context: {cluster: c, user: u}}]\n";
        let once = pki::merge_kubeconfig(before, own.clone(), false).unwrap();
        let twice = pki::merge_kubeconfig(once.expose(), own, false).unwrap();
        assert_eq!(once.expose(), twice.expose());
        let merged = kernel::yaml::value(once.expose()).unwrap();
        assert_eq!(merged["current-context"], "mine");
        let names: Vec<&Value> = merged["contexts"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
        assert_eq!(names, ["mine", "t/a"]);
    }

    #[test]
    fn the_secret_is_found_by_its_name_and_key() {
        let cluster = |status: Value| -> TenantCluster {
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
                "metadata": {"name": "a"}, "spec": {}, "status": status,
            }))
            .unwrap()
        };
        let both = cluster(json!({"kubeconfigSecretRef": {"name": "k"}, "viewerKubeconfigSecretRef": {"name": "v"}}));
        assert_eq!([false, true].map(|viewer| secret_name(&both, "a", viewer)), ["k", "v"]);
        let neither = cluster(json!({}));
        let usual = [false, true].map(|viewer| secret_name(&neither, "a", viewer));
        assert_eq!(usual, ["a-kubeconfig", "a-kubeconfig-viewer"]);
        for (key, found) in [("value", true), ("kubeconfig", true), ("admin.conf", true), ("ca.crt", false)] {
            let data = [(key.to_owned(), ByteString(b"text".to_vec()))].into();
            let secret = Secret { data: Some(data), ..Secret::default() };
            assert_eq!(text_of(&secret).as_deref(), found.then_some("text"), "{key}");
        }
    }
}
