//! What kubelets may do: read what their pods need, and write what is theirs.

mod authorizer;
mod graph;
mod labels;
mod mirror;
mod pod;
mod restrict_pods;
mod restrict_tokens;
mod restriction;

pub(crate) use authorizer::authorize;
pub use graph::NodeGraph;
pub use restriction::{NodeWrite, Operation, restrict_node};
