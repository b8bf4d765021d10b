//! Kubeconfig documents.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use crate::{Certificate, PkiError, Secret};

/// How a user proves who it is.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// A client certificate and its key, both PEM.
    Certificate {
        /// The certificate.
        certificate: String,
        /// Its key.
        key: Secret,
    },
    /// A bearer token.
    Token(Secret),
}

/// Where an API server is and whom it is trusted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// `https://host:port`.
    pub server: String,
    /// The trusted authorities as PEM; none means the system's.
    pub certificate_authority: Option<String>,
    /// The name expected in the server's certificate, where it differs from the host dialled.
    pub tls_server_name: Option<String>,
}

/// A kubeconfig of one cluster, one user and one context.
#[derive(Debug, Clone)]
pub struct Kubeconfig {
    /// The name of the cluster entry.
    pub cluster_name: String,
    /// The cluster entry.
    pub cluster: Cluster,
    /// The name of the user entry.
    pub user_name: String,
    /// The user entry.
    pub credentials: Credentials,
    /// The name of the context entry; it becomes the current one.
    pub context_name: String,
    /// The namespace of the context.
    pub namespace: Option<String>,
}

impl Kubeconfig {
    /// A kubeconfig with kubeadm's names: context `user@cluster`.
    pub fn new(cluster_name: &str, cluster: Cluster, user_name: &str, credentials: Credentials) -> Self {
        Self {
            cluster_name: cluster_name.to_owned(),
            cluster,
            user_name: user_name.to_owned(),
            credentials,
            context_name: format!("{user_name}@{cluster_name}"),
            namespace: None,
        }
    }

    /// Sets the namespace of the context.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The document as JSON value.
    pub fn to_value(&self) -> Value {
        let mut cluster = Map::new();
        if let Some(pem) = &self.cluster.certificate_authority {
            cluster.insert("certificate-authority-data".to_owned(), base64(pem).into());
        }
        cluster.insert("server".to_owned(), self.cluster.server.clone().into());
        if let Some(name) = &self.cluster.tls_server_name {
            cluster.insert("tls-server-name".to_owned(), name.clone().into());
        }
        let user = match &self.credentials {
            Credentials::Certificate { certificate, key } => {
                json!({"client-certificate-data": base64(certificate), "client-key-data": base64(key.expose())})
            }
            Credentials::Token(token) => json!({"token": token.expose()}),
        };
        let mut context = json!({"cluster": self.cluster_name, "user": self.user_name});
        if let Some(namespace) = &self.namespace {
            context["namespace"] = namespace.clone().into();
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.cluster_name, "cluster": cluster}],
            "users": [{"name": self.user_name, "user": user}],
            "contexts": [{"name": self.context_name, "context": context}],
            "current-context": self.context_name,
            "preferences": {},
        })
    }

    /// The document as YAML; it holds the credentials.
    pub fn to_yaml(&self) -> Result<Secret, PkiError> {
        write_yaml(&self.to_value())
    }

    /// Reads a document of one cluster, one user and one context that has everything inline, as those that are made here.
    pub fn from_yaml(document: &str) -> Result<Self, PkiError> {
        let bad = |reason: &str| PkiError::BadKubeconfig(reason.to_owned());
        let document = kernel::yaml::value(document).map_err(|_| bad("it is not YAML"))?;
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let needed = |pointer: &str| text(pointer).ok_or_else(|| bad(&format!("it has no {pointer}")));
        let decoded = |pointer: &str| {
            let Some(data) = text(pointer) else { return Ok(None) };
            let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok();
            bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Some).ok_or_else(|| bad("its data is no base64"))
        };
        let (cluster, user) = ("/clusters/0/cluster", "/users/0/user");
        let certificate = decoded(&format!("{user}/client-certificate-data"))?;
        let credentials = match certificate.zip(decoded(&format!("{user}/client-key-data"))?) {
            Some((certificate, key)) => Credentials::Certificate { certificate, key: Secret::new(key) },
            None => Credentials::Token(Secret::new(needed(&format!("{user}/token"))?)),
        };
        Ok(Self {
            cluster_name: needed("/clusters/0/name")?,
            cluster: Cluster {
                server: needed(&format!("{cluster}/server"))?,
                certificate_authority: decoded(&format!("{cluster}/certificate-authority-data"))?,
                tls_server_name: text(&format!("{cluster}/tls-server-name")),
            },
            user_name: needed("/users/0/name")?,
            credentials,
            context_name: needed("/contexts/0/name")?,
            namespace: text("/contexts/0/context/namespace"),
        })
    }

    /// The client certificate, if it proves itself by one.
    pub fn certificate(&self) -> Option<Certificate> {
        match &self.credentials {
            Credentials::Certificate { certificate, .. } => Certificate::from_pem(certificate).ok(),
            Credentials::Token(_) => None,
        }
    }

    /// Puts this kubeconfig into another YAML document, and makes its context the current one; see [`merge_kubeconfig`].
    pub fn merge_into(&self, existing: &str) -> Result<Secret, PkiError> {
        merge_kubeconfig(existing, self.to_value(), true)
    }
}

/// Puts one kubeconfig into another YAML document: entries of the same names are replaced, all others and all unknown
/// fields stay. The current context stays too, unless there is none or `make_current` says otherwise.
pub fn merge_kubeconfig(existing: &str, own: Value, make_current: bool) -> Result<Secret, PkiError> {
    let bad = |reason: &str| PkiError::BadKubeconfig(reason.to_owned());
    let mut merged: Value = if existing.trim().is_empty() {
        Value::Object(Map::new())
    } else {
        kernel::yaml::value(existing).map_err(|_| bad("it is not YAML"))?
    };
    let document = merged.as_object_mut().ok_or_else(|| bad("it is not a mapping"))?;
    if document.get("kind").is_some_and(|kind| kind != "Config") {
        return Err(bad("its kind is not Config"));
    }
    let Value::Object(own) = own else { return Err(bad("it is not a mapping")) };
    for (field, value) in own {
        let keep = match field.as_str() {
            "preferences" => true,
            "current-context" => !make_current && document.get(&field).is_some_and(|context| context != ""),
            _ => false,
        };
        match (value, document.get_mut(&field)) {
            (Value::Array(entries), Some(Value::Array(present))) => {
                for entry in entries {
                    put_entry(present, entry);
                }
            }
            (Value::Array(_), Some(other)) if !other.is_null() => return Err(bad("its entries are not lists")),
            (_, Some(present)) if keep && !present.is_null() => {}
            (value, _) => {
                document.insert(field, value);
            }
        }
    }
    write_yaml(&merged)
}

fn put_entry(present: &mut Vec<Value>, entry: Value) {
    match present.iter_mut().find(|known| known.get("name") == entry.get("name")) {
        Some(known) => *known = entry,
        None => present.push(entry),
    }
}

fn write_yaml(value: &Value) -> Result<Secret, PkiError> {
    let yaml =
        kernel::yaml::to_string(value).map_err(|_| PkiError::BadKubeconfig("it cannot be written".to_owned()))?;
    Ok(Secret::new(yaml))
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(token: &str) -> Kubeconfig {
        let cluster = Cluster {
            server: "https://127.0.0.1:6443".to_owned(),
            certificate_authority: Some("CA".to_owned()),
            tls_server_name: None,
        };
        Kubeconfig::new("butler", cluster, "admin", Credentials::Token(Secret::new(token))).in_namespace("team")
    }

    fn read(yaml: &Secret) -> Value {
        kernel::yaml::value(yaml.expose()).unwrap()
    }

    #[test]
    fn yaml_holds_the_value() {
        assert_eq!(read(&sample("t").to_yaml().unwrap()), sample("t").to_value());
        let value = sample("t").to_value();
        assert_eq!(
            value["contexts"][0],
            json!({"name": "admin@butler",
            "context": {"cluster": "butler", "user": "admin", "namespace": "team"}})
        );
        assert_eq!(value["clusters"][0]["cluster"]["certificate-authority-data"], "Q0E=");
        assert!(!format!("{:?}", sample("hidden")).contains("hidden"));
    }

    #[test]
    fn a_certificate_user_has_both_parts() {
        let credentials = Credentials::Certificate { certificate: "C".to_owned(), key: Secret::new("K") };
        let config = Kubeconfig { credentials, ..sample("t") };
        assert_eq!(
            config.to_value()["users"][0]["user"],
            json!({"client-certificate-data": "Qw==", "client-key-data": "Sw=="})
        );
    }

    #[test]
    fn what_was_written_is_read() {
        let credentials = Credentials::Certificate { certificate: "C".to_owned(), key: Secret::new("K") };
        for config in [sample("t"), Kubeconfig { credentials, ..sample("t") }] {
            let read = Kubeconfig::from_yaml(config.to_yaml().unwrap().expose()).unwrap();
            assert_eq!(read.to_value(), config.to_value());
        }
        for broken in ["", "{}", "clusters: [{name: a, cluster: {server: s, certificate-authority-data: '?'}}]"] {
            assert!(Kubeconfig::from_yaml(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn merging_keeps_foreign_entries() {
        let existing = "apiVersion: v1\nkind: Config\nextensions: [{name: x}]\npreferences: {colors: true}\n\
            clusters: [{name: other, cluster: {server: 'https://o'}}, {name: butler, cluster: {server: 'https://old'}}]\n\
            users: []\ncontexts:\ncurrent-context: other\n";
        let merged = read(&sample("new").merge_into(existing).unwrap());
        assert_eq!(merged["clusters"][0]["name"], "other");
        assert_eq!(merged["clusters"][1]["cluster"]["server"], "https://127.0.0.1:6443");
        assert_eq!(merged["clusters"].as_array().unwrap().len(), 2);
        assert_eq!(merged["users"][0]["user"]["token"], "new");
        assert_eq!(merged["contexts"][0]["name"], "admin@butler");
        assert_eq!(merged["current-context"], "admin@butler");
        assert_eq!(merged["preferences"]["colors"], true);
        assert_eq!(merged["extensions"][0]["name"], "x");
        assert_eq!(read(&sample("t").merge_into("").unwrap()), sample("t").to_value());
    }

    #[test]
    fn the_current_context_stays_unless_another_is_asked_for() {
        for (existing, make_current, current) in [
            ("current-context: other", false, "other"),
            ("current-context: other", true, "admin@butler"),
            ("current-context: ''", false, "admin@butler"),
            ("current-context:", false, "admin@butler"),
            ("", false, "admin@butler"),
        ] {
            let merged = read(&merge_kubeconfig(existing, sample("t").to_value(), make_current).unwrap());
            assert_eq!(merged["current-context"], current, "{existing}");
        }
    }

    #[test]
    fn foreign_documents_are_refused() {
        for bad in ["[1, 2]", "kind: Pod", "clusters: {a: b}", "a: [", "text"] {
            assert!(matches!(sample("t").merge_into(bad), Err(PkiError::BadKubeconfig(_))), "{bad}");
        }
    }
}
