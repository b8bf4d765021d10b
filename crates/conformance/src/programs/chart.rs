//! The chart that helm installs: workload, service, settings, hooks, a custom kind and an object of it.

use std::fs;
use std::path::Path;

const FILES: &[(&str, &str)] = &[
    ("Chart.yaml", include_str!("chart/Chart.yaml")),
    ("values.yaml", include_str!("chart/values.yaml")),
    ("crds/bells.yaml", include_str!("chart/crds/bells.yaml")),
    ("templates/NOTES.txt", include_str!("chart/templates/NOTES.txt")),
    ("templates/deployment.yaml", include_str!("chart/templates/deployment.yaml")),
    ("templates/service.yaml", include_str!("chart/templates/service.yaml")),
    ("templates/settings.yaml", include_str!("chart/templates/settings.yaml")),
    ("templates/bell.yaml", include_str!("chart/templates/bell.yaml")),
    ("templates/hooks.yaml", include_str!("chart/templates/hooks.yaml")),
];

/// Writes the chart into an empty folder.
pub(super) fn write(folder: &Path) -> anyhow::Result<()> {
    for inner in ["crds", "templates"] {
        fs::create_dir_all(folder.join(inner))?;
    }
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
