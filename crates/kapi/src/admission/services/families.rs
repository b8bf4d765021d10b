//! Which address families a Service may have on the ranges there are.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::fields::{list, set_spec, text, texts};
use super::{Ranges, invalid};
use crate::status::Status;

const POLICY: &str = "/spec/ipFamilyPolicy";
const FAMILIES: &str = "/spec/ipFamilies";
const ADDRESSES: &str = "/spec/clusterIPs";

/// Fills in families that are missing, and refuses those the ranges cannot serve.
pub(super) fn settle(ranges: &Ranges, service: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    if text(service, "/spec/type") == "ExternalName" || old.is_some_and(|old| prefers_dual_as_before(service, old)) {
        return Ok(());
    }
    let single = text(service, POLICY) == "SingleStack";
    let mut errors = Vec::new();
    if let Some(old) = old {
        match single {
            true => shrink(service, old),
            false => errors.extend(refuse_fewer(service, old)),
        }
    }
    if single {
        errors.extend(refuse_two(service));
    }
    refuse(service, &errors)?;
    let selectorless = service.pointer("/spec/selector").and_then(Value::as_object).is_none_or(|map| map.is_empty());
    if text(service, "/spec/clusterIP") == "None" && selectorless {
        return Ok(());
    }
    if text(service, POLICY) == "RequireDualStack" && !ranges.is_dual() {
        errors.push(policy_error(service, "this cluster is not configured for dual-stack services"));
    }
    for (i, family) in texts(service, FAMILIES).iter().enumerate() {
        if ranges.of_family(family).is_none() {
            let path = Path::new("spec.ipFamilies").index(i);
            errors.push(FieldError::invalid(&path, &(*family).into(), "not configured on this cluster"));
        }
    }
    refuse(service, &errors)?;
    complete(ranges, service, single);
    Ok(())
}

fn complete(ranges: &Ranges, service: &mut Value, single: bool) {
    if list(service, FAMILIES).is_empty() {
        set_spec(service, "ipFamilies", json!([ranges.default_family()]));
    }
    if !single && ranges.is_dual() && list(service, FAMILIES).len() == 1 {
        let first = text(service, "/spec/ipFamilies/0").to_owned();
        let second = if first == "IPv4" { "IPv6" } else { "IPv4" };
        set_spec(service, "ipFamilies", json!([first, second]));
    }
}

/// A Service that takes a second family if there is one keeps what it has.
fn prefers_dual_as_before(new: &Value, old: &Value) -> bool {
    let same = |pointer: &str| new.pointer(pointer) == old.pointer(pointer);
    let before = text(old, POLICY);
    text(new, POLICY) == "PreferDualStack"
        && matches!(before, "" | "PreferDualStack")
        && same("/spec/type")
        && same(ADDRESSES)
        && same(FAMILIES)
}

/// To ask for one family is to give up the second.
fn shrink(service: &mut Value, old: &Value) {
    for (pointer, field) in [(ADDRESSES, "clusterIPs"), (FAMILIES, "ipFamilies")] {
        let kept = list(service, pointer);
        if kept.len() > 1 && kept == list(old, pointer) {
            let first = kept.first().cloned();
            set_spec(service, field, first.into_iter().collect::<Value>());
        }
    }
}

fn refuse_fewer(service: &Value, old: &Value) -> Vec<FieldError> {
    let fewer = |pointer: &str| {
        let count = list(service, pointer).len();
        count != 0 && count < list(old, pointer).len()
    };
    let rows = [
        (ADDRESSES, "must be 'SingleStack' to release the secondary cluster IP"),
        (FAMILIES, "must be 'SingleStack' to release the secondary IP family"),
    ];
    rows.iter().filter(|(pointer, _)| fewer(pointer)).map(|(_, detail)| policy_error(service, detail)).collect()
}

fn refuse_two(service: &Value) -> Vec<FieldError> {
    let rows = [(ADDRESSES, "cluster IPs"), (FAMILIES, "IP families")];
    let two = rows.iter().filter(|(pointer, _)| list(service, pointer).len() == 2);
    two.map(|(_, what)| {
        let detail = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
        policy_error(service, &detail)
    })
    .collect()
}

fn policy_error(service: &Value, detail: &str) -> FieldError {
    FieldError::invalid(&Path::new("spec.ipFamilyPolicy"), &text(service, POLICY).into(), detail)
}

fn refuse(service: &Value, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(invalid(service, errors)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(cidrs: &str, spec: Value, old: Option<Value>) -> Result<Value, String> {
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        let old = old.map(|spec| json!({"spec": spec}));
        match settle(&Ranges::parse(cidrs), &mut service, old.as_ref()) {
            Ok(()) => Ok(service["spec"]["ipFamilies"].clone()),
            Err(status) => Err(status.message),
        }
    }

    #[test]
    fn families_follow_the_ranges() {
        const ONE: &str = "10.96.0.0/12";
        const TWO: &str = "10.96.0.0/12,fd00::/108";
        let dual = "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is \
                    not configured for dual-stack services";
        let two = "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be \
                   'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
        let rows = [
            (ONE, json!({"ipFamilyPolicy": "SingleStack"}), Ok(json!(["IPv4"]))),
            ("fd00::/108", json!({"ipFamilyPolicy": "SingleStack"}), Ok(json!(["IPv6"]))),
            (ONE, json!({"ipFamilyPolicy": "PreferDualStack"}), Ok(json!(["IPv4"]))),
            (TWO, json!({"ipFamilyPolicy": "PreferDualStack"}), Ok(json!(["IPv4", "IPv6"]))),
            (TWO, json!({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6"]}), Ok(json!(["IPv6", "IPv4"]))),
            (ONE, json!({"ipFamilyPolicy": "RequireDualStack"}), Err(dual.to_owned())),
            (TWO, json!({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]}), Err(two.to_owned())),
        ];
        for (cidrs, spec, expected) in rows {
            assert_eq!(settled(cidrs, spec.clone(), None), expected, "{cidrs} {spec}");
        }
    }

    #[test]
    fn asking_for_one_family_releases_the_second() {
        let old = json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]});
        let new = json!({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]});
        assert_eq!(settled("10.96.0.0/12,fd00::/108", new, Some(old)), Ok(json!(["IPv4"])));
    }
}
