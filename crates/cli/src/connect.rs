//! Finding the API: as kubectl does, and the Butler of this machine besides.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::failure::{Code, Failure, Outcome};

/// An API that does not even accept a connection by then is taken for unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What points to an API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// `--kubeconfig`.
    pub(crate) flag: Option<PathBuf>,
    /// `--context`.
    pub(crate) context: Option<String>,
    /// The files of `KUBECONFIG`.
    pub(crate) environment: Vec<PathBuf>,
    /// What `butler up` and `butleradm bootstrap` left below `~/.butler`.
    pub(crate) butler: Vec<PathBuf>,
    /// `~/.kube/config`, if it is there.
    pub(crate) home: Option<PathBuf>,
}

/// Where the way to the API is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Files(Vec<PathBuf>),
    /// The ServiceAccount of the pod this runs in.
    Pod,
}

/// A way to an API.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The namespace of the context, unless it says none.
    pub(crate) namespace: Option<String>,
    /// The API, and where the way to it is written.
    pub(crate) described: String,
}

/// The first sign that counts. A context is one of the user's own files.
pub(crate) fn choose(signs: &Signs) -> Outcome<Source> {
    let one = |path: &PathBuf| Ok(Source::Files(vec![path.clone()]));
    if let Some(path) = &signs.flag {
        return one(path);
    }
    if !signs.environment.is_empty() {
        return Ok(Source::Files(signs.environment.clone()));
    }
    match (signs.butler.as_slice(), &signs.home) {
        (_, Some(home)) if signs.context.is_some() => one(home),
        ([path], _) => one(path),
        ([], Some(home)) => one(home),
        ([], None) => Ok(Source::Pod),
        (several, _) => {
            let names: Vec<String> = several.iter().map(|path| format!("  {}", path.display())).collect();
            Err(Failure::usage(format!("which Butler is meant? Choose with --kubeconfig:\n{}", names.join("\n"))))
        }
    }
}

/// Looks for signs in the environment and the home directory.
pub(crate) fn signs(flag: Option<PathBuf>, context: Option<String>) -> Signs {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let environment = listed();
    let config = home.as_ref().map(|home| home.join(".kube/config")).filter(|path| path.is_file());
    Signs { flag, context, environment, butler: butler_files(home.as_deref()), home: config }
}

/// The files of `KUBECONFIG`.
pub(crate) fn listed() -> Vec<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The kubeconfig of `butler up`, or else those that `butleradm bootstrap` saved.
fn butler_files(home: Option<&Path>) -> Vec<PathBuf> {
    let data = std::env::var_os("BUTLER_DATA_DIR").map(PathBuf::from);
    let folder = home.map(|home| home.join(".butler"));
    let local = data.or_else(|| Some(folder.as_ref()?.join("local"))).map(|data| data.join("kubeconfig"));
    if let Some(local) = local.filter(|path| path.is_file()) {
        return vec![local];
    }
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let mut saved: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.to_string_lossy().ends_with("-kubeconfig"))
        .collect();
    saved.sort();
    saved
}

/// Opens the way to the API; nothing is asked yet.
pub(crate) async fn connect(signs: &Signs) -> Outcome<Connection> {
    let source = choose(signs)?;
    let (mut config, namespace, place) = match &source {
        Source::Files(paths) => {
            let kubeconfig = read(paths)?;
            let namespace = namespace_of(&kubeconfig, signs.context.as_deref());
            let options = KubeConfigOptions { context: signs.context.clone(), ..KubeConfigOptions::default() };
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            let config = config.map_err(|error| Failure::usage(format!("{}: {error}", names(paths))))?;
            (config, namespace, names(paths))
        }
        Source::Pod => {
            let config = Config::incluster().map_err(|_| {
                Failure::usage("no API is known: start one with `butler up`, or name a kubeconfig with --kubeconfig")
            })?;
            let namespace = Some(config.default_namespace.clone());
            (config, namespace, "the ServiceAccount of this pod".to_owned())
        }
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let described = format!("{} (from {place})", config.cluster_url.to_string().trim_end_matches('/'));
    tracing::info!("{described}");
    Ok(Connection { client: client(config)?, namespace, described })
}

/// A client of a tenant, out of the text of its kubeconfig.
pub(crate) async fn connect_with(kubeconfig: &str) -> Outcome<Client> {
    let broken = |error| Failure::failed(format!("the cluster's kubeconfig cannot be used: {}", fault(&error)));
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(broken)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(broken)?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    client(config)
}

fn client(config: Config) -> Outcome<Client> {
    Client::try_from(config).map_err(|error| Failure::usage(format!("the kubeconfig cannot be used: {error}")))
}

/// Reads and merges files as kubectl does: those that are not there are passed over.
fn read(paths: &[PathBuf]) -> Outcome<Kubeconfig> {
    let there: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
    if there.is_empty() {
        return Err(Failure::new(Code::NotFound, format!("{} is not there", names(paths))));
    }
    let merged = there.into_iter().try_fold(Kubeconfig::default(), |merged, path| {
        let next = Kubeconfig::read_from(path).and_then(|next| merged.merge(next));
        next.map_err(|error| Failure::usage(format!("{}: {}", path.display(), fault(&error))))
    })?;
    Ok(merged)
}

/// What is wrong with a kubeconfig, without a word of what is in it.
fn fault(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => {
            let line = error.location().map(|place| format!("; see line {}", place.line()));
            format!("it is no kubeconfig{}", line.unwrap_or_default())
        }
        other => other.to_string(),
    }
}

fn namespace_of(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let current = context.or(kubeconfig.current_context.as_deref())?;
    let entry = kubeconfig.contexts.iter().find(|entry| entry.name == current)?;
    entry.context.as_ref()?.namespace.clone().filter(|namespace| !namespace.is_empty())
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_broken_kubeconfig_is_not_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kubeconfig");
        for text in ["users:\n- user:\n    token: S3CRET\n   client-key-data: S3CRET\n", "users: S3CRET\n"] {
            std::fs::write(&path, text).unwrap();
            let told = read(std::slice::from_ref(&path)).unwrap_err().to_string();
            assert!(told.contains("it is no kubeconfig; see line ") && !told.contains("S3CRET"), "{told}");
        }
    }

    #[test]
    fn the_nearest_sign_counts() {
        let path = |name: &str| PathBuf::from(name);
        let all = Signs {
            flag: Some(path("flag")),
            context: None,
            environment: vec![path("one"), path("two")],
            butler: vec![path("butler")],
            home: Some(path("home")),
        };
        let files = |names: &[&str]| Ok(Source::Files(names.iter().map(PathBuf::from).collect()));
        let without_flag = Signs { flag: None, ..all.clone() };
        let without_environment = Signs { environment: Vec::new(), ..without_flag.clone() };
        let without_butler = Signs { butler: Vec::new(), ..without_environment.clone() };
        let two_butlers = Signs { butler: vec![path("a-kubeconfig"), path("b-kubeconfig")], ..Signs::default() };
        for (signs, expected) in [
            (all, files(&["flag"])),
            (without_flag, files(&["one", "two"])),
            (without_environment.clone(), files(&["butler"])),
            (Signs { context: Some("c".into()), ..without_environment }, files(&["home"])),
            (without_butler, files(&["home"])),
            (Signs::default(), Ok(Source::Pod)),
            (
                two_butlers,
                Err("which Butler is meant? Choose with --kubeconfig:\n  a-kubeconfig\n  b-kubeconfig".to_owned()),
            ),
        ] {
            assert_eq!(choose(&signs).map_err(|failure| failure.message), expected, "{signs:?}");
        }
    }
}
