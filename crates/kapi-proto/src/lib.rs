//! kapi-proto
