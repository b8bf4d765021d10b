//! What is served beside resources: discovery, OpenAPI, health, version.

mod discovery;
mod openapi;

use http::{HeaderMap, Method, Response};
use serde_json::json;

use crate::api::Inner;
use crate::request::Query;
use crate::respond::{self, Body, Endpoint, Representation};
use crate::status::Status;

/// Answers a request for a path that is no resource.
pub(crate) fn answer(
    api: &Inner,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    query: &Query,
) -> Result<Response<Body>, Status> {
    let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).trim_end_matches('/').split('/').collect();
    if let Some(response) = health(&parts, query) {
        return Ok(response);
    }
    if !matches!(method.as_str(), "GET" | "HEAD") {
        return Err(Status::method_refused());
    }
    let known_group = |group: &str| crate::registry::builtin().0.contains_key(group);
    let endpoint = match parts.as_slice() {
        ["api"] => Some(Endpoint::CoreRoot),
        ["apis"] => Some(Endpoint::GroupsRoot),
        ["api", _] => Some(Endpoint::Discovery),
        ["apis", group, _] if known_group(group) => Some(Endpoint::Discovery),
        ["apis", ..] => Some(Endpoint::Group),
        ["version"] => Some(Endpoint::Json),
        _ => None,
    };
    let representation = match endpoint {
        Some(endpoint) => Representation::of(headers, query, endpoint)?,
        None => Representation::json(),
    };
    let found = match parts.as_slice() {
        ["metrics"] => {
            let media = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
            return Ok(respond::text(200, media, crate::metrics::text(api)));
        }
        ["metrics", "slis"] => {
            let media = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
            return Ok(respond::text(200, media, health_metrics()));
        }
        ["version"] => Some(version(api)),
        ["api"] => return Ok(discovery::core(api, &representation)),
        ["apis"] => return Ok(discovery::groups(api, &representation)),
        ["apis", group] => discovery::group(api, group),
        ["api", version] => discovery::resources(api, "", version),
        ["apis", group, version] => discovery::resources(api, group, version),
        ["openapi", "v2"] => return Ok(openapi::v2(api, headers)),
        ["openapi", "v3"] => {
            return Ok(respond::text(200, "text/plain; charset=utf-8", openapi::index(api).to_string()));
        }
        ["openapi", "v3", "api", version] => return Ok(openapi::v3(api, headers, "", version)),
        ["openapi", "v3", "apis", group, version] => return Ok(openapi::v3(api, headers, group, version)),
        [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"] => {
            return Ok(issuer(api, parts.len() == 3));
        }
        [""] => Some(
            json!({"paths": ["/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]}),
        ),
        _ => None,
    };
    if found.is_none() {
        match parts.as_slice() {
            ["api", _] => return Err(Status::no_such_path()),
            ["apis", group, _] if known_group(group) => return Err(Status::no_such_path()),
            _ => {}
        }
    }
    Ok(match found {
        Some(value) => respond::plain(200, &representation, value),
        None => respond::text(404, "text/plain; charset=utf-8", "404 page not found\n"),
    })
}

/// What is checked. The process answers, so it lives; its store was read before it served anything.
const CHECKS: [&str; 3] = ["ping", "log", "store"];

/// `/livez`, `/readyz`, `/healthz`, each also as a list of checks and check by check.
fn health(parts: &[&str], query: &Query) -> Option<Response<Body>> {
    let plain = |text: String| respond::text(200, "text/plain; charset=utf-8", text);
    match parts {
        [name @ ("livez" | "readyz" | "healthz")] if query.flag("verbose") => {
            let excluded = |check: &str| query.all("exclude").any(|name| name == check);
            let mut lines: Vec<String> = CHECKS
                .iter()
                .map(|check| match excluded(check) {
                    true => format!("[+]{check} excluded: ok"),
                    false => format!("[+]{check} ok"),
                })
                .collect();
            lines.push(format!("{name} check passed\n"));
            Some(plain(lines.join("\n")))
        }
        ["livez" | "readyz" | "healthz"] => Some(plain("ok".into())),
        ["livez" | "readyz" | "healthz", check] if CHECKS.contains(check) => Some(plain("ok".into())),
        _ => None,
    }
}

/// The state of every check, as Prometheus reads it.
fn health_metrics() -> String {
    let mut text =
        "# HELP kubernetes_healthcheck The result of a health check\n# TYPE kubernetes_healthcheck gauge\n".to_owned();
    for kind in ["healthz", "livez", "readyz"] {
        for check in CHECKS {
            text.push_str(&format!("kubernetes_healthcheck{{name=\"{check}\",type=\"{kind}\"}} 1\n"));
        }
    }
    text
}

/// How others verify ServiceAccount tokens: the configuration, or the keys.
fn issuer(api: &Inner, keys: bool) -> Response<Body> {
    let Some(issuer) = &api.auth.issuer else {
        return respond::text(404, "text/plain; charset=utf-8", "404 page not found\n");
    };
    let (media, value) = match keys {
        true => ("application/jwk-set+json", issuer.jwks()),
        false => ("application/json", issuer.openid_configuration(&format!("{}/openid/v1/jwks", issuer.issuer()))),
    };
    let mut response = respond::text(200, media, value.to_string());
    let lasting = http::HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(http::header::CACHE_CONTROL, lasting);
    response
}

fn version(api: &Inner) -> serde_json::Value {
    let full = &api.options.version;
    let mut numbers = full.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or("1"), numbers.next().unwrap_or("0"));
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": full,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }),
    })
}
