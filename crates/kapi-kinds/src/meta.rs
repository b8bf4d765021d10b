//! The rules every object's metadata obeys.

/// What is wrong with a DNS subdomain name.
pub fn dns_subdomain(_name: &str, _prefix: bool) -> Vec<String> {
    Vec::new()
}
