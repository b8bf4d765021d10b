//! How a control plane is published.
