//! `butlerctl version`.

use clap::Args;
use serde_json::json;

use crate::command::Global;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, print_value};
use crate::screen::print;
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Version {
    /// Do not ask the API
    #[arg(long)]
    client: bool,
}

impl Version {
    pub(crate) async fn run(self, global: &Global) -> Outcome {
        let own = env!("CARGO_PKG_VERSION");
        if self.client {
            return show(own, None, global.output.unwrap_or_default());
        }
        let session = Session::open(global).await?;
        let asked = session.client.apiserver_version().await;
        let server = asked.map_err(|error| session.explain(Failure::from(error)))?;
        show(own, Some((&server.git_version, session.described())), session.format)
    }
}

fn show(own: &str, server: Option<(&str, &str)>, format: Format) -> Outcome {
    if !format.is_table() {
        let server = server.map(|(version, place)| json!({"version": version, "address": place}));
        return print_value(&json!({"butlerctl": own, "kubernetes": server}), format);
    }
    let api = server.map(|(version, place)| format!("Kubernetes {version} at {place}\n"));
    print(&format!("butlerctl {own}\n{}", api.unwrap_or_default()))
}
