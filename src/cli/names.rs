//! Names of rules, fields and columns on the command line, with their shell completions.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::Arg;
use clap::builder::{PossibleValue, TypedValueParser};
use dissectors::catalogue;

use crate::check;
use crate::filter::Column;

/// Parses a name, and lists all names for shell completion.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameParser<T> {
    parse: fn(&str) -> Result<T, String>,
    known: fn() -> Vec<String>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for NameParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.known)().into_iter().map(PossibleValue::new)))
    }
}

/// Codes and names of rules.
pub(super) fn rules() -> NameParser<check::Rules> {
    let known = || {
        let rules = catalogue::rules();
        let codes = rules.iter().map(|rule| rule.code.to_string());
        let names = BTreeSet::from_iter(rules.iter().map(|rule| rule.slug.to_owned()));
        codes.chain(names).collect()
    };
    NameParser { parse: str::parse, known }
}

/// Fields of messages, and prefixes of their paths.
pub(super) fn fields() -> NameParser<String> {
    let parse = |named: &str| {
        if catalogue::fields().iter().any(|field| field.is(named)) {
            return Ok(named.to_owned());
        }
        Err("no field has this name or path prefix; `gamewire fields` lists all".to_owned())
    };
    NameParser { parse, known: paths }
}

/// Columns of `dissect --fields`: fields and attributes.
pub(super) fn columns() -> NameParser<Column> {
    let known = || Column::attributes().map(str::to_owned).chain(paths()).collect();
    NameParser { parse: |name| name.trim().parse(), known }
}

/// Display filters, which begin with a field.
pub(super) fn filters() -> NameParser<String> {
    let known = || {
        let is_word = |path: &String| !path.contains('*');
        Column::attributes().map(str::to_owned).chain(paths().into_iter().filter(is_word)).collect()
    };
    NameParser { parse: |filter| Ok(filter.to_owned()), known }
}

fn paths() -> Vec<String> {
    catalogue::fields().into_iter().map(|field| field.path).collect()
}
