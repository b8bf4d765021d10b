//! Where a cluster is in its life. Phases move along the seeds' diagram, one step at a time.
//!
//! ```text
//!   Pending ─▶ Provisioning ─▶ Installing ─▶ Ready ⇄ Updating
//!      ▲            │              │
//!      └── retry ── Failed ◀───────┘            Deleting, from everywhere
//! ```

use butler_api::butler::tenant_cluster::ClusterPhase;

/// What decides about the next phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The cluster is to go.
    pub leaving: bool,
    /// Everything it refers to is there, so that work can begin.
    pub accepted: bool,
    /// Something happened that trying again cannot fix.
    pub hopeless: bool,
    /// Somebody asked for another try.
    pub retried: bool,
    /// The control plane answers and the workers are there.
    pub provisioned: bool,
    /// The addons are installed.
    pub installed: bool,
    /// The spec asks for something that has not come about yet.
    pub changing: bool,
}

/// The next phase, at most one step away.
pub fn next(before: Option<ClusterPhase>, facts: Facts) -> ClusterPhase {
    use ClusterPhase::{Deleting, Failed, Installing, Pending, Provisioning, Ready, Updating};
    if facts.leaving {
        return Deleting;
    }
    match before {
        None => Pending,
        Some(Pending) if facts.accepted => Provisioning,
        Some(Provisioning | Installing) if facts.hopeless => Failed,
        Some(Provisioning) if facts.provisioned => Installing,
        Some(Installing) if facts.installed && facts.provisioned => Ready,
        Some(Ready) if facts.changing => Updating,
        Some(Updating) if !facts.changing => Ready,
        Some(Failed) if facts.retried => Pending,
        Some(phase) => phase,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrows of the seeds' diagram; deletion may begin anywhere.
    const ARROWS: [(ClusterPhase, ClusterPhase); 8] = [
        (ClusterPhase::Pending, ClusterPhase::Provisioning),
        (ClusterPhase::Provisioning, ClusterPhase::Installing),
        (ClusterPhase::Installing, ClusterPhase::Ready),
        (ClusterPhase::Ready, ClusterPhase::Updating),
        (ClusterPhase::Updating, ClusterPhase::Ready),
        (ClusterPhase::Provisioning, ClusterPhase::Failed),
        (ClusterPhase::Installing, ClusterPhase::Failed),
        (ClusterPhase::Failed, ClusterPhase::Pending),
    ];

    #[test]
    fn whatever_happens_phases_move_along_the_arrows() {
        for bits in 0..128_u8 {
            let bit = |n: u8| bits >> n & 1 == 1;
            let facts = Facts {
                leaving: bit(0),
                accepted: bit(1),
                hopeless: bit(2),
                retried: bit(3),
                provisioned: bit(4),
                installed: bit(5),
                changing: bit(6),
            };
            for &before in ClusterPhase::ALL {
                let after = next(Some(before), facts);
                let allowed = before == after || after == ClusterPhase::Deleting || ARROWS.contains(&(before, after));
                assert!(allowed, "{before} to {after} by {facts:?}");
                assert!(after != ClusterPhase::Deleting || facts.leaving || before == after);
            }
        }
    }

    #[test]
    fn a_life_without_trouble() {
        let accepted = Facts { accepted: true, ..Facts::default() };
        let provisioned = Facts { provisioned: true, ..accepted };
        let installed = Facts { installed: true, ..provisioned };
        let changing = Facts { changing: true, ..installed };
        let leaving = Facts { leaving: true, ..installed };
        let mut phase = None;
        for (facts, expected) in [
            (Facts::default(), "Pending"),
            (Facts::default(), "Pending"),
            (accepted, "Provisioning"),
            (accepted, "Provisioning"),
            (installed, "Installing"),
            (installed, "Ready"),
            (installed, "Ready"),
            (changing, "Updating"),
            (Facts { provisioned: false, ..changing }, "Updating"),
            (installed, "Ready"),
            (leaving, "Deleting"),
        ] {
            phase = Some(next(phase, facts));
            assert_eq!(phase.map(ClusterPhase::as_str), Some(expected));
        }
    }
}
