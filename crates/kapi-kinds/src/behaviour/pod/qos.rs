//! The quality of service a pod's resources give it.

use kernel::quantity::Quantity;
use serde_json::Value;

use crate::behaviour::check::quantity;
use crate::behaviour::value::{dig, list, present};

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(super) fn class(pod: &Value) -> &'static str {
    let spec = dig(pod, &["spec"]);
    if let Some(resources) = present(spec, "resources") {
        return class_of(std::iter::once(resources));
    }
    let containers = list(spec, "initContainers").iter().chain(list(spec, "containers"));
    class_of(containers.map(|container| dig(container, &["resources"])))
}

fn class_of<'a>(all: impl Iterator<Item = &'a Value>) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    for resources in all {
        for name in COUNTED {
            let amount = |kind: &str| {
                let amount = quantity(dig(resources, &[kind, name]));
                (amount > Quantity::ZERO).then_some(amount)
            };
            let (request, limit) = (amount("requests"), amount("limits"));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request.is_none_or(|request| Some(request) == limit);
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_decide_the_class() {
        let full = json!({"cpu": "1", "memory": "1Gi"});
        for (resources, expected) in [
            (json!({}), "BestEffort"),
            (json!({"requests": {"cpu": "1"}}), "Burstable"),
            (json!({"limits": full, "requests": full}), "Guaranteed"),
            (json!({"limits": full, "requests": {"cpu": "500m", "memory": "1Gi"}}), "Burstable"),
        ] {
            let pod = json!({"spec": {"containers": [{"resources": resources}]}});
            assert_eq!(class(&pod), expected, "{resources}");
        }
    }
}
