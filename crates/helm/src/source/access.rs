//! Credentials, and to whom they go.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pki::Secret;
use serde::Deserialize;

use super::cache::sha256;
use super::reach::Reach;

/// How a repository is entered.
#[derive(Clone, Default)]
pub struct Access {
    /// User name for the repository.
    pub username: Option<String>,
    /// Password for the repository.
    pub password: Option<Secret>,
    /// A `config.json` as docker writes it, with credentials by host.
    pub docker_config: Option<Vec<u8>>,
    /// The authorities that are trusted instead of the system's, as PEM.
    pub ca: Option<Vec<u8>>,
    /// How far the request may reach.
    pub reach: Reach,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("username", &self.username)
            .field("password", &self.password)
            .field("docker_config", &self.docker_config.as_ref().map(|_| "[redacted]"))
            .field("ca", &self.ca.as_ref().map(Vec::len))
            .field("reach", &self.reach)
            .finish()
    }
}

/// A user and a password.
#[derive(Clone, Debug)]
pub(super) struct Login {
    user: String,
    password: Secret,
}

impl Login {
    /// The `Authorization` of a request.
    pub(super) fn header(&self) -> Secret {
        let pair = format!("{}:{}", self.user, self.password.expose());
        Secret::new(format!("Basic {}", BASE64.encode(pair)))
    }
}

impl Access {
    /// The login for a repository: what was given for it, or what the docker config has for its host and path.
    pub(super) fn login(&self, host: &str, path: &str) -> Option<Login> {
        if let (Some(user), Some(password)) = (&self.username, &self.password) {
            return Some(Login { user: user.clone(), password: password.clone() });
        }
        self.docker_login(host, path)
    }

    /// What may be used with a mirror: whatever is not bound to the repository it stands for.
    pub(super) fn for_a_mirror(&self) -> Self {
        Self { username: None, password: None, ..self.clone() }
    }

    /// What somebody uses who knows no secrets, and reaches no further.
    pub(super) fn stranger(&self) -> Self {
        Self { reach: self.reach.clone(), ..Self::default() }
    }

    /// Tells whoever knows the same secrets and reaches as far from others, without telling the secrets: what one was
    /// shown with credentials is not shown to those without.
    pub(super) fn fingerprint(&self) -> String {
        let password = self.password.as_ref().map(Secret::expose);
        let told = (&self.username, password, &self.docker_config, &self.ca, &self.reach);
        sha256(format!("{told:?}").as_bytes())
    }

    fn docker_login(&self, host: &str, path: &str) -> Option<Login> {
        let config: DockerConfig = serde_json::from_slice(self.docker_config.as_deref()?).ok()?;
        let target = format!("{}/{}", docker_name(host), path.trim_matches('/'));
        let fits = |key: &str| {
            let key = key.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
            let key = key.trim_end_matches("/v1").trim_end_matches("/v2");
            let (host, path) = key.split_once('/').unwrap_or((key, ""));
            let key = format!("{}/{path}", docker_name(host));
            let key = key.trim_end_matches('/');
            let rest = target.strip_prefix(key)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(key.len())
        };
        let entries = config.auths.iter().filter_map(|(key, entry)| Some((fits(key)?, entry)));
        entries.max_by_key(|(length, _)| *length)?.1.login()
    }
}

/// Docker's own registry has three names.
fn docker_name(host: &str) -> &str {
    match host {
        "index.docker.io" | "registry-1.docker.io" => "docker.io",
        other => other,
    }
}

#[derive(Deserialize)]
struct DockerConfig {
    #[serde(default)]
    auths: BTreeMap<String, DockerEntry>,
}

#[derive(Deserialize)]
struct DockerEntry {
    username: Option<String>,
    password: Option<String>,
    auth: Option<String>,
}

impl DockerEntry {
    fn login(&self) -> Option<Login> {
        if let (Some(user), Some(password)) = (&self.username, &self.password) {
            return Some(Login { user: user.clone(), password: Secret::new(password.clone()) });
        }
        let pair = String::from_utf8(BASE64.decode(self.auth.as_ref()?.trim()).ok()?).ok()?;
        let (user, password) = pair.split_once(':')?;
        Some(Login { user: user.to_owned(), password: Secret::new(password) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_configs_have_credentials_by_host_and_path() {
        let config = serde_json::json!({"auths": {
            "ghcr.io": {"auth": BASE64.encode("a:pa:ss")},
            "ghcr.io/team": {"username": "t", "password": "p"},
            "https://index.docker.io/v1/": {"auth": BASE64.encode("d:x")},
            "broken.io": {"auth": "%"},
        }});
        let access = Access { docker_config: Some(config.to_string().into_bytes()), ..Access::default() };
        for (host, path, expected) in [
            ("ghcr.io", "charts/a", Some(("a", "pa:ss"))),
            ("ghcr.io", "team/a", Some(("t", "p"))),
            ("ghcr.io", "teammates/a", Some(("a", "pa:ss"))),
            ("registry-1.docker.io", "x/y", Some(("d", "x"))),
            ("ghcr.io.evil.com", "charts/a", None),
            ("broken.io", "a", None),
        ] {
            let login = access.login(host, path);
            let found = login.as_ref().map(|login| (login.user.as_str(), login.password.expose()));
            assert_eq!(found, expected, "{host}/{path}");
        }
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        let access = Access {
            username: Some("me".to_owned()),
            password: Some(Secret::new("hunter2")),
            docker_config: Some(b"hunter2".to_vec()),
            ca: None,
            reach: Reach::Anywhere,
        };
        let shown = format!("{access:?}");
        assert_eq!(
            shown,
            "Access { username: Some(\"me\"), password: Some([redacted]), docker_config: Some(\"[redacted]\"), ca: None, reach: Anywhere }"
        );
        assert!(!access.fingerprint().contains("hunter2"));
        assert_ne!(access.fingerprint(), Access::default().fingerprint());
    }
}
