//! Who is trusted to be who they say.

use std::sync::Arc;

use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Trust in the authorities of this machine, which are read once.
#[derive(Default)]
pub(super) struct Trust {
    system: Mutex<Option<Arc<ClientConfig>>>,
}

impl Trust {
    /// Trust in these authorities; without any, in those of this machine.
    pub(super) fn config(&self, authorities: Option<&[u8]>) -> Result<Arc<ClientConfig>, String> {
        if let Some(authorities) = authorities {
            return configured(given(authorities)?);
        }
        let mut system = self.system.lock();
        if let Some(config) = system.as_ref() {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err("this machine trusts no authority; give the repository's CA in a Secret".to_owned());
        }
        let config = configured(roots)?;
        *system = Some(Arc::clone(&config));
        Ok(config)
    }
}

fn given(authorities: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let added = certificate.map_err(|error| error.to_string());
        let added = added.and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
        added.map_err(|error| format!("the CA of the repository cannot be read: {error}"))?;
    }
    if roots.is_empty() {
        return Err("the CA of the repository has no certificate in it; it must be PEM".to_owned());
    }
    Ok(roots)
}

fn configured(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// What went wrong in a handshake, in words that lead further.
pub(super) fn explain(error: &std::io::Error) -> String {
    use rustls::CertificateError::{
        BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext, UnknownIssuer,
    };
    let found = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match found {
        Some(rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature)) => {
            "its certificate is from an authority that is not trusted; give its CA in a Secret".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. })) => {
            "its certificate has expired".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
            "its certificate is for another name".to_owned()
        }
        _ => format!("no TLS connection: {error}"),
    }
}
