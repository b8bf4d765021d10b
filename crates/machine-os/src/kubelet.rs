//! Flags of the kubelet: those that follow from the pool, and those somebody asked for.

use std::collections::BTreeMap;

use butler_api::shared::Taint;
use serde_json::{Value, json};

use crate::{Error, Pool};

/// Flags that Butler or kubeadm decides about.
const OWNED: [&str; 9] = [
    "bootstrap-kubeconfig",
    "cloud-provider",
    "config",
    "container-runtime-endpoint",
    "hostname-override",
    "kubeconfig",
    "node-labels",
    "provider-id",
    "register-with-taints",
];

/// Labels of Kubernetes' own domains that a kubelet may give itself; with any other it refuses to start.
const ALLOWED: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Refuses labels, taints and flags that a kubelet would not start with.
pub(crate) fn check(pool: &Pool) -> Result<(), Error> {
    for (key, value) in &pool.labels {
        let field = format!("labels[{key}]");
        label_key(&field, key)?;
        label_value(&field, value)?;
        if is_reserved(key) {
            let why = "Kubernetes lets no kubelet set this label: choose one of a domain of your own";
            return Err(Error::invalid(field, why));
        }
    }
    for taint in &pool.taints {
        let field = format!("taints[{}]", taint.key);
        label_key(&field, &taint.key)?;
        label_value(&field, taint.value.as_deref().unwrap_or_default())?;
    }
    for (name, value) in &pool.kubelet_args {
        let field = format!("kubeletArgs[{name}]");
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err(Error::invalid(field, "is no flag: write it without dashes in front, such as max-pods"));
        }
        if OWNED.contains(&name.as_str()) {
            return Err(Error::invalid(field, "is decided by Butler: remove it"));
        }
        if !value.chars().all(|c| c.is_ascii_graphic() && !"\"'`$\\".contains(c)) {
            return Err(Error::invalid(field, "must be one word without quotes"));
        }
    }
    Ok(())
}

fn is_reserved(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    let within = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    let own = ["node.kubernetes.io", "kubelet.kubernetes.io"].iter().any(|parent| within(parent));
    (within("kubernetes.io") || within("k8s.io")) && !own && !ALLOWED.contains(&key)
}

fn label_key(field: &str, key: &str) -> Result<(), Error> {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    let subdomain = |text: &str| {
        !text.is_empty()
            && text.len() <= 253
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c))
    };
    match is_qualified(name) && domain.is_none_or(subdomain) {
        true => Ok(()),
        false => Err(Error::invalid(field, "is no label key: write it as name or as example.com/name")),
    }
}

fn label_value(field: &str, value: &str) -> Result<(), Error> {
    match value.is_empty() || is_qualified(value) {
        true => Ok(()),
        false => Err(Error::invalid(field, "has a value of other than letters, digits, dashes, dots and underscores")),
    }
}

fn is_qualified(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && edge(text.chars().next())
        && edge(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

/// All flags that go to the kubelet besides its taints.
pub(crate) fn flags(pool: &Pool) -> BTreeMap<String, String> {
    let mut flags = pool.kubelet_args.clone();
    if !pool.labels.is_empty() {
        let labels: Vec<String> = pool.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        flags.insert("node-labels".to_owned(), labels.join(","));
    }
    if pool.machine.external_cloud_provider {
        flags.insert("cloud-provider".to_owned(), "external".to_owned());
    }
    flags
}

/// Refuses a provider id from the machine itself, where the operating system runs nothing that could read it.
pub(crate) fn no_provider_id(pool: &Pool) -> Result<(), Error> {
    match &pool.machine.provider_id_prefix {
        None => Ok(()),
        Some(_) => Err(Error::invalid(
            "machine.providerIdPrefix",
            format!(
                "{} cannot read its own UUID: let a cloud controller manager set provider ids, with \
                 controlPlane.externalCloudProvider",
                pool.os_type()
            ),
        )),
    }
}

/// The taints as kubeadm reads them. None leaves kubeadm's default alone, which for workers is no taint.
pub(crate) fn taints(pool: &Pool) -> Option<Value> {
    let one = |taint: &Taint| match &taint.value {
        Some(value) => json!({"key": taint.key, "value": value, "effect": taint.effect}),
        None => json!({"key": taint.key, "effect": taint.effect}),
    };
    (!pool.taints.is_empty()).then(|| pool.taints.iter().map(one).collect())
}
