//! How machines join that no bootstrap provider of Cluster API invites: where the cluster is, whom to trust, and a token.
//!
//! Each pool of such machines has a Secret with it among the internals. Its token is the same all the time, so that what
//! machines boot stays the same; it is valid only while machines of the pool are to join.

use std::collections::BTreeMap;

use capi::names::labels::DEPLOYMENT_NAME;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use machine_os::{Join, TalosAuthority};
use pki::{Authority, BootstrapToken, Certificate, PkiError, Subject, SystemKeys};

use super::observed::{Observed, is_settled};
use crate::names;

/// How long a token lives: a machine that boots slowly still joins, a token that leaks is soon worthless.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// A token is renewed when it has less left: whoever starts to join now has this much time.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_mins(20);
/// Nobody but machines of the same pool trusts it.
const TALOS_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 3650);

/// Where a cluster is, and whom to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    host: String,
    port: u16,
    ca_pem: String,
}

/// What machines of a pool need to join.
#[derive(Clone, Debug)]
pub(crate) struct Invitation {
    place: Place,
    token: BootstrapToken,
    expires: Timestamp,
    talos: Option<Talos>,
}

/// The authority of Talos' own API on the machines of a pool.
#[derive(Clone, Debug)]
struct Talos {
    certificate: String,
    key: pki::Secret,
    token: pki::Secret,
}

/// When an invitation has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Now.
    Now,
    /// Then, unless nobody is to join any more by then.
    At(Timestamp),
    /// When something changes.
    Unknown,
}

/// When the invitation of a pool has to be written. Pure.
pub(super) fn due(observed: &Observed, pool: &str) -> Due {
    let known = known(observed, pool);
    let Some(place) = place(observed).filter(|_| observed.answers()) else { return Due::Unknown };
    let Some(known) = known.filter(|known| known.place == place) else { return Due::Now };
    if !is_joining(observed, pool) {
        return Due::Unknown;
    }
    match known.expires.saturating_sub(RENEW_BEFORE) {
        Ok(at) if at > observed.now => Due::At(at),
        _ => Due::Now,
    }
}

/// The invitation of a pool, if it is written.
pub(crate) fn known(observed: &Observed, pool: &str) -> Option<Invitation> {
    Invitation::read(observed.secrets.get(&names::join(pool))?)
}

fn place(observed: &Observed) -> Option<Place> {
    let endpoint =
        observed.capi.as_ref()?.spec.control_plane_endpoint.as_ref().filter(|known| !known.host.is_empty())?;
    let authority = observed.secrets.get(&capi::names::secrets::authority(&observed.name()))?;
    let ca_pem = text(authority.data.as_ref()?, "tls.crt")?;
    Some(Place { host: endpoint.host.clone(), port: u16::try_from(endpoint.port).ok()?, ca_pem })
}

/// Whether a machine of the pool is to join, or may be made soon.
fn is_joining(observed: &Observed, pool: &str) -> bool {
    let is_waiting = |machine: &capi::core::Machine| {
        let has_joined = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
        machine.labels().get(DEPLOYMENT_NAME).map(String::as_str) == Some(pool)
            && machine.metadata.deletion_timestamp.is_none()
            && !has_joined
    };
    observed.deployments.get(pool).is_none_or(|deployment| !is_settled(deployment))
        || observed.machines.iter().any(|machine| is_waiting(machine))
}

impl Invitation {
    /// What to write for a pool: with the token it has, or a new one, valid from now on.
    pub(super) fn renewed(observed: &Observed, pool: &str, is_talos: bool) -> Result<Option<Self>, PkiError> {
        let Some(place) = place(observed) else { return Ok(None) };
        let (token, talos) = known(observed, pool).map_or((None, None), |known| (Some(known.token), known.talos));
        let token = token.map_or_else(|| BootstrapToken::generate(&SystemKeys), Ok)?;
        let talos = match talos {
            None if is_talos => Some(Talos::generate(observed.now)?),
            known => known,
        };
        let expires = observed.now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        Ok(Some(Self { place, token, expires, talos }))
    }

    /// What machines are told.
    pub(crate) fn join(&self) -> Join {
        let Place { host, port, ca_pem } = self.place.clone();
        Join { host, port, ca_pem, token: self.token.text() }
    }

    /// What Talos machines are told beside.
    pub(crate) fn talos(&self) -> Option<TalosAuthority> {
        let talos = self.talos.as_ref()?;
        Some(TalosAuthority { ca_pem: talos.certificate.clone(), token: talos.token.clone() })
    }

    /// The Secret of the invitation.
    pub(super) fn data(&self) -> BTreeMap<String, ByteString> {
        let Place { host, port, ca_pem } = &self.place;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let pins = Certificate::all_from_pem(ca_pem).unwrap_or_default();
        let pins: Vec<String> = pins.iter().map(|authority| authority.public_key().pin()).collect();
        let mut data = vec![
            ("token", self.token.text().expose().to_owned()),
            ("expiration", self.expires.to_string()),
            ("endpoint", format!("{host}:{port}")),
            ("ca.crt", ca_pem.clone()),
            ("ca-hash", pins.join("\n")),
        ];
        if let Some(talos) = &self.talos {
            data.push(("talos-ca.crt", talos.certificate.clone()));
            data.push(("talos-ca.key", talos.key.expose().to_owned()));
            data.push(("talos-token", talos.token.expose().to_owned()));
        }
        data.into_iter().map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes()))).collect()
    }

    /// The token in the cluster, as Kubernetes looks for it.
    pub(super) fn token(&self) -> Secret {
        let name = BootstrapToken::secret_name(&self.token.id);
        let data = [
            ("auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token".to_owned()),
            ("description", "Lets the machines of a pool join. Renewed while some are to.".to_owned()),
            ("expiration", self.expires.to_string()),
            ("token-id", self.token.id.clone()),
            ("token-secret", self.token.secret.expose().to_owned()),
            ("usage-bootstrap-authentication", "true".to_owned()),
            ("usage-bootstrap-signing", "true".to_owned()),
        ];
        let mut secret = Secret { type_: Some("bootstrap.kubernetes.io/token".to_owned()), ..Secret::default() };
        secret.metadata.name = Some(name);
        secret.data = Some(data.map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes()))).into());
        secret
    }

    fn read(secret: &Secret) -> Option<Self> {
        let data = secret.data.as_ref()?;
        let (host, port) =
            text(data, "endpoint")?.rsplit_once(':').map(|(host, port)| (host.to_owned(), port.to_owned()))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let place = Place { host, port: port.parse().ok()?, ca_pem: text(data, "ca.crt")? };
        let (id, own) = text(data, "token")?.split_once('.').map(|(id, own)| (id.to_owned(), own.to_owned()))?;
        let talos = || {
            let (key, token) = (text(data, "talos-ca.key")?, text(data, "talos-token")?);
            let certificate = text(data, "talos-ca.crt")?;
            Some(Talos { certificate, key: pki::Secret::new(key), token: pki::Secret::new(token) })
        };
        let expires = text(data, "expiration")?.parse().ok()?;
        Some(Self { place, token: BootstrapToken::from_parts(&id, &own)?, expires, talos: talos() })
    }
}

impl Talos {
    fn generate(now: Timestamp) -> Result<Self, PkiError> {
        let validity = pki::validity_from(now, TALOS_LIFETIME);
        let authority = Authority::without_alt_names(&Subject::named("talos"), validity, &SystemKeys)?;
        let token = BootstrapToken::generate(&SystemKeys)?.text();
        Ok(Self { certificate: authority.certificate_pem(), key: authority.key_pem().clone(), token })
    }
}

fn text(data: &BTreeMap<String, ByteString>, key: &str) -> Option<String> {
    String::from_utf8(data.get(key)?.0.clone()).ok()
}
