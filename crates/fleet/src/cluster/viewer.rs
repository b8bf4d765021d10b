//! The kubeconfig of those who only look, for control planes on machines of their own. Steward makes that of hosted ones.

use butler_api::names::{VIEWER_CONF, viewer_kubeconfig};
use butler_api::viewers;
use capi::names::secrets::authority;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use pki::{ClientProfile, Cluster, Credentials, Kubeconfig, PkiError, Subject, SystemKeys, TrustBundle};
use runtime::Failure;
use serde_json::json;

use super::invitation::Due;
use super::observed::Observed;
use crate::names::MANAGER;

/// As long as the administrator's.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);
const RBAC: &str = "rbac.authorization.k8s.io";

/// When the kubeconfig has to be written. Pure.
pub(super) fn due(observed: &Observed) -> Due {
    if observed.standalone.is_none() || !observed.answers() || signs(observed).is_none() {
        return Due::Unknown;
    }
    match renew_at(observed) {
        Some(at) if at > observed.now => Due::At(at),
        _ => Due::Now,
    }
}

/// Lets viewers in, as far as the cluster's own API is concerned.
pub(super) async fn admit(client: &Client) -> Result<(), Failure> {
    let role = |name: &str| json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": name});
    let subjects = json!([{"apiGroup": RBAC, "kind": "Group", "name": viewers::GROUP}]);
    let api_version = format!("{RBAC}/v1");
    let params = PatchParams::apply(MANAGER).force();
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let name = viewers::CLUSTER_BINDING;
    let rules = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": name},
        "rules": viewers::cluster_rules()});
    roles.patch(name, &params, &Patch::Apply(&rules)).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    for (name, bound) in [(viewers::BINDING, "view"), (viewers::CLUSTER_BINDING, viewers::CLUSTER_BINDING)] {
        let binding = json!({"apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": role(bound), "subjects": subjects});
        bindings.patch(name, &params, &Patch::Apply(&binding)).await?;
    }
    Ok(())
}

/// The kubeconfig, with a new certificate; nothing while it is not known where the cluster is and who signs for it.
pub(super) fn kubeconfig(observed: &Observed) -> Result<Option<String>, PkiError> {
    let Some((server, authority)) = server(observed).zip(signs(observed)) else { return Ok(None) };
    let subject = Subject::named("kubernetes-viewer").organization(viewers::GROUP);
    let profile = ClientProfile { subject, validity: pki::validity_from(observed.now, LIFETIME) };
    let leaf = authority.signing().issue_client(&profile, &SystemKeys)?;
    let cluster = Cluster { server, certificate_authority: Some(authority.pem()), tls_server_name: None };
    let credentials = Credentials::Certificate { certificate: leaf.certificate_pem(), key: leaf.key_pem().clone() };
    let kubeconfig = Kubeconfig::new(&observed.name(), cluster, "kubernetes-viewer", credentials);
    Ok(Some(kubeconfig.to_yaml()?.expose().to_owned()))
}

/// When the kubeconfig that is there is to be renewed; nothing if it is not one of this cluster, as it is now.
fn renew_at(observed: &Observed) -> Option<Timestamp> {
    let secret = observed.secrets.get(&viewer_kubeconfig(&observed.name()))?;
    let known = Kubeconfig::from_yaml(&text(secret, VIEWER_CONF)?).ok()?;
    let authority = signs(observed).map(|authority| authority.pem());
    let is_current =
        Some(&known.cluster.server) == server(observed).as_ref() && known.cluster.certificate_authority == authority;
    let certificate = known.certificate().filter(|_| is_current)?;
    Some(pki::renew_at(certificate.not_before(), certificate.not_after()))
}

fn server(observed: &Observed) -> Option<String> {
    let endpoint = observed.capi.as_ref()?.spec.control_plane_endpoint.as_ref()?;
    let host = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
    (!host.is_empty()).then(|| format!("https://{host}:{}", endpoint.port))
}

/// Who signs for the cluster. Where its key is kept elsewhere, nobody here does.
fn signs(observed: &Observed) -> Option<TrustBundle> {
    let secret = observed.secrets.get(&authority(&observed.name()))?;
    TrustBundle::from_pem(&text(secret, "tls.crt")?, &text(secret, "tls.key")?).ok()
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let ByteString(bytes) = secret.data.as_ref()?.get(key)?;
    String::from_utf8(bytes.clone()).ok()
}
