//! An API with Butler's kinds and two teams, and the program run against it: an embedded API, or with `BUTLER_TEST_API=real`
//! a real kube-apiserver and etcd.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use butler_api::butler::{Team, TenantCluster};
use conformance::embedded::EmbeddedServer;
use conformance::real::{Programs, RealServer};
use conformance::target::Target;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{conditions, wait::await_condition};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Butler's kinds that the program reads.
const KINDS: [&str; 7] =
    ["ButlerConfig", "Team", "TenantCluster", "ProviderConfig", "TenantAddon", "AddonDefinition", "TenantControlPlane"];

/// An API under test. Dropping it stops it.
pub(crate) struct Plane {
    server: Server,
    folder: tempfile::TempDir,
    pub(crate) client: Client,
}

enum Server {
    Embedded(EmbeddedServer),
    Real(RealServer),
}

impl Server {
    async fn start() -> Self {
        if std::env::var_os("BUTLER_TEST_API").is_none_or(|api| api != "real") {
            return Self::Embedded(EmbeddedServer::start().await.unwrap());
        }
        Self::Real(RealServer::start(&Programs::find().unwrap()).await.unwrap())
    }

    fn target(&self) -> &Target {
        match self {
            Self::Embedded(server) => &server.target,
            Self::Real(server) => &server.target,
        }
    }
}

/// What a run of the program came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Plane {
    /// Starts one with Butler's kinds and the teams `team-a` and `team-b`.
    pub(crate) async fn start() -> Self {
        let plane = Self::empty().await;
        for definition in butler_api::crds().into_iter().filter(|crd| KINDS.contains(&crd.spec.names.kind.as_str())) {
            plane.define(definition).await;
        }
        for team in ["team-a", "team-b"] {
            plane.namespace(team).await;
            let team: Team = Team::new(team, Default::default());
            Api::all(plane.client.clone()).create(&PostParams::default(), &team).await.unwrap();
        }
        plane
    }

    /// Starts one that knows no kind of Butler.
    pub(crate) async fn empty() -> Self {
        let server = Server::start().await;
        let folder = tempfile::tempdir().unwrap();
        let admin = server.target().kubeconfig("admin", "").unwrap();
        std::fs::write(folder.path().join("admin"), &admin).unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&admin).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Self { server, folder, client: Client::try_from(config).unwrap() }
    }

    /// Installs a kind and waits until it is served.
    pub(crate) async fn define(&self, definition: CustomResourceDefinition) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        definitions.create(&PostParams::default(), &definition).await.unwrap();
        await_condition(definitions, &definition.name_any(), conditions::is_crd_established()).await.unwrap();
    }

    pub(crate) async fn namespace(&self, name: &str) {
        self.make::<Namespace>(json!({"metadata": {"name": name}}), None).await;
    }

    /// Creates an object of any kind.
    pub(crate) async fn make<K>(&self, object: Value, namespace: Option<&str>) -> K
    where
        K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
    {
        let request = kube::core::Request::new(K::url_path(&(), namespace));
        let request = request.create(&PostParams::default(), serde_json::to_vec(&object).unwrap()).unwrap();
        self.client.request(request).await.unwrap()
    }

    /// Creates a cluster with a status.
    pub(crate) async fn cluster(&self, team: &str, name: &str, spec: Value, status: Value) -> TenantCluster {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": name}, "spec": spec,
        });
        self.make::<TenantCluster>(object, Some(team)).await;
        self.report(team, name, status).await
    }

    /// Writes the status of a cluster, as a controller would.
    pub(crate) async fn report(&self, team: &str, name: &str, status: Value) -> TenantCluster {
        let patch = Patch::Merge(json!({"status": status}));
        self.clusters(team).patch_status(name, &PatchParams::default(), &patch).await.unwrap()
    }

    pub(crate) fn clusters(&self, team: &str) -> Api<TenantCluster> {
        Api::namespaced(self.client.clone(), team)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A kubeconfig file of one of the users `admin`, `alice` and `bob`.
    pub(crate) fn kubeconfig(&self, user: &str, namespace: &str) -> PathBuf {
        let file = self.folder().join(format!("{user}-{namespace}"));
        std::fs::write(&file, self.server.target().kubeconfig(user, namespace).unwrap()).unwrap();
        file
    }

    /// The program as the administrator would run it.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = bare(self.folder(), arguments);
        command.env("KUBECONFIG", self.folder().join("admin"));
        command
    }

    /// Runs the program as the administrator.
    pub(crate) async fn run(&self, arguments: &str) -> Said {
        ended(self.command(arguments)).await
    }

    /// Runs it and expects it to do what it was asked for; gives what it printed.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &str) -> impl Future<Output = String> {
        let (line, run) = (std::panic::Location::caller(), self.command(arguments));
        async move {
            let said = ended(run).await;
            assert_eq!(said.code, 0, "{line}: {said:?}");
            said.out
        }
    }
}

/// The program with a home directory of its own and nothing else in its environment.
pub(crate) fn bare(home: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_butlerctl"));
    command.args(arguments.split_whitespace()).env_clear().env("HOME", home).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a command to its end.
pub(crate) async fn ended(mut command: Command) -> Said {
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs a command to its end with this on its standard input.
pub(crate) async fn fed(mut command: Command, input: &str) -> Said {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// A failure: its exit code and all it said.
pub(crate) fn failed(code: i32, message: &str) -> Said {
    Said { code, out: String::new(), err: format!("butlerctl: {message}\n") }
}

/// What was printed, with every age, which is some seconds in a test, written as `0s`.
pub(crate) fn ageless(text: &str) -> String {
    let is_age = |word: &str| {
        let seconds = word.strip_suffix('s').unwrap_or_default();
        !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit())
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').map(|word| if is_age(word) { "0s" } else { word }).collect();
        words.join(" ")
    };
    text.lines().map(|text| line(text) + "\n").collect()
}
