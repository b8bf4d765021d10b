//! Enumerations that are plain words on the wire.

/// Defines an enumeration of words: serde, schema (`enum` of the words), `as_str`, `Display` and `ALL`.
///
/// A variant may list further spellings that are read as the same thing: `ControlPlane = "controlplane" | "control-plane"`.
/// The derive of schemars would turn documented variants into `oneOf`, which Kubernetes does not take.
macro_rules! string_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $word:literal $(| $other:literal)* ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(
                $(#[$variant_meta])*
                #[serde(rename = $word $(, alias = $other)*)]
                $variant,
            )+
        }

        impl $name {
            /// Every value, in the order of their definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($word $(, $other)*),+] })
            }
        }
    };
}

pub(crate) use string_enum;
