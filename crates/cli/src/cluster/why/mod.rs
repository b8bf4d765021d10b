//! `butlerctl cluster why`: from the symptom to the cause, with what was seen, who can act, and how.

mod below;
mod chain;
mod said;
#[cfg(test)]
mod tests;

use butler_api::butler::tenant_cluster::ClusterPhase;
use clap::Args;
use jiff::Timestamp;

pub(crate) use self::chain::people;
use self::chain::{Answer, Stage};
use super::{Named, age};
use crate::failure::Outcome;
use crate::lookup;
use crate::output::print_value;
use crate::screen::{Colour, Screen, plain, print};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Why {
    #[command(flatten)]
    cluster: Named,
}

impl Why {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let cluster = found.cluster()?;
        let below = below::read(session, &found, &cluster).await?;
        let answer = chain::answer(&cluster, &below);
        if !session.format.is_table() {
            return print_value(&answer, session.format);
        }
        print(&text(&answer, Timestamp::now(), session.screen))
    }
}

/// The answer for people.
fn text(answer: &Answer, now: Timestamp, screen: Screen) -> String {
    let mut lines = Vec::new();
    let mut stage = None;
    for link in &answer.chain {
        let word = match (link.stage, stage) {
            (Stage::Symptom, _) => "",
            (now, before) if Some(now) == before => "and ",
            (_, Some(Stage::Symptom)) if answer.phase == ClusterPhase::Ready && !answer.unready => "but ",
            _ => "because ",
        };
        stage = Some(link.stage);
        let since = link.since.as_ref().map(|since| format!(" ({})", age(Some(since), now))).unwrap_or_default();
        let subject = match (word.is_empty(), answer.healthy) {
            (false, _) => plain(&link.subject),
            (true, true) => screen.paint(Colour::Good, &plain(&link.subject)),
            (true, false) => screen.paint(Colour::Bad, &plain(&link.subject)),
        };
        lines.push(format!("{word}{subject}{since}"));
        let mut detail = |name: &str, value: &str| lines.push(format!("  {name:<6}{}", plain(value)));
        if let Some(message) = link.message.as_deref().filter(|message| !message.is_empty()) {
            detail("says", message);
        }
        for seen in &link.evidence {
            detail("seen", seen);
        }
        if let Some(owner) = link.owner {
            detail("who", chain::people(owner));
        }
        if let Some(remedy) = &link.remedy {
            detail("do", remedy);
        }
    }
    lines.extend(
        answer.unread.iter().map(|unread| screen.paint(Colour::Faint, &format!("not looked at: {}", plain(unread)))),
    );
    lines.join("\n") + "\n"
}
