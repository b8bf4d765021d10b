//! Judges of documents, written from the published rules of their languages and not from the code that makes them.

mod bottlerocket;
mod cloud_config;
mod ignition;
pub(crate) mod kubeadm;
mod shape;
mod talos;

use machine_os::Format;

/// Everything that is wrong with a document.
pub(crate) fn document(format: Option<Format>, text: &str) -> Vec<String> {
    match format {
        None => kubeadm::template(text),
        Some(Format::Ignition) => ignition::check(text),
        Some(Format::Talos) => talos::check(text),
        Some(Format::Bottlerocket) => bottlerocket::check(text),
        Some(Format::CloudConfig) => cloud_config::check(text),
    }
}
