//! kapi
