//! PodSecurity: the standards a namespace demands of its pods by label.

mod baseline;
mod policy;
mod restricted;
mod violation;

use serde_json::Value;

use super::Operation;
use super::fields::{forbid, list_mut, stored, stored_all, text};
use crate::call::Call;
use crate::object;
use crate::status::Status;
use policy::{Level, Policy, Standard};
use violation::Violation;

/// Judges a write of a pod, of what makes pods, or of a namespace's labels.
pub(super) fn check(call: &mut Call, operation: Operation, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    let (group, kind) = (&*call.served.resource.group, &*call.served.resource.kind);
    if call.served.custom.is_some() {
        return Ok(());
    }
    match (group, kind, call.target.subresource.as_str()) {
        ("", "Namespace", "") => check_namespace(call, operation, object, old),
        ("", "Pod", "" | "ephemeralcontainers" | "resize") => check_pod(call, object, old),
        (group, kind, "") => match template_of(group, kind) {
            Some(pointer) => {
                warn_of_template(call, object.pointer(pointer));
                Ok(())
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Where a kind that makes pods has their template.
fn template_of(group: &str, kind: &str) -> Option<&'static str> {
    match (group, kind) {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => Some("/spec/template"),
        ("batch", "Job") | ("", "ReplicationController") => Some("/spec/template"),
        ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template"),
        ("", "PodTemplate") => Some("/template"),
        _ => None,
    }
}

fn policy_here(call: &Call) -> Option<Policy> {
    let namespace = stored(call, "namespaces.", &call.target.namespace)?;
    let (policy, _) = policy::of_labels(namespace.pointer("/metadata/labels").and_then(Value::as_object));
    (policy.enforce.level > Level::Privileged || policy.warn.level > Level::Privileged).then_some(policy)
}

fn check_pod(call: &mut Call, pod: &Value, old: Option<&Value>) -> Result<(), Status> {
    let Some(policy) = policy_here(call) else { return Ok(()) };
    if old.is_some_and(|old| !matters(pod, old)) {
        return Ok(());
    }
    let found = violations(policy.enforce, pod);
    if !found.is_empty() {
        let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, told(&found));
        return Err(forbid(call, pod, why));
    }
    warn(call, policy, pod);
    Ok(())
}

fn warn_of_template(call: &mut Call, template: Option<&Value>) {
    if let Some(template) = template.filter(|template| template.is_object())
        && let Some(policy) = policy_here(call)
    {
        warn(call, policy, template);
    }
}

fn warn(call: &mut Call, policy: Policy, pod: &Value) {
    let found = violations(policy.warn, pod);
    if !found.is_empty() {
        call.warnings.push(format!("would violate PodSecurity \"{}\": {}", policy.warn, told(&found)));
    }
}

/// Whether a change of a pod is one that could break a rule.
fn matters(pod: &Value, old: &Value) -> bool {
    let stripped = |pod: &Value| {
        let mut spec = pod.get("spec").cloned().unwrap_or_default();
        for pointer in ["/containers", "/initContainers", "/ephemeralContainers"] {
            for container in list_mut(&mut spec, pointer) {
                container.as_object_mut().and_then(|container| container.remove("image"));
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            for field in ["tolerations", "activeDeadlineSeconds", "schedulingGates", "nodeSelector"] {
                spec.remove(field);
            }
        }
        (spec, pod.pointer("/metadata/annotations").cloned())
    };
    stripped(pod) != stripped(old)
}

/// What is wrong with a pod or a template of one.
fn violations(standard: Standard, pod: &Value) -> Vec<Violation> {
    let (metadata, spec) = (&pod["metadata"], &pod["spec"]);
    match standard.level {
        Level::Privileged => Vec::new(),
        Level::Baseline => baseline::violations(standard, metadata, spec, false),
        Level::Restricted => {
            let mut found = baseline::violations(standard, metadata, spec, true);
            found.extend(restricted::violations(standard, spec));
            found
        }
    }
}

fn told(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn check_namespace(call: &mut Call, operation: Operation, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    let read = |namespace: &Value| policy::of_labels(namespace.pointer("/metadata/labels").and_then(Value::as_object));
    let (policy, errors) = read(object);
    let before = old.map(read);
    let told_before = before.as_ref().is_some_and(|(_, known)| *known == errors);
    if !errors.is_empty() && !told_before {
        return Err(Status::invalid("", "Namespace", object::name(object), &errors));
    }
    let Some((former, _)) = before.filter(|_| operation == Operation::Update) else { return Ok(()) };
    if policy.enforce == former.enforce || policy.enforce.level <= former.enforce.level {
        return Ok(());
    }
    let warnings = of_existing(call, object::name(object), policy.enforce);
    call.warnings.extend(warnings);
    Ok(())
}

/// Warnings about pods that are there already.
fn of_existing(call: &Call, namespace: &str, standard: Standard) -> Vec<String> {
    let mut groups: Vec<(String, String, usize)> = Vec::new();
    for pod in stored_all(call, "pods.", &format!("{namespace}/")) {
        let found = violations(standard, &pod);
        if found.is_empty() {
            continue;
        }
        let reasons = found.iter().map(|violation| violation.reason.as_str()).collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|(known, _, _)| *known == reasons) {
            Some((_, _, count)) => *count += 1,
            None => groups.push((reasons, text(&pod, "/metadata/name").to_owned(), 1)),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = groups
        .into_iter()
        .map(|(reasons, name, count)| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            count => format!("{name} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    lines.sort();
    let head =
        format!("existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{standard}\"");
    std::iter::once(head).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(level: &str, pod: &Value) -> String {
        let labels = json!({"pod-security.kubernetes.io/enforce": level});
        let (policy, _) = policy::of_labels(labels.as_object());
        told(&violations(policy.enforce, pod))
    }

    #[test]
    fn pods_are_judged_by_level() {
        let plain = json!({"spec": {"containers": [{"name": "a"}]}});
        assert_eq!(judged("baseline", &plain), "");
        assert_eq!(
            judged("restricted", &plain),
            "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false), \
             unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]), \
             runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true), \
             seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \
             \"Localhost\")"
        );
        let rows = [
            (json!({"hostNetwork": true, "hostPID": true}), "host namespaces (hostNetwork=true, hostPID=true)"),
            (
                json!({"containers": [{"name": "a", "securityContext": {"privileged": true}}, {"name": "b", "securityContext": {"privileged": true}}]}),
                "privileged (containers \"a\", \"b\" must not set securityContext.privileged=true)",
            ),
            (json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "hostPath volumes (volume \"v\")"),
            (
                json!({"containers": [{"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 8080}]}]}),
                "hostPort (container \"a\" uses hostPorts 80, 8080)",
            ),
            (
                json!({"containers": [{"name": "a", "securityContext": {"capabilities": {"add": ["NET_RAW"]}}}]}),
                "non-default capabilities (container \"a\" must not include \"NET_RAW\" in securityContext.capabilities.add)",
            ),
            (json!({"securityContext": {"sysctls": [{"name": "x"}]}}), "forbidden sysctls (x)"),
            (
                json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
                "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")",
            ),
            (
                json!({"securityContext": {"seLinuxOptions": {"type": "x", "user": "u"}}}),
                "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"x\"; user may not be set)",
            ),
        ];
        for (spec, expected) in rows {
            assert_eq!(judged("baseline", &json!({"spec": spec})), expected, "{spec}");
        }
    }

    #[test]
    fn violations_come_in_the_order_of_the_real_server() {
        let pod = json!({
            "metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}},
            "spec": {
                "hostNetwork": true,
                "volumes": [{"name": "v", "hostPath": {"path": "/"}}, {"name": "n", "nfs": {"server": "a", "path": "/b"}}],
                "securityContext": {
                    "runAsUser": 0, "seLinuxOptions": {"type": "x", "role": "r"}, "sysctls": [{"name": "kernel.x"}],
                },
                "containers": [
                    {"name": "a", "ports": [{"hostPort": 80}], "securityContext": {
                        "appArmorProfile": {"type": "Unconfined"}, "capabilities": {"add": ["NET_RAW", "CHOWN"]},
                    }},
                    {"name": "b", "livenessProbe": {"httpGet": {"host": "h", "port": 1}}},
                ],
            },
        });
        assert_eq!(
            judged("restricted", &pod),
            "forbidden AppArmor profiles (container \"a\" and annotation must not set AppArmor profile type to \
             \"Unconfined\", \"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\"), \
             host namespaces (hostNetwork=true), hostPort (container \"a\" uses hostPort 80), \
             probe or lifecycle host (container \"b\" uses probe or lifecycle host \"h\"), \
             seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"x\"; role may not be set), \
             forbidden sysctls (kernel.x), \
             allowPrivilegeEscalation != false (containers \"a\", \"b\" must set \
             securityContext.allowPrivilegeEscalation=false), \
             unrestricted capabilities (containers \"a\", \"b\" must set securityContext.capabilities.drop=[\"ALL\"]; \
             container \"a\" must not include \"CHOWN\", \"NET_RAW\" in securityContext.capabilities.add), \
             restricted volume types (volumes \"v\", \"n\" use restricted volume types \"hostPath\", \"nfs\"), \
             runAsNonRoot != true (pod or containers \"a\", \"b\" must set securityContext.runAsNonRoot=true), \
             runAsUser=0 (pod must not set runAsUser=0), \
             seccompProfile (pod or containers \"a\", \"b\" must set securityContext.seccompProfile.type to \
             \"RuntimeDefault\" or \"Localhost\")"
        );
    }

    #[test]
    fn a_restricted_pod_passes() {
        let pod = json!({"spec": {
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "a", "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            }}],
        }});
        assert_eq!(judged("restricted", &pod), "");
    }

    #[test]
    fn only_changes_that_could_matter_are_judged() {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": "x"}], "tolerations": []}});
        let mut other = pod.clone();
        other["spec"]["containers"][0]["image"] = "y".into();
        other["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        assert!(!matters(&other, &pod));
        other["spec"]["ephemeralContainers"] = json!([{"name": "debug"}]);
        assert!(matters(&other, &pod));
    }
}
