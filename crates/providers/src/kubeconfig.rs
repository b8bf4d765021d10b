//! Reading somebody else's kubeconfig, as far as to know whether it can be used elsewhere.

use serde_json::Value;

/// The address a kubeconfig leads to, or why it cannot be used. The answer never quotes the document.
pub(crate) fn server(text: &str) -> Result<String, String> {
    let document = kernel::yaml::value(text).map_err(|_| "it is not YAML".to_owned())?;
    let current = document["current-context"].as_str().filter(|name| !name.is_empty());
    let current = current.ok_or("it has no current-context")?;
    let context =
        named(&document["contexts"], current, "context").ok_or("its current-context is not among its contexts")?;
    let entry = |list: &str, kind: &str| {
        let name = context[kind].as_str().unwrap_or_default();
        named(&document[list], name, kind).ok_or(format!("the {kind} of its current context is not among its {list}"))
    };
    let (cluster, user) = (entry("clusters", "cluster")?, entry("users", "user")?);
    for (owner, field) in
        [(cluster, "certificate-authority"), (user, "client-certificate"), (user, "client-key"), (user, "tokenFile")]
    {
        if owner[field].as_str().is_some_and(|path| !path.is_empty()) {
            return Err(format!("its {field} is a file of the machine it comes from"));
        }
    }
    if !["token", "client-certificate-data", "username"].iter().any(|field| has_text(&user[*field])) {
        return Err("its user has neither a token nor a client certificate".to_owned());
    }
    let server = cluster["server"].as_str().unwrap_or_default();
    let host = server.strip_prefix("https://").or_else(|| server.strip_prefix("http://"));
    host.filter(|host| !host.is_empty()).ok_or("its cluster has no server address")?;
    Ok(server.to_owned())
}

fn named<'a>(list: &'a Value, name: &str, kind: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|entry| entry["name"] == name).map(|entry| &entry[kind])
}

fn has_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> Value {
        json!({
            "current-context": "c",
            "contexts": [{"name": "other"}, {"name": "c", "context": {"cluster": "harvester", "user": "me"}}],
            "clusters": [{"name": "harvester", "cluster": {"server": "https://10.0.0.2:6443"}}],
            "users": [{"name": "me", "user": {"token": "hunter2"}}],
        })
    }

    #[test]
    fn leads_to_a_server() {
        let text = kernel::yaml::to_string(&config()).unwrap();
        assert_eq!(server(&text).unwrap(), "https://10.0.0.2:6443");
    }

    #[test]
    fn what_cannot_be_used_is_said_without_quoting_it() {
        let rows = [
            ("/current-context", json!(""), "it has no current-context"),
            ("/current-context", json!("gone"), "its current-context is not among its contexts"),
            ("/contexts", json!([]), "its current-context is not among its contexts"),
            ("/clusters", json!(null), "the cluster of its current context is not among its clusters"),
            ("/users/0/name", json!("you"), "the user of its current context is not among its users"),
            ("/users/0/user", json!({}), "its user has neither a token nor a client certificate"),
            ("/clusters/0/cluster", json!({}), "its cluster has no server address"),
            ("/clusters/0/cluster/server", json!("10.0.0.2"), "its cluster has no server address"),
            (
                "/users/0/user",
                json!({"client-certificate": "/etc/c.pem"}),
                "its client-certificate is a file of the machine it comes from",
            ),
        ];
        for (pointer, value, expected) in rows {
            let mut document = config();
            *document.pointer_mut(pointer).unwrap() = value;
            let reason = server(&document.to_string()).unwrap_err();
            assert_eq!(reason, expected);
        }
        for text in ["", "hunter2", "[1]", "{a: [", "a: b"] {
            let reason = server(text).unwrap_err();
            assert!(!reason.contains("hunter2"), "{reason}");
        }
    }
}
