//! Helm charts without the helm program: what a chart and some values make, exactly as `helm` makes it.
//!
//! ```text
//!   directory or archive ──▶ chart::Chart ─┐
//!   files, --set, defaults ─▶ values ──────┼─▶ render::render ──▶ manifest::Manifests ──▶ documents, hooks, notes, CRDs
//!   release, cluster, time ─▶ Surroundings ┘         │
//!                                                template (Go's text/template, Sprig's and Helm's functions) ─▶ yaml
//! ```
//!
//! - [`chart`] reads charts: directories and archives, whoever made them. Sizes and counts are bounded, and no path leads
//!   out of a chart.
//! - [`values`] merges values as Helm does: defaults, files, `--set`, nulls, globals, subcharts that are switched on and
//!   off, aliases and imports; and checks them against a chart's JSON schemas.
//! - [`render`] executes the templates. Everything that could differ between two runs is in [`render::Surroundings`]: the
//!   time, randomness, the cluster that `lookup` asks. The engine is our own, because templates change the maps they share,
//!   and because errors are compared too (docs/adr/0011).
//! - [`manifest`] takes apart what was printed: documents in the order Helm installs them, hooks with their weights, notes.
//! - [`source`] fetches charts from repositories, registries and directories, checks them and keeps them.
//! - [`release`] has Helm's records of releases, [`action`] installs, upgrades, rolls back and removes them, [`health`] tells
//!   whether objects have become what they should be.
//! - [`semver`] knows versions and ranges as charts write them.
//!
//! Where Helm 3 and Helm 4 differ, this is Helm 4. `tests/` compares every function and dozens of charts with both.
//!
//! This crate knows no Butler kind. Only [`source`] asks repositories, and writes to a disk, its cache; only [`release`] and
//! [`action`] ask a cluster. Charts are hostile: nothing here panics, recursion, work and what functions make are bounded, and a
//! budget ends what would not end.

pub mod action;
pub mod chart;
pub mod health;
pub mod manifest;
mod re2;
pub mod release;
pub mod render;
pub mod semver;
pub mod source;
mod template;
mod text;
pub mod values;
mod yaml;
