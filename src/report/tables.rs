//! The tables and their columns, as a part of docs/tables.md.

use super::check::put;
use crate::rows::{Heading, Table};

/// A section for each table that is written to files.
pub fn markdown(out: &mut String) {
    for table in Table::ALL {
        put(out, format_args!("\n## {}\n\n{}\n\n", table.name(), table.about()));
        out.push_str("| column | type | | meaning |\n|---|---|---|---|\n");
        for Heading { name, kind, always, about, .. } in table.columns() {
            let (kind, empty) = (kind.name(), if always { "" } else { "may be empty" });
            put(out, format_args!("| `{name}` | {kind} | {empty} | {about} |\n"));
        }
    }
}
