//! Values that are no plain data: what Helm puts in front of templates, and what some functions give.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::functions::{Clock, Function, layout_rfc3339};
use super::methods;
use super::value::{Element, Value};
use crate::semver::Version;

/// A value with fields or methods of its own.
#[derive(Debug)]
pub(crate) enum Native {
    /// `.Files`
    Files(BTreeMap<Rc<str>, Rc<[u8]>>),
    /// `.Capabilities`
    Capabilities {
        kube: Value,
        versions: Value,
        helm: Value,
    },
    KubeVersion {
        version: String,
        major: String,
        minor: String,
    },
    /// `.Capabilities.APIVersions`
    Versions(Vec<Rc<str>>),
    HelmVersion(HelmVersion),
    Time(Clock),
    Version(Version),
    Certificate {
        cert: String,
        key: String,
    },
}

/// Which Helm templates believe to be rendered by.
#[derive(Debug)]
pub(crate) struct HelmVersion {
    pub(crate) version: String,
    pub(crate) commit: String,
    pub(crate) go: String,
    pub(crate) client: String,
}

impl Native {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Files(_) => "engine.files",
            Self::Capabilities { .. } => "*common.Capabilities",
            Self::KubeVersion { .. } => "common.KubeVersion",
            Self::Versions(_) => "common.VersionSet",
            Self::HelmVersion(_) => "version.BuildInfo",
            Self::Time(_) => "time.Time",
            Self::Version(_) => "*semver.Version",
            Self::Certificate { .. } => "sprig.certificate",
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Files(_) => "map",
            Self::Capabilities { .. } | Self::Version(_) => "ptr",
            Self::Versions(_) => "slice",
            Self::KubeVersion { .. } | Self::HelmVersion(_) | Self::Time(_) | Self::Certificate { .. } => "struct",
        }
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Self::Files(files) => !files.is_empty(),
            Self::Versions(versions) => !versions.is_empty(),
            _ => true,
        }
    }

    pub(crate) fn items(&self) -> Option<Vec<Value>> {
        match self {
            Self::Versions(versions) => Some(versions.iter().cloned().map(Value::Str).collect()),
            _ => None,
        }
    }

    /// Keys and values, of what is a map.
    pub(crate) fn entries(&self) -> Option<Vec<(Value, Value)>> {
        match self {
            Self::Files(files) => {
                let entry =
                    |(name, content): (&Rc<str>, &Rc<[u8]>)| (Value::Str(name.clone()), Value::Bytes(content.clone()));
                Some(files.iter().map(entry).collect())
            }
            _ => None,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<Value> {
        let text = |text: &str| Some(Value::text(text));
        match (self, name) {
            (Self::Files(files), name) => {
                Some(files.get(name).map_or(Value::Nil, |content| Value::Bytes(content.clone())))
            }
            (Self::Capabilities { kube, .. }, "KubeVersion") => Some(kube.clone()),
            (Self::Capabilities { versions, .. }, "APIVersions") => Some(versions.clone()),
            (Self::Capabilities { helm, .. }, "HelmVersion") => Some(helm.clone()),
            (Self::KubeVersion { version, .. }, "Version" | "GitVersion") => text(version),
            (Self::KubeVersion { major, .. }, "Major") => text(major),
            (Self::KubeVersion { minor, .. }, "Minor") => text(minor),
            (Self::HelmVersion(helm), "Version") => text(&helm.version),
            (Self::HelmVersion(helm), "GitCommit") => text(&helm.commit),
            (Self::HelmVersion(_), "GitTreeState") => text("clean"),
            (Self::HelmVersion(helm), "GoVersion") => text(&helm.go),
            (Self::HelmVersion(helm), "KubeClientVersion") => text(&helm.client),
            (Self::Certificate { cert, .. }, "Cert") => text(cert),
            (Self::Certificate { key, .. }, "Key") => text(key),
            _ => None,
        }
    }

    pub(crate) fn method(&self, name: &str) -> Option<&'static Function> {
        let methods = match self {
            Self::Files(_) => methods::FILES,
            Self::Versions(_) => methods::VERSIONS,
            Self::KubeVersion { .. } => methods::KUBE_VERSION,
            Self::Time(_) => methods::TIME,
            Self::Version(_) => methods::VERSION,
            _ => return None,
        };
        methods.iter().find(|method| method.name == name)
    }

    pub(crate) fn display(&self) -> String {
        match self {
            Self::Files(_) => {
                let fields = self.entries().unwrap_or_default().into_iter();
                let fields = fields.filter_map(|(key, value)| match key {
                    Value::Str(key) => Some((key, value)),
                    _ => None,
                });
                super::print::display(&Value::map_of(Element::Any, fields))
            }
            // Go shows an address, which means nothing.
            Self::Capabilities { .. } => "0xc000000000".to_owned(),
            Self::KubeVersion { version, .. } => version.clone(),
            Self::Versions(versions) => super::print::display(&Value::texts(versions.iter().cloned())),
            Self::HelmVersion(HelmVersion { version, commit, go, client }) => {
                format!("{{{version} {commit} clean {go} {client}}}")
            }
            Self::Time(time) => time.display(),
            Self::Version(version) => version.to_string(),
            Self::Certificate { cert, key } => format!("{{{cert} {key}}}"),
        }
    }

    /// The data in it, as Go's JSON has it.
    pub(crate) fn plain(&self) -> Value {
        let texts = |fields: &[(&str, &str)]| Value::map(fields.iter().map(|(key, text)| (*key, Value::text(*text))));
        match self {
            Self::Files(files) => {
                Value::map(files.iter().map(|(name, content)| (name.clone(), Value::Bytes(content.clone()))))
            }
            Self::Capabilities { kube, versions, helm } => {
                let fields = [("KubeVersion", kube), ("APIVersions", versions), ("HelmVersion", helm)];
                Value::map(fields.map(|(key, value)| (key, value.clone())))
            }
            Self::KubeVersion { version, major, minor } => {
                texts(&[("Version", version), ("Major", major), ("Minor", minor)])
            }
            Self::Versions(versions) => Value::texts(versions.iter().cloned()),
            Self::HelmVersion(HelmVersion { version, commit, go, client }) => texts(&[
                ("version", version),
                ("git_commit", commit),
                ("git_tree_state", "clean"),
                ("go_version", go),
                ("kube_client_version", client),
            ]),
            Self::Time(time) => Value::text(layout_rfc3339(time)),
            Self::Version(version) => Value::text(version.original()),
            Self::Certificate { cert, key } => texts(&[("Cert", cert), ("Key", key)]),
        }
    }

    pub(crate) fn equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Version(a), Self::Version(b)) => a == b,
            (Self::KubeVersion { version: a, .. }, Self::KubeVersion { version: b, .. }) => a == b,
            (Self::Versions(a), Self::Versions(b)) => a == b,
            (Self::Files(a), Self::Files(b)) => a == b,
            _ => false,
        }
    }
}
