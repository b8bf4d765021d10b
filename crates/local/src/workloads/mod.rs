//! Workload controllers and a scheduler, for APIs that no kube-controller-manager serves.
