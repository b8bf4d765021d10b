//! Address ranges with two fields.

use std::net::AddrParseError;

use kernel::cidr::{IpRange, RangeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules;

/// Addresses from start to end, both included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::ordered_addresses("start", "end", "the address range")))]
pub struct AddressRange {
    /// First address.
    #[schemars(length(max = 45), extend("x-kubernetes-validations" = rules::ip("start")))]
    pub start: String,
    /// Last address.
    #[schemars(length(max = 45), extend("x-kubernetes-validations" = rules::ip("end")))]
    pub end: String,
}

/// Why an [`AddressRange`] is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRangeError {
    /// One end is no address.
    #[error("{0:?} is no IP address")]
    Address(String, #[source] AddrParseError),
    /// The two ends do not go together.
    #[error(transparent)]
    Range(#[from] RangeError),
}

impl TryFrom<&AddressRange> for IpRange {
    type Error = AddressRangeError;

    fn try_from(range: &AddressRange) -> Result<Self, Self::Error> {
        let parse = |text: &String| text.parse().map_err(|error| AddressRangeError::Address(text.clone(), error));
        Ok(Self::new(parse(&range.start)?, parse(&range.end)?)?)
    }
}
