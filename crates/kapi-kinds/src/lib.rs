//! kapi-kinds
