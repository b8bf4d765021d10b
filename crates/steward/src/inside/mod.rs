//! What is put into a tenant: what kubeadm would upload, RBAC, CoreDNS, kube-proxy; and whom it lets join.
