//! The pods of a Job.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use kube::ResourceExt;

use crate::workloads::template;

/// Keeps a pod until it is counted.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// The part of the work that a pod does.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// A pod for a job, for one part of the work if that is divided.
pub(super) fn pod(job: &Job, index: Option<u32>) -> Pod {
    let template = job.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let mut pod = template::pod(&template, job);
    pod.metadata.finalizers.get_or_insert_default().push(TRACKING.into());
    let Some(index) = index else { return pod };
    pod.metadata.generate_name = Some(format!("{}-{index}-", job.name_any()));
    pod.metadata.annotations.get_or_insert_default().insert(INDEX.into(), index.to_string());
    pod.metadata.labels.get_or_insert_default().insert(INDEX.into(), index.to_string());
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(format!("{}-{index}", job.name_any()));
    let field = ObjectFieldSelector { api_version: None, field_path: format!("metadata.labels['{INDEX}']") };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    let variable = EnvVar { name: "JOB_COMPLETION_INDEX".into(), value: None, value_from: Some(source) };
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        let variables = container.env.get_or_insert_default();
        if variables.iter().all(|known| known.name != variable.name) {
            variables.push(variable.clone());
        }
    }
    pod
}

/// The part of the work that a pod does.
pub(super) fn index(pod: &Pod) -> Option<u32> {
    pod.annotations().get(INDEX)?.parse().ok()
}

/// Whether a pod waits to be counted.
pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.finalizers().iter().any(|known| known == TRACKING)
}
