//! Types of values.

use super::{Function, any, f, same, text};
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    f("typeOf", "v", |_, a| Ok(Value::text(any(a, 0).type_name()))),
    f("kindOf", "v", |_, a| Ok(Value::text(any(a, 0).kind()))),
    f("typeIs", "sv", |_, a| Ok(Value::Bool(text(a, 0) == any(a, 1).type_name()))),
    f("typeIsLike", "sv", |_, a| {
        let (wanted, found) = (text(a, 0), any(a, 1).type_name());
        Ok(Value::Bool(wanted == found || found.strip_prefix('*') == Some(&wanted)))
    }),
    f("kindIs", "sv", |_, a| Ok(Value::Bool(text(a, 0) == any(a, 1).kind()))),
    f("deepEqual", "vv", |e, a| Ok(Value::Bool(same(e, any(a, 0), any(a, 1))?))),
];
