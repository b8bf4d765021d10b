//! Every built-in kind in protobuf: what `builtin_defaults` does in JSON, byte for byte.

use super::builtin_defaults;
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    let mut defaults = Area::new("builtin_defaults");
    builtin_defaults::cases(&mut defaults);
    area.cases = defaults.cases.into_iter().map(|case| case.in_protobuf("protobuf_kinds")).collect();
}
