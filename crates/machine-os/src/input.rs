//! Input that must not reach a machine unchecked: it ends up in scripts, unit files and documents of four languages.

use crate::{Error, Join, Pool, kubelet, versions};

/// Refuses the first thing that cannot work.
pub(crate) fn check(pool: &Pool) -> Result<(), Error> {
    versions::check(pool)?;
    cluster_name(&pool.cluster)?;
    if let Some(join) = &pool.join {
        check_join(join)?;
    }
    domain("network.domain", &pool.network.domain)?;
    kubelet::check(pool)?;
    check_names("timeServers", &pool.time_servers)?;
    for (registry, endpoints) in &pool.mirrors {
        let field = format!("mirrors[{registry}]");
        let (name, port) = registry.split_once(':').unwrap_or((registry, "443"));
        host(&field, name)?;
        if port.parse::<u16>().is_err() {
            return Err(Error::invalid(field, "is no registry: write it as host or as host:port"));
        }
        if endpoints.is_empty() {
            return Err(Error::invalid(field, "names no mirror: give at least one address, or remove the entry"));
        }
        endpoints.iter().try_for_each(|endpoint| url(&field, endpoint))?;
    }
    if let Some(key) = &pool.os.ssh_authorized_key {
        ssh_key(key)?;
    }
    if let Some(hostname) = &pool.machine.hostname {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._{} ".contains(c);
        plain("machine.hostname", hostname, allowed, "a host name, or a cloud-init expression for one")?;
    }
    if let Some(prefix) = &pool.machine.provider_id_prefix {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:/".contains(c);
        plain("machine.providerIdPrefix", prefix, allowed, "a scheme such as nutanix://")?;
    }
    if let Some(disk) = &pool.machine.install_disk {
        device("machine.installDisk", disk)?;
    }
    Ok(())
}

/// Host names or addresses.
pub(crate) fn check_names(field: &str, names: &[String]) -> Result<(), Error> {
    names.iter().try_for_each(|name| host(field, name))
}

fn check_join(join: &Join) -> Result<(), Error> {
    host("join.host", &join.host)?;
    if join.port == 0 {
        return Err(Error::invalid("join.port", "must be 1 to 65535, usually 6443"));
    }
    certificate("join.ca", &join.ca_pem)?;
    let part = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    match join.token.expose().split_once('.') {
        Some((id, secret)) if part(id, 6) && part(secret, 16) => Ok(()),
        // The token itself is not for anybody's eyes.
        _ => Err(Error::invalid("join.token", "is no bootstrap token: make one of the form abcdef.0123456789abcdef")),
    }
}

/// One or more certificates, and nothing that is none.
pub(crate) fn certificate(field: &str, pem: &str) -> Result<(), Error> {
    let only_certificates = pem.matches("-----BEGIN ").count() == pem.matches("-----BEGIN CERTIFICATE-----").count();
    let whole = pem.contains("-----BEGIN CERTIFICATE-----") && pem.contains("-----END CERTIFICATE-----");
    match only_certificates && whole {
        true => Ok(()),
        false => Err(Error::invalid(field, "must be certificates in PEM, without keys")),
    }
}

/// A device file.
pub(crate) fn device(field: &str, path: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "/-_.:".contains(c);
    match path.starts_with("/dev/") && !path.contains("..") && path.chars().all(allowed) {
        true => Ok(()),
        false => Err(Error::invalid(field, format!("{path:?} is no disk: write it as /dev/vda"))),
    }
}

/// The name of an image with a tag or digest.
pub(crate) fn image(field: &str, name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "/-_.:@".contains(c);
    match name.contains('/') && (name.contains('@') || name.rsplit('/').next().is_some_and(|tag| tag.contains(':'))) {
        true => plain(field, name, allowed, "an image with its tag"),
        false => Err(Error::invalid(field, format!("{name:?} is no image with its tag"))),
    }
}

fn cluster_name(name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let wanted = "a name of lower-case letters, digits and dashes, with no dash at either end";
    match name.starts_with('-') || name.ends_with('-') {
        true => Err(Error::invalid("cluster", format!("{name:?} cannot be used: must be {wanted}"))),
        false => plain("cluster", name, allowed, wanted),
    }
}

fn domain(field: &str, name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let edges = |part: &str| part.is_empty() || part.starts_with('-') || part.ends_with('-');
    match name.split('.').any(edges) {
        true => Err(Error::invalid(field, format!("{name:?} cannot be used: must be a domain such as cluster.local"))),
        false => plain(field, name, allowed, "a domain such as cluster.local"),
    }
}

fn host(field: &str, name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let edges = name.starts_with(['-', '.']) || name.ends_with('-');
    match edges {
        true => Err(Error::invalid(field, format!("{name:?} is no host name and no address"))),
        false => plain(field, name, allowed, "host names or addresses"),
    }
}

fn url(field: &str, text: &str) -> Result<(), Error> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    match rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(allowed)) {
        true => Ok(()),
        false => Err(Error::invalid(field, format!("{text:?} is no address: write it as https://mirror.example.com"))),
    }
}

fn ssh_key(key: &str) -> Result<(), Error> {
    let mut words = key.trim().split(' ');
    let kind = words
        .next()
        .is_some_and(|kind| kind.starts_with("ssh-") || kind.starts_with("ecdsa-") || kind.starts_with("sk-"));
    let body = words.next().unwrap_or_default();
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let good = kind && body.len() >= 16 && body.chars().all(base64) && !key.trim().contains(char::is_control);
    match good {
        true => Ok(()),
        false => Err(Error::invalid(
            "os.sshAuthorizedKey",
            "must be one public key in one line, such as ssh-ed25519 AAAA… jo@example.com",
        )),
    }
}

fn plain(field: &str, text: &str, allowed: impl Fn(char) -> bool, wanted: &str) -> Result<(), Error> {
    match !text.is_empty() && text.len() <= 512 && text.chars().all(allowed) {
        true => Ok(()),
        false => Err(Error::invalid(field, format!("{text:?} cannot be used: must be {wanted}"))),
    }
}
