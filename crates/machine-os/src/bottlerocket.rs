//! Bottlerocket: settings in TOML, for its `vmware-k8s-1.x` variants, which join any cluster by bootstrap token.

use std::collections::BTreeMap;

use pki::Secret;
use serde_json::json;
use toml::{Table, Value};

use crate::{Bootstrap, Error, Format, Pool, base64, kubelet, versions};

/// Flags of the kubelet that are settings here, and the settings' names. All are whole numbers.
const KUBELET_SETTINGS: [(&str, &str); 9] = [
    ("event-burst", "event-burst"),
    ("event-qps", "event-qps"),
    ("kube-api-burst", "kube-api-burst"),
    ("kube-api-qps", "kube-api-qps"),
    ("max-pods", "max-pods"),
    ("pod-max-pids", "pod-pids-limit"),
    ("registry-burst", "registry-burst"),
    ("registry-qps", "registry-qps"),
    ("v", "log-level"),
];

pub(crate) fn worker(pool: &Pool) -> Result<Bootstrap, Error> {
    versions::numbered(pool)?;
    kubelet::no_provider_id(pool)?;
    let mut settings = Table::new();
    settings.insert("kubernetes".to_owned(), kubernetes(pool)?.into());
    if !pool.time_servers.is_empty() {
        settings.insert("ntp".to_owned(), table([("time-servers", pool.time_servers.clone().into())]));
    }
    if !pool.name_servers.is_empty() {
        let servers: Vec<String> = pool.name_servers.iter().map(ToString::to_string).collect();
        settings.insert("dns".to_owned(), table([("name-servers", servers.into())]));
    }
    if !pool.mirrors.is_empty() {
        let mirrors = pool.mirrors.iter();
        let mirrors = mirrors.map(|(registry, endpoints)| {
            table([("registry", registry.clone().into()), ("endpoint", endpoints.clone().into())])
        });
        let mirrors: Vec<Value> = mirrors.collect();
        settings.insert("container-registry".to_owned(), table([("mirrors", mirrors.into())]));
    }
    if let Some(key) = &pool.os.ssh_authorized_key {
        // There is no login but through the admin container, which reads its keys from a document of its own.
        let document = json!({"ssh": {"authorized-keys": [key.trim()]}}).to_string();
        let admin = table([("enabled", true.into()), ("user-data", base64(&document).into())]);
        settings.insert("host-containers".to_owned(), table([("admin", admin)]));
    }
    let text =
        toml::to_string(&table([("settings", settings.into())])).map_err(|error| Error::Write(error.to_string()))?;
    Ok(Bootstrap::Data { format: Format::Bottlerocket, document: Secret::new(text) })
}

fn kubernetes(pool: &Pool) -> Result<Table, Error> {
    let join = pool.join()?;
    let cloud = if pool.machine.external_cloud_provider { "external" } else { "" };
    let mut kubernetes = Table::from_iter([
        ("api-server".to_owned(), join.url().into()),
        ("authentication-mode".to_owned(), "tls".into()),
        ("bootstrap-token".to_owned(), join.token.expose().into()),
        ("cloud-provider".to_owned(), cloud.into()),
        ("cluster-certificate".to_owned(), base64(&join.ca_pem).into()),
        ("cluster-dns-ip".to_owned(), pool.network.dns.to_string().into()),
        ("cluster-domain".to_owned(), pool.network.domain.clone().into()),
        ("cluster-name".to_owned(), pool.cluster.clone().into()),
        // Serving certificates are asked for from the cluster, which approves those of its nodes.
        ("server-tls-bootstrap".to_owned(), true.into()),
        ("standalone-mode".to_owned(), false.into()),
    ]);
    for (flag, value) in &pool.kubelet_args {
        let (name, number) = setting(flag, value)?;
        kubernetes.insert(name.to_owned(), number.into());
    }
    if !pool.labels.is_empty() {
        let labels = pool.labels.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        kubernetes.insert("node-labels".to_owned(), Table::from_iter(labels).into());
    }
    let mut taints: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for taint in &pool.taints {
        let value = format!("{}:{}", taint.value.as_deref().unwrap_or_default(), taint.effect);
        taints.entry(&taint.key).or_default().push(value.into());
    }
    if !taints.is_empty() {
        let taints = taints.into_iter().map(|(key, values)| (key.to_owned(), values.into()));
        kubernetes.insert("node-taints".to_owned(), Table::from_iter(taints).into());
    }
    Ok(kubernetes)
}

fn setting<'a>(flag: &str, value: &str) -> Result<(&'a str, i64), Error> {
    let field = || format!("kubeletArgs[{flag}]");
    let known = KUBELET_SETTINGS.iter().find(|(known, _)| *known == flag).ok_or_else(|| {
        let names: Vec<&str> = KUBELET_SETTINGS.iter().map(|(flag, _)| *flag).collect();
        Error::invalid(field(), format!("is no setting of Bottlerocket: choose among {}", names.join(", ")))
    })?;
    let number = value.parse().map_err(|_| Error::invalid(field(), format!("{value:?} is no whole number")))?;
    Ok((known.1, number))
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Table::from_iter(entries.map(|(key, value)| (key.to_owned(), value))).into()
}
