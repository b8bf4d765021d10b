//! The parameters requests take, by what they do.

/// One parameter: its name and JSON type.
pub(super) type Parameter = (&'static str, &'static str);

/// Of everything that answers with an object.
pub(super) const PRETTY: Parameter = ("pretty", "string");

/// Of lists and watches.
pub(super) const LIST: &[Parameter] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];

/// Of reads of one object.
pub(super) const READ_CUSTOM: &[Parameter] = &[("resourceVersion", "string")];

/// Of creates and replaces.
pub(super) const WRITE: &[Parameter] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];

/// Of patches.
pub(super) const PATCH: &[Parameter] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];

/// Of deletes of one object.
pub(super) const DELETE: &[Parameter] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];

/// Of deletes of many.
pub(super) const DELETE_COLLECTION: &[Parameter] = &[
    ("continue", "string"),
    ("dryRun", "string"),
    ("fieldSelector", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
];

/// Of subresources that are connected to; none for those that are not.
pub(super) fn connect(subresource: &str) -> Option<&'static [Parameter]> {
    Some(match subresource {
        "attach" => &[
            ("container", "string"),
            ("stderr", "boolean"),
            ("stdin", "boolean"),
            ("stdout", "boolean"),
            ("tty", "boolean"),
        ],
        "exec" => &[
            ("command", "string"),
            ("container", "string"),
            ("stderr", "boolean"),
            ("stdin", "boolean"),
            ("stdout", "boolean"),
            ("tty", "boolean"),
        ],
        "portforward" => &[("ports", "integer")],
        "proxy" => &[("path", "string")],
        _ => return None,
    })
}

/// Of `pods/log`.
pub(super) const LOG: &[Parameter] = &[
    ("container", "string"),
    ("follow", "boolean"),
    ("insecureSkipTLSVerifyBackend", "boolean"),
    ("limitBytes", "integer"),
    ("previous", "boolean"),
    ("sinceSeconds", "integer"),
    ("stream", "string"),
    ("tailLines", "integer"),
    ("timestamps", "boolean"),
];
