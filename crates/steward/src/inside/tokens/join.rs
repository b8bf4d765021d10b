//! What a machine needs to join.

use jiff::Timestamp;
use pki::{Certificate, Secret};

use super::super::{Error, Tenant};
use super::Token;

/// What a machine needs to join.
#[derive(Clone, Debug)]
pub struct JoinMaterial {
    /// Where the API server is, as `host:port`.
    pub endpoint: String,
    /// The bootstrap token.
    pub token: Secret,
    /// When the token ends, unless it is renewed until then.
    pub expires_at: Timestamp,
    /// The authorities to trust, as `sha256:` and the digest of the public key.
    pub ca_hashes: Vec<String>,
}

impl JoinMaterial {
    pub(super) fn new(tenant: &Tenant, token: &Token) -> Result<Self, Error> {
        Ok(Self {
            endpoint: tenant.endpoint(),
            token: token.text(),
            expires_at: token.expires_at,
            ca_hashes: ca_hashes(&tenant.ca_pem)?,
        })
    }

    /// The command that lets a machine join.
    pub fn command(&self) -> Secret {
        let mut command = format!("kubeadm join {} --token {}", self.endpoint, self.token.expose());
        for hash in &self.ca_hashes {
            command.push_str(" --discovery-token-ca-cert-hash ");
            command.push_str(hash);
        }
        Secret::new(command)
    }
}

fn ca_hashes(pem: &str) -> Result<Vec<String>, Error> {
    let certificates = Certificate::all_from_pem(pem).map_err(Error::Authority)?;
    Ok(certificates.iter().map(|certificate| certificate.public_key().pin()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its digest: openssl x509 -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256.
    const CA: &str = include_str!("../../../../pki/fixtures/rsa-ca.crt");
    const HASH: &str = "sha256:984a1e179eaed8c0873a66edf3b2aadfad55ab6c060730385f8ba1b6b9be6658";

    #[test]
    fn the_command_names_all_authorities() {
        let material = JoinMaterial {
            endpoint: "198.18.0.1:6443".to_owned(),
            token: Secret::new("abcdef.0123456789abcdef"),
            expires_at: Timestamp::UNIX_EPOCH,
            ca_hashes: ca_hashes(&CA.repeat(2)).unwrap(),
        };
        assert_eq!(
            material.command().expose(),
            format!(
                "kubeadm join 198.18.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash {HASH} \
                 --discovery-token-ca-cert-hash {HASH}"
            )
        );
        assert!(!format!("{material:?}").contains("0123456789abcdef"));
    }

    #[test]
    fn without_an_authority_nobody_joins() {
        assert!(ca_hashes("").is_err());
        assert!(ca_hashes("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_err());
    }
}
