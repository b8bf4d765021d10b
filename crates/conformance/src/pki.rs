//! The few certificates the suite needs: a CA, servers and clients.

use std::fmt;
use std::sync::Arc;

use anyhow::Context as _;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// A certificate and its key, both PEM.
#[derive(Clone, Debug)]
pub struct Pem {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A certificate authority that signs.
#[derive(Clone)]
pub struct Authority {
    /// PEM of the certificate and key.
    pub pem: Pem,
    issuer: Arc<Issuer<'static, KeyPair>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

/// What a client certificate says.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The user's group.
    pub group: &'a str,
    /// Already ended.
    pub expired: bool,
    /// Usable for servers only.
    pub server_usage: bool,
}

impl Authority {
    /// A new one.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?.pem();
        let pem = Pem { certificate, key: key.serialize_pem() };
        Ok(Self { pem, issuer: Arc::new(Issuer::new(params, key)) })
    }

    /// One from a PEM text that holds its certificate and its key.
    pub fn from_pem(text: &str) -> anyhow::Result<Self> {
        let certificate = block(text, "CERTIFICATE").context("no certificate")?;
        let key = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"]
            .iter()
            .find_map(|label| block(text, label))
            .context("no private key")?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, KeyPair::from_pem(&key)?)?;
        Ok(Self { pem: Pem { certificate, key }, issuer: Arc::new(issuer) })
    }

    /// Signs a serving certificate.
    pub fn server(&self, names: &[&str]) -> anyhow::Result<Pem> {
        let mut params = CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())?;
        params.distinguished_name = subject(names.first().copied().unwrap_or("server"), None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// Signs a client certificate.
    pub fn client(&self, client: Client<'_>) -> anyhow::Result<Pem> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(client.user, Some(client.group));
        let usage =
            if client.server_usage { ExtendedKeyUsagePurpose::ServerAuth } else { ExtendedKeyUsagePurpose::ClientAuth };
        params.extended_key_usages = vec![usage];
        if client.expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> anyhow::Result<Pem> {
        let key = KeyPair::generate()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pem { certificate, key: key.serialize_pem() })
    }
}

fn block(text: &str, label: &str) -> Option<String> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let from = text.find(&begin)?;
    let to = text[from..].find(&end)? + from + end.len();
    Some(format!("{}\n", &text[from..to]))
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject
}
