//! `butlerctl cluster nodes`: the nodes of a tenant, asked through its own kubeconfig.

use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};

use super::{Named, age, check_awake, kubeconfig};
use crate::connect::connect_with;
use crate::failure::{Code, Failure, Outcome};
use crate::lookup;
use crate::output::{Format, print_objects};
use crate::screen::{Colour, print, tell};
use crate::session::Session;
use crate::table::{Cell, Table};

#[derive(Args)]
pub(crate) struct Nodes {
    #[command(flatten)]
    cluster: Named,
}

/// Labels that name the roles of a node begin with this.
const ROLE: &str = "node-role.kubernetes.io/";

impl Nodes {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        check_awake(&found)?;
        // Whoever may only look sees them too; clusters without a kubeconfig for that have the other.
        let kubeconfig = match kubeconfig::read(session, &found, true).await {
            Ok(kubeconfig) => kubeconfig,
            Err(_) => kubeconfig::read(session, &found, false).await?,
        };
        let kind = ApiResource::erase::<Node>(&());
        let nodes: Api<DynamicObject> = Api::all_with(connect_with(&kubeconfig).await?, &kind);
        let mut nodes =
            nodes.list(&ListParams::default()).await.map_err(|error| tenant_failure(&found.arguments(), error))?.items;
        for node in &mut nodes {
            // Lists leave it out of their items.
            node.types = Some(kube::core::TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
        }
        if !session.format.is_table() {
            return print_objects(&nodes, session.format);
        }
        if nodes.is_empty() {
            tell(&format!("{} has no nodes.", found.name));
            return Ok(());
        }
        let wide = session.format == Format::Wide;
        let mut table = Table::new(match wide {
            true => &["NAME", "STATUS", "ROLES", "AGE", "VERSION", "ADDRESS", "OS", "RUNTIME"],
            false => &["NAME", "STATUS", "ROLES", "AGE", "VERSION", "ADDRESS"],
        });
        let now = Timestamp::now();
        for node in nodes {
            let node: Node = serde_json::from_value(serde_json::to_value(node)?)?;
            table.push(cells(&node, now, wide));
        }
        print(&table.render(session.screen))
    }
}

fn tenant_failure(arguments: &str, error: kube::Error) -> Failure {
    let failure = Failure::from(error);
    // The management API answered; that of the tenant did not.
    let code = if failure.code == Code::Unreachable { Code::Failed } else { failure.code };
    Failure::new(
        code,
        format!("the cluster's own API: {}; `butlerctl cluster why {arguments}` may know why", failure.message),
    )
}

fn cells(node: &Node, now: Timestamp, wide: bool) -> Vec<Cell> {
    let status = node.status.clone().unwrap_or_default();
    let ready =
        status.conditions.iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let (ready, colour) = if ready { ("Ready", Colour::Good) } else { ("NotReady", Colour::Bad) };
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    let ready = if cordoned { format!("{ready},SchedulingDisabled") } else { ready.to_owned() };
    let roles: Vec<&str> = node.labels().keys().filter_map(|label| label.strip_prefix(ROLE)).collect();
    let info = status.node_info.unwrap_or_default();
    let addresses = status.addresses.unwrap_or_default();
    let address =
        addresses.iter().find(|address| address.type_ == "InternalIP").map(|address| address.address.as_str());
    let mut cells = vec![
        node.name_any().into(),
        Cell::coloured(&ready, Some(colour)),
        roles.join(",").into(),
        age(node.metadata.creation_timestamp.as_ref(), now).into(),
        info.kubelet_version.into(),
        address.unwrap_or_default().into(),
    ];
    if wide {
        cells.push(info.os_image.into());
        cells.push(info.container_runtime_version.into());
    }
    cells
}
