//! The agent of a node: runs the pods that are bound to it.
