//! `addon list`.

use butler_api::butler::addon_install::AddonPhase;
use clap::Args;
use jiff::Timestamp;

use super::found::{Found, Ground, list};
use crate::cluster::age;
use crate::failure::Outcome;
use crate::output::{Format, print_objects};
use crate::screen::{Colour, print, tell};
use crate::session::Session;
use crate::table::{Cell, Table};

#[derive(Args)]
pub(crate) struct List {
    /// Only those on this cluster: NAME, or TEAM/NAME
    #[arg(short, long, value_name = "CLUSTER")]
    cluster: Option<String>,
}

impl List {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let objects = list(session, ground, self.cluster.as_deref()).await?;
        if !session.format.is_table() {
            return print_objects(&objects, session.format);
        }
        if objects.is_empty() {
            tell(&format!("There is no addon yet; `{} addon catalog` lists what can be installed.", ground.program()));
            return Ok(());
        }
        let wide = session.format == Format::Wide;
        let mut headings = if ground == Ground::Tenants { vec!["TEAM", "CLUSTER"] } else { Vec::new() };
        headings.extend(["NAME", "ADDON", "PHASE", "INSTALLED", "WAITING FOR", "AGE"]);
        if wide {
            headings.extend(["WANTED", "RELEASE", "MESSAGE"]);
        }
        let mut table = Table::new(&headings);
        let now = Timestamp::now();
        for object in objects {
            table.push(row(&Found { ground, object }, now, wide)?);
        }
        print(&table.render(session.screen))
    }
}

fn row(found: &Found, now: Timestamp, wide: bool) -> Outcome<Vec<Cell>> {
    let status = found.status()?;
    let mut cells = Vec::new();
    if found.ground == Ground::Tenants {
        cells.push(found.namespace().unwrap_or_default().into());
        cells.push(found.cluster().unwrap_or_default().into());
    }
    let waiting = status.blockers.first().map(|blocker| blocker.reason.clone()).unwrap_or_default();
    cells.extend([
        found.name().into(),
        found.addon().into(),
        phase(status.phase),
        status.installed_version.unwrap_or_default().into(),
        waiting.into(),
        age(found.object.metadata.creation_timestamp.as_ref(), now).into(),
    ]);
    if wide {
        let release = status.helm_release.unwrap_or_default();
        let (name, namespace) = (release.name.unwrap_or_default(), release.namespace.unwrap_or_default());
        let release = release.revision.map(|revision| format!("{namespace}/{name} v{revision}"));
        cells.extend([
            found.version().unwrap_or_default().into(),
            release.unwrap_or_default().into(),
            status.message.unwrap_or_default().into(),
        ]);
    }
    Ok(cells)
}

/// A phase in its colour.
pub(super) fn phase(phase: Option<AddonPhase>) -> Cell {
    let colour = match phase {
        Some(AddonPhase::Installed) => Some(Colour::Good),
        Some(AddonPhase::Failed | AddonPhase::Degraded) => Some(Colour::Bad),
        _ => None,
    };
    Cell::coloured(phase.map_or("Pending", AddonPhase::as_str), colour)
}
