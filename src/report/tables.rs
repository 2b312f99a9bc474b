//! The catalogue of tables and their columns: as a list, as JSON, and as a page.

use super::check::put;
use crate::rows::{Heading, Table, VERSION};

/// The page's head, with a place for the version.
const HEAD: &str = include_str!("tables.md");

/// All columns, a line each.
pub fn list(tables: &[Table], out: &mut String) {
    let columns = || {
        tables.iter().flat_map(|table| {
            let named = |it: Heading| (format!("{}.{}", table.name(), it.name), it);
            table.columns().into_iter().map(named)
        })
    };
    let names = columns().map(|(name, _)| name.len()).max().unwrap_or(0);
    let kinds = columns().map(|(_, it)| it.kind.name().len()).max().unwrap_or(0);
    for (name, Heading { kind, about, .. }) in columns() {
        put(out, format_args!("{name:<names$}  {:<kinds$}  {about}\n", kind.name()));
    }
}

/// All columns, as one JSON array.
pub fn json(tables: &[Table], out: &mut String) {
    let table = |table: &Table| {
        let column = |it: Heading| {
            serde_json::json!({
                "name": it.name, "type": it.kind.name(), "may_be_empty": !it.always, "meaning": it.about,
            })
        };
        let columns: Vec<_> = table.columns().into_iter().map(column).collect();
        serde_json::json!({ "table": table.name(), "rows": table.about(), "columns": columns })
    };
    let tables: Vec<_> = tables.iter().map(table).collect();
    put(out, format_args!("{:#}\n", serde_json::Value::from(tables)));
}

/// All columns, as a page for people.
pub fn markdown(tables: &[Table], out: &mut String) {
    out.push_str(&HEAD.replace("VERSION", &VERSION.to_string()));
    for table in tables {
        put(out, format_args!("\n## {}\n\n{}\n\n", table.name(), table.about()));
        out.push_str("| column | type | | meaning |\n|---|---|---|---|\n");
        for Heading { name, kind, always, about, .. } in table.columns() {
            let empty = if always { "" } else { "may be empty" };
            put(out, format_args!("| `{name}` | {} | {empty} | {about} |\n", kind.name()));
        }
    }
}
