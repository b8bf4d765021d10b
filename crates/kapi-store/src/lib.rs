//! kapi-store
