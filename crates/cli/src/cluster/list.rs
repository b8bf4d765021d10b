//! `butlerctl cluster list`.

use std::collections::BTreeMap;
use std::pin::Pin;

use butler_api::butler::{ProviderConfig, TenantCluster};
use clap::Args;
use futures::stream::{SelectAll, Stream};
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use kube::api::{ListParams, Request, WatchEvent, WatchParams};
use kube::core::DynamicObject;
use kube::{Api, Resource as _};

use super::pages::{self, Listed};
use super::row::{HEADINGS, Row, WIDE_HEADINGS, cells};
use crate::failure::{Failure, Outcome};
use crate::output::{Format, name_of, print_objects};
use crate::screen::{print, tell};
use crate::session::Session;
use crate::table::{Cell, Table, line, widen};

#[derive(Args)]
pub(crate) struct List {
    /// The clusters of all teams, even when BUTLER_TEAM names one
    #[arg(short = 'A', long, visible_alias = "all-namespaces", conflicts_with = "team")]
    all_teams: bool,
    /// Go on and print what changes
    #[arg(short, long)]
    watch: bool,
}

/// The rows that were last printed, by team and name.
struct Shown {
    rows: BTreeMap<(String, String), Vec<Cell>>,
    widths: Vec<usize>,
    wide: bool,
}

type Changes = SelectAll<Pin<Box<dyn Stream<Item = Result<WatchEvent<Row>, kube::Error>> + Send>>>;

impl List {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        if !session.format.is_table() {
            if self.watch {
                return Err(Failure::usage("--watch prints rows: leave out -o, or say -o wide"));
            }
            if session.format == Format::Name {
                let listed: Listed<Row> = pages::clusters(session, self.all_teams).await?;
                let (kind, group) = (TenantCluster::kind(&()), TenantCluster::group(&()));
                let name = |row: &Row| format!("{}\n", name_of(&kind, &group, &row.metadata.name));
                return print(&listed.items.iter().map(name).collect::<String>());
            }
            let listed: Listed<DynamicObject> = pages::clusters(session, self.all_teams).await?;
            return print_objects(&listed.items, session.format);
        }
        let listed: Listed<Row> = pages::clusters(session, self.all_teams).await?;
        if listed.items.is_empty() && !self.watch {
            tell(&next_step(session).await);
            return Ok(());
        }
        let table = table(&listed.items, session.format == Format::Wide);
        print(&table.render(session.screen))?;
        if self.watch { self.follow(session, listed, table.widths()).await } else { Ok(()) }
    }

    /// Prints every change. Watches begin again with a list, of which only the news are printed.
    async fn follow(&self, session: &Session, mut listed: Listed<Row>, widths: Vec<usize>) -> Outcome {
        let mut shown = Shown { rows: BTreeMap::new(), widths, wide: session.format == Format::Wide };
        for row in listed.items.drain(..) {
            shown.is_news(&row);
        }
        loop {
            let mut changes = watch(session, &listed).await?;
            // A watch that ends or breaks begins again.
            while let Ok(Some(change)) = changes.try_next().await {
                match change {
                    WatchEvent::Added(row) | WatchEvent::Modified(row) => {
                        shown.show(session, &row)?;
                    }
                    WatchEvent::Deleted(mut row) => {
                        row.gone = true;
                        shown.show(session, &row)?;
                        shown.rows.remove(&key(&row));
                    }
                    WatchEvent::Bookmark(_) => {}
                    // What it went on from is too old by now.
                    WatchEvent::Error(_) => break,
                }
            }
            listed = pages::clusters(session, self.all_teams).await?;
            for row in listed.items.drain(..) {
                shown.show(session, &row)?;
            }
        }
    }
}

/// What to do next where there is no cluster, as far as the user may look.
async fn next_step(session: &Session) -> String {
    let is_named = session.team.is_some() || session.chosen_team.is_some();
    let teams = if is_named { 1 } else { session.teams().await.map_or(1, |teams| teams.len()) };
    let providers: Api<ProviderConfig> = Api::all(session.client.clone());
    let providers = providers.list_metadata(&ListParams::default().limit(1)).await;
    // Who said it once has to say it again; what the environment says holds.
    let named = session.team.as_deref();
    fleet::first_step(teams, named, providers.map_or(true, |found| !found.items.is_empty()))
}

impl Shown {
    /// Whether a row says anything but its age that was not said before. It is taken for said.
    fn is_news(&mut self, row: &Row) -> bool {
        let told = cells(row, Timestamp::UNIX_EPOCH, self.wide);
        let before = self.rows.insert(key(row), told.clone());
        row.gone || before.is_none_or(|before| before != told)
    }

    fn show(&mut self, session: &Session, row: &Row) -> Outcome {
        if !self.is_news(row) {
            return Ok(());
        }
        let cells = cells(row, Timestamp::now(), self.wide);
        widen(&mut self.widths, &cells);
        print(&line(&cells, &self.widths, session.screen))
    }
}

fn key(row: &Row) -> (String, String) {
    (row.metadata.namespace.clone(), row.metadata.name.clone())
}

fn table(rows: &[Row], wide: bool) -> Table {
    let mut table = Table::new(if wide { WIDE_HEADINGS } else { HEADINGS });
    let now = Timestamp::now();
    for row in rows {
        table.push(cells(row, now, wide));
    }
    table
}

async fn watch(session: &Session, listed: &Listed<Row>) -> Outcome<Changes> {
    let mut changes = SelectAll::new();
    for (path, version) in &listed.positions {
        let request = Request::new(path).watch(&WatchParams::default().disable_bookmarks(), version);
        let request = request.map_err(kube::Error::BuildRequest)?;
        changes.push(session.client.request_events::<Row>(request).await?.boxed());
    }
    Ok(changes)
}
