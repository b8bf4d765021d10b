//! Volumes, claims, classes and the drivers behind them.

use serde_json::Value;

use super::cell::{Row, joined, text};
use super::core::storage;
use super::{AGE, Def, NAME, Printer, boolean, integer, string};

const VOLUME_MODE: Def = string("VolumeMode", "Whether it is a file system or a block device.").wide();
const STORAGE_CLASS: Def = string("StorageClass", "The class of storage it is of.");
const ATTRIBUTES_CLASS: Def = string("VolumeAttributesClass", "The class of attributes it asks for.");

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "PersistentVolume",
        columns: &[
            NAME,
            string("Capacity", "How much it holds."),
            string("Access Modes", "How it may be mounted, in short."),
            string("Reclaim Policy", "What becomes of it when its claim is gone."),
            string("Status", "Whether it is free, bound or released."),
            string("Claim", "The claim it is bound to."),
            STORAGE_CLASS,
            ATTRIBUTES_CLASS,
            string("Reason", "Why it is in this state, in one word."),
            AGE,
            VOLUME_MODE,
        ],
        row: volume,
    },
    Printer {
        group: "",
        kind: "PersistentVolumeClaim",
        columns: &[
            NAME,
            string("Status", "Whether a volume was found."),
            string("Volume", "The volume it is bound to."),
            string("Capacity", "How much that volume holds."),
            string("Access Modes", "How that volume may be mounted, in short."),
            STORAGE_CLASS,
            ATTRIBUTES_CLASS,
            AGE,
            VOLUME_MODE,
        ],
        row: claim,
    },
    Printer {
        group: "storage.k8s.io",
        kind: "StorageClass",
        columns: &[
            NAME,
            string("Provisioner", "Who makes its volumes."),
            string("ReclaimPolicy", "What becomes of a volume when its claim is gone."),
            string("VolumeBindingMode", "Whether volumes wait for the first pod that uses them."),
            string("AllowVolumeExpansion", "Whether volumes may grow."),
            AGE,
        ],
        row: storage_class,
    },
    Printer {
        group: "storage.k8s.io",
        kind: "VolumeAttributesClass",
        columns: &[NAME, string("DriverName", "The driver that knows the attributes."), AGE],
        row: |it| vec![it.name(), it.text("driverName").into(), it.age()],
    },
    Printer {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        columns: &[
            NAME,
            string("Attacher", "The driver that attaches the volume.").format("name"),
            string("PV", "The volume."),
            string("Node", "The node it is attached to."),
            boolean("Attached", "Whether it is attached by now."),
            AGE,
        ],
        row: |it| {
            vec![
                it.name(),
                it.text("spec.attacher").into(),
                it.text("spec.source.persistentVolumeName").into(),
                it.text("spec.nodeName").into(),
                it.flag("status.attached").into(),
                it.age(),
            ]
        },
    },
    Printer {
        group: "storage.k8s.io",
        kind: "CSINode",
        columns: &[NAME, integer("Drivers", "How many drivers run on the node."), AGE],
        row: |it| vec![it.name(), it.count("spec.drivers").into(), it.age()],
    },
    Printer {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        columns: &[
            NAME,
            boolean("AttachRequired", "Whether volumes must be attached before use."),
            boolean("PodInfoOnMount", "Whether the driver is told which pod mounts."),
            boolean("StorageCapacity", "Whether the scheduler looks at free capacity."),
            string("TokenRequests", "The audiences of tokens the driver gets."),
            boolean("RequiresRepublish", "Whether the driver wants to be called again and again."),
            string("Modes", "The kinds of volumes it can make."),
            AGE,
        ],
        row: driver,
    },
];

fn volume(it: Row<'_>) -> Vec<Value> {
    let claim = it.at("spec.claimRef").map(|claim| format!("{}/{}", text(claim, "namespace"), text(claim, "name")));
    vec![
        it.name(),
        storage(it, "spec.capacity").into(),
        access_modes(it.list("spec.accessModes")).into(),
        it.text("spec.persistentVolumeReclaimPolicy").into(),
        phase(it),
        claim.unwrap_or_default().into(),
        class(it),
        it.text_or("spec.volumeAttributesClassName", "<unset>"),
        it.text("status.reason").into(),
        it.age(),
        it.text_or("spec.volumeMode", "<unset>"),
    ]
}

fn claim(it: Row<'_>) -> Vec<Value> {
    let bound = !it.text("spec.volumeName").is_empty();
    let (capacity, modes) = match bound {
        true => (storage(it, "status.capacity"), access_modes(it.list("status.accessModes"))),
        false => Default::default(),
    };
    vec![
        it.name(),
        phase(it),
        it.text("spec.volumeName").into(),
        capacity.into(),
        modes.into(),
        class(it),
        it.text_or("spec.volumeAttributesClassName", "<unset>"),
        it.age(),
        it.text_or("spec.volumeMode", "<unset>"),
    ]
}

fn phase(it: Row<'_>) -> Value {
    if it.being_deleted() { "Terminating" } else { it.text("status.phase") }.into()
}

fn annotation<'a>(it: Row<'a>, key: &str) -> Option<&'a str> {
    it.at("metadata.annotations")?.get(key)?.as_str()
}

fn class(it: Row<'_>) -> Value {
    annotation(it, "volume.beta.kubernetes.io/storage-class").unwrap_or(it.text("spec.storageClassName")).into()
}

fn access_modes(modes: &[Value]) -> String {
    let short =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let found = short.iter().filter(|(mode, _)| modes.iter().any(|given| given == mode));
    found.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn storage_class(it: Row<'_>) -> Vec<Value> {
    let default = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
        .iter()
        .any(|key| annotation(it, key) == Some("true"));
    vec![
        format!("{}{}", it.text("metadata.name"), if default { " (default)" } else { "" }).into(),
        it.text("provisioner").into(),
        it.text_or("reclaimPolicy", "Delete"),
        it.text_or("volumeBindingMode", "Immediate"),
        it.flag("allowVolumeExpansion").into(),
        it.age(),
    ]
}

fn driver(it: Row<'_>) -> Vec<Value> {
    let audiences = match it.at("spec.tokenRequests") {
        None => "<unset>".into(),
        Some(_) => joined(it.list("spec.tokenRequests").iter().map(|request| text(request, "audience"))),
    };
    let modes = match it.list("spec.volumeLifecycleModes") {
        [] => "<none>".into(),
        modes => joined(modes.iter().filter_map(Value::as_str)),
    };
    vec![
        it.name(),
        it.at("spec.attachRequired").and_then(Value::as_bool).unwrap_or(true).into(),
        it.flag("spec.podInfoOnMount").into(),
        it.flag("spec.storageCapacity").into(),
        audiences,
        it.flag("spec.requiresRepublish").into(),
        modes,
        it.age(),
    ]
}
