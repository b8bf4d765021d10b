//! Groups of machines and their size.

use butler_api::shared::{Blocker, BlockerOwner, ByteSize, CpuCount, MachineTemplate, NodeOs, OsType};

use crate::Request;
use crate::blockers::blocker;

/// A group of equal machines of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines<'a> {
    /// Those of a standalone control plane.
    ControlPlane,
    /// A worker pool, by its name; `workers` is the one of `spec.workers`.
    Pool(&'a str),
}

/// The size of machines nobody chose a size for.
pub fn default_machine() -> MachineTemplate {
    MachineTemplate {
        cpu: Some(CpuCount::Int(4)),
        memory: Some(ByteSize::from_gibibytes(8)),
        disk_size: Some(ByteSize::from_gibibytes(100)),
        os: None,
    }
}

impl<'a> Machines<'a> {
    /// The field that describes the machines.
    pub(crate) fn field(self) -> String {
        match self {
            Self::ControlPlane => "spec.controlPlane.machineTemplate".to_owned(),
            Self::Pool(butler_api::names::DEFAULT_WORKER_POOL) => "spec.workers.machineTemplate".to_owned(),
            Self::Pool(name) => format!("spec.workerPools[{name}].machineTemplate"),
        }
    }

    fn template(self, request: &Request<'a>) -> Option<&'a MachineTemplate> {
        match self {
            Self::ControlPlane => request.spec.control_plane.machine_template.as_ref(),
            Self::Pool(name) => request
                .spec
                .pools()
                .find(|(pool, _)| *pool == name)
                .and_then(|(_, pool)| pool.machine_template.as_ref()),
        }
    }

    /// What is said about the operating system.
    pub(crate) fn os(self, request: &Request<'a>) -> Option<&'a NodeOs> {
        self.template(request)?.os.as_ref()
    }

    /// The operating system.
    pub(crate) fn os_type(self, request: &Request<'a>) -> OsType {
        self.os(request).and_then(|os| os.type_).unwrap_or(OsType::Rocky)
    }

    /// The image at the provider that the machines ask for by themselves.
    pub(crate) fn image(self, request: &Request<'a>) -> Option<&'a str> {
        self.os(request)?.image_ref.as_deref()
    }

    /// The size, defaults filled in; or which parts of it are no size.
    pub(crate) fn size(self, request: &Request<'a>) -> Result<Size, Vec<Blocker>> {
        let (own, fallback) = (self.template(request).cloned().unwrap_or_default(), default_machine());
        let cpu = own.cpu.or(fallback.cpu).unwrap_or(CpuCount::Int(0));
        let memory = own.memory.or(fallback.memory).unwrap_or(ByteSize::Int(0));
        let disk = own.disk_size.or(fallback.disk_size).unwrap_or(ByteSize::Int(0));
        let mut blockers = Vec::new();
        let cores = cpu.cores().filter(|cores| *cores > 0);
        if cores.is_none() {
            blockers.push(self.bad_size("cpu", &cpu, "a whole number of processors, for example 4"));
        }
        for (field, size, example) in [("memory", &memory, "8Gi"), ("diskSize", &disk, "100Gi")] {
            if size.bytes().is_none_or(|bytes| bytes == 0) {
                blockers.push(self.bad_size(field, size, &format!("a size with its unit, for example {example}")));
            }
        }
        match cores.filter(|_| blockers.is_empty()) {
            Some(cpu) => Ok(Size { cpu, memory, disk }),
            None => Err(blockers),
        }
    }

    /// That a part of the size cannot work here.
    pub(crate) fn bad_size(self, field: &str, value: &impl std::fmt::Display, wanted: &str) -> Blocker {
        let field = format!("{}.{field}", self.field());
        blocker(
            "InvalidMachineSize",
            BlockerOwner::User,
            format!("{field} must be {wanted}"),
            vec![format!("{field} is {value}")],
            format!("Set {field} to {wanted}."),
        )
    }
}

/// How big a machine is.
pub(crate) struct Size {
    pub(crate) cpu: u32,
    pub(crate) memory: ByteSize,
    pub(crate) disk: ByteSize,
}
