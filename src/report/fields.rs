//! The catalogue of fields: as a list, as JSON, and as a page.

use dissectors::catalogue::ListedField;
use dissectors::kit::{Kind, Role};
use serde::Serialize;

use super::check::put;
use crate::text::beside;

/// The page's head.
const HEAD: &str = "\
# Fields

Every field that `gamewire dissect --format json` writes in `fields` or beside it, by the path that names
it everywhere: protocol, message, field. This page is written by `cargo run -p xtask -- docs`;
`gamewire fields` lists the same.

A `*` is a key that the sender chooses. The path of a list leads to its elements, so
`a2s.player_response.players.name` has a value for each player. Where a type is *unsigned integer or
text*, the value is the text as it was sent if that is not a number.
";

/// All fields, a line each; on a terminal of this width, long ones go on below.
pub fn list(fields: &[ListedField], terminal: Option<usize>, out: &mut String) {
    let widest = |width: fn(&ListedField) -> usize| fields.iter().map(width).max().unwrap_or(0);
    let (paths, kinds) = (widest(|it| it.path.len()), widest(|it| kind(it).len()));
    for it in fields {
        let (path, kind, about) = (&it.path, kind(it), about(it));
        let before = format!("{path:<paths$}  {kind:<kinds$}  ");
        put(out, format_args!("{}\n", beside(&before, &about, 4, terminal)));
    }
}

#[derive(Serialize)]
struct FieldEntry<'a> {
    path: &'a str,
    protocol: &'static str,
    message: &'static str,
    name: &'static str,
    label: &'static str,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    unit: &'static str,
    meaning: &'static str,
}

/// All fields, as one JSON array.
///
/// # Errors
/// None that a `Vec` can have.
pub fn json(fields: &[ListedField], out: &mut Vec<u8>) -> serde_json::Result<()> {
    let entries = fields.iter().map(|it| FieldEntry {
        path: &it.path,
        protocol: it.protocol.info().id,
        message: it.message.name,
        name: it.field.name,
        label: it.field.label,
        kind: kind(it),
        unit: it.field.unit,
        meaning: it.field.about,
    });
    serde_json::to_writer_pretty(&mut *out, &entries.collect::<Vec<_>>())?;
    out.push(b'\n');
    Ok(())
}

/// All fields, as a page for people: a table for each message.
pub fn markdown(fields: &[ListedField], out: &mut String) {
    out.push_str(HEAD);
    for of_protocol in fields.chunk_by(|a, b| a.protocol == b.protocol) {
        let Some(first) = of_protocol.first() else { continue };
        let info = first.protocol.info();
        put(out, format_args!("\n## {} (`{}`)\n", info.title, info.id));
        for of_message in of_protocol.chunk_by(|a, b| a.message.name == b.message.name) {
            let Some(first) = of_message.first() else { continue };
            let message = first.message;
            let from = match message.speaker {
                Role::Any => String::new(),
                who => format!(", from the {}", who.name()),
            };
            put(out, format_args!("\n### `{}.{}`\n\n", info.id, message.name));
            put(out, format_args!("{}{from}.\n\n", message.label));
            out.push_str("| field | type | meaning |\n|---|---|---|\n");
            for it in of_message {
                let below = it.path.splitn(3, '.').last().unwrap_or_default();
                put(out, format_args!("| `{below}` | {} | {} |\n", kind(it), about(it)));
            }
        }
    }
}

/// What the field says, and in which unit.
fn about(it: &ListedField) -> String {
    match it.field.unit {
        "" => it.field.about.to_owned(),
        unit => format!("{} Unit: {unit}.", it.field.about),
    }
}

/// The type of the values.
fn kind(it: &ListedField) -> String {
    let own = it.field.kind;
    let element = it.field.children.first().map(|element| element.kind);
    let mut name = match (own, element) {
        (Kind::List, Some(element)) if element != Kind::Group => {
            format!("list of {}", element.name())
        }
        (Kind::Pair, _) => Kind::Text.name().to_owned(),
        _ => own.name().to_owned(),
    };
    for other in &it.otherwise {
        name.push_str(" or ");
        name.push_str(other.name());
    }
    name
}
