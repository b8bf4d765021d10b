//! etcd's calls, one function each.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;

use crate::{
    Access, Error, KeyRange, Permission, Transport,
    members::Members,
    messages::{self, Call, PermissionType},
    release,
};

/// A user of an etcd. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    user: String,
}

/// A part of a range of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Keys in their order, with values unless only keys were asked for.
    pub entries: Vec<(Bytes, Bytes)>,
    /// More keys follow.
    pub more: bool,
}

/// How a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its version, such as `3.6.16`.
    pub version: String,
    /// It knows a leader.
    pub has_leader: bool,
    /// Size of its database file.
    pub size: u64,
    /// What of it is in use; the rest is freed by defragmentation.
    pub size_in_use: u64,
    /// The size at which it takes no more writes; 0 before etcd 3.6, which does not tell.
    pub quota: u64,
    /// What is wrong with any of the members.
    pub alarms: Vec<Alarm>,
}

impl Status {
    /// Why this release must not be shared by tenants who do not trust each other, and what to do.
    pub fn weakness(&self) -> Option<String> {
        release::weakness(&self.version)
    }
}

/// Something is wrong with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// The quota is reached: only deletions are accepted.
    NoSpace,
    /// Its data differs from that of the others, or an alarm that is unknown here.
    Corrupt,
}

impl Client {
    /// A client that connects when it is first used.
    pub fn new(access: &Access) -> Result<Self, Error> {
        let certificate = pki::Certificate::from_pem(&access.certificate)
            .map_err(|error| Error::Invalid(format!("the client certificate for etcd is unusable: {error}")))?;
        Ok(Self::over(Arc::new(Members::new(access)?), certificate.subject().common_name.clone()))
    }

    /// A client of `user` over a transport of its own.
    pub fn over(transport: Arc<dyn Transport>, user: impl Into<String>) -> Self {
        Self { transport, user: user.into() }
    }

    /// How this client reaches etcd.
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// The user that the client certificate names.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The first keys of a range, at most `limit`.
    pub async fn page(&self, range: &KeyRange, limit: u32, keys_only: bool) -> Result<Page, Error> {
        let request = messages::RangeRequest { limit: i64::from(limit), keys_only, ..range_request(range) };
        let answer = self.call(&request).await?;
        let entries = answer.kvs.into_iter().map(|kv| (kv.key, kv.value)).collect();
        Ok(Page { entries, more: answer.more })
    }

    /// How many keys a range has.
    pub async fn count(&self, range: &KeyRange) -> Result<u64, Error> {
        let answer = self.call(&messages::RangeRequest { count_only: true, ..range_request(range) }).await?;
        Ok(unsigned(answer.count))
    }

    /// Writes a key.
    pub async fn put(&self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Result<(), Error> {
        self.call(&messages::PutRequest { key: key.into(), value: value.into() }).await.map(drop)
    }

    /// Deletes the keys of a range and says how many there were.
    pub async fn delete(&self, range: &KeyRange) -> Result<u64, Error> {
        let KeyRange { start: key, end: range_end } = range.clone();
        Ok(unsigned(self.call(&messages::DeleteRangeRequest { key, range_end }).await?.deleted))
    }

    /// Whether users and permissions count.
    pub async fn auth_enabled(&self) -> Result<bool, Error> {
        Ok(self.call(&messages::AuthStatusRequest {}).await?.enabled)
    }

    /// Makes users and permissions count.
    pub async fn enable_auth(&self) -> Result<(), Error> {
        self.call(&messages::AuthEnableRequest {}).await.map(drop)
    }

    /// All users.
    pub async fn users(&self) -> Result<Vec<String>, Error> {
        Ok(self.call(&messages::UserListRequest {}).await?.names)
    }

    /// The roles of a user, if there is such a user.
    pub async fn roles_of(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        let found = self.call(&messages::UserGetRequest { name: name.to_owned() }).await;
        Ok(present(found)?.map(|answer| answer.names))
    }

    /// Makes a user without a password: only a certificate proves who it is.
    pub async fn add_user(&self, name: &str) -> Result<(), Error> {
        let options = Some(messages::UserAddOptions { no_password: true });
        self.call(&messages::UserAddRequest { name: name.to_owned(), options }).await.map(drop)
    }

    /// Deletes a user.
    pub async fn delete_user(&self, name: &str) -> Result<(), Error> {
        self.call(&messages::UserDeleteRequest { name: name.to_owned() }).await.map(drop)
    }

    /// Gives a user a role.
    pub async fn grant_role(&self, user: &str, role: &str) -> Result<(), Error> {
        let request = messages::UserGrantRoleRequest { user: user.to_owned(), role: role.to_owned() };
        self.call(&request).await.map(drop)
    }

    /// Takes a role from a user.
    pub async fn revoke_role(&self, user: &str, role: &str) -> Result<(), Error> {
        let request = messages::UserRevokeRoleRequest { name: user.to_owned(), role: role.to_owned() };
        self.call(&request).await.map(drop)
    }

    /// The permissions of a role, if there is such a role.
    pub async fn permissions_of(&self, name: &str) -> Result<Option<Vec<Permission>>, Error> {
        let found = self.call(&messages::RoleGetRequest { role: name.to_owned() }).await;
        Ok(present(found)?.map(|answer| answer.perm.into_iter().map(Permission::from).collect()))
    }

    /// Makes a role.
    pub async fn add_role(&self, name: &str) -> Result<(), Error> {
        self.call(&messages::RoleAddRequest { name: name.to_owned() }).await.map(drop)
    }

    /// Deletes a role, and takes it from all users.
    pub async fn delete_role(&self, name: &str) -> Result<(), Error> {
        self.call(&messages::RoleDeleteRequest { role: name.to_owned() }).await.map(drop)
    }

    /// Lets a role read and write a range.
    pub async fn grant_permission(&self, role: &str, range: &KeyRange) -> Result<(), Error> {
        let KeyRange { start: key, end: range_end } = range.clone();
        let perm = messages::Permission { perm_type: PermissionType::ReadWrite.into(), key, range_end };
        self.call(&messages::RoleGrantPermissionRequest { name: role.to_owned(), perm: Some(perm) }).await.map(drop)
    }

    /// Takes the permission on exactly this range from a role.
    pub async fn revoke_permission(&self, role: &str, range: &KeyRange) -> Result<(), Error> {
        let KeyRange { start: key, end: range_end } = range.clone();
        let request = messages::RoleRevokePermissionRequest { role: role.to_owned(), key, range_end };
        self.call(&request).await.map(drop)
    }

    /// How the member that answers is, and what is wrong with any.
    pub async fn status(&self) -> Result<Status, Error> {
        let status = self.call(&messages::StatusRequest {}).await?;
        let alarms = self.call(&messages::AlarmRequest {}).await?.alarms;
        Ok(Status {
            version: status.version,
            has_leader: status.leader != 0,
            size: unsigned(status.db_size),
            size_in_use: unsigned(status.db_size_in_use),
            quota: unsigned(status.db_size_quota),
            alarms: alarms.iter().map(|one| if one.alarm == 1 { Alarm::NoSpace } else { Alarm::Corrupt }).collect(),
        })
    }

    async fn call<C: Call>(&self, request: &C) -> Result<C::Answer, Error> {
        let answer = self.transport.call(C::PATH, request.encode_to_vec().into()).await?;
        C::Answer::decode(answer).map_err(|error| Error::Other(format!("{} answered something else: {error}", C::PATH)))
    }
}

impl From<messages::Permission> for Permission {
    fn from(permission: messages::Permission) -> Self {
        let read_write = permission.perm_type() == PermissionType::ReadWrite;
        Self { range: KeyRange { start: permission.key, end: permission.range_end }, read_write }
    }
}

fn range_request(range: &KeyRange) -> messages::RangeRequest {
    let KeyRange { start: key, end: range_end } = range.clone();
    messages::RangeRequest { key, range_end, ..messages::RangeRequest::default() }
}

fn present<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sizes and counts are signed on the wire and never negative.
fn unsigned(number: i64) -> u64 {
    number.try_into().unwrap_or_default()
}
