//! A StewardControlPlane as the TenantControlPlane it asks for.

use butler_api::controlplane::{Component, ControlPlaneFields, HostedDeployment, StewardControlPlaneSpec};
use butler_api::shared::{ControlPlaneResources, Metadata};
use butler_api::steward::TenantControlPlaneSpec;
use butler_api::steward::tenant_control_plane::{
    ComponentArgs, ControlPlane, ControlPlaneAddons, Deployment, Gateway, ImageOverride, Ingress, Kubernetes,
    NetworkProfile, RegistrySettings, Service, VolumeMounts,
};

use capi::core::{ClusterNetwork, Ranges};

/// The spec of the TenantControlPlane. What the Cluster says of networks counts.
pub fn tenant_spec(asked: &StewardControlPlaneSpec, network: Option<&ClusterNetwork>) -> TenantControlPlaneSpec {
    let fields = &asked.fields;
    TenantControlPlaneSpec {
        data_store: fields.data_store_name.clone(),
        data_store_schema: fields.data_store_schema.clone(),
        data_store_username: fields.data_store_username.clone(),
        data_store_overrides: fields.data_store_overrides.clone(),
        etcd: fields.etcd.clone(),
        write_permissions: None,
        control_plane: ControlPlane {
            deployment: deployment(asked.replicas, fields),
            service: Service {
                service_type: fields.network.service_type,
                additional_metadata: metadata(&fields.network.service_labels, &fields.network.service_annotations),
                additional_ports: fields.network.additional_service_ports.clone(),
                allocate_load_balancer_node_ports: None,
            },
            ingress: fields.network.ingress.as_ref().map(|ingress| Ingress {
                ingress_class_name: ingress.class_name.clone(),
                hostname: Some(ingress.hostname.clone()),
                controller_type: ingress.controller_type,
                additional_metadata: metadata(&ingress.extra_labels, &ingress.extra_annotations),
            }),
            gateway: fields.network.gateway.as_ref().map(|gateway| Gateway {
                parent_refs: gateway.parent_refs.clone(),
                hostname: Some(gateway.hostname.clone()),
                additional_metadata: metadata(&gateway.extra_labels, &gateway.extra_annotations),
            }),
        },
        kubernetes: Kubernetes {
            version: asked.kubernetes_version(),
            kubelet: fields.kubelet.clone(),
            admission_controllers: fields.admission_controllers.clone(),
        },
        network_profile: network_profile(fields, network),
        addons: addons(fields),
    }
}

fn network_profile(fields: &ControlPlaneFields, network: Option<&ClusterNetwork>) -> NetworkProfile {
    let defaults = NetworkProfile::default();
    let ranges = |of: Option<&Ranges>| of.map(|ranges| ranges.cidr_blocks.clone()).unwrap_or_default();
    let services = ranges(network.and_then(|network| network.services.as_ref()));
    let pods = ranges(network.and_then(|network| network.pods.as_ref()));
    let several = |ranges: &[String]| (ranges.len() > 1).then(|| ranges.to_vec());
    let hosted = &fields.network;
    let balancer = hosted.load_balancer_config.clone().unwrap_or_default();
    let core_dns = fields.addons.as_ref().and_then(|addons| addons.core_dns.as_ref());
    let dns = core_dns.map(|dns| dns.dns_service_ips.clone()).filter(|addresses| !addresses.is_empty());
    NetworkProfile {
        address: hosted.service_address.clone(),
        advertise_address: hosted.advertise_address.clone(),
        allow_address_as_external_ip: None,
        port: network.and_then(|network| network.api_server_port).unwrap_or(defaults.port),
        cert_sans: hosted.cert_sans.clone(),
        cluster_domain: network
            .and_then(|network| network.service_domain.clone())
            .filter(|domain| !domain.is_empty())
            .unwrap_or(defaults.cluster_domain),
        service_cidr: services.first().cloned().unwrap_or(defaults.service_cidr),
        pod_cidr: pods.first().cloned().unwrap_or(defaults.pod_cidr),
        service_cidrs: several(&services),
        pod_cidrs: several(&pods),
        dns_service_ips: dns.unwrap_or_else(|| hosted.dns_service_ips.clone()),
        load_balancer_class: balancer.load_balancer_class,
        load_balancer_source_ranges: balancer.load_balancer_source_ranges,
    }
}

fn deployment(replicas: i32, fields: &ControlPlaneFields) -> Deployment {
    let pods = fields.deployment.clone().unwrap_or_default();
    let HostedDeployment {
        node_selector,
        runtime_class_name,
        priority_class_name,
        service_account_name,
        additional_metadata,
        pod_additional_metadata,
        strategy,
        affinity,
        tolerations,
        topology_spread_constraints,
        probes,
        extra_init_containers,
        extra_containers,
        extra_volumes,
        external_cluster_reference: _,
    } = pods;
    let component = |of: &Option<Component>| of.clone().unwrap_or_default();
    let (api_server, manager, scheduler) =
        (component(&fields.api_server), component(&fields.controller_manager), component(&fields.scheduler));
    let kine = fields.kine.clone().unwrap_or_default();
    let images = [&api_server, &manager, &scheduler].map(|component| component.container_image_name.clone());
    let registry = fields.registry.is_some() || images.iter().any(Option::is_some);
    let [api_server_image, controller_manager_image, scheduler_image] = images;
    let resources = ControlPlaneResources {
        api_server: api_server.resources,
        controller_manager: manager.resources,
        scheduler: scheduler.resources,
        kine: kine.resources,
    };
    Deployment {
        replicas,
        registry_settings: registry.then(|| RegistrySettings {
            registry: fields.registry.clone(),
            api_server_image,
            controller_manager_image,
            scheduler_image,
            tag_suffix: None,
        }),
        resources: Some(resources).filter(|resources| *resources != ControlPlaneResources::default()),
        extra_args: Some(ComponentArgs {
            api_server: api_server.extra_args,
            controller_manager: manager.extra_args,
            scheduler: scheduler.extra_args,
            kine: kine.extra_args,
        })
        .filter(|args| *args != ComponentArgs::default()),
        additional_volume_mounts: Some(VolumeMounts {
            api_server: api_server.extra_volume_mounts,
            controller_manager: manager.extra_volume_mounts,
            scheduler: scheduler.extra_volume_mounts,
        })
        .filter(|mounts| *mounts != VolumeMounts::default()),
        strategy,
        node_selector,
        tolerations,
        affinity,
        topology_spread_constraints,
        priority_class_name,
        runtime_class_name,
        service_account_name,
        probes,
        additional_metadata,
        pod_additional_metadata,
        additional_init_containers: extra_init_containers,
        additional_containers: extra_containers,
        additional_volumes: extra_volumes,
        ..Deployment::default()
    }
}

fn addons(fields: &ControlPlaneFields) -> ControlPlaneAddons {
    let addons = fields.addons.clone().unwrap_or_default();
    ControlPlaneAddons {
        core_dns: addons
            .core_dns
            .map(|dns| ImageOverride { image_repository: dns.image_repository, image_tag: dns.image_tag }),
        kube_proxy: addons.kube_proxy,
        konnectivity: addons.konnectivity,
        tcp_proxy: addons.tcp_proxy,
        worker_bootstrap: addons.worker_bootstrap,
    }
}

fn metadata(
    labels: &std::collections::BTreeMap<String, String>,
    annotations: &std::collections::BTreeMap<String, String>,
) -> Option<Metadata> {
    let metadata = Metadata { labels: labels.clone(), annotations: annotations.clone() };
    Some(metadata).filter(|metadata| *metadata != Metadata::default())
}
