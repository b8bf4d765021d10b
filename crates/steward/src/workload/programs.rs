//! kube-apiserver, kube-controller-manager and kube-scheduler: what each is told.

use super::flags::Flags;
use super::konnectivity::SELECTOR_FILE;
use super::{Wanted, agent_port};

/// Where the certificates are mounted.
pub const PKI: &str = "/etc/kubernetes/pki";
/// Where the kubeconfigs are mounted.
pub const CONF: &str = "/etc/kubernetes/conf";

/// The port of kube-controller-manager's health.
pub const CONTROLLER_MANAGER_PORT: i32 = 10257;
/// The port of kube-scheduler's health.
pub const SCHEDULER_PORT: i32 = 10259;

/// How long an API server that is told to stop goes on answering, for load balancers to look elsewhere.
pub const SHUTDOWN_DELAY_SECONDS: i64 = 5;

/// Arguments of kube-apiserver.
pub fn api_server(wanted: &Wanted<'_>) -> Flags {
    let pki = |file: &str| format!("{PKI}/{file}");
    let mut plugins = vec!["NodeRestriction".to_owned()];
    plugins.extend(wanted.spec.kubernetes.admission_controllers.iter().filter(|p| *p != "NodeRestriction").cloned());
    let addresses: Vec<&str> =
        wanted.spec.kubernetes.kubelet.preferred_address_types.iter().map(|kind| kind.as_str()).collect();
    let mut flags = Flags::default()
        .fixed("advertise-address", wanted.advertised.clone())
        .fixed("secure-port", wanted.port().to_string())
        .fixed("client-ca-file", pki("ca.crt"))
        .fixed("tls-cert-file", pki("apiserver.crt"))
        .fixed("tls-private-key-file", pki("apiserver.key"))
        .fixed("kubelet-client-certificate", pki("kubelet-client.crt"))
        .fixed("kubelet-client-key", pki("kubelet-client.key"))
        .fixed("proxy-client-cert-file", pki("front-proxy-client.crt"))
        .fixed("proxy-client-key-file", pki("front-proxy-client.key"))
        .fixed("requestheader-client-ca-file", pki("front-proxy-ca.crt"))
        .fixed("requestheader-allowed-names", "front-proxy-client")
        .fixed("requestheader-extra-headers-prefix", "X-Remote-Extra-")
        .fixed("requestheader-group-headers", "X-Remote-Group")
        .fixed("requestheader-username-headers", "X-Remote-User")
        .fixed("service-account-key-file", pki("sa.pub"))
        .fixed("service-account-signing-key-file", pki("sa.key"))
        .fixed("service-cluster-ip-range", wanted.service_cidrs().join(","))
        .fixed("etcd-servers", wanted.store.servers.join(","))
        .fixed("etcd-prefix", format!("/{}", wanted.place.schema))
        .preset("service-account-issuer", format!("https://kubernetes.default.svc.{}", wanted.domain()))
        .preset("allow-privileged", "true")
        .preset("authorization-mode", "Node,RBAC")
        .preset("enable-admission-plugins", plugins.join(","))
        .preset("enable-bootstrap-token-auth", "true")
        .preset("kubelet-preferred-address-types", addresses.join(","))
        .preset("profiling", "false")
        .preset("shutdown-delay-duration", format!("{SHUTDOWN_DELAY_SECONDS}s"))
        .preset("shutdown-send-retry-after", "true");
    if wanted.store.certificate {
        flags = flags
            .fixed("etcd-cafile", pki("etcd/ca.crt"))
            .fixed("etcd-certfile", pki("etcd/client.crt"))
            .fixed("etcd-keyfile", pki("etcd/client.key"));
    }
    if !wanted.overrides.is_empty() {
        let each = wanted.overrides.iter().map(|(resource, servers)| format!("{resource}#{}", servers.join(";")));
        flags = flags.fixed("etcd-servers-overrides", each.collect::<Vec<_>>().join(","));
    }
    if agent_port(&wanted.spec.addons).is_some() {
        flags = flags.fixed("egress-selector-config-file", SELECTOR_FILE);
    }
    // A store that is shared is compacted by whoever runs it.
    if !wanted.has_own_etcd() {
        flags = flags.preset("etcd-compaction-interval", "0");
    }
    flags
}

/// Arguments of kube-controller-manager.
pub fn controller_manager(wanted: &Wanted<'_>) -> Flags {
    let pki = |file: &str| format!("{PKI}/{file}");
    let kubeconfig = format!("{CONF}/controller-manager.conf");
    Flags::default()
        .fixed("authentication-kubeconfig", kubeconfig.clone())
        .fixed("authorization-kubeconfig", kubeconfig.clone())
        .fixed("kubeconfig", kubeconfig)
        .fixed("client-ca-file", pki("ca.crt"))
        .fixed("root-ca-file", pki("ca.crt"))
        .fixed("cluster-signing-cert-file", pki("ca.crt"))
        .fixed("cluster-signing-key-file", pki("ca.key"))
        .fixed("requestheader-client-ca-file", pki("front-proxy-ca.crt"))
        .fixed("service-account-private-key-file", pki("sa.key"))
        .fixed("service-cluster-ip-range", wanted.service_cidrs().join(","))
        .fixed("cluster-cidr", wanted.pod_cidrs().join(","))
        .fixed("cluster-name", wanted.name)
        .preset("allocate-node-cidrs", "true")
        .preset("bind-address", "0.0.0.0")
        .preset("controllers", "*,bootstrapsigner,tokencleaner")
        .preset("leader-elect", "true")
        .preset("profiling", "false")
        .preset("use-service-account-credentials", "true")
}

/// Arguments of kube-scheduler.
pub fn scheduler() -> Flags {
    let kubeconfig = format!("{CONF}/scheduler.conf");
    Flags::default()
        .fixed("authentication-kubeconfig", kubeconfig.clone())
        .fixed("authorization-kubeconfig", kubeconfig.clone())
        .fixed("kubeconfig", kubeconfig)
        .preset("bind-address", "0.0.0.0")
        .preset("leader-elect", "true")
        .preset("profiling", "false")
}
