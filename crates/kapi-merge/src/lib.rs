//! kapi-merge
