//! A table of the file, read key by key. A key that was not requested is unknown: it is reported with
//! the most similar key that was.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error, and its position.
#[derive(Debug)]
pub(super) struct InvalidValue {
    /// The first byte of the invalid part.
    pub(super) at: usize,
    /// What is wrong, and how to correct it. Never contains the value, which may be a secret.
    pub(super) what: String,
}

/// A table that is being read.
pub(super) struct ConfigTable<'t> {
    entries: &'t DeTable<'t>,
    /// The position of its first byte.
    pub(super) at: usize,
    known: Vec<&'static str>,
}

/// A value, with the name of its key.
#[derive(Clone, Copy)]
pub(super) struct ConfigValue<'t> {
    pub(super) name: &'t str,
    /// The position of its key.
    pub(super) at: usize,
    value: &'t DeValue<'t>,
}

impl<'t> ConfigTable<'t> {
    pub(super) fn new(table: &'t Spanned<DeTable<'t>>) -> ConfigTable<'t> {
        ConfigTable { entries: table.get_ref(), at: table.span().start, known: Vec::new() }
    }

    /// The value of an optional key.
    pub(super) fn take(&mut self, key: &'static str) -> Option<ConfigValue<'t>> {
        self.known.push(key);
        self.all().find(|value| value.name == key)
    }

    /// The value of a required key.
    pub(super) fn need(
        &mut self,
        key: &'static str,
        why: &str,
    ) -> Result<ConfigValue<'t>, InvalidValue> {
        let at = self.at;
        self.take(key)
            .ok_or_else(|| InvalidValue { at, what: format!("`{key}` is missing: {why}") })
    }

    /// All values of a table whose keys are chosen by the user.
    pub(super) fn all(&self) -> impl Iterator<Item = ConfigValue<'t>> + use<'t> {
        self.entries.iter().map(|(key, value)| {
            let (Range { start, .. }, name) = (key.span(), key.get_ref());
            ConfigValue { name, at: start, value: value.get_ref() }
        })
    }

    /// The requested keys that it has.
    pub(super) fn present(&self) -> Vec<&'static str> {
        let is_present = |key: &&'static str| self.all().any(|value| value.name == *key);
        self.known.iter().copied().filter(is_present).collect()
    }

    /// Checks that all keys are known.
    ///
    /// # Errors
    /// There is an unknown key.
    pub(super) fn finish(self) -> Result<(), InvalidValue> {
        let unknown = self.all().find(|value| !self.known.contains(&value.name));
        unknown.map_or(Ok(()), |value| {
            let what = format!("unknown key `{}`", crate::text::escaped(value.name));
            Err(InvalidValue { at: value.at, what: with_nearest(what, value.name, &self.known) })
        })
    }
}

impl<'t> ConfigValue<'t> {
    /// The error that the value is not as it must be.
    pub(super) fn wrong(self, should: &str) -> InvalidValue {
        InvalidValue {
            at: self.at,
            what: format!("`{}` {should}", crate::text::escaped(self.name)),
        }
    }

    pub(super) fn text(self) -> Result<&'t str, InvalidValue> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("must be a text in quotes")),
        }
    }

    pub(super) fn yes(self) -> Result<bool, InvalidValue> {
        match self.value {
            DeValue::Boolean(yes) => Ok(*yes),
            _ => Err(self.wrong("must be true or false")),
        }
    }

    pub(super) fn date(self) -> Result<jiff::civil::Date, InvalidValue> {
        let written = || self.wrong("must be a date, written without quotes, such as 2027-01-31");
        match self.value {
            DeValue::Datetime(when) => {
                let date = when.date.filter(|_| when.time.is_none()).ok_or_else(written)?;
                let [month, day] = [date.month, date.day].map(|part| i8::try_from(part).ok());
                let date = i16::try_from(date.year).ok().zip(month).zip(day);
                date.and_then(|((year, month), day)| jiff::civil::Date::new(year, month, day).ok())
                    .ok_or_else(written)
            }
            _ => Err(written()),
        }
    }

    pub(super) fn table(self) -> Result<ConfigTable<'t>, InvalidValue> {
        match self.value {
            DeValue::Table(entries) => Ok(ConfigTable { entries, at: self.at, known: Vec::new() }),
            _ => Err(self.wrong("must be a table")),
        }
    }

    /// The values of a list, each with the list's name and its own position.
    pub(super) fn list(self) -> Result<Vec<ConfigValue<'t>>, InvalidValue> {
        let DeValue::Array(values) = self.value else { return Err(self.wrong("must be a list")) };
        let value = |value: &'t Spanned<DeValue<'t>>| ConfigValue {
            name: self.name,
            at: value.span().start,
            value: value.get_ref(),
        };
        Ok(values.iter().map(value).collect())
    }

    /// Parses a text.
    pub(super) fn parsed<T>(
        self,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, InvalidValue> {
        parse(self.text()?).map_err(|why| self.wrong(&format!("is invalid: {why}")))
    }
}

/// Adds the most similar known name, or all of them if none is similar.
fn with_nearest(what: String, name: &str, known: &[&str]) -> String {
    let near = |known: &&str| (strsim::jaro_winkler(name, known) * 1000.0) as u32;
    match known.iter().max_by_key(|&known| near(known)) {
        Some(nearest) if near(nearest) > 750 => format!("{what}; did you mean `{nearest}`?"),
        _ => format!("{what}; valid keys are {}", known.join(", ")),
    }
}
