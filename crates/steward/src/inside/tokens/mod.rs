//! Bootstrap tokens: one of ours is there while machines are to join, and none otherwise.
//!
//! Its signature on `cluster-info` is written along with it. kube-controller-manager's bootstrapsigner would write the
//! same bytes; where none runs, `kubeadm join` works too.

mod join;
mod plan;
mod signature;
mod token;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use pki::KeySource;
use runtime::Failure;
use serde_json::json;

pub use self::join::JoinMaterial;
use self::plan::{Plan, Step, plan};
use self::token::{LABEL, Token};
use super::kubeadm::{CLUSTER_INFO, discovery_kubeconfig};
use super::objects::{PUBLIC, SYSTEM};
use super::{Error, Tenant};

/// Owns the tokens, and their signatures apart from the rest of `cluster-info`.
const MANAGER: &str = "steward-tokens";

/// What machines that are to join need to know, and when to look again.
#[derive(Clone, Debug)]
pub struct Joining {
    /// What a machine needs to join; nothing when none is to.
    pub material: Option<JoinMaterial>,
    /// When there will be something to do; never when no machine is to join.
    pub look_again: Option<Timestamp>,
}

/// Makes sure that a token is there while machines are to join, and gone afterwards. Can be repeated at any time, and
/// taken up after any failure.
pub async fn sync(
    client: &Client,
    tenant: &Tenant,
    joining_until: Option<Timestamp>,
    now: Timestamp,
    keys: &(dyn KeySource + Sync),
) -> Result<Joining, Failure> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), SYSTEM);
    let ours = ListParams::default().labels(LABEL);
    let held = secrets.list(&ours).await.map_err(|error| cannot("list bootstrap tokens", error))?;
    let mut tokens = Vec::new();
    let mut unreadable = Vec::new();
    for secret in held.items {
        match Token::read(&secret) {
            Some(token) => tokens.push(token),
            None => unreadable.extend(secret.metadata.name),
        }
    }
    let Plan { step, remove, look_again } = plan(&tokens, joining_until, now);
    let is_kept = matches!(step, Step::Keep { .. });
    let token = match step {
        Step::None => None,
        Step::Create { expires_at } => Some(Token::new(expires_at, keys)?),
        Step::Keep { id } => tokens.iter().find(|token| token.id == id).cloned(),
        Step::Extend { id, expires_at } => {
            tokens.iter().find(|token| token.id == id).map(|token| Token { expires_at, ..token.clone() })
        }
    };
    if let Some(token) = token.as_ref().filter(|_| !is_kept) {
        write(&secrets, token).await?;
    }
    // Before a token goes: as long as it is there, its signature is known to be there.
    if token.is_some() || !remove.is_empty() {
        sign(client, tenant, token.as_ref()).await?;
    }
    for name in remove.iter().map(|id| token::secret_name(id)).chain(unreadable) {
        delete(&secrets, &name).await?;
    }
    let material = token.map(|token| JoinMaterial::new(tenant, &token)).transpose()?;
    Ok(Joining { material, look_again })
}

async fn write(secrets: &Api<Secret>, token: &Token) -> Result<(), Failure> {
    let params = PatchParams::apply(MANAGER).force();
    let written = secrets.patch(&token::secret_name(&token.id), &params, &Patch::Apply(token.secret())).await;
    written.map(drop).map_err(|error| cannot("write a bootstrap token", error))
}

/// Signs `cluster-info` with this token alone; signatures of tokens before it go.
async fn sign(client: &Client, tenant: &Tenant, token: Option<&Token>) -> Result<(), Failure> {
    let mut info = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CLUSTER_INFO}});
    if let Some(token) = token {
        let signature = signature::detached(&discovery_kubeconfig(tenant)?, token);
        info["data"] = json!({format!("jws-kubeconfig-{}", token.id): signature});
    }
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), PUBLIC);
    let params = PatchParams::apply(MANAGER).force();
    let signed = config_maps.patch(CLUSTER_INFO, &params, &Patch::Apply(info)).await;
    signed.map(drop).map_err(|error| cannot("sign cluster-info", error))
}

async fn delete(secrets: &Api<Secret>, name: &str) -> Result<(), Failure> {
    match secrets.delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(cannot("remove a bootstrap token", error)),
    }
}

fn cannot(what: &str, error: kube::Error) -> Failure {
    let failure = Failure::from(error);
    Failure { message: format!("cannot {what} in the tenant: {}", failure.message), ..failure }
}
