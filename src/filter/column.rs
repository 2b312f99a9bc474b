//! Columns of tables, which have the names of fields and attributes in filters.

use std::fmt;
use std::str::FromStr;

use super::attribute::{ATTRIBUTES, Attribute};
use super::evaluate;
use super::names::{self, Meanings};
use super::syntax::written;
use crate::message::{MessageRef, Value};

/// A column of a table: a field of messages, or an attribute.
#[derive(Clone)]
pub struct Column {
    name: String,
    meanings: Meanings,
}

impl Column {
    /// The name that was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of attributes.
    pub fn attributes() -> impl Iterator<Item = &'static str> {
        ATTRIBUTES.iter().map(|(name, ..)| *name)
    }

    /// Whether a message can have several values.
    pub fn has_many(&self) -> bool {
        self.meanings.has_many()
    }

    /// Passes a message's values to `see`.
    pub fn values(&self, subject: &MessageRef<'_>, see: &mut dyn FnMut(&Value<'_>)) {
        match self.meanings.attribute {
            // The same value as in JSON.
            Some((Attribute::Frame, _)) => return see(&Value::Unsigned(subject.payload.frame)),
            Some((Attribute::Frames, _)) => {
                let mut frames = Vec::new();
                subject.payload.frames(&mut frames);
                return frames.into_iter().for_each(|frame| see(&Value::Unsigned(frame)));
            }
            _ => {}
        }
        let attribute = self.meanings.attribute.map(|(attribute, _)| attribute);
        evaluate::each(attribute, &self.meanings.fields, subject, &mut |value, _| {
            see(&value);
            false
        });
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({:?})", self.name)
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(name: &str) -> Result<Column, String> {
        let path = super::syntax::path(name)
            .ok_or_else(|| format!("`{name}` is not a valid field name"))?;
        let mut meanings = Meanings::of(&path);
        if meanings.attribute.is_some() {
            // In a filter, the value shows which is meant; a column has none.
            meanings.fields.clear();
        }
        if meanings.attribute.is_some() || meanings.fields.iter().any(names::Source::has_value) {
            return Ok(Column { name: name.to_owned(), meanings });
        }
        if !meanings.is_empty() {
            let name = written(&path);
            return Err(match &*names::parts(&path) {
                [] => format!(
                    "`{name}` has no value; `gamewire fields` lists the fields that have one"
                ),
                parts => format!(
                    "`{name}` has no value of its own, but its parts have: {}",
                    parts.join(", ")
                ),
            });
        }
        if path == ["answered"] || path == ["answered_by"] {
            return Err(format!(
                "`{name}` is not yet known when a message is shown: {}",
                names::ANSWERED
            ));
        }
        let near = names::nearest(&path);
        Err(match &*near {
            [] => format!("there is no field `{}`; `gamewire fields` lists them", written(&path)),
            near => format!(
                "there is no field `{}`; did you mean {}?",
                written(&path),
                near.join(" or ")
            ),
        })
    }
}
