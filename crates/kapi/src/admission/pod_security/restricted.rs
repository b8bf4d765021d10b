//! What the level `restricted` demands beyond `baseline`, in the order violations are told.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::fields::{list, present, text, texts};
use super::baseline;
use super::policy::Standard;
use super::violation::{Setters, Violation, containers, names_of, plural, quoted, these};

const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn violations(standard: Standard, spec: &Value) -> Vec<Violation> {
    // Windows has no such privileges.
    let linux = !(standard.has(25) && text(spec, "/os/name") == "windows");
    let mut out = Vec::new();
    if linux {
        out.extend(escalation(spec));
        out.extend(capabilities(spec));
    }
    out.extend(volumes(spec));
    out.extend(non_root(spec));
    if standard.has(23) {
        out.extend(root_user(spec));
    }
    if linux {
        out.extend(seccomp(spec));
    }
    out
}

fn escalation(spec: &Value) -> Option<Violation> {
    let field = "/securityContext/allowPrivilegeEscalation";
    let names = names_of(spec, |container| container.pointer(field) != Some(&false.into()));
    let detail = || format!("{} must set securityContext.allowPrivilegeEscalation=false", these(&names));
    (!names.is_empty()).then(|| Violation::new("allowPrivilegeEscalation != false", detail()))
}

fn capabilities(spec: &Value) -> Option<Violation> {
    let keeping = names_of(spec, |container| !texts(container, "/securityContext/capabilities/drop").contains(&"ALL"));
    fn added(container: &Value) -> Vec<&str> {
        let all = texts(container, "/securityContext/capabilities/add");
        all.into_iter().filter(|capability| *capability != "NET_BIND_SERVICE").collect()
    }
    let adding = names_of(spec, |container| !added(container).is_empty());
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", these(&keeping)));
    }
    if !adding.is_empty() {
        let all: BTreeSet<&str> = containers(spec).flat_map(added).collect();
        let what = quoted(all);
        details.push(format!("{} must not include {what} in securityContext.capabilities.add", these(&adding)));
    }
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

fn volumes(spec: &Value) -> Option<Violation> {
    let (mut names, mut kinds) = (Vec::new(), BTreeSet::new());
    for volume in list(spec, "/volumes") {
        if VOLUMES.iter().any(|kind| present(volume, &format!("/{kind}")).is_some()) {
            continue;
        }
        names.push(text(volume, "/name"));
        let fields = volume.as_object().into_iter().flatten();
        let kind =
            fields.filter(|(field, value)| *field != "name" && !value.is_null()).map(|(field, _)| field.as_str());
        kinds.insert(kind.into_iter().next().unwrap_or("unknown"));
    }
    (!names.is_empty()).then(|| {
        let (noun, uses) = (plural("volume", "volumes", names.len()), plural("uses", "use", names.len()));
        let what = plural("restricted volume type", "restricted volume types", kinds.len());
        let detail = format!("{noun} {} {uses} {what} {}", quoted(names), quoted(kinds));
        Violation::new("restricted volume types", detail)
    })
}

fn non_root(spec: &Value) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    let setters = Setters::find(spec, "/runAsNonRoot", |value| value == false);
    if !setters.is_empty() {
        let detail = format!("{} must not set securityContext.runAsNonRoot=false", setters.names());
        return Some(Violation::new(REASON, detail));
    }
    let silent = silent(spec, "/securityContext/runAsNonRoot");
    let detail = || format!("pod or {} must set securityContext.runAsNonRoot=true", these(&silent));
    (!silent.is_empty()).then(|| Violation::new(REASON, detail()))
}

fn root_user(spec: &Value) -> Option<Violation> {
    let setters = Setters::find(spec, "/runAsUser", |user| user.as_i64() == Some(0));
    (!setters.is_empty())
        .then(|| Violation::new("runAsUser=0", format!("{} must not set runAsUser=0", setters.names())))
}

fn seccomp(spec: &Value) -> Option<Violation> {
    let said = baseline::seccomp(spec);
    if said.is_some() {
        return said;
    }
    let silent = silent(spec, "/securityContext/seccompProfile");
    let detail = || {
        format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            these(&silent)
        )
    };
    (!silent.is_empty()).then(|| Violation::new("seccompProfile", detail()))
}

/// Containers that say nothing where the pod says nothing either.
fn silent<'a>(spec: &'a Value, pointer: &str) -> Vec<&'a str> {
    if present(spec, pointer).is_some() {
        return Vec::new();
    }
    names_of(spec, |container| present(container, pointer).is_none())
}
