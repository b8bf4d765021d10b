//! `butlerctl cluster events`.

use std::collections::{BTreeMap, BTreeSet};

use butler_api::butler::{TenantAddon, TenantCluster};
use clap::Args;
use futures::StreamExt;
use futures::stream::select_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};

use super::wait::next;
use super::{Named, receipt};
use crate::failure::{Code, Failure, Outcome};
use crate::lookup::{self, Found};
use crate::output::{Format, print_value};
use crate::screen::{Colour, print, tell};
use crate::session::Session;
use crate::table::{Cell, Table, line};

#[derive(Args)]
pub(crate) struct Events {
    #[command(flatten)]
    cluster: Named,
    /// Go on and print what happens
    #[arg(short, long)]
    watch: bool,
}

const HEADINGS: &[&str] = &["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];

impl Events {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = match lookup::find(session, &self.cluster.name).await {
            Err(failure) if failure.code == Code::NotFound => {
                let events = receipt::left_by(session, &self.cluster.name, None).await?;
                if events.is_empty() {
                    return Err(failure);
                }
                tell(&format!("{} is gone; this is on record about it.", self.cluster.name));
                return shown(session, events).map(drop);
            }
            found => found?,
        };
        let mut about = About::of(session, &found).await?;
        let mut events = Vec::new();
        for namespace in std::mem::take(&mut about.namespaces) {
            let listed =
                Api::<Event>::namespaced(session.client.clone(), &namespace).list(&ListParams::default()).await;
            match listed {
                Err(error) if Failure::is_forbidden(&error) && namespace != found.namespace => {}
                listed => {
                    events.extend(listed?.items.into_iter().filter(|event| about.concerns(event)));
                    about.namespaces.push(namespace);
                }
            }
        }
        if events.is_empty() && !self.watch && session.format.is_table() {
            tell(&format!("Nothing is on record about {}.", found.name));
            return Ok(());
        }
        match shown(session, events.clone())? {
            Some(widths) if self.watch => follow(session, &about, &events, &widths).await,
            _ => Ok(()),
        }
    }
}

/// Prints them in the order of their time. Gives back the widths of a table's columns.
fn shown(session: &Session, mut events: Vec<Event>) -> Outcome<Option<Vec<usize>>> {
    events.sort_by_key(last_seen);
    if !session.format.is_table() {
        return print_events(&events, session.format).map(|()| None);
    }
    let mut table = Table::new(HEADINGS);
    let now = Timestamp::now();
    for event in &events {
        table.push(cells(event, now));
    }
    print(&table.render(session.screen))?;
    Ok(Some(table.widths()))
}

/// What belongs to a cluster.
struct About {
    /// The team's namespace, and that of the cluster's internals if it may be read.
    namespaces: Vec<String>,
    team: String,
    cluster: String,
    uid: String,
    /// By name.
    addons: BTreeMap<String, Option<String>>,
}

impl About {
    async fn of(session: &Session, found: &Found) -> Outcome<Self> {
        let cluster: TenantCluster = found.cluster()?;
        let addons: Api<TenantAddon> = Api::namespaced(session.client.clone(), &found.namespace);
        let addons = match addons.list(&ListParams::default()).await {
            Err(error) if Failure::is_forbidden(&error) => Vec::new(),
            listed => listed?.items,
        };
        let addons = addons.into_iter().filter(|addon| addon.spec.cluster_ref.name == found.name);
        let internals = cluster.status.and_then(|status| status.tenant_namespace);
        Ok(Self {
            namespaces: [found.namespace.clone()].into_iter().chain(internals).collect(),
            team: found.namespace.clone(),
            cluster: found.name.clone(),
            uid: found.object.metadata.uid.clone().unwrap_or_default(),
            addons: addons.map(|addon| (addon.name_any(), addon.metadata.uid)).collect(),
        })
    }

    fn concerns(&self, event: &Event) -> bool {
        let object = &event.involved_object;
        let name = object.name.as_deref().unwrap_or_default();
        if event.metadata.namespace.as_deref() != Some(&self.team) {
            return true;
        }
        // Others of the same names may have been there before.
        let is_this = |uid: Option<&str>| object.uid.is_none() || object.uid.as_deref() == uid;
        match object.kind.as_deref() {
            Some("TenantCluster") => name == self.cluster && is_this(Some(&self.uid)),
            Some("TenantAddon") => self.addons.get(name).is_some_and(|uid| is_this(uid.as_deref())),
            _ => false,
        }
    }
}

async fn follow(session: &Session, about: &About, known: &[Event], widths: &[usize]) -> Outcome {
    let mut seen: BTreeSet<(Option<String>, Option<String>)> = known.iter().map(version).collect();
    let watches = about.namespaces.iter().map(|namespace| {
        let events: Api<Event> = Api::namespaced(session.client.clone(), namespace);
        watcher(events, watcher::Config::default()).default_backoff().applied_objects().boxed()
    });
    let mut events = select_all(watches);
    while let Some(event) = next(&mut events).await? {
        if about.concerns(&event) && seen.insert(version(&event)) {
            print(&line(&cells(&event, Timestamp::now()), widths, session.screen))?;
        }
    }
    Ok(())
}

fn version(event: &Event) -> (Option<String>, Option<String>) {
    (event.metadata.uid.clone(), event.metadata.resource_version.clone())
}

fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0);
    let times =
        [event.last_timestamp.as_ref(), event.first_timestamp.as_ref(), event.metadata.creation_timestamp.as_ref()];
    let micro = event.event_time.as_ref().map(|time| time.0);
    series.or(times[0].map(|time| time.0)).or(micro).or(times[1].or(times[2]).map(|time| time.0))
}

fn cells(event: &Event, now: Timestamp) -> Vec<Cell> {
    let object = &event.involved_object;
    let kind = object.kind.as_deref().unwrap_or_default().to_lowercase();
    let age = last_seen(event).map(|then| kernel::duration::human(now.as_second().saturating_sub(then.as_second())));
    let count = event.series.as_ref().and_then(|series| series.count).or(event.count).filter(|count| *count > 1);
    let age = age.unwrap_or_else(|| "<unknown>".to_owned());
    let seen = match count {
        Some(count) => format!("{age} (x{count})"),
        None => age,
    };
    let type_ = event.type_.as_deref().unwrap_or_default();
    vec![
        seen.into(),
        Cell::coloured(type_, (type_ == "Warning").then_some(Colour::Bad)),
        event.reason.as_deref().unwrap_or_default().into(),
        format!("{kind}/{}", object.name.as_deref().unwrap_or_default()).into(),
        event.message.as_deref().unwrap_or_default().into(),
    ]
}

fn print_events(events: &[Event], format: Format) -> Outcome {
    match format {
        Format::Name => print(&events.iter().map(|event| format!("event/{}\n", event.name_any())).collect::<String>()),
        format => {
            let items = serde_json::to_value(events)?;
            print_value(&serde_json::json!({"apiVersion": "v1", "kind": "EventList", "items": items}), format)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_namesakes_that_were_there_before_are_left_out() {
        let about = About {
            namespaces: Vec::new(),
            team: "t".into(),
            cluster: "c".into(),
            uid: "1".into(),
            addons: [("c-cilium".to_owned(), Some("2".to_owned()))].into(),
        };
        for (namespace, kind, name, uid, expected) in [
            ("t", "TenantCluster", "c", Some("1"), true),
            ("t", "TenantCluster", "c", None, true),
            ("t", "TenantCluster", "c", Some("0"), false),
            ("t", "TenantCluster", "d", Some("1"), false),
            ("t", "TenantAddon", "c-cilium", Some("2"), true),
            ("t", "TenantAddon", "c-cilium", None, true),
            ("t", "TenantAddon", "c-cilium", Some("0"), false),
            ("t", "TenantAddon", "d-cilium", Some("2"), false),
            ("t", "Pod", "c", None, false),
            ("c-12345678", "Machine", "m", Some("3"), true),
        ] {
            let event: Event = serde_json::from_value(json!({
                "metadata": {"name": "e", "namespace": namespace},
                "involvedObject": {"kind": kind, "name": name, "uid": uid},
            }))
            .unwrap();
            assert_eq!(about.concerns(&event), expected, "{kind} {name} {uid:?}");
        }
    }
}
