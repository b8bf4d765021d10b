//! What a write says of itself.

use kapi_schema::SchemaRef;

use super::filter::OwnedFields;
use crate::typed::Shape;

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
    /// All versions in which the kind is served; entries of others are dropped. `api_version` always counts.
    pub served_versions: &'a [&'a str],
    /// Which fields a write to this endpoint can own.
    pub owned_fields: &'a OwnedFields,
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
    /// All versions in which the kind is served; entries of others are dropped. `api_version` always counts.
    pub served_versions: &'a [&'a str],
    /// Which fields a write to this endpoint can own.
    pub owned_fields: &'a OwnedFields,
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
            served_versions: self.served_versions,
            owned_fields: self.owned_fields,
        }
    }
}

/// What both kinds of write need to judge ownership.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) shape: Shape<'a>,
    pub(super) api_version: &'a str,
    pub(super) served_versions: &'a [&'a str],
    pub(super) owned_fields: &'a OwnedFields,
}

impl<'a> Place<'a> {
    pub(super) fn of(schema: SchemaRef<'a>, request: &UpdateRequest<'a>) -> Self {
        Self {
            shape: Shape::object(schema),
            api_version: request.api_version,
            served_versions: request.served_versions,
            owned_fields: request.owned_fields,
        }
    }

    pub(super) fn serves(&self, api_version: &str) -> bool {
        api_version == self.api_version || self.served_versions.contains(&api_version)
    }
}
