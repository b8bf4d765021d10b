//! `butlerctl cluster create`.

use std::io::Read;
use std::path::{Path, PathBuf};

use butler_api::butler::TenantCluster;
use butler_api::names::labels;
use butler_api::shared::{ByteSize, OsType};
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use kernel::version::Version;
use kube::Resource;
use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use super::change::check_known;
use super::wait::{Goal, Patience, follow};
use super::{FIELD_MANAGER, count};
use crate::command::Global;
use crate::failure::{Code, Failure, Outcome};
use crate::output::{Format, full_name, print_object};
use crate::screen::{print, tell};
use crate::session::{self, Session, cluster_resource};

#[derive(Args)]
pub(crate) struct Create {
    /// Name of the cluster; the one in the file when left out
    #[arg(required_unless_present = "file")]
    name: Option<String>,
    /// Begin with the TenantCluster in this YAML file; - is standard input
    #[arg(short, long, value_name = "FILE", visible_alias = "filename")]
    file: Option<PathBuf>,
    /// Kubernetes version, as vX.Y.Z
    #[arg(long, value_name = "VERSION", visible_alias = "k8s-version")]
    version: Option<Version>,
    /// Number of workers
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    workers: Option<u32>,
    /// Processors of a worker
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    cpu: Option<u32>,
    /// Memory of a worker, for example 8Gi
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<String>,
    /// System disk of a worker, for example 100Gi
    #[arg(long, value_name = "SIZE", value_parser = size)]
    disk: Option<String>,
    /// Operating system of the workers
    #[arg(long, value_parser = PossibleValuesParser::new(OsType::ALL.iter().map(|os| os.as_str())))]
    os: Option<String>,
    /// ProviderConfig of the infrastructure the machines come from
    #[arg(short, long, value_name = "NAME")]
    provider: Option<String>,
    /// Replicas of the control plane
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    control_plane_replicas: Option<u32>,
    /// Addresses for load balancers: FIRST-LAST, a CIDR, or one address
    #[arg(long, value_name = "ADDRESSES")]
    lb_pool: Option<String>,
    /// Network of the pods
    #[arg(long, value_name = "CIDR")]
    pod_cidr: Option<String>,
    /// Network of the Services
    #[arg(long, value_name = "CIDR")]
    service_cidr: Option<String>,
    /// Environment of the team the cluster counts towards
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Make nothing: only show it (client), or also let the API check it (server)
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<DryRun>,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DryRun {
    Client,
    Server,
}

impl Create {
    /// Whether no API is needed.
    pub(crate) fn is_offline(&self) -> bool {
        self.dry_run == Some(DryRun::Client)
    }

    pub(crate) fn run_offline(&self, global: &Global) -> Outcome {
        let mut document = self.document()?;
        let team = global.team.clone().or_else(session::chosen_team);
        if let Some(team) = place(&document, team.as_deref())? {
            document["metadata"]["namespace"] = team.into();
        }
        let object: DynamicObject = serde_json::from_value(document)?;
        match global.output.unwrap_or_default() {
            Format::Table | Format::Wide => print(&format!("{} created (client dry run)\n", full_name(&object))),
            format => print_object(&object, format),
        }
    }

    pub(crate) async fn run(&self, session: &Session) -> Outcome {
        let mut document = self.document()?;
        let team = match place(&document, session.team.as_deref())? {
            Some(team) => team,
            None => default_team(session).await?,
        };
        document["metadata"]["namespace"] = team.clone().into();
        let created = post(session, &team, &document, self.dry_run.is_some()).await?;
        let name = created.metadata.name.clone().unwrap_or_default();
        if !session.format.is_table() {
            print_object(&created, session.format)?;
        } else {
            let note = if self.dry_run.is_some() { " (server dry run)" } else { "" };
            print(&format!("{} created{note}\n", full_name(&created)))?;
        }
        if self.dry_run.is_none() && self.patience.wait {
            let goal = Goal::Ready;
            follow(session, &team, &name, created.metadata.uid.as_deref(), &goal, self.patience.timeout).await?;
            tell(&format!("{name} is Ready: butlerctl cluster kubeconfig {name} -n {team}"));
        }
        Ok(())
    }

    /// The TenantCluster that the file and the flags describe; flags win.
    fn document(&self) -> Outcome<Value> {
        self.version.map_or(Ok(()), check_known)?;
        let mut document = match &self.file {
            Some(file) => read(file)?,
            None => json!({
                "apiVersion": TenantCluster::api_version(&()), "kind": TenantCluster::kind(&()),
                "metadata": {}, "spec": {},
            }),
        };
        let number = |value: Option<u32>| value.map(Value::from);
        let text = |value: &Option<String>| value.clone().map(Value::from);
        let provider = self.provider.as_ref().map(|provider| match provider.split_once('/') {
            Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": provider}),
        });
        let pool = self.lb_pool.as_ref().map(|pool| match pool.contains(['-', '/']) {
            true => pool.clone(),
            false => format!("{pool}-{pool}"),
        });
        let environment = self.environment.as_ref().map(|name| json!({labels::ENVIRONMENT: name}));
        for (path, value) in [
            ("/metadata/name", text(&self.name)),
            ("/metadata/labels", environment),
            ("/spec/kubernetesVersion", self.version.map(|version| version.to_string().into())),
            ("/spec/workers/replicas", number(self.workers)),
            ("/spec/workers/machineTemplate/cpu", number(self.cpu)),
            ("/spec/workers/machineTemplate/memory", text(&self.memory)),
            ("/spec/workers/machineTemplate/diskSize", text(&self.disk)),
            ("/spec/workers/machineTemplate/os/type", text(&self.os)),
            ("/spec/controlPlane/replicas", number(self.control_plane_replicas)),
            ("/spec/providerConfigRef", provider),
            ("/spec/networking/podCIDR", text(&self.pod_cidr)),
            ("/spec/networking/serviceCIDR", text(&self.service_cidr)),
            ("/spec/addons/loadBalancer/addressPool", text(&pool)),
        ] {
            if let Some(value) = value {
                set(&mut document, path, value);
            }
        }
        if document.pointer("/metadata/name").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(Failure::usage("the file gives the cluster no name: add one as the argument"));
        }
        Ok(document)
    }
}

/// Reads the one TenantCluster of a file.
pub(crate) fn read(file: &Path) -> Outcome<Value> {
    let shown = file.display();
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(file).map(|content| text = content),
    };
    read.map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
    let documents = kernel::yaml::values(&text).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    match <[Value; 1]>::try_from(documents) {
        Ok([document]) if document.get("kind").and_then(Value::as_str) == Some("TenantCluster") => Ok(document),
        Ok(_) => Err(Failure::usage(format!("{shown} is no TenantCluster"))),
        Err(documents) => Err(Failure::usage(format!(
            "{shown} holds {} objects, but one TenantCluster is expected: use `kubectl apply -f` for several",
            documents.len()
        ))),
    }
}

/// The team that the file or `-n` names; they must agree.
pub(crate) fn place(document: &Value, team: Option<&str>) -> Outcome<Option<String>> {
    let written = document.pointer("/metadata/namespace").and_then(Value::as_str);
    match (written, team) {
        (Some(written), Some(team)) if written != team => {
            Err(Failure::usage(format!("the file is for team {written}, but -n says {team}: leave one of them out")))
        }
        (written, team) => Ok(written.or(team).map(str::to_owned)),
    }
}

/// The team of a new cluster when none is named: the current one, or the only one there is.
pub(crate) async fn default_team(session: &Session) -> Outcome<String> {
    if let Some(team) = &session.chosen_team {
        return Ok(team.clone());
    }
    let teams = match session.teams().await {
        Ok(teams) => teams,
        Err(error) if Failure::is_forbidden(&error) => session.context_namespace.iter().cloned().collect(),
        Err(error) => return Err(error.into()),
    };
    choose_team(teams, session.context_namespace.as_deref())
}

fn choose_team(mut teams: Vec<String>, context: Option<&str>) -> Outcome<String> {
    if let Some(team) = context.filter(|context| teams.iter().any(|team| team == context)) {
        return Ok(team.to_owned());
    }
    match teams.len() {
        1 => Ok(teams.swap_remove(0)),
        0 => Err(Failure::usage("which team is the cluster for? Name it with -n TEAM")),
        _ => {
            Err(Failure::usage(format!("which team is the cluster for? Name it with -n, one of {}", teams.join(", "))))
        }
    }
}

/// Creates it; fields the API does not know are refused, because they are usually slips.
async fn post(session: &Session, team: &str, document: &Value, dry_run: bool) -> Outcome<DynamicObject> {
    let resource = cluster_resource();
    let path = DynamicObject::url_path(&resource, Some(team));
    let dry_run = if dry_run { "&dryRun=All" } else { "" };
    let request = http::Request::post(format!("{path}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict{dry_run}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(document)?)
        .map_err(|_| Failure::usage(format!("{team:?} is no name of a team")))?;
    session.client.request(request).await.map_err(|error| match error {
        kube::Error::Api(status) if status.is_not_found() => {
            Failure::new(Code::NotFound, format!("there is no team {team:?}: {}", status.message))
        }
        kube::Error::Api(status) if status.is_already_exists() => {
            let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let message = format!("{team} has a cluster {name:?} already: choose another name, or change that one");
            Failure::new(Code::Refused, message)
        }
        error => error.into(),
    })
}

/// An amount of memory or disk, as the API takes them. A number without a unit counts bytes, so small ones are slips.
fn size(text: &str) -> Result<String, String> {
    let number = text.trim_end_matches(|end: char| end.is_ascii_alphabetic());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = is_digits(whole) && is_digits(fraction) && !whole.starts_with('0');
    let has_unit = number.len() < text.len();
    let counts_bytes = whole == number && (7..=18).contains(&whole.len());
    let is_size = is_number && (has_unit || counts_bytes) && ByteSize::from(text).bytes().is_some();
    is_size.then(|| text.to_owned()).ok_or_else(|| {
        "write a number of at least 1 with its unit: M, G, T, P, Mi, Gi, Ti or Pi, for example 512Mi or 8Gi".to_owned()
    })
}

/// Sets a field, making the objects on the way to it.
pub(crate) fn set(document: &mut Value, path: &str, value: Value) {
    let mut place = document;
    for key in path.split('/').skip(1) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key];
    }
    match (place, value) {
        (Value::Object(present), Value::Object(more)) => present.extend(more),
        (place, value) => *place = value,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use kube::CustomResourceExt;
    use regex::Regex;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: Create,
    }

    fn document(line: &str) -> Value {
        Line::parse_from(line.split(' ')).create.document().unwrap()
    }

    #[test]
    fn flags_become_fields() {
        let made = document(
            "create a --version v1.30.0 --workers 3 --cpu 4 --memory 8Gi --disk 100Gi --os talos --provider harvester-prod \
             --control-plane-replicas 2 --lb-pool 10.40.1.0-10.40.1.50 --environment dev",
        );
        assert_eq!(
            made,
            json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1",
                "kind": "TenantCluster",
                "metadata": {"name": "a", "labels": {"butler.butlerlabs.dev/environment": "dev"}},
                "spec": {
                    "kubernetesVersion": "v1.30.0",
                    "workers": {
                        "replicas": 3,
                        "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi", "os": {"type": "talos"}},
                    },
                    "controlPlane": {"replicas": 2},
                    "providerConfigRef": {"name": "harvester-prod"},
                    "addons": {"loadBalancer": {"addressPool": "10.40.1.0-10.40.1.50"}},
                },
            })
        );
        let one = document("create a --lb-pool 10.0.0.1 --provider ns/p");
        assert_eq!(one["spec"]["addons"]["loadBalancer"]["addressPool"], "10.0.0.1-10.0.0.1");
        assert_eq!(one["spec"]["providerConfigRef"], json!({"name": "p", "namespace": "ns"}));
    }

    #[test]
    fn sizes_are_those_that_the_api_takes() {
        let schema = serde_json::to_value(TenantCluster::crd().spec.versions).unwrap();
        let template =
            "/schema/openAPIV3Schema/properties/spec/properties/workers/properties/machineTemplate/properties";
        let pattern = schema[0].pointer(&format!("{template}/memory/pattern")).and_then(Value::as_str).unwrap();
        let pattern = Regex::new(pattern).unwrap();
        let taken = ["8Gi", "512Mi", "1.5Ti", "100G", "1M", "1Mi", "2P", "1000000", "8589934592"];
        let refused = "lots||8|8 Gi|8GB|8Ki|0.5Gi|-8Gi|0Gi|1.Gi|.5Gi|1.5e3Gi|1e3Mi|1.2.3Gi|999999|1500000.5|Gi";
        let cases = taken.into_iter().map(|text| (text, true)).chain(refused.split('|').map(|text| (text, false)));
        for (text, is_taken) in cases {
            assert_eq!(pattern.is_match(text), is_taken, "{text}");
            match size(text) {
                Ok(size) => assert!(is_taken && size == text, "{text}"),
                Err(wanted) => assert!(!is_taken && wanted.contains("at least 1 with its unit"), "{text}"),
            }
        }
    }

    #[test]
    fn flags_win_over_the_file_and_the_rest_stays() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "kind: TenantCluster\nmetadata: {name: a, labels: {x: z}}\nspec: {workers: {replicas: 1, labels: {b: c}}}\n",
        )
        .unwrap();
        let made = document(&format!("create b -f {} --workers 5 --environment dev", file.path().display()));
        assert_eq!(made["metadata"]["name"], "b");
        assert_eq!(made["metadata"]["labels"], json!({"x": "z", "butler.butlerlabs.dev/environment": "dev"}));
        assert_eq!(made["spec"]["workers"], json!({"replicas": 5, "labels": {"b": "c"}}));
    }

    #[test]
    fn files_hold_one_cluster() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, told) in [
            ("kind: Pod\n", "is no TenantCluster"),
            ("", "holds 0 objects"),
            (
                "a: 1\n---\nb: 1\n",
                "holds 2 objects, but one TenantCluster is expected: use `kubectl apply -f` for several",
            ),
            ("a: [", ": "),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let failure = read(file.path()).unwrap_err();
            assert!(failure.code == Code::Usage && failure.message.contains(told), "{failure}");
        }
    }

    #[test]
    fn a_new_cluster_goes_to_the_current_or_only_team() {
        let teams = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (there, context, expected) in [
            (teams(&["a"]), None, Ok("a")),
            (teams(&["a", "b"]), Some("b"), Ok("b")),
            (teams(&["a"]), Some("kube-system"), Ok("a")),
            (teams(&["a", "b"]), Some("c"), Err("which team is the cluster for? Name it with -n, one of a, b")),
            (teams(&[]), None, Err("which team is the cluster for? Name it with -n TEAM")),
        ] {
            let chosen = choose_team(there, context).map_err(|failure| failure.message);
            assert_eq!(chosen.as_deref().map_err(String::as_str), expected, "{context:?}");
        }
        let file = json!({"metadata": {"namespace": "a"}});
        assert_eq!(place(&file, None).unwrap().as_deref(), Some("a"));
        assert_eq!(place(&file, Some("b")).unwrap_err().code, Code::Usage);
    }
}
