//! A cluster on an infrastructure, written as users write it.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of this, and a test may stop")]

use std::collections::BTreeMap;

use butler_api::butler::{ProviderConfig, TenantClusterSpec};
use butler_api::controlplane::ApiEndpoint;
use k8s_openapi::ByteString;
use providers::Request;
use serde_json::{Value, json};

/// Everything a request borrows.
pub(crate) struct Given {
    pub(crate) spec: TenantClusterSpec,
    pub(crate) provider: ProviderConfig,
    pub(crate) credentials: Option<BTreeMap<String, ByteString>>,
    pub(crate) endpoint: Option<ApiEndpoint>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl Given {
    /// A cluster of the seeds on the infrastructure of a ProviderConfig in YAML.
    pub(crate) fn new(provider: &str, credentials: &[(&str, &str)]) -> Self {
        let entry = |(key, value): &(&str, &str)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()));
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Self {
            spec: spec(include_str!("../seed.yaml")),
            provider: kernel::yaml::from_str(provider).unwrap(),
            credentials: (!credentials.is_empty()).then(|| credentials.iter().map(entry).collect()),
            endpoint: None,
            labels: BTreeMap::from([label("butler.butlerlabs.dev/team", "team-a")]),
            annotations: BTreeMap::from([label("butler.butlerlabs.dev/owner", "jo@example.com")]),
        }
    }

    pub(crate) fn harvester() -> Self {
        Self::new(
            include_str!("../../../../examples/providerconfig-harvester.yaml"),
            &[("kubeconfig", include_str!("../harvester-kubeconfig.yaml"))],
        )
    }

    pub(crate) fn nutanix() -> Self {
        Self::new(
            include_str!("../../../../examples/providerconfig-nutanix.yaml"),
            &[("username", "butler"), ("password", "pa\"ss\\word")],
        )
    }

    pub(crate) fn local() -> Self {
        Self::new("{metadata: {name: local, namespace: butler-system}, spec: {provider: local}}", &[])
    }

    /// Merges into the cluster's spec.
    pub(crate) fn spec(mut self, change: Value) -> Self {
        self.spec = changed(&self.spec, change);
        self
    }

    /// Merges into the ProviderConfig's spec.
    pub(crate) fn provider(mut self, change: Value) -> Self {
        self.provider = changed(&self.provider, json!({ "spec": change }));
        self
    }

    /// Sets a key of the credentials, or removes it.
    pub(crate) fn credential(mut self, key: &str, value: Option<&[u8]>) -> Self {
        let data = self.credentials.get_or_insert_default();
        match value {
            Some(value) => data.insert(key.to_owned(), ByteString(value.to_vec())),
            None => data.remove(key),
        };
        self
    }

    pub(crate) fn endpoint(mut self, host: &str, port: i32) -> Self {
        self.endpoint = Some(ApiEndpoint { host: host.to_owned(), port });
        self
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            cluster: "my-cluster",
            namespace: "my-cluster-0b5ad2f1",
            labels: &self.labels,
            annotations: &self.annotations,
            spec: &self.spec,
            provider: &self.provider,
            credentials: self.credentials.as_ref(),
            endpoint: self.endpoint.as_ref(),
        }
    }
}

/// The spec of a TenantCluster in YAML.
pub(crate) fn spec(text: &str) -> TenantClusterSpec {
    let document = kernel::yaml::value(text).unwrap();
    serde_json::from_value(document["spec"].clone()).unwrap()
}

fn changed<T: serde::Serialize + serde::de::DeserializeOwned>(object: &T, change: Value) -> T {
    let mut value = serde_json::to_value(object).unwrap();
    merge(&mut value, change);
    serde_json::from_value(value).unwrap()
}

fn merge(target: &mut Value, change: Value) {
    match change {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (name, value) in fields {
                merge(&mut target[name], value);
            }
        }
        other => *target = other,
    }
}
