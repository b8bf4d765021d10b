//! What the level `baseline` forbids, in the order violations are told.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::fields::{int, list, present, text, texts};
use super::policy::Standard;
use super::violation::{Setters, Violation, containers, names_of, plural, quoted, these};

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
/// Safe kernel parameters and the minor version they were allowed in.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

/// `but_restricted` leaves out what the stricter rules of `restricted` cover.
pub(super) fn violations(standard: Standard, metadata: &Value, spec: &Value, but_restricted: bool) -> Vec<Violation> {
    let mut out = Vec::new();
    out.extend(app_armor(metadata, spec));
    if !but_restricted {
        out.extend(capabilities(spec));
    }
    out.extend(host_namespaces(spec));
    if !but_restricted {
        out.extend(host_paths(spec));
    }
    out.extend(host_ports(spec));
    if standard.has(34) {
        out.extend(probe_hosts(spec));
    }
    out.extend(privileged(spec));
    out.extend(proc_mounts(spec));
    out.extend(se_linux(standard, spec));
    if !but_restricted {
        out.extend(seccomp(spec));
    }
    out.extend(sysctls(standard, spec));
    out.extend(host_process(spec));
    out
}

fn is_profile(value: &Value) -> bool {
    matches!(value.as_str(), Some("RuntimeDefault" | "Localhost"))
}

fn app_armor(metadata: &Value, spec: &Value) -> Option<Violation> {
    let setters = Setters::find(spec, "/appArmorProfile/type", |kind| !is_profile(kind));
    let mut values: Vec<String> = setters.values.iter().map(|value| (*value).to_owned()).collect();
    let annotations = metadata.get("annotations").and_then(Value::as_object).into_iter().flatten();
    let mut bad: Vec<String> = annotations
        .filter(|(key, _)| key.starts_with(APP_ARMOR_PREFIX))
        .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
        .filter(|(_, value)| !(value.is_empty() || *value == "runtime/default" || value.starts_with("localhost/")))
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    bad.sort();
    if setters.is_empty() && bad.is_empty() {
        return None;
    }
    let noun = plural("annotation", "annotations", bad.len());
    let who = [setters.names(), if bad.is_empty() { String::new() } else { noun.to_owned() }];
    let who: Vec<String> = who.into_iter().filter(|part| !part.is_empty()).collect();
    values.extend(bad);
    Some(Violation::new(
        plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len()),
        format!(
            "{} must not set AppArmor profile type to {}",
            who.join(" and "),
            quoted(values.iter().map(String::as_str))
        ),
    ))
}

fn capabilities(spec: &Value) -> Option<Violation> {
    let mut added: BTreeSet<&str> = BTreeSet::new();
    let mut names = Vec::new();
    for container in containers(spec) {
        let bad: Vec<&str> = texts(container, "/securityContext/capabilities/add")
            .into_iter()
            .filter(|capability| !CAPABILITIES.contains(capability))
            .collect();
        if !bad.is_empty() {
            names.push(text(container, "/name"));
            added.extend(bad);
        }
    }
    (!names.is_empty()).then(|| {
        let detail =
            format!("{} must not include {} in securityContext.capabilities.add", these(&names), quoted(added));
        Violation::new("non-default capabilities", detail)
    })
}

fn host_namespaces(spec: &Value) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"];
    let shared: Vec<String> =
        fields.iter().filter(|field| spec[**field] == true).map(|field| format!("{field}=true")).collect();
    (!shared.is_empty()).then(|| Violation::new("host namespaces", shared.join(", ")))
}

fn host_paths(spec: &Value) -> Option<Violation> {
    let volumes = list(spec, "/volumes").iter().filter(|volume| present(volume, "/hostPath").is_some());
    let names: Vec<&str> = volumes.map(|volume| text(volume, "/name")).collect();
    let noun = plural("volume", "volumes", names.len());
    (!names.is_empty()).then(|| Violation::new("hostPath volumes", format!("{noun} {}", quoted(names))))
}

fn host_ports(spec: &Value) -> Option<Violation> {
    let mut ports: BTreeSet<String> = BTreeSet::new();
    let names = names_of(spec, |container| {
        let used: Vec<i64> = list(container, "/ports")
            .iter()
            .filter_map(|port| int(port, "/hostPort"))
            .filter(|port| *port != 0)
            .collect();
        ports.extend(used.iter().map(ToString::to_string));
        !used.is_empty()
    });
    (!names.is_empty()).then(|| {
        let shown = ports.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let (uses, noun) = (plural("uses", "use", names.len()), plural("hostPort", "hostPorts", ports.len()));
        Violation::new("hostPort", format!("{} {uses} {noun} {shown}", these(&names)))
    })
}

fn probe_hosts(spec: &Value) -> Option<Violation> {
    const PLACES: [&str; 5] =
        ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle/postStart", "lifecycle/preStop"];
    let (mut names, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in containers(spec) {
        for place in PLACES {
            for action in ["httpGet", "tcpSocket"] {
                let host = text(container, &format!("/{place}/{action}/host"));
                if !host.is_empty() {
                    names.insert(text(container, "/name"));
                    hosts.insert(host);
                }
            }
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        let uses = plural("uses", "use", names.len());
        let noun = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
        Violation::new("probe or lifecycle host", format!("{} {uses} {noun} {}", these(&names), quoted(hosts)))
    })
}

fn privileged(spec: &Value) -> Option<Violation> {
    let names = names_of(spec, |container| container.pointer("/securityContext/privileged") == Some(&true.into()));
    let detail = || format!("{} must not set securityContext.privileged=true", these(&names));
    (!names.is_empty()).then(|| Violation::new("privileged", detail()))
}

fn proc_mounts(spec: &Value) -> Option<Violation> {
    fn kind(container: &Value) -> &str {
        text(container, "/securityContext/procMount")
    }
    let bad = |container: &Value| !matches!(kind(container), "" | "Default");
    let names = names_of(spec, bad);
    let kinds: BTreeSet<&str> = containers(spec).filter(|container| bad(container)).map(kind).collect();
    let detail = || format!("{} must not set securityContext.procMount to {}", these(&names), quoted(kinds));
    (!names.is_empty()).then(|| Violation::new("procMount", detail()))
}

fn se_linux(standard: Standard, spec: &Value) -> Option<Violation> {
    let known = |kind: &str| {
        matches!(kind, "" | "container_t" | "container_init_t" | "container_kvm_t")
            || kind == "container_engine_t" && standard.has(31)
    };
    let bad = |options: &Value| {
        !known(text(options, "/type")) || !text(options, "/user").is_empty() || !text(options, "/role").is_empty()
    };
    let setters = Setters::find(spec, "/seLinuxOptions", bad);
    if setters.is_empty() {
        return None;
    }
    let options: Vec<&Value> = std::iter::once(spec)
        .chain(containers(spec))
        .filter_map(|holder| present(holder, "/securityContext/seLinuxOptions"))
        .collect();
    let types: BTreeSet<&str> =
        options.iter().map(|options| text(options, "/type")).filter(|kind| !known(kind)).collect();
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(format!("{} {}", plural("type", "types", types.len()), quoted(types)));
    }
    for field in ["user", "role"] {
        if options.iter().any(|options| !text(options, &format!("/{field}")).is_empty()) {
            what.push(format!("{field} may not be set"));
        }
    }
    let detail = format!("{} set forbidden securityContext.seLinuxOptions: {}", setters.names(), what.join("; "));
    Some(Violation::new("seLinuxOptions", detail))
}

/// Seccomp profiles that are said and are none of the sound ones.
pub(super) fn seccomp(spec: &Value) -> Option<Violation> {
    let setters = Setters::find(spec, "/seccompProfile/type", |kind| !is_profile(kind));
    (!setters.is_empty()).then(|| {
        let values = quoted(setters.values.iter().copied());
        let detail = format!("{} must not set securityContext.seccompProfile.type to {values}", setters.names());
        Violation::new("seccompProfile", detail)
    })
}

fn sysctls(standard: Standard, spec: &Value) -> Option<Violation> {
    let allowed = |name: &str| SYSCTLS.iter().any(|(known, since)| *known == name && standard.has(*since));
    let names = list(spec, "/securityContext/sysctls").iter().map(|sysctl| text(sysctl, "/name"));
    let bad: Vec<&str> = names.filter(|name| !allowed(name)).collect();
    (!bad.is_empty()).then(|| Violation::new("forbidden sysctls", bad.join(", ")))
}

fn host_process(spec: &Value) -> Option<Violation> {
    let setters = Setters::find(spec, "/windowsOptions/hostProcess", |value| value == true);
    let detail = || format!("{} must not set securityContext.windowsOptions.hostProcess=true", setters.names());
    (!setters.is_empty()).then(|| Violation::new("hostProcess", detail()))
}
