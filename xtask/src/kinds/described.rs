//! The list of Rust types whose published schemas carry the descriptions of the built-in kinds.

use std::collections::BTreeSet;

use serde_json::Value;

/// The source of a function that visits the type of every resource.
pub(super) fn source(resources: &[Value]) -> String {
    let types: BTreeSet<String> =
        resources.iter().filter_map(|resource| Some(rust_path(resource["component"].as_str()?))).collect();
    let visits: String = types.iter().map(|ty| format!("    generator.subschema_for::<{ty}>();\n")).collect();
    format!(
        "//! Written by `cargo xtask kinds`.\n\n\
         use k8s_openapi::{{api, apiextensions_apiserver, kube_aggregator}};\n\n/// Visits the types of all built-in resources.\n\
         pub(crate) fn visit(generator: &mut schemars::SchemaGenerator) {{\n{visits}}}\n"
    )
}

/// `io.k8s.api.core.v1.Pod` is `api::core::v1::Pod` in k8s-openapi.
fn rust_path(component: &str) -> String {
    component.trim_start_matches("io.k8s.").replace('-', "_").replace('.', "::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_named_as_rust_types() {
        for (component, path) in [
            ("io.k8s.api.core.v1.Pod", "api::core::v1::Pod"),
            (
                "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
                "kube_aggregator::pkg::apis::apiregistration::v1::APIService",
            ),
        ] {
            assert_eq!(rust_path(component), path);
        }
    }
}
