//! Amounts, written as numbers or as text: `cpu: 4`, `memory: 8Gi`, `maxUnhealthy: 40%`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Defines an int-or-string type that keeps what the user wrote, with its schema.
macro_rules! int_or_string {
    ($(#[$meta:meta])* $name:ident, { $($schema:tt)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(untagged)]
        pub enum $name {
            /// Written as a number.
            Int(i64),
            /// Written as text.
            Text(String),
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "x-kubernetes-int-or-string": true, $($schema)* })
            }
        }

        impl From<i64> for $name {
            fn from(value: i64) -> Self {
                Self::Int(value)
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                Self::Text(value.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    Self::Int(value) => value.fmt(f),
                    Self::Text(value) => value.fmt(f),
                }
            }
        }
    };
}

int_or_string!(
    /// A Kubernetes resource quantity such as `500m`, `4` or `64Gi`.
    Quantity,
    {
        "minimum": 0,
        "pattern": r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?$"
    }
);

int_or_string!(
    /// An amount of memory or disk with its unit, such as `8Gi`. A bare number counts bytes, so small ones are refused as slips.
    ByteSize,
    { "minimum": 1_048_576,  "pattern": r"^([1-9][0-9]*(\.[0-9]+)?[MGTP]i?|[1-9][0-9]{6,17})$" }
);

int_or_string!(
    /// A whole number of processors.
    CpuCount,
    { "minimum": 1, "maximum": 512,  "pattern": "^([1-9][0-9]?|[1-4][0-9][0-9]|50[0-9]|51[0-2])$" }
);

int_or_string!(
    /// A count, or a share such as `40%`.
    IntOrPercent,
    { "minimum": 0,  "pattern": "^([0-9]|[1-9][0-9]|100)%$" }
);

impl CpuCount {
    /// The number of processors; `None` for text that the schema would have refused.
    pub fn cores(&self) -> Option<u32> {
        match self {
            Self::Int(value) => u32::try_from(*value).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

impl ByteSize {
    /// The number of bytes, rounded down; `None` for text that the schema would have refused.
    pub fn bytes(&self) -> Option<u64> {
        let text = match self {
            Self::Int(value) => return u64::try_from(*value).ok(),
            Self::Text(text) => text,
        };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit: u64 = match text.get(digits.len()..)? {
            "" => 1,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            "T" => 1_000_000_000_000,
            "P" => 1_000_000_000_000_000,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            "Ti" => 1 << 40,
            "Pi" => 1 << 50,
            _ => return None,
        };
        match digits.split_once('.') {
            None => digits.parse::<u64>().ok()?.checked_mul(unit),
            // Sizes with a fraction are written by people, so they are far below where f64 loses a byte that matters.
            Some(_) => digits.parse::<f64>().ok().map(|value| (value * unit as f64) as u64),
        }
    }

    /// A size in mebibytes, as the `memoryMB` fields count.
    pub fn from_mebibytes(value: i32) -> Self {
        Self::Text(format!("{value}Mi"))
    }

    /// A size in gibibytes, as the `diskGB` fields count.
    pub fn from_gibibytes(value: i32) -> Self {
        Self::Text(format!("{value}Gi"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_was_written() {
        for text in [r#"4"#, r#""4""#, r#""500m""#] {
            let quantity: Quantity = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&quantity).unwrap(), text);
        }
    }

    #[test]
    fn byte_sizes() {
        let cases = [
            ("8Gi", Some(8 << 30)),
            ("512Mi", Some(512 << 20)),
            ("1.5Gi", Some(3 << 29)),
            ("2T", Some(2_000_000_000_000)),
            ("8589934592", Some(8 << 30)),
            ("99999999P", None),
            ("8Xi", None),
            ("Gi", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(ByteSize::from(text).bytes(), bytes, "{text}");
        }
        assert_eq!(ByteSize::from_mebibytes(8192).bytes(), ByteSize::from("8Gi").bytes());
        assert_eq!(ByteSize::from(-1).bytes(), None);
    }

    #[test]
    fn cpu_counts() {
        assert_eq!(CpuCount::from(4).cores(), Some(4));
        assert_eq!(CpuCount::from("16").cores(), Some(16));
        assert_eq!(CpuCount::from("4000m").cores(), None);
    }
}
