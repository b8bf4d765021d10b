//! Helm's own: templates within templates, and words to the user.

use super::{Function, any, f, text};
use crate::template::error::Fault;
use crate::template::value::Value;

/// What asking a cluster takes, in steps: it is somebody else's time.
const LOOKUP: usize = 1000;

pub(super) static FUNCTIONS: &[Function] = &[
    f("include", "sv", |e, a| Ok(Value::text(e.include(&text(a, 0), any(a, 1))?))),
    f("tpl", "sv", |e, a| Ok(Value::text(e.tpl(&text(a, 0), any(a, 1))?))),
    f("fail", "s", |_, a| Err(Fault::Abort(text(a, 0).into_owned()))),
    f("required", "sv", |_, a| match any(a, 1) {
        Value::Nil => Err(Fault::Abort(text(a, 0).into_owned())),
        Value::Str(given) if given.is_empty() => Err(Fault::Abort(text(a, 0).into_owned())),
        given => Ok(given.clone()),
    }),
    f("lookup", "ssss", |e, a| {
        e.machine.spend(LOOKUP)?;
        let cluster = e.machine.surroundings.cluster;
        let found = cluster.lookup(&text(a, 0), &text(a, 1), &text(a, 2), &text(a, 3));
        let found = found.map_err(Fault::Message)?;
        Ok(found.as_ref().map_or_else(|| Value::map::<&str>([]), Value::from))
    }),
    // Rendering asks no name server, as Helm does not unless told to.
    f("getHostByName", "s", |_, _| Ok(Value::text(""))),
];
