//! Names on the command line: of rules, fields and columns, with what shells complete.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::Arg;
use clap::builder::{PossibleValue, TypedValueParser};
use dissectors::catalogue;

use crate::check;
use crate::filter::Column;

/// Reads words that stand for rules, and tells shells how to complete them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleNames;

impl TypedValueParser for RuleNames {
    type Value = check::Rules;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<check::Rules, clap::Error> {
        let parse: fn(&str) -> Result<check::Rules, String> = str::parse;
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let rules = catalogue::rules();
        let codes = rules.iter().map(|rule| rule.code.to_string());
        let names = BTreeSet::from_iter(rules.iter().map(|rule| rule.slug.to_owned()));
        let values: Vec<_> = codes.chain(names).map(PossibleValue::new).collect();
        Some(Box::new(values.into_iter()))
    }
}

/// Reads words that stand for fields, and tells shells how to complete them.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldNames;

impl TypedValueParser for FieldNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let known = |named: &str| {
            if catalogue::fields().iter().any(|field| field.is(named)) {
                return Ok(named.to_owned());
            }
            Err("no field has this name, and no path begins so; `gamewire fields` lists all"
                .to_owned())
        };
        known.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let paths = catalogue::fields().into_iter().map(|field| PossibleValue::new(field.path));
        Some(Box::new(paths.collect::<Vec<_>>().into_iter()))
    }
}

/// Reads names of columns, and tells shells how to complete them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnNames;

impl TypedValueParser for ColumnNames {
    type Value = Column;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Column, clap::Error> {
        let parse: fn(&str) -> Result<Column, String> = |name| name.trim().parse();
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let beside = Column::beside().map(PossibleValue::new);
        let paths = catalogue::fields().into_iter().map(|field| PossibleValue::new(field.path));
        Some(Box::new(beside.chain(paths).collect::<Vec<_>>().into_iter()))
    }
}
