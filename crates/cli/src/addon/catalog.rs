//! `addon catalog`.

use butler_api::butler::AddonDefinition;
use clap::Args;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};

use crate::failure::{Code, Failure, Outcome};
use crate::output::{Format, print_object, print_objects};
use crate::screen::print;
use crate::session::Session;
use crate::table::{Cell, Table};

#[derive(Args)]
pub(crate) struct Catalog {
    /// Show this entry, with the values that may be set
    name: Option<String>,
}

impl Catalog {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let kind = ApiResource::erase::<AddonDefinition>(&());
        let api: Api<DynamicObject> = Api::all_with(session.client.clone(), &kind);
        if let Some(name) = &self.name {
            let object = api.get_opt(name).await?.ok_or_else(|| {
                Failure::new(Code::NotFound, format!("the catalogue has no {name:?}; leave the name out to see all"))
            })?;
            if !session.format.is_table() {
                return print_object(&object, session.format);
            }
            return print(&described(&read(object)?, session));
        }
        let mut objects = api.list(&ListParams::default()).await?.items;
        for object in &mut objects {
            object.types =
                Some(kube::core::TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
        }
        if !session.format.is_table() {
            return print_objects(&objects, session.format);
        }
        let mut entries = objects.into_iter().map(read).collect::<Outcome<Vec<AddonDefinition>>>()?;
        entries.sort_by_key(|entry| (entry.spec.order.unwrap_or(i32::MAX), entry.name_any()));
        let wide = session.format == Format::Wide;
        let mut headings = vec!["NAME", "CATEGORY", "VERSION", "NEEDS", "DESCRIPTION"];
        if wide {
            headings.extend(["PLATFORM", "SOURCE"]);
        }
        let mut table = Table::new(&headings);
        for entry in &entries {
            table.push(row(entry, wide));
        }
        print(&table.render(session.screen))
    }
}

fn read(object: DynamicObject) -> Outcome<AddonDefinition> {
    Ok(serde_json::from_value(serde_json::to_value(object)?)?)
}

/// Version and origin of an entry.
fn source(entry: &AddonDefinition) -> (String, String) {
    match (&entry.spec.chart, &entry.spec.manifests) {
        (Some(chart), _) => (chart.default_version.clone(), format!("{} {}", chart.repository, chart.name)),
        (None, Some(manifests)) => {
            (manifests.version.clone(), manifests.url.clone().unwrap_or_else(|| "manifests".to_owned()))
        }
        (None, None) => Default::default(),
    }
}

fn row(entry: &AddonDefinition, wide: bool) -> Vec<Cell> {
    let (version, origin) = source(entry);
    let spec = &entry.spec;
    let mut cells: Vec<Cell> = vec![
        entry.name_any().into(),
        spec.category.as_str().into(),
        version.into(),
        spec.depends_on.join(", ").into(),
        spec.description.as_str().into(),
    ];
    if wide {
        cells.extend([Cell::from(if spec.platform { "yes" } else { "no" }), origin.into()]);
    }
    cells
}

fn described(entry: &AddonDefinition, session: &Session) -> String {
    let (version, origin) = source(entry);
    let spec = &entry.spec;
    let others = spec.chart.iter().flat_map(|chart| &chart.available_versions).cloned().collect::<Vec<_>>().join(", ");
    let mut text = format!("{}: {}\n", spec.display_name, spec.description);
    for (title, value) in [
        ("version", version),
        ("versions", others),
        ("source", origin),
        ("needs", spec.depends_on.join(", ")),
        ("not with", spec.conflicts_with.join(", ")),
    ] {
        if !value.is_empty() {
            text += &format!("  {title}: {value}\n");
        }
    }
    if spec.configurable_values.is_empty() {
        return text + "  any value of its chart may be set\n";
    }
    let mut table = Table::new(&["VALUE", "TYPE", "REQUIRED", "DESCRIPTION"]);
    for value in &spec.configurable_values {
        table.push(vec![
            value.path.as_str().into(),
            value.type_.as_str().into(),
            if value.required { "yes" } else { "no" }.into(),
            value.description.as_deref().unwrap_or_default().into(),
        ]);
    }
    text + &table.render(session.screen)
}
