use serde_json::Value;

use super::*;
use crate::builtin;

#[test]
fn every_printer_is_of_a_served_kind_and_fits_its_columns() {
    for resource in builtin() {
        let columns = columns(&resource.group, &resource.kind);
        let cells = (columns.row)(&Value::Null, 0);
        // The real server prints one cell more than it announces for this kind.
        let extra = usize::from(&*resource.kind == "IPAddress");
        assert_eq!(cells.len(), columns.columns.len() + extra, "{}", resource.kind);
    }
}
