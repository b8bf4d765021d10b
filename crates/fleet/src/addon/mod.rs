//! Addons: what is installed on clusters, in which order, and whether it is still what was installed.
mod ask;
mod graph;
mod news;
mod observed;
mod plan;
mod report;
mod values;
mod wanted;
pub use ask::{Addon, Ask};
pub use graph::{IfMissing, Need, Node};
pub use observed::{Compared, Ground, Installed, Observed, Progress, Running, Sight, Trouble};
pub use plan::{Plan, Step, plan};
pub use report::report;
pub use wanted::{Source, Wanted};
