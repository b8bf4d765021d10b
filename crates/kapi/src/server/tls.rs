//! The server's TLS: its own certificate, and client certificates that are judged per request.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};

/// What the server shows, PEM.
#[derive(Clone)]
pub struct Identity {
    /// The server's certificate, and its chain if any.
    pub certificate: String,
    /// Its private key.
    pub key: pki::Secret,
}

/// The server's TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM document cannot be read.
    #[error("cannot read the {what}: {detail}")]
    Pem {
        /// Which one.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// Certificate and key do not fit.
    #[error("the TLS configuration is unusable")]
    Config(#[source] rustls::Error),
}

pub(super) fn server_config(identity: &Identity) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let asking = Arc::new(Asking { provider: Arc::clone(&provider) });
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose().as_bytes())
        .map_err(|error| TlsError::Pem { what: "server key", detail: error.to_string() })?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Config)?
        .with_client_cert_verifier(asking)
        .with_single_cert(certificates("server certificate", &identity.certificate)?, key)
        .map_err(TlsError::Config)?;
    // Clients keep their connections, so nobody takes up a session again, and remembering them costs more than the API.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(super::with_protocols(config))
}

fn certificates(what: &'static str, pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Pem { what, detail: error.to_string() })
}

/// Asks for a client certificate, checks that the client holds its key, and leaves the judgement to authentication, so
/// that an expired certificate is a 401 that says so and not a broken connection.
#[derive(Debug)]
struct Asking {
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Asking {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
