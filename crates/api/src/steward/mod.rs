//! Kinds of `steward.butlerlabs.dev/v1alpha1`.
