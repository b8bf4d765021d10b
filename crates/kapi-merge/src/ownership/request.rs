//! What a write says of itself.

use kapi_schema::SchemaRef;

use super::managed::Managed;
use crate::fields::FieldSet;
use crate::typed::{Comparison, Shape, reconcile};

/// Where a kind comes from: it decides what a create is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindOrigin {
    /// A kind of Kubernetes itself: an object exists, with empty structs, before it is created.
    BuiltIn,
    /// A kind of a CRD.
    Custom,
}

/// A create, update or patch other than apply.
#[derive(Clone, Copy, Debug)]
pub struct UpdateRequest<'a> {
    /// Who writes; see [`super::manager_from_user_agent`].
    pub manager: &'a str,
    /// The version of the request, as `apps/v1`.
    pub api_version: &'a str,
    /// The subresource written to, or nothing.
    pub subresource: &'a str,
    /// The time, as `2006-01-02T15:04:05Z`.
    pub now: &'a str,
    /// Where the kind comes from.
    pub origin: KindOrigin,
    /// All versions the kind has, served or not, each as `apps/v1`.
    pub versions: &'a [&'a str],
    /// What this endpoint resets, with all below: `status` at the object itself, `spec` at its `status`. It never
    /// counts as changed.
    pub reset_fields: &'a FieldSet,
}

/// A server-side apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyRequest<'a> {
    /// The `fieldManager` of the request; it is required.
    pub manager: &'a str,
    /// Whether to take over fields that others own.
    pub force: bool,
    /// The version of the request, as `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the endpoint.
    pub kind: &'a str,
    /// The subresource written to, or nothing.
    pub subresource: &'a str,
    /// The time, as `2006-01-02T15:04:05Z`.
    pub now: &'a str,
    /// Where the kind comes from.
    pub origin: KindOrigin,
    /// All versions the kind has, served or not, each as `apps/v1`.
    pub versions: &'a [&'a str],
    /// What this endpoint resets, with all below: `status` at the object itself, `spec` at its `status`. It never
    /// counts as changed.
    pub reset_fields: &'a FieldSet,
}

impl<'a> ApplyRequest<'a> {
    /// The same endpoint written to by an update.
    pub(super) fn as_update(&self, manager: &'a str) -> UpdateRequest<'a> {
        UpdateRequest {
            manager,
            api_version: self.api_version,
            subresource: self.subresource,
            now: self.now,
            origin: self.origin,
            versions: self.versions,
            reset_fields: self.reset_fields,
        }
    }
}

/// What both kinds of write need to judge ownership.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) shape: Shape<'a>,
    pub(super) reset_fields: &'a FieldSet,
    api_version: &'a str,
    versions: &'a [&'a str],
    origin: KindOrigin,
}

impl<'a> Place<'a> {
    pub(super) fn of(schema: SchemaRef<'a>, request: &UpdateRequest<'a>) -> Self {
        Self {
            shape: Shape::object(schema),
            reset_fields: request.reset_fields,
            api_version: request.api_version,
            versions: request.versions,
            origin: request.origin,
        }
    }

    /// Fits entries to the schema as it is today. Entries of versions the kind does not have any more are dropped
    /// from built-in kinds; of custom kinds the real server then can judge no entry at all.
    pub(super) fn bring_up_to_date(&self, managed: &mut Managed) -> Result<(), String> {
        let has = |version: &str| version == self.api_version || self.versions.contains(&version);
        match self.origin {
            KindOrigin::BuiltIn => managed.entries.retain(|entry| has(&entry.api_version)),
            KindOrigin::Custom => {
                if let Some(entry) = managed.entries.iter().find(|entry| !has(&entry.api_version)) {
                    let version = &entry.api_version;
                    return Err(format!("request to convert CR to an invalid group/version: {version}"));
                }
            }
        }
        for entry in &mut managed.entries {
            if let Some(fields) = reconcile(&entry.fields, self.shape) {
                entry.fields = fields;
            }
        }
        Ok(())
    }

    /// The changes without what the endpoint resets.
    pub(super) fn lasting(&self, changes: Comparison) -> Comparison {
        let keep = |set: FieldSet| {
            if self.reset_fields.is_empty() { set } else { set.recursive_difference(self.reset_fields) }
        };
        Comparison { added: keep(changes.added), modified: keep(changes.modified), removed: keep(changes.removed) }
    }
}
