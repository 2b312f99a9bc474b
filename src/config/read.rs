//! The meaning of the file's keys.

use std::collections::BTreeSet;
use std::path::Path;

use dissectors::kit::{AbuseThresholds, Secret};
use toml::de::DeTable;

use crate::check::{Ignore, Rules, rule, severity};

use super::keys::KeyFiles;
use super::table::{ConfigTable, ConfigValue, InvalidValue};
use super::{Config, Ignored, Lines, durations, keys};

/// Reads the text of the file.
pub(super) fn read(file: &Path, text: &str, is_confined: bool) -> Result<Config, InvalidValue> {
    let table = DeTable::parse(text).map_err(|error| InvalidValue {
        at: error.span().map_or(0, |span| span.start),
        what: format!("invalid TOML: {}", error.message()),
    })?;
    let mut root = ConfigTable::new(&table);
    let mut config = Config { file: Some(file.to_owned()), ..Config::default() };
    if let Some(value) = root.take("fail-on") {
        config.fail_on = Some(value.parsed(str::parse)?);
    }
    if let Some(value) = root.take("complete") {
        config.complete = value.yes()?;
    }
    if let Some(value) = root.take("require") {
        let required = each(value, |value| value.parsed(str::parse::<Rules>))?;
        config.require = required.into_iter().flat_map(|rules| rules.all).collect();
    }
    if let Some(value) = root.take("decode-as") {
        config.decode_as = each(value, |value| value.parsed(str::parse))?;
    }
    if let Some(value) = root.take("severity") {
        let mut codes = BTreeSet::new();
        for value in value.table()?.all() {
            let named =
                rule(value.name).map_err(|why| value.wrong(&format!("is unknown: {why}")))?;
            if !codes.insert(named.code) {
                return Err(value.wrong("appears twice, by its code and by its name"));
            }
            config.severities.set(named, value.parsed(severity)?);
        }
    }
    if let Some(value) = root.take("ignore") {
        let lines = Lines::of(text);
        config.ignores = each(value, |value| ignored(value, &lines))?;
    }
    if let Some(value) = root.take("tolerances") {
        tolerances(value.table()?, &mut config)?;
    }
    if let Some(value) = root.take("keys") {
        let folder = file.parent().unwrap_or(Path::new(""));
        secrets(value.table()?, KeyFiles { folder, is_confined }, &mut config)?;
    }
    config.keys = root.present();
    root.finish()?;
    Ok(config)
}

fn ignored(value: ConfigValue<'_>, lines: &Lines) -> Result<Ignored, InvalidValue> {
    let mut table = value.table()?;
    let rule = table.need("rule", "name the rule to ignore, such as \"A2S005\"")?.parsed(rule)?;
    let host = table.take("host").map(|host| host.parsed(str::parse)).transpose()?;
    let until = table.take("until").map(ConfigValue::date).transpose()?;
    let reason = table.need("reason", "say why the rule is ignored")?;
    let why = reason.text()?.trim();
    if why.is_empty() {
        return Err(reason.wrong("must say why the rule is ignored"));
    }
    let line = lines.number(table.at);
    table.finish()?;
    Ok(Ignored { ignore: Ignore { rule, host }, reason: why.to_owned(), until, line })
}

fn tolerances(mut table: ConfigTable<'_>, config: &mut Config) -> Result<(), InvalidValue> {
    let settings = &mut config.settings;
    if let Some(value) = table.take("answer-timeout") {
        settings.answer_timeout = value.parsed(durations::nanoseconds)?;
    }
    if let Some(value) = table.take("flow-idle") {
        config.flow_idle = Some(value.parsed(durations::nanoseconds)?);
    }
    if let Some(value) = table.take("valve-heartbeat") {
        settings.protocols.valve_master.heartbeat = value.parsed(durations::nanoseconds)?;
    }
    if let Some(value) = table.take("valve-heartbeat-tolerance") {
        settings.protocols.valve_master.heartbeat_tolerance = value.parsed(durations::percent)?;
    }
    let (mut shortest, mut longest) = settings.protocols.gamespy1.heartbeat.clone().into_inner();
    if let Some(value) = table.take("gamespy-heartbeat-shortest") {
        shortest = value.parsed(durations::nanoseconds)?;
    }
    if let Some(value) = table.take("gamespy-heartbeat-longest") {
        longest = value.parsed(durations::nanoseconds)?;
    }
    if shortest > longest {
        let what = "the shortest time between heartbeats is longer than the longest".to_owned();
        return Err(InvalidValue { at: table.at, what });
    }
    settings.protocols.gamespy1.heartbeat = shortest..=longest;
    if let Some(value) = table.take("gamespy-listed-longest") {
        settings.protocols.gamespy1.listed_longest = value.parsed(durations::nanoseconds)?;
    }
    abuse(&mut table, &mut settings.abuse)?;
    table.finish()
}

/// The thresholds from which traffic counts as abuse.
fn abuse(table: &mut ConfigTable<'_>, abuse: &mut AbuseThresholds) -> Result<(), InvalidValue> {
    let numbers = [
        ("reflection-repeats", &mut abuse.repeats),
        ("reflection-sources", &mut abuse.sources),
        ("flood-rate", &mut abuse.flood_rate),
    ];
    for (key, number) in numbers {
        if let Some(value) = table.take(key) {
            *number = value.parsed(durations::count)?;
        }
    }
    let times = [
        ("reflection-repeats-within", &mut abuse.repeat_window),
        ("reflection-sources-within", &mut abuse.source_window),
        ("flood-window", &mut abuse.flood_window),
    ];
    for (key, time) in times {
        if let Some(value) = table.take(key) {
            *time = value.parsed(durations::nanoseconds)?;
        }
    }
    Ok(())
}

fn secrets(
    mut table: ConfigTable<'_>,
    files: KeyFiles<'_>,
    config: &mut Config,
) -> Result<(), InvalidValue> {
    if let Some(value) = table.take("gamespy") {
        for value in value.table()?.all() {
            let key = value.text()?;
            if key.is_empty() {
                return Err(value.wrong("is empty; it must have a key"));
            }
            let key = Secret::new(key.as_bytes());
            config.settings.protocols.gamespy1.keys.push((value.name.to_owned(), key));
        }
    }
    if let Some(value) = table.take("acr") {
        for value in value.table()?.all() {
            let key = value.parsed(|text| keys::hex_or_file(text, files))?;
            config.settings.protocols.acr_master.keys.push((value.name.to_owned(), key));
        }
    }
    table.finish()
}

fn each<'t, T>(
    list: ConfigValue<'t>,
    read: impl FnMut(ConfigValue<'t>) -> Result<T, InvalidValue>,
) -> Result<Vec<T>, InvalidValue> {
    list.list()?.into_iter().map(read).collect()
}
