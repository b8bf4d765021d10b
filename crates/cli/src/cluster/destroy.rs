//! `butlerctl cluster destroy`.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use kube::api::{DeleteParams, Preconditions};

use super::Named;
use super::receipt;
use super::wait::{Goal, Patience, follow};
use crate::failure::{Code, Failure, Outcome};
use crate::lookup::{self, Found};
use crate::output::full_name;
use crate::screen::{print, tell};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Destroy {
    #[command(flatten)]
    cluster: Named,
    /// Do not ask for the name first
    #[arg(short, long, visible_alias = "force")]
    yes: bool,
    #[command(flatten)]
    patience: Patience,
}

impl Destroy {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        if !self.yes && !std::io::stdin().is_terminal() {
            return Err(Failure::usage(format!(
                "{} is not deleted: there is nobody to ask here, add --yes if you are sure",
                self.cluster.name
            )));
        }
        let found = lookup::find(session, &self.cluster.name).await?;
        if !self.yes {
            let Found { name, namespace, .. } = &found;
            let question =
                format!("Cluster {name} of team {namespace} will be deleted, with its machines and all data in it.");
            confirm(&question, &[name, &format!("{namespace}/{name}")])?;
        }
        // Another cluster of this name may have come since: only the one that was meant is deleted.
        let exactly = Preconditions { uid: found.object.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams::default().preconditions(exactly);
        session.clusters(&found.namespace).delete(&found.name, &params).await?;
        if session.format.is_table() {
            print(&format!("{} is being deleted\n", full_name(&found.object)))?;
        }
        if found.cluster()?.spec.paused == Some(true) {
            tell(&format!("It is paused: nothing is removed before `butlerctl cluster resume {}`.", found.arguments()));
        }
        if !self.patience.wait {
            return Ok(());
        }
        until_gone(session, &found, &self.patience).await
    }
}

/// Follows a cluster that is being deleted, and shows what was removed.
pub(super) async fn until_gone(session: &Session, found: &Found, patience: &Patience) -> Outcome {
    let uid = found.object.metadata.uid.as_deref();
    follow(session, &found.namespace, &found.name, uid, &Goal::Deleted, patience.timeout).await?;
    tell(&format!("{} is gone", found.name));
    match uid {
        Some(uid) => receipt::show(session, &found.namespace, uid).await,
        None => Ok(()),
    }
}

/// Asks for one of the names of what will be gone.
pub(crate) fn confirm(question: &str, names: &[&str]) -> Outcome {
    let mut error = std::io::stderr();
    write!(error, "{question}\nType its name to go on: ")?;
    error.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if is_meant(&answer, names) {
        return Ok(());
    }
    let name = names.first().copied().unwrap_or_default();
    Err(Failure::new(Code::Refused, format!("that is not its name: {name} is not deleted")))
}

fn is_meant(answer: &str, names: &[&str]) -> bool {
    names.contains(&answer.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_counts() {
        for (answer, meant) in
            [("a\n", true), (" a ", true), ("t/a\n", true), ("", false), ("y\n", false), ("A\n", false)]
        {
            assert_eq!(is_meant(answer, &["a", "t/a"]), meant, "{answer:?}");
        }
    }
}
