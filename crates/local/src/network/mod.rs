//! Addresses of Services, and the proxy that listens on them.
