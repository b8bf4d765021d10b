//! kapi-auth
