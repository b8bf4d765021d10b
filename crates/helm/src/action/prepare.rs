//! Everything before the first write: rendering, and all that can be checked.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;

use super::cluster::Cluster;
use super::error::ActionError;
use super::kinds::Kinds;
use super::object::{self, ObjectRef};
use super::work::Work;
use super::{APPLY_METHOD, PriorValues};
use crate::chart::Chart;
use crate::manifest::Manifests;
use crate::release::{self, Hook, Info, Pending, Release, Status};
use crate::render::{self, Rendered, Surroundings, SystemRandom};
use crate::values::{self, Values};

/// A release that is to be.
pub(super) struct Plan {
    pub(super) release: Release,
    /// The chart and the values, by which a release that is the same is known.
    of: Option<(Chart, Values)>,
}

/// What was before.
#[derive(Clone, Copy)]
pub(super) struct Prior<'a> {
    /// The newest revision; 0 if there is none.
    pub(super) revision: u32,
    /// The revision that is upgraded, if it is an upgrade.
    pub(super) upgraded: Option<&'a Release>,
    /// Whether some revision was complete, definitions included.
    pub(super) was_complete: bool,
}

impl Plan {
    pub(super) fn of(release: Release) -> Self {
        Self { release, of: None }
    }

    /// Whether a release that was left pending is the one that is wanted.
    pub(super) fn is_pending_as(&self, pending: &Release) -> bool {
        match &self.of {
            Some((chart, values)) => pending.is_of(chart, values),
            None => {
                let aim = |release: &Release| (release.info.status, release.info.description.clone());
                aim(pending) == aim(&self.release)
            }
        }
    }
}

impl Work<'_> {
    /// Renders a chart into a pending release.
    pub(super) async fn prepare(
        &self,
        name: &str,
        chart: &Chart,
        given: &Values,
        prior: Prior<'_>,
    ) -> Result<Plan, ActionError> {
        let base = prior.upgraded;
        let is_upgrade = base.is_some();
        let (chart, values) = match base {
            Some(base) => with_prior_values(chart, given, base, self.options.prior_values),
            None => (chart.clone(), given.clone()),
        };
        let mut kinds = self.kinds.clone();
        // Later revisions leave definitions alone, as Helm does; but of a first one that was cut short they may be missing.
        let crds: Vec<String> = match prior.was_complete || self.options.skip_crds {
            true => Vec::new(),
            false => definitions(&chart),
        };
        for definition in &crds {
            kinds.define(&object::parse(definition).map_err(ActionError::Manifest)?);
        }
        let revision = prior.revision + 1;
        let release = render::Release {
            name: name.to_owned(),
            namespace: self.options.namespace.clone(),
            revision: u64::from(revision),
            is_upgrade,
        };
        let rendered = self.render(chart.clone(), values.clone(), release, kinds).await?;
        let mut manifests = rendered.manifests()?;
        self.label(&mut manifests)?;
        let now = self.now();
        let first = base.and_then(|base| base.info.first_deployed).unwrap_or(now);
        let (description, status) = match is_upgrade {
            true => ("Preparing upgrade", Status::PendingUpgrade),
            false => ("Initial install underway", Status::PendingInstall),
        };
        let mut labels = base.map(|base| base.labels.clone()).unwrap_or_default();
        labels.extend(self.options.record_labels.clone());
        let release = Release {
            name: name.to_owned(),
            info: Info {
                first_deployed: Some(first),
                last_deployed: Some(now),
                description: description.to_owned(),
                status,
                notes: manifests.notes.clone(),
                ..Info::default()
            },
            chart: release::stored(&rendered.chart),
            config: values.clone(),
            manifest: manifests.manifest(),
            hooks: manifests.hooks.into_iter().map(Hook::from).collect(),
            revision,
            namespace: self.options.namespace.clone(),
            apply_method: APPLY_METHOD.to_owned(),
            given: self.options.given.clone(),
            pending: Pending { crds, ..Pending::default() },
            labels,
            operator: None,
            secret_version: None,
            generations: BTreeMap::new(),
            rest: serde_json::Map::new(),
        };
        Ok(Plan { release, of: Some((chart, values)) })
    }

    /// Rendering is work for a CPU, and may ask the cluster: it has a thread of its own.
    async fn render(
        &self,
        chart: Chart,
        values: Values,
        release: render::Release,
        kinds: Kinds,
    ) -> Result<Rendered, ActionError> {
        let now: Timestamp = self.now();
        let capabilities = kinds.capabilities();
        let cluster = Live { kinds, cluster: self.cluster.clone(), handle: Handle::current() };
        let rendering = tokio::task::spawn_blocking(move || {
            let surroundings = Surroundings { now, random: &SystemRandom, cluster: &cluster };
            render::render(&chart, &values, &release, &capabilities, &surroundings)
        });
        Ok(rendering.await.map_err(|error| ActionError::Interrupted(error.to_string()))??)
    }

    fn label(&self, manifests: &mut Manifests) -> Result<(), ActionError> {
        if self.options.labels.is_empty() {
            return Ok(());
        }
        let hooks = manifests.hooks.iter_mut().map(|hook| &mut hook.document);
        for document in manifests.documents.iter_mut().chain(hooks) {
            let labelled = object::labelled(&document.text, &self.options.labels);
            document.text =
                labelled.map_err(|reason| ActionError::Manifest(format!("{}: {reason}", document.source)))?;
        }
        Ok(())
    }

    /// Checks all that can be checked, and only then writes the pending record.
    pub(super) async fn record(&mut self, plan: Plan) -> Result<Release, ActionError> {
        let mut release = plan.release;
        self.define(&release)?;
        self.records.check(&release)?;
        let objects = self.kinds.objects(&release)?;
        for hook in &release.hooks {
            self.kinds.locate_all(&hook.manifest, &release.namespace)?;
        }
        let (before, _) = self.objects_before(&release).await?;
        self.check_owners(&release, &objects, &before).await?;
        if self.options.create_namespace {
            self.create_namespace().await?;
        }
        self.prune(&release, &objects).await?;
        match self.records.create(&mut release, self.now()).await {
            Err(error) if error.is_conflict() => Err(ActionError::Busy {
                name: release.name,
                revision: release.revision,
                status: release.info.status.name(),
                since: self.now().to_string(),
            }),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(release),
        }
    }

    /// Learns the kinds that a release is about to define.
    pub(super) fn define(&mut self, release: &Release) -> Result<(), ActionError> {
        for definition in &release.pending.crds {
            self.kinds.define(&object::parse(definition).map_err(ActionError::Manifest)?);
        }
        Ok(())
    }

    async fn create_namespace(&self) -> Result<(), ActionError> {
        let name = &self.options.namespace;
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"name": name}}});
        let reference = Box::new(ObjectRef::of(&object));
        let namespace: Namespace =
            serde_json::from_value(object).map_err(|error| ActionError::Manifest(error.to_string()))?;
        let api: Api<Namespace> = Api::all(self.cluster.client.clone());
        let failed = |verb, error| ActionError::Api { verb, object: reference.clone(), source: Box::new(error) };
        if api.get_opt(name).await.map_err(|error| failed("read", error))?.is_some() {
            return Ok(());
        }
        let params = PostParams { field_manager: Some(self.cluster.manager.clone()), ..PostParams::default() };
        match api.create(&params, &namespace).await {
            Err(error) if !is_conflict(&error) => Err(failed("create", error)),
            _ => Ok(()),
        }
    }
}

/// What a chart has under `crds/`.
pub(super) fn definitions(chart: &Chart) -> Vec<String> {
    chart.crds().iter().map(|file| String::from_utf8_lossy(&file.content).into_owned()).collect()
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

/// A chart and the values to render it with, considering those of the revision before.
fn with_prior_values(chart: &Chart, given: &Values, before: &Release, prior: PriorValues) -> (Chart, Values) {
    let mut chart = chart.clone();
    let over_prior = || {
        let mut values = before.config.clone();
        values::merge(&mut values, given.clone());
        values
    };
    let values = match prior {
        PriorValues::IfNoneGiven if given.is_empty() => before.config.clone(),
        PriorValues::Reset | PriorValues::IfNoneGiven => given.clone(),
        PriorValues::ResetThenReuse => over_prior(),
        PriorValues::Reuse => {
            let defaults = before.chart.get("values").cloned().unwrap_or_default();
            let mut defaults = defaults.as_object().cloned().unwrap_or_default();
            defaults.values_mut().for_each(values::floats);
            values::merge(&mut defaults, before.config.clone());
            chart.values = defaults;
            over_prior()
        }
    };
    (chart, values)
}

/// The cluster that `lookup` asks.
struct Live {
    kinds: Kinds,
    cluster: Cluster,
    handle: Handle,
}

impl render::Cluster for Live {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Json>, String> {
        let served = self.kinds.find(api_version, kind);
        let served = served.ok_or_else(|| format!("the cluster knows no kind {kind} of {api_version}"))?;
        let client = self.cluster.client.clone();
        let api: Api<DynamicObject> = match namespace {
            "" => Api::all_with(client, &served.resource),
            _ if !served.is_namespaced => Api::all_with(client, &served.resource),
            namespace => Api::namespaced_with(client, namespace, &served.resource),
        };
        // Of an object, or of a kind that is about to be defined.
        let found = |error: kube::Error| match error {
            kube::Error::Api(status) if status.code == 404 => Ok(None),
            kube::Error::Api(status) => Err(status.message),
            other => Err(other.to_string()),
        };
        self.handle.block_on(async {
            if !name.is_empty() {
                return match api.get(name).await {
                    Ok(object) => serde_json::to_value(object).map(Some).map_err(|error| error.to_string()),
                    Err(error) => found(error),
                };
            }
            let mut list = match api.list(&ListParams::default()).await {
                Ok(listed) => serde_json::to_value(listed).map_err(|error| error.to_string())?,
                Err(error) => return found(error),
            };
            list["apiVersion"] = api_version.into();
            list["kind"] = format!("{kind}List").into();
            Ok(Some(list))
        })
    }
}
