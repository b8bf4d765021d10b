//! The list of Rust types whose published schemas carry the descriptions of the built-in kinds.

use std::collections::BTreeSet;

use serde_json::Value;

/// The source of a function that visits the type of every resource.
pub(super) fn source(resources: &[Value]) -> String {
    let types: BTreeSet<String> =
        resources.iter().filter_map(|resource| Some(rust_path(resource["component"].as_str()?))).collect();
    let visits: String =
        types.iter().map(|ty| format!("    generator.subschema_for::<k8s_openapi::{ty}>();\n")).collect();
    format!(
        "//! Written by `cargo xtask kinds`.\n\n/// Visits the types of all built-in resources.\n\
         pub(crate) fn visit(generator: &mut schemars::SchemaGenerator) {{\n{visits}}}\n"
    )
}

/// `io.k8s.api.core.v1.Pod` is `api::core::v1::Pod` in k8s-openapi.
fn rust_path(component: &str) -> String {
    component.trim_start_matches("io.k8s.").replace('-', "_").replace('.', "::")
}
