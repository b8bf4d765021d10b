//! etcd's calls, one function each.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use crate::{
    Access, Error, KeyRange, Permission, Transport,
    members::Members,
    messages::{
        self, AlarmResponse, AuthStatusResponse, DeleteRangeRequest, Empty, Name, Names, PermissionType, PutRequest,
        RangeRequest, RangeResponse, RoleGetResponse, RoleGrantPermissionRequest, RoleRevokePermissionRequest,
        StatusResponse, UserAddOptions, UserAddRequest, UserRole,
    },
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
        let request = RangeRequest { limit: i64::from(limit), keys_only, ..range_request(range) };
        let answer: RangeResponse = self.call("/etcdserverpb.KV/Range", &request).await?;
        Ok(Page { entries: answer.kvs.into_iter().map(|kv| (kv.key, kv.value)).collect(), more: answer.more })
    }

    /// How many keys a range has.
    pub async fn count(&self, range: &KeyRange) -> Result<u64, Error> {
        let request = RangeRequest { count_only: true, ..range_request(range) };
        let answer: RangeResponse = self.call("/etcdserverpb.KV/Range", &request).await?;
        Ok(unsigned(answer.count))
    }

    /// Writes a key.
    pub async fn put(&self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Result<(), Error> {
        self.tell("/etcdserverpb.KV/Put", &PutRequest { key: key.into(), value: value.into() }).await
    }

    /// Deletes the keys of a range.
    pub async fn delete(&self, range: &KeyRange) -> Result<(), Error> {
        let KeyRange { start: key, end: range_end } = range.clone();
        self.tell("/etcdserverpb.KV/DeleteRange", &DeleteRangeRequest { key, range_end }).await
    }

    /// Whether users and permissions count.
    pub async fn auth_enabled(&self) -> Result<bool, Error> {
        let answer: AuthStatusResponse = self.call("/etcdserverpb.Auth/AuthStatus", &Empty {}).await?;
        Ok(answer.enabled)
    }

    /// Makes users and permissions count.
    pub async fn enable_auth(&self) -> Result<(), Error> {
        self.tell("/etcdserverpb.Auth/AuthEnable", &Empty {}).await
    }

    /// All users.
    pub async fn users(&self) -> Result<Vec<String>, Error> {
        let answer: Names = self.call("/etcdserverpb.Auth/UserList", &Empty {}).await?;
        Ok(answer.names)
    }

    /// The roles of a user, if there is such a user.
    pub async fn roles_of(&self, user: &str) -> Result<Option<Vec<String>>, Error> {
        let found: Result<Names, _> = self.call("/etcdserverpb.Auth/UserGet", &name(user)).await;
        Ok(present(found)?.map(|answer| answer.names))
    }

    /// Makes a user without a password: only a certificate proves who it is.
    pub async fn add_user(&self, user: &str) -> Result<(), Error> {
        let options = Some(UserAddOptions { no_password: true });
        self.tell("/etcdserverpb.Auth/UserAdd", &UserAddRequest { name: user.to_owned(), options }).await
    }

    /// Deletes a user.
    pub async fn delete_user(&self, user: &str) -> Result<(), Error> {
        self.tell("/etcdserverpb.Auth/UserDelete", &name(user)).await
    }

    /// Gives a user a role.
    pub async fn grant_role(&self, user: &str, role: &str) -> Result<(), Error> {
        self.tell("/etcdserverpb.Auth/UserGrantRole", &user_role(user, role)).await
    }

    /// Takes a role from a user.
    pub async fn revoke_role(&self, user: &str, role: &str) -> Result<(), Error> {
        self.tell("/etcdserverpb.Auth/UserRevokeRole", &user_role(user, role)).await
    }

    /// The permissions of a role, if there is such a role.
    pub async fn permissions_of(&self, role: &str) -> Result<Option<Vec<Permission>>, Error> {
        let found: Result<RoleGetResponse, _> = self.call("/etcdserverpb.Auth/RoleGet", &name(role)).await;
        Ok(present(found)?.map(|answer| answer.perm.into_iter().map(Permission::from).collect()))
    }

    /// Makes a role.
    pub async fn add_role(&self, role: &str) -> Result<(), Error> {
        self.tell("/etcdserverpb.Auth/RoleAdd", &name(role)).await
    }

    /// Deletes a role, and takes it from all users.
    pub async fn delete_role(&self, role: &str) -> Result<(), Error> {
        self.tell("/etcdserverpb.Auth/RoleDelete", &name(role)).await
    }

    /// Lets a role read and write a range.
    pub async fn grant_permission(&self, role: &str, range: &KeyRange) -> Result<(), Error> {
        let KeyRange { start: key, end: range_end } = range.clone();
        let perm = Some(messages::Permission { perm_type: PermissionType::ReadWrite.into(), key, range_end });
        let request = RoleGrantPermissionRequest { name: role.to_owned(), perm };
        self.tell("/etcdserverpb.Auth/RoleGrantPermission", &request).await
    }

    /// Takes the permission on exactly this range from a role.
    pub async fn revoke_permission(&self, role: &str, range: &KeyRange) -> Result<(), Error> {
        let KeyRange { start: key, end: range_end } = range.clone();
        let request = RoleRevokePermissionRequest { role: role.to_owned(), key, range_end };
        self.tell("/etcdserverpb.Auth/RoleRevokePermission", &request).await
    }

    /// How the member that answers is, and what is wrong with any.
    pub async fn status(&self) -> Result<Status, Error> {
        let status: StatusResponse = self.call("/etcdserverpb.Maintenance/Status", &Empty {}).await?;
        // Without arguments it asks for all alarms of all members.
        let AlarmResponse { alarms } = self.call("/etcdserverpb.Maintenance/Alarm", &Empty {}).await?;
        Ok(Status {
            version: status.version,
            has_leader: status.leader != 0,
            size: unsigned(status.db_size),
            size_in_use: unsigned(status.db_size_in_use),
            quota: unsigned(status.db_size_quota),
            alarms: alarms.iter().map(|one| if one.alarm == 1 { Alarm::NoSpace } else { Alarm::Corrupt }).collect(),
        })
    }

    async fn tell(&self, path: &'static str, request: &impl Message) -> Result<(), Error> {
        self.call::<Empty>(path, request).await.map(drop)
    }

    async fn call<A: Message + Default>(&self, path: &'static str, request: &impl Message) -> Result<A, Error> {
        let answer = self.transport.call(path, request.encode_to_vec().into()).await?;
        A::decode(answer).map_err(|error| Error::Other(format!("{path} answered something else: {error}")))
    }
}

fn name(name: &str) -> Name {
    Name { name: name.to_owned() }
}

fn user_role(user: &str, role: &str) -> UserRole {
    UserRole { user: user.to_owned(), role: role.to_owned() }
}

impl From<messages::Permission> for Permission {
    fn from(permission: messages::Permission) -> Self {
        let read_write = permission.perm_type() == PermissionType::ReadWrite;
        Self { range: KeyRange { start: permission.key, end: permission.range_end }, read_write }
    }
}

fn range_request(range: &KeyRange) -> RangeRequest {
    let KeyRange { start: key, end: range_end } = range.clone();
    RangeRequest { key, range_end, ..RangeRequest::default() }
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
