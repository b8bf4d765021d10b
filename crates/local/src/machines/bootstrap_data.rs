//! Reading what a machine boots: how to join, whoever wrote it in whatever form.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use serde_json::Value;

/// How a machine joins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Join {
    /// Host and port of the API server.
    pub(super) endpoint: String,
    /// The bootstrap token.
    pub(super) token: String,
    /// Authorities to trust, each as `sha256:…`.
    pub(super) pins: Vec<String>,
    /// Labels of the node.
    pub(super) labels: BTreeMap<String, String>,
    /// Taints of the node.
    pub(super) taints: Vec<Taint>,
}

/// Reads how to join out of bootstrap data: a kubeadm JoinConfiguration in a cloud-config, or what stands in any other
/// form in so many words.
pub(super) fn read(data: &str) -> Option<Join> {
    from_cloud_config(data).or_else(|| from_words(data))
}

fn from_cloud_config(data: &str) -> Option<Join> {
    let config = kernel::yaml::value(data).ok()?;
    let files = config.get("write_files")?.as_array()?;
    let contents = files.iter().filter_map(|file| file.get("content")?.as_str());
    let mut documents = contents.filter_map(|content| kernel::yaml::values(content).ok()).flatten();
    let join = documents.find(|document| document["kind"] == "JoinConfiguration")?;
    let discovery = join.pointer("/discovery/bootstrapToken")?;
    let registration = &join["nodeRegistration"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let arguments = &registration["kubeletExtraArgs"];
    let argument = |name: &str| match arguments {
        Value::Object(map) => map.get(name).and_then(text),
        Value::Array(list) => {
            list.iter().find(|argument| argument["name"] == name).and_then(|found| text(&found["value"]))
        }
        _ => None,
    };
    let mut taints: Vec<Taint> = serde_json::from_value(registration["taints"].clone()).unwrap_or_default();
    taints.extend(argument("register-with-taints").iter().flat_map(|list| list.split(',')).filter_map(taint));
    Some(Join {
        endpoint: text(&discovery["apiServerEndpoint"])?,
        token: text(&discovery["token"])?,
        pins: discovery["caCertHashes"].as_array().into_iter().flatten().filter_map(text).collect(),
        labels: argument("node-labels").map(|list| labels(&list)).unwrap_or_default(),
        taints,
    })
}

fn labels(list: &str) -> BTreeMap<String, String> {
    let pairs = list.split(',').filter_map(|pair| pair.trim().split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// `key=value:Effect`, or `key:Effect`.
fn taint(text: &str) -> Option<Taint> {
    let (key, effect) = text.trim().rsplit_once(':')?;
    let (key, value) = key.split_once('=').map_or((key, None), |(key, value)| (key, Some(value.to_owned())));
    Some(Taint { key: key.to_owned(), value, effect: effect.to_owned(), time_added: None })
}

/// A token, an endpoint and authorities are told apart from everything else by their form alone.
fn from_words(data: &str) -> Option<Join> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".:-/[]".contains(c);
    let words: Vec<&str> = data.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let token = words.iter().find(|word| is_token(word))?;
    let is_pin = |word: &&&str| word.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64);
    let mut endpoints = words.iter().filter_map(|word| {
        let place = word.strip_prefix("https://").unwrap_or(word).trim_end_matches('/');
        let (host, port) = place.rsplit_once(':')?;
        let is_host = !host.is_empty() && !host.contains('/') && host != "sha256";
        (is_host && port.parse::<u16>().is_ok()).then(|| place.to_owned())
    });
    Some(Join {
        endpoint: endpoints.next()?,
        token: (*token).to_owned(),
        pins: words.iter().filter(is_pin).map(|word| (*word).to_owned()).collect(),
        ..Join::default()
    })
}

fn is_token(word: &str) -> bool {
    word.split_once('.').is_some_and(|(id, secret)| pki::BootstrapToken::from_parts(id, secret).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIN: &str = "sha256:984a1e179eaed8c0873a66edf3b2aadfad55ab6c060730385f8ba1b6b9be6658";

    #[test]
    fn a_join_configuration_is_found_in_a_cloud_config() {
        for arguments in [
            "{node-labels: 'a=b,c=d', register-with-taints: 'x=y:NoSchedule'}",
            "[{name: node-labels, value: 'a=b,c=d'}, {name: register-with-taints, value: 'x=y:NoSchedule'}]",
        ] {
            let data = format!(
                "## template: jinja\n#cloud-config\nwrite_files:\n- path: /etc/other\n  content: 'no: thing'\n- path: /run/join.yaml\n  \
                 content: |\n    ---\n    kind: JoinConfiguration\n    discovery:\n      bootstrapToken:\n        token: \
                 abcdef.0123456789abcdef\n        apiServerEndpoint: 10.0.0.1:6443\n        caCertHashes: ['{PIN}']\n    \
                 nodeRegistration:\n      kubeletExtraArgs: {arguments}\n"
            );
            let join = read(&data).unwrap();
            assert_eq!((join.endpoint.as_str(), join.token.as_str()), ("10.0.0.1:6443", "abcdef.0123456789abcdef"));
            assert_eq!(join.pins, [PIN]);
            assert_eq!(join.labels.len(), 2);
            assert_eq!((join.taints[0].key.as_str(), join.taints[0].effect.as_str()), ("x", "NoSchedule"));
        }
    }

    #[test]
    fn other_forms_are_read_by_their_words() {
        for data in [
            format!(
                "#!/bin/sh\nkubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash {PIN}"
            ),
            format!(
                "[settings.kubernetes]\napi-server = \"https://10.0.0.1:6443\"\nbootstrap-token = \"abcdef.0123456789abcdef\"\n# {PIN}"
            ),
        ] {
            let join = read(&data).unwrap();
            assert_eq!((join.endpoint.as_str(), join.token.as_str()), ("10.0.0.1:6443", "abcdef.0123456789abcdef"));
            assert_eq!(join.pins, [PIN]);
        }
        for data in ["", "nothing here", "token: abcdef.0123456789abcdef"] {
            assert_eq!(read(data), None, "{data}");
        }
    }
}
