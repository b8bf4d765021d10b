//! Addresses of repositories.

use std::path::PathBuf;

use url::Url;

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// Something that has an index, or a file.
    Web(Url),
    /// A registry.
    Registry(Registry),
    /// A directory or file of this machine.
    Directory(PathBuf),
}

/// A registry, and where in it charts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registry {
    /// `https://host:port/`
    pub(super) base: Url,
    /// `org/charts`
    pub(super) path: String,
}

impl Location {
    /// Takes an address apart; the error names the way out.
    pub(super) fn parse(address: &str) -> Result<Self, String> {
        if let Some(rest) = address.strip_prefix("oci://") {
            // A scheme that every parser knows: what has no known one may have any host.
            let url = web(&format!("https://{rest}"))?;
            let path = url.path().trim_matches('/').to_owned();
            let host = match url.host_str() {
                Some("docker.io" | "index.docker.io") => "registry-1.docker.io",
                Some(host) => host,
                None => "",
            };
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            let base = web(&format!("https://{host}{port}/"))?;
            return Ok(Self::Registry(Registry { base, path }));
        }
        if address.starts_with("file://") {
            let path = Url::parse(address).ok().and_then(|url| url.to_file_path().ok());
            let path = path.ok_or("a directory is named with its whole path, as in file:///srv/charts")?;
            return Ok(Self::Directory(path));
        }
        if address.starts_with("https://") || address.starts_with("http://") {
            return web(address).map(Self::Web);
        }
        Err("the address of a repository begins with https://, http://, oci:// or file://".to_owned())
    }
}

fn web(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("the address is no URL: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "the address has a user name or password in it; put them into the Secret of the repository".to_owned()
        );
    }
    Ok(url)
}

/// `host:port`, without a port that goes without saying.
pub(super) fn authority(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

/// An address as it may be told: without credentials, and without a query, which may hold some.
pub(super) fn shown(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if url.has_host() => {
            let hidden = [url.set_username(""), url.set_password(None)];
            url.set_query(None);
            url.set_fragment(None);
            if hidden.iter().all(Result::is_ok) {
                url.to_string().trim_end_matches('/').to_owned()
            } else {
                String::new()
            }
        }
        _ => address.split('?').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (address, expected) in [
            ("https://a.com/x", "web https://a.com/x"),
            ("http://a.com", "web http://a.com/"),
            ("oci://a.com:5000/org/charts/", "registry https://a.com:5000/ org/charts"),
            ("oci://docker.io/org", "registry https://registry-1.docker.io/ org"),
            ("file:///srv/my%20charts", "directory /srv/my charts"),
            ("file://srv", "a directory is named with its whole path, as in file:///srv/charts"),
            ("ftp://a.com", "the address of a repository begins with https://, http://, oci:// or file://"),
            (
                "https://me:secret@a.com",
                "the address has a user name or password in it; put them into the Secret of the repository",
            ),
            ("https://", "the address is no URL: empty host"),
        ] {
            let told = match Location::parse(address) {
                Ok(Location::Web(url)) => format!("web {url}"),
                Ok(Location::Registry(registry)) => format!("registry {} {}", registry.base, registry.path),
                Ok(Location::Directory(path)) => format!("directory {}", path.display()),
                Err(reason) => reason,
            };
            assert_eq!(told, expected, "{address}");
        }
    }

    #[test]
    fn addresses_are_told_without_secrets() {
        assert_eq!(shown("https://me:secret@a.com/x/?token=secret#s"), "https://a.com/x");
        assert_eq!(shown("oci://a.com/x"), "oci://a.com/x");
        assert_eq!(shown("nonsense?token=secret"), "nonsense");
    }
}
