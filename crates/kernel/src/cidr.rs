//! cidr
