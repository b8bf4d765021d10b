//! Kinds of `controlplane.cluster.x-k8s.io/v1alpha1`.
