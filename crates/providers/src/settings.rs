//! Settings that can be made in several places, the closest winning.

use butler_api::shared::{Blocker, BlockerOwner};

use crate::blockers::{invalid, owner, place};
use crate::{Machines, Request};

/// A setting and where it was made.
pub(crate) struct Setting<'a> {
    pub(crate) value: &'a str,
    /// The field, as in `spec.workers.machineTemplate.os.imageRef`.
    field: String,
    owner: BlockerOwner,
}

/// Where a setting can be made.
pub(crate) struct Places<'a> {
    request: &'a Request<'a>,
    name: &'static str,
    found: Option<Setting<'a>>,
    tried: Vec<String>,
}

impl<'a> Places<'a> {
    /// A setting that people call `name`.
    pub(crate) fn of(request: &'a Request<'a>, name: &'static str) -> Self {
        Self { request, name, found: None, tried: Vec::new() }
    }

    /// In the template of a group of machines.
    pub(crate) fn machines(self, machines: Machines<'_>, field: &str, value: Option<&'a str>) -> Self {
        self.or(format!("{}.{field}", machines.field()), BlockerOwner::User, value)
    }

    /// In the cluster's `infrastructureOverride`.
    pub(crate) fn cluster(self, field: &str, value: Option<&'a str>) -> Self {
        self.or(format!("spec.infrastructureOverride.{field}"), BlockerOwner::User, value)
    }

    /// In the ProviderConfig.
    pub(crate) fn provider(self, field: &str, value: Option<&'a str>) -> Self {
        let (field, owner) = (format!("spec.{field} of ProviderConfig {}", place(self.request)), owner(self.request));
        self.or(field, owner, value)
    }

    fn or(mut self, field: String, owner: BlockerOwner, value: Option<&'a str>) -> Self {
        self.tried.push(field.clone());
        if let Some(value) = value.filter(|value| !value.is_empty())
            && self.found.is_none()
        {
            self.found = Some(Setting { value, field, owner });
        }
        self
    }

    /// The setting, or that it is nowhere.
    pub(crate) fn required(self) -> Result<Setting<'a>, Vec<Blocker>> {
        let (name, tried) = (self.name, self.tried);
        self.found.ok_or_else(|| {
            vec![invalid(
                owner(self.request),
                format!("there is no {name}: neither the cluster nor ProviderConfig {} names one", place(self.request)),
                format!("not set: {}", tried.join(", ")),
                format!("Set {}.", tried.join(", or ")),
            )]
        })
    }

    /// The setting, if it is made anywhere.
    pub(crate) fn optional(self) -> Option<Setting<'a>> {
        self.found
    }
}

impl Setting<'_> {
    /// That this value cannot work.
    pub(crate) fn refused(&self, why: &str, remedy: &str) -> Blocker {
        let Self { value, field, owner } = self;
        invalid(*owner, format!("{field} {why}"), format!("{field} is {value:?}"), remedy.to_owned())
    }
}
