//! Devices that pods may claim.

use serde_json::Value;

use super::cell::Row;
use super::{AGE, NAME, Printer, string};

const GROUP: &str = "resource.k8s.io";

pub(super) const PRINTERS: &[Printer] = &[
    Printer { group: GROUP, kind: "DeviceClass", columns: &[NAME, AGE], row: name_and_age },
    Printer { group: GROUP, kind: "ResourceClaimTemplate", columns: &[NAME, AGE], row: name_and_age },
    Printer {
        group: GROUP,
        kind: "ResourceClaim",
        columns: &[NAME, string("State", "How far it has come."), AGE],
        row: |it| vec![it.name(), state(it).into(), it.age()],
    },
    Printer {
        group: GROUP,
        kind: "ResourceSlice",
        columns: &[
            NAME,
            string("Node", "The node that has the devices."),
            string("Driver", "The driver that offers them."),
            string("Pool", "The pool they belong to."),
            AGE,
        ],
        row: |it| {
            let [node, driver, pool] =
                ["spec.nodeName", "spec.driver", "spec.pool.name"].map(|path| it.text(path).into());
            vec![it.name(), node, driver, pool, it.age()]
        },
    },
];

fn name_and_age(it: Row<'_>) -> Vec<Value> {
    vec![it.name(), it.age()]
}

fn state(it: Row<'_>) -> String {
    let allocated = it.at("status.allocation").is_some();
    let reserved = allocated && it.count("status.reservedFor") > 0;
    let states = [
        (it.being_deleted(), "deleted"),
        (!allocated && !it.being_deleted(), "pending"),
        (allocated, "allocated"),
        (reserved, "reserved"),
    ];
    states.into_iter().filter(|(holds, _)| *holds).map(|(_, state)| state).collect::<Vec<_>>().join(",")
}
