//! Approval of kubelets' serving certificates. kube-controller-manager signs them, but leaves it to others to find out
//! whether a node may have the names it asks for.

mod approvers;
mod judge;
mod rules;

pub use self::approvers::Approvers;
pub use self::judge::{Verdict, judge};
pub use self::rules::Rules;
