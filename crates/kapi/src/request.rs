//! What a request asks for: its path, verb and options.

use http::Method;

use crate::status::Status;

/// A path, taken apart the way Kubernetes does it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// The API group; empty for core.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The namespace; empty for cluster-scoped or all namespaces.
    pub(crate) namespace: String,
    /// The plural resource name.
    pub(crate) resource: String,
    /// The object's name; empty for the collection.
    pub(crate) name: String,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: String,
    /// Whether the path began with the old `watch/` prefix.
    pub(crate) watch_prefix: bool,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A resource, an object or a subresource.
    Resource(Target),
    /// Anything else: discovery, health, documents.
    Other,
}

impl Route {
    /// Takes a path apart.
    pub(crate) fn parse(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/').map(decode);
        let (group, version) = match parts.next().as_deref() {
            Some("api") => (String::new(), parts.next()),
            Some("apis") => match parts.next() {
                Some(group) => (group, parts.next()),
                None => return Self::Other,
            },
            _ => return Self::Other,
        };
        let Some(version) = version else { return Self::Other };
        let mut rest: Vec<String> = parts.collect();
        // `namespaces//pods` is about all namespaces.
        if rest.len() > 2 && rest[0] == "namespaces" && rest[1].is_empty() {
            rest.drain(..2);
        }
        if rest.is_empty() || rest.iter().any(String::is_empty) {
            return Self::Other;
        }
        let mut target = Target { group, version, ..Target::default() };
        if rest.first().is_some_and(|first| first == "watch") && rest.len() > 1 {
            target.watch_prefix = true;
            rest.remove(0);
        }
        if rest.len() > 1 && rest[0] == "namespaces" {
            target.namespace = rest[1].clone();
            // `namespaces/x` and its own subresources stay; anything longer is a resource in that namespace.
            if rest.len() > 2 && !matches!(rest[2].as_str(), "status" | "finalize") {
                rest.drain(..2);
            }
        }
        let mut rest = rest.into_iter();
        target.resource = rest.next().unwrap_or_default();
        target.name = rest.next().unwrap_or_default();
        target.subresource = rest.collect::<Vec<_>>().join("/");
        Self::Resource(target)
    }
}

fn decode(segment: &str) -> String {
    if !segment.contains('%') {
        return segment.to_owned();
    }
    // Form decoding also turns `+` into a space, which paths do not mean.
    let escaped = segment.replace('+', "%2B");
    form_urlencoded::parse(escaped.as_bytes()).next().map(|(key, _)| key.into_owned()).unwrap_or_default()
}

/// The verb authorisation and metrics know a request by.
pub(crate) fn verb(method: &Method, target: &Target, query: &Query) -> &'static str {
    match (method.as_str(), target.name.is_empty()) {
        ("GET" | "HEAD", _) if target.watch_prefix => "watch",
        ("GET" | "HEAD", false) => "get",
        ("GET" | "HEAD", true) if query.flag("watch") => "watch",
        ("GET" | "HEAD", true) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

/// Query parameters, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part after `?`.
    pub(crate) fn parse(query: Option<&str>) -> Self {
        // Go drops pairs it cannot decode, and so do we.
        let pairs = query.unwrap_or_default().split('&').filter(|pair| is_decodable(pair));
        let decoded = pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()));
        Self(decoded.map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
    }

    /// The first value of a parameter, if it is there and not empty.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// A yes-or-no parameter: anything but empty, `0` and `false` is yes.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.iter().find(|(k, _)| k == key).is_some_and(|(_, v)| !matches!(v.as_str(), "0" | "false"))
    }

    /// A whole number.
    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, Status> {
        self.get(key)
            .map(|text| {
                text.parse()
                    .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
            })
            .transpose()
    }

    /// Whether `dryRun=All` was asked for; anything else in it is refused.
    pub(crate) fn dry_run(&self) -> Result<bool, &str> {
        let mut asked = false;
        for value in self.all("dryRun") {
            match value {
                "All" => asked = true,
                other => return Err(other),
            }
        }
        Ok(asked)
    }
}

fn is_decodable(pair: &str) -> bool {
    let mut rest = pair.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        match rest.get(at + 1..at + 3) {
            Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) => rest = rest.get(at + 3..).unwrap_or_default(),
            _ => return false,
        }
    }
    !pair.contains(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        let rows = [
            ("/api/v1/pods", "|v1||pods||"),
            ("/api/v1/namespaces", "|v1||namespaces||"),
            ("/api/v1/namespaces/a", "|v1|a|namespaces|a|"),
            ("/api/v1/namespaces/a/finalize", "|v1|a|namespaces|a|finalize"),
            ("/api/v1/namespaces/a/pods/p/log", "|v1|a|pods|p|log"),
            ("/apis/apps/v1/namespaces/a/deployments/d/scale", "apps|v1|a|deployments|d|scale"),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
                "rbac.authorization.k8s.io|v1||clusterroles|system:node|",
            ),
            ("/api/v1/namespaces/a/services/s/proxy/x/y", "|v1|a|services|s|proxy/x/y"),
        ];
        for (path, expected) in rows {
            let Route::Resource(t) = Route::parse(path) else { panic!("{path}") };
            let found =
                format!("{}|{}|{}|{}|{}|{}", t.group, t.version, t.namespace, t.resource, t.name, t.subresource);
            assert_eq!(found, expected, "{path}");
        }
        for path in ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/api/v1//pods"] {
            assert_eq!(Route::parse(path), Route::Other, "{path}");
        }
    }
}
