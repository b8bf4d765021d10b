//! Control planes on machines of their own.

use butler_api::controlplane::{
    ControlPlaneFields, StewardControlPlane, StewardControlPlaneSpec, StewardControlPlaneStatus,
};
use butler_api::shared::{Blocker, BlockerOwner};
use capi::ObjectReference;
use capi::bootstrap::KubeadmConfigSpec;
use capi::controlplane::{ControlPlaneMachineTemplate, KubeadmControlPlane, KubeadmControlPlaneSpec};
use kernel::version::Version;
use kube::ResourceExt;
use kube::core::{DynamicObject, TypeMeta};
use providers::Machines;
use serde_json::json;

use super::pools::{digest_of, template_name};
use super::render::{Object, Renderer};
use crate::blockers::blocker;
use crate::{bootstrap, names};

/// The pool, so to speak, of the machines that carry the control plane.
const MACHINES: &str = "control-plane";

/// What everybody else reads of a control plane stands in the same places, whoever makes it.
pub(crate) fn like_hosted(plane: &KubeadmControlPlane) -> StewardControlPlane {
    let spec = StewardControlPlaneSpec {
        replicas: plane.spec.replicas,
        version: plane.spec.version.clone(),
        control_plane_endpoint: None,
        fields: ControlPlaneFields::default(),
    };
    let mut view = StewardControlPlane::new(&plane.name_any(), spec);
    view.metadata = plane.metadata.clone();
    view.status = plane.status.clone().map(|status| StewardControlPlaneStatus {
        observed_generation: status.observed_generation,
        initialized: status.initialized,
        ready: status.ready,
        version: status.version,
        replicas: Some(status.replicas),
        ready_replicas: Some(status.ready_replicas),
        updated_replicas: Some(status.updated_replicas),
        unavailable_replicas: Some(status.unavailable_replicas),
        failure_reason: status.failure_reason,
        failure_message: status.failure_message,
        ..StewardControlPlaneStatus::default()
    });
    view
}

impl Renderer<'_> {
    /// The control plane, the template of its machines, and what replaces dead ones.
    pub(crate) fn standalone(&self, version: Version) -> Result<Vec<Object>, Vec<Blocker>> {
        let name = names::pool(&self.name, MACHINES);
        let machine = providers::machine_template(&self.request, Machines::ControlPlane)?;
        let digest = runtime::fingerprint(&machine.spec);
        let known = self.observed.standalone.as_deref();
        let used = known.and_then(|plane| plane.spec.machine_template.infrastructure_ref.name.as_deref());
        let templates = &self.observed.machine_templates;
        let template = template_name(&name, &digest, used, |name| digest_of(&**templates.get(name)?));
        let asked = &self.wanted.spec.control_plane;
        let config = bootstrap::control_plane(&self.surroundings(), self.wanted, version)?;
        let config: KubeadmConfigSpec = serde_json::from_value(config).map_err(|error| {
            let remedy = "correct spec.controlPlane";
            vec![blocker("ControlPlaneRefused", error.to_string(), BlockerOwner::User, remedy)]
        })?;
        let mut plane = KubeadmControlPlane::new(
            &self.name,
            KubeadmControlPlaneSpec {
                replicas: asked.replicas(),
                version: version.to_string(),
                machine_template: ControlPlaneMachineTemplate {
                    infrastructure_ref: ObjectReference::new(&machine.api_version, &machine.kind, &template),
                    ..ControlPlaneMachineTemplate::default()
                },
                kubeadm_config_spec: config,
                ..KubeadmControlPlaneSpec::default()
            },
        );
        plane.metadata = self.metadata(&self.name);
        let machines = DynamicObject {
            types: Some(TypeMeta { api_version: machine.api_version.clone(), kind: machine.kind.clone() }),
            metadata: self.annotated(&template, &digest),
            data: json!({"spec": machine.spec}),
        };
        Ok(vec![
            Object::MachineTemplate(Box::new(machines)),
            Object::Standalone(Box::new(plane)),
            Object::HealthCheck(Box::new(self.control_plane_check(&name))),
        ])
    }
}
