//! Label and field selectors, as query parameters and objects carry them.

pub mod fields;
pub mod labels;
mod labels_parse;
