//! Talking to a tenant.

use base64::Engine as _;
use k8s_openapi::api::core::v1::Secret;
use kube::{Client, Config};
use runtime::{Failure, Patience, Retry, Ways};
use serde_json::Value;

use super::leaves::admin_secret;
use super::observed::Observed;
use crate::credentials::text;

/// A client for the tenant with rights that no RBAC in it can take away, through the Service inside the management cluster.
pub(super) fn client(observed: &Observed, ways: &Ways) -> Result<Client, Failure> {
    let secret = observed.secret(&admin_secret(observed.name()));
    let found = secret.and_then(|secret| credentials(secret).zip(observed.cluster_address()));
    let Some(((authority, certificate, key), address)) = found else {
        return Err(Failure::new(Retry::Soon, "Conflict", "the administrator's kubeconfig is not there yet"));
    };
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let url = format!("https://{host}:{}", observed.tenant.spec.network_profile.port);
    let unusable =
        |what: &str| Failure::new(Retry::Backoff, "TenantUnreachable", format!("the tenant's {what} is unusable"));
    let mut config = Config::new(url.parse().map_err(|_| unusable("address"))?);
    let authorities = pki::Certificate::all_from_pem(&authority).map_err(|_| unusable("authority"))?;
    config.root_cert = Some(authorities.iter().map(|certificate| certificate.der().to_vec()).collect());
    config.auth_info.client_certificate_data = Some(certificate);
    config.auth_info.client_key_data = Some(key.into());
    // Its answers are small and near.
    config.disable_compression = true;
    ways.patient_client(config, &Patience::default())
}

/// Authority as PEM, certificate and key as base64, out of the kubeconfig.
fn credentials(secret: &Secret) -> Option<(String, String, String)> {
    let kubeconfig: Value = kernel::yaml::from_str(text(secret, "super-admin.conf")?).ok()?;
    let field = |pointer: &str| kubeconfig.pointer(pointer)?.as_str().map(str::to_owned);
    let authority = field("/clusters/0/cluster/certificate-authority-data")?;
    let authority = base64::engine::general_purpose::STANDARD.decode(authority).ok()?;
    let certificate = field("/users/0/user/client-certificate-data")?;
    Some((String::from_utf8(authority).ok()?, certificate, field("/users/0/user/client-key-data")?))
}
