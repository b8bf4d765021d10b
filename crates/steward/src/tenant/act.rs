//! Doing what a plan says.

use std::collections::BTreeMap;
use std::time::Duration;

use butler_api::shared::{Blocker, BlockerOwner};
use butler_api::steward::TenantControlPlane;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use pki::PkiError;
use runtime::{Failure, Retry, add_finalizer, remove_finalizer};

use super::TenantController;
use super::client::client;
use super::observed::{Observed, Shared, Store};
use super::plan::{Step, store_authority};
use super::report::Done;
use super::{joining, route, support};
use crate::credentials::{ISSUED_FOR, Issued, Issuer, Leaf, NOT_AFTER, RENEW_AT, Root, Roots};
use crate::inside;
use crate::names;
use crate::store::StoreError;
use crate::workload::metadata;

/// What is put into a tenant takes a fraction of a second.
const CONFIGURE_TIMEOUT: Duration = Duration::from_secs(20);

/// A node port that another Service has.
const PORT_TAKEN: &str = "PortTaken";

impl TenantController {
    /// Does one step. Says whether anything was written.
    pub(super) async fn act(&self, observed: &Observed, step: &Step, done: &mut Done) -> Result<bool, Failure> {
        let namespace = observed.namespace();
        let tenants: Api<TenantControlPlane> = self.applier.api(namespace);
        match step {
            Step::Hold => {
                let written = add_finalizer(&tenants, &*observed.tenant, names::FINALIZER).await?;
                Ok(written.map(|object| self.tenants.wrote(object)).is_some())
            }
            Step::Release => {
                self.forget(observed);
                remove_finalizer(&tenants, &*observed.tenant, names::FINALIZER).await.map(|()| false)
            }
            Step::MakeRoot(root) => {
                let data = root.generate(observed.now, &*self.settings.keys).map_err(|error| unmade(&error))?;
                self.create_root(observed, *root, data).await
            }
            Step::RestoreRoot(root) => {
                let rescue = observed.secret(&root.rescue_name(observed.name()));
                let data = rescue.and_then(|rescue| rescue.data.clone()).unwrap_or_default();
                self.create_root(observed, *root, data).await
            }
            Step::RescueRoot(root) => {
                let data = observed.root(*root).and_then(|secret| secret.data.clone());
                let metadata = self.metadata(observed, &root.rescue_name(observed.name()))?;
                self.create(Secret { metadata, data, ..Secret::default() }).await
            }
            Step::ReleaseRoot(root) => match observed.root(*root) {
                Some(secret) => {
                    let secrets: Api<Secret> = self.applier.api(namespace);
                    remove_finalizer(&secrets, secret, names::KEEP).await.map(|()| false)
                }
                None => Ok(false),
            },
            Step::DropRescue(root) => match observed.secret(&root.rescue_name(observed.name())) {
                Some(secret) => self.applier.delete(&self.applier.api(namespace), secret).await.map(|()| false),
                None => Ok(false),
            },
            Step::Issue(leaf) => self.issue(observed, leaf).await,
            Step::Service(service) => {
                let key = runtime::Key::of(&**service);
                let written = self.applier.apply(self.services.get(&key).as_deref(), (**service).clone()).await;
                let written =
                    written.map_err(|failure| match failure.message.contains("port is already allocated") {
                        // Whoever has it may let it go.
                        true => Failure { retry: Retry::Backoff, reason: PORT_TAKEN, ..failure },
                        false => failure,
                    })?;
                Ok(written.map(|object| self.services.wrote(object)).is_some())
            }
            Step::Ingress(ingress) => {
                let written = self.applier.apply(observed.ingress.as_deref(), (**ingress).clone()).await?;
                Ok(written.map(|object| self.ingresses.wrote(object)).is_some())
            }
            Step::DropIngress => match &observed.ingress {
                Some(ingress) => self.applier.delete(&self.applier.api(namespace), &**ingress).await.map(|()| false),
                None => Ok(false),
            },
            Step::Route(route) => self.publish(observed, route, done).await,
            Step::DropRoute(route) => self.unpublish(observed, route, done).await,
            Step::Deployment(deployment) => {
                let written = self.applier.apply(observed.deployment.as_deref(), (**deployment).clone()).await?;
                Ok(written.map(|object| self.deployments.wrote(object)).is_some())
            }
            Step::StatefulSet(members) => {
                let written = self.applier.apply(observed.etcd.stateful_set.as_deref(), (**members).clone()).await?;
                Ok(written.map(|object| self.stateful_sets.wrote(object)).is_some())
            }
            Step::Budget(budget) => {
                let written = self.applier.apply(observed.budget.as_deref(), (**budget).clone()).await?;
                Ok(written.map(|object| self.budgets.wrote(object)).is_some())
            }
            Step::DropBudget => match &observed.budget {
                Some(budget) => self.applier.delete(&self.applier.api(namespace), &**budget).await.map(|()| false),
                None => Ok(false),
            },
            Step::SetUpStore | Step::ClearStore => {
                self.change_store(observed, step, done).await;
                Ok(false)
            }
            Step::SetUpOverride(store) | Step::ClearOverride(store) => {
                self.change_override(observed, step, store, done).await;
                Ok(false)
            }
            Step::Configure(wanted) => {
                let client = client(observed, &self.settings.ways)?;
                let applied = tokio::time::timeout(CONFIGURE_TIMEOUT, inside::apply(&client, wanted)).await;
                let slow = || Failure::new(Retry::Backoff, "TenantUnreachable", "the tenant's API answers too slowly");
                done.configured = Some(applied.map_err(|_| slow())??);
                Ok(false)
            }
            Step::Join { tenant, until } => self.join(observed, tenant, *until).await,
            Step::DropDeployment => match &observed.deployment {
                Some(deployment) => self.drop_with_pods(&**deployment).await,
                None => Ok(false),
            },
            Step::DropEtcd => match &observed.etcd.stateful_set {
                Some(members) => self.drop_with_pods(&**members).await,
                None => self.drop_claims(observed).await,
            },
        }
    }

    async fn create_root(
        &self,
        observed: &Observed,
        root: Root,
        data: BTreeMap<String, ByteString>,
    ) -> Result<bool, Failure> {
        let mut metadata = self.metadata(observed, &root.secret_name(observed.name()))?;
        metadata.finalizers = Some(vec![names::KEEP.to_owned()]);
        self.create(Secret { metadata, data: Some(data), ..Secret::default() }).await
    }

    /// Creates a Secret that must not be there yet: what is there is never overwritten.
    async fn create(&self, secret: Secret) -> Result<bool, Failure> {
        let api: Api<Secret> = self.applier.api(secret.namespace().as_deref().unwrap_or_default());
        let params = PostParams { field_manager: Some(names::MANAGER.to_owned()), ..PostParams::default() };
        self.secrets.wrote(api.create(&params, &secret).await?);
        Ok(true)
    }

    async fn issue(&self, observed: &Observed, leaf: &Leaf) -> Result<bool, Failure> {
        let Some(roots) = Roots::open(|root| observed.root(root)) else { return Ok(false) };
        let Ok(store) = store_authority(observed) else { return Ok(false) };
        let issuer = Issuer { roots: &roots, store: store.as_ref(), lifetime: observed.leaf_lifetime };
        let Issued { annotations, data } =
            issuer.issue(leaf, observed.now, &*self.settings.keys).map_err(|error| unmade(&error))?;
        let mut metadata = self.metadata(observed, &leaf.secret_name)?;
        metadata.annotations = Some(annotations);
        let secret = Secret { metadata, data: Some(data), ..Secret::default() };
        let written = self.applier.apply(None, secret).await?;
        Ok(written.map(|object| self.secrets.wrote(object)).is_some())
    }

    /// Keeps a token in the tenant and what belongs to it beside the control plane, or removes both.
    async fn join(
        &self,
        observed: &Observed,
        tenant: &inside::Tenant,
        until: Option<Timestamp>,
    ) -> Result<bool, Failure> {
        let client = client(observed, &self.settings.ways)?;
        let joining = inside::tokens::sync(&client, tenant, until, observed.now, &*self.settings.keys).await?;
        let name = joining::secret_name(observed.name());
        let Some(material) = joining.material else {
            if let Some(secret) = observed.secret(&name) {
                self.applier.delete(&self.applier.api(observed.namespace()), secret).await?;
            }
            return Ok(false);
        };
        let mut metadata = self.metadata(observed, &name)?;
        let look_again = joining.look_again.unwrap_or(material.expires_at);
        let annotations = [
            (ISSUED_FOR, joining::digest(tenant, until)),
            (RENEW_AT, look_again.to_string()),
            (NOT_AFTER, material.expires_at.to_string()),
        ];
        metadata.annotations = Some(annotations.map(|(name, value)| (name.to_owned(), value)).into());
        let command = material.command();
        let data = [
            ("endpoint", material.endpoint.as_str()),
            ("token", material.token.expose()),
            ("ca-cert-hashes", &material.ca_hashes.join(",")),
            ("command", command.expose()),
        ]
        .map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec())));
        let secret = Secret { metadata, data: Some(data.into()), ..Secret::default() };
        let written = self.applier.apply(None, secret).await?;
        Ok(written.map(|object| self.secrets.wrote(object)).is_some())
    }

    /// Makes or removes a place in the shared store. A store that does not answer is said, and asked again later.
    async fn change_store(&self, observed: &Observed, step: &Step, done: &mut Done) {
        let Store::Shared(shared) = &observed.store else { return };
        match (self.change_place(observed, shared, *step == Step::SetUpStore).await, step) {
            (Ok(()), Step::SetUpStore) => done.store_set_up = true,
            (Ok(()), _) => done.store_cleared = true,
            (Err(error), _) => done.blockers.push(support::store_trouble(&error)),
        }
    }

    /// The same in a store of single resources.
    async fn change_override(&self, observed: &Observed, step: &Step, store: &str, done: &mut Done) {
        let is_made = matches!(step, Step::SetUpOverride(_));
        let outcome = match observed.overrides.get(store) {
            Some(Ok(shared)) => self.change_place(observed, shared, is_made).await,
            Some(Err(error)) => Err(error.clone()),
            None => return,
        };
        match outcome {
            Ok(()) if is_made => drop(done.overrides_set_up.insert(store.to_owned())),
            Ok(()) => drop(done.overrides_cleared.insert(store.to_owned())),
            Err(error) => done.blockers.push(support::store_trouble(&error)),
        }
    }

    async fn change_place(&self, observed: &Observed, shared: &Shared, is_made: bool) -> Result<(), StoreError> {
        let (driver, place) = (self.drivers.get(shared.kind)?, observed.place());
        match is_made {
            true => driver.ensure(&shared.access, &place).await,
            false => driver.remove(&shared.access, &place).await,
        }
    }

    /// Deletes what pods belong to, and it only after them.
    async fn drop_with_pods<K>(&self, object: &K) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + serde::de::DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        if object.meta().deletion_timestamp.is_some() {
            return Ok(false);
        }
        let api: Api<K> = self.applier.api(object.namespace().as_deref().unwrap_or_default());
        match api.delete(&object.name_any(), &DeleteParams::foreground()).await {
            Ok(_) => Ok(false),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn drop_claims(&self, observed: &Observed) -> Result<bool, Failure> {
        let api: Api<PersistentVolumeClaim> = self.applier.api(observed.namespace());
        for claim in self.etcd_claims(observed.namespace(), observed.name()) {
            self.applier.delete(&api, &*claim).await?;
        }
        Ok(false)
    }

    fn metadata(&self, observed: &Observed, name: &str) -> Result<ObjectMeta, Failure> {
        let owner = observed
            .tenant
            .controller_owner_ref(&())
            .ok_or_else(|| Failure::new(Retry::Soon, "Conflict", "the control plane has no UID yet"))?;
        let mut labels = names::labels(observed.name(), "credentials");
        // Cluster API finds its Secrets by this label.
        let cluster = observed.tenant.labels().get(names::CLUSTER_NAME);
        labels.extend(cluster.map(|cluster| (names::CLUSTER_NAME.to_owned(), cluster.clone())));
        Ok(metadata(observed.namespace(), name, labels, &owner))
    }
}

fn unmade(error: &PkiError) -> Failure {
    Failure::new(Retry::Backoff, "KeyGeneration", "keys or certificates cannot be made").caused_by(error.clone())
}

/// A failed pass as a blocker.
pub(super) fn failed(observed: &Observed, failure: &Failure) -> Blocker {
    match failure.reason {
        PORT_TAKEN => return support::port_taken(observed, &failure.message),
        route::UNKNOWN => return support::route_unknown(&failure.message),
        _ => {}
    }
    Blocker {
        reason: failure.reason.to_owned(),
        message: failure.message.clone(),
        evidence: Vec::new(),
        owner: Some(match failure.retry {
            Retry::Terminal => BlockerOwner::User,
            Retry::Soon | Retry::Backoff => BlockerOwner::Butler,
        }),
        remedy: (failure.retry == Retry::Terminal).then(|| "correct what the message names".to_owned()),
        since: None,
    }
}
