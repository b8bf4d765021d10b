//! etcd's messages, with the fields that are used here. Names and numbers are those of etcd's `rpc.proto`.

use bytes::Bytes;
use prost::Message;

/// A request without arguments, or an answer of which only the arrival matters.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {}

/// All requests about one user or role.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Name {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// Both requests about the role of a user.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct UserRole {
    #[prost(string, tag = "1")]
    pub(crate) user: String,
    #[prost(string, tag = "2")]
    pub(crate) role: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) range_end: Bytes,
    #[prost(int64, tag = "3")]
    pub(crate) limit: i64,
    #[prost(bool, tag = "8")]
    pub(crate) keys_only: bool,
    #[prost(bool, tag = "9")]
    pub(crate) count_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeResponse {
    #[prost(message, repeated, tag = "2")]
    pub(crate) kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub(crate) more: bool,
    #[prost(int64, tag = "4")]
    pub(crate) count: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub(crate) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeleteRangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) range_end: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AuthStatusResponse {
    #[prost(bool, tag = "2")]
    pub(crate) enabled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UserAddRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) options: Option<UserAddOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UserAddOptions {
    #[prost(bool, tag = "1")]
    pub(crate) no_password: bool,
}

/// The roles of a user, or all users: both answers have the same form.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Names {
    #[prost(string, repeated, tag = "2")]
    pub(crate) names: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RoleGetResponse {
    #[prost(message, repeated, tag = "2")]
    pub(crate) perm: Vec<Permission>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Permission {
    #[prost(enumeration = "PermissionType", tag = "1")]
    pub(crate) perm_type: i32,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) range_end: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
pub(crate) enum PermissionType {
    Read = 0,
    Write = 1,
    ReadWrite = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RoleGrantPermissionRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) perm: Option<Permission>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RoleRevokePermissionRequest {
    #[prost(string, tag = "1")]
    pub(crate) role: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) range_end: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusResponse {
    #[prost(string, tag = "2")]
    pub(crate) version: String,
    #[prost(int64, tag = "3")]
    pub(crate) db_size: i64,
    #[prost(uint64, tag = "4")]
    pub(crate) leader: u64,
    #[prost(int64, tag = "9")]
    pub(crate) db_size_in_use: i64,
    /// Since etcd 3.6.
    #[prost(int64, tag = "12")]
    pub(crate) db_size_quota: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AlarmResponse {
    #[prost(message, repeated, tag = "2")]
    pub(crate) alarms: Vec<AlarmMember>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AlarmMember {
    #[prost(int32, tag = "2")]
    pub(crate) alarm: i32,
}
