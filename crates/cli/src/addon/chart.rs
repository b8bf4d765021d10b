//! Charts of addons, from where Butler has them from, as far as that can be reached from here.

use butler_api::butler::{AddonDefinition, ButlerConfig};
use butler_api::names::BUTLER_CONFIG;
use helm::source::{Access, ChartRef, Fetched, Mirror, SourceError, Sources};
use kube::Api;
use kube::api::ListParams;

use crate::session::Session;

/// Where charts come from.
pub(super) struct Origins {
    mirrors: Vec<Mirror>,
    /// Whether these are all mirrors of the platform: who may not read them asks others than Butler does.
    pub(super) are_all_known: bool,
}

impl Origins {
    /// The platform's mirrors, as far as the user may know them: those that are configured, then those it has by itself.
    pub(super) async fn read(session: &Session) -> Self {
        let config = Api::<ButlerConfig>::all(session.client.clone()).get_opt(BUTLER_CONFIG).await;
        let catalogue = Api::<AddonDefinition>::all(session.client.clone()).list(&ListParams::default()).await;
        let are_all_known = config.is_ok() && catalogue.is_ok();
        let named = config.ok().flatten().and_then(|config| config.spec.addons).unwrap_or_default().mirrors;
        let named = named.into_iter().map(|mirror| Mirror { prefix: mirror.prefix, with: mirror.with });
        let entries = catalogue.into_iter().flat_map(|entries| entries.items);
        let own = entries.filter_map(|entry| fleet::addon::mirror(&entry));
        Self { mirrors: named.chain(own).collect(), are_all_known }
    }

    /// Fetches the chart of an addon.
    pub(super) async fn fetch(self, wanted: &ChartRef) -> Result<Fetched, SourceError> {
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let cache = home.unwrap_or_else(std::env::temp_dir).join(".cache/butler/charts");
        Sources::new(cache, self.mirrors).fetch(wanted, &Access::default()).await
    }
}

/// Which chart an addon is of: what it names itself, or else what the catalogue says; nothing if it is of plain manifests.
pub(super) fn named(addon: &fleet::addon::Ask, entry: Option<&AddonDefinition>, version: &str) -> Option<ChartRef> {
    let of_catalogue = entry.and_then(|entry| entry.spec.chart.as_ref());
    let (repository, name) = match &addon.helm {
        Some(chart) => (chart.repository.clone(), chart.chart.clone()),
        None => of_catalogue.map(|chart| (chart.repository.clone(), chart.name.clone()))?,
    };
    Some(ChartRef { repository, name, version: version.to_owned(), digest: None })
}
