//! The outcome as SARIF 2.1.0: the whole catalogue as rules, each finding as a result that points
//! at bytes of the capture file.

use dissectors::kit::{Rule, Severity, Verdict};
use serde::Serialize;

use super::Unreadable;
use crate::check::{Fingerprint, Outcome, ReportedFinding, RuleOutcome};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<'a> {
    tool: Tool,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocations: Option<[Invocation; 1]>,
    automation_details: Automation,
    column_kind: &'static str,
    properties: RunProperties<'a>,
    results: Vec<Result_<'a>>,
}

/// Distinguishes runs of gamewire from those of other tools.
#[derive(Serialize)]
struct Automation {
    id: &'static str,
}

/// How many requests were checked, and how many of them were answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunProperties<'a> {
    requests_asked: u64,
    requests_answered: u64,
    /// The configuration file that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: String,
    name: &'static str,
    short_description: SarifText,
    full_description: SarifText,
    help: SarifText,
    help_uri: String,
    default_configuration: Configuration,
    /// For security rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Security>,
}

/// GitHub sorts security alerts by this value.
#[derive(Serialize)]
struct Security {
    tags: [&'static str; 1],
    #[serde(rename = "security-severity")]
    severity: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

/// The rules whose severity was changed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    rule_configuration_overrides: Vec<Override>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

/// An unreadable file.
#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: SarifText,
    locations: [FileLocation; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileLocation {
    physical_location: WholeFile,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WholeFile {
    artifact_location: FileUri,
}

#[derive(Serialize)]
struct FileUri {
    uri: String,
}

#[derive(Serialize)]
struct Override {
    descriptor: Reference,
    configuration: Configuration,
}

#[derive(Serialize)]
struct Reference {
    id: String,
    index: usize,
}

#[derive(Serialize)]
struct SarifText {
    text: String,
}

impl SarifText {
    /// A text without placeholders and links: without these escapes (sections 3.11.5 and 3.11.6 of SARIF 2.1.0), a
    /// server's name could be a link.
    fn of(plain: &str) -> SarifText {
        let mut text = String::with_capacity(plain.len());
        for c in plain.chars() {
            match c {
                '\\' | '[' | ']' => text.extend(['\\', c]),
                '{' | '}' => text.extend([c, c]),
                c => text.push(c),
            }
        }
        SarifText { text }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result_<'a> {
    rule_id: String,
    rule_index: usize,
    kind: &'static str,
    level: &'static str,
    message: SarifText,
    locations: [Location<'a>; 1],
    partial_fingerprints: Fingerprints,
    /// Present in all results or in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressions: Option<Vec<Suppression>>,
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    status: &'static str,
    justification: &'static str,
}

const IN_BASELINE: Suppression =
    Suppression { kind: "external", status: "accepted", justification: "it is in the baseline" };

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    physical_location: Physical<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical<'a> {
    artifact_location: Artifact<'a>,
    region: Region,
}

#[derive(Serialize)]
struct Artifact<'a> {
    uri: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    /// GitHub needs a line number to show a location.
    start_line: u32,
    #[serde(flatten)]
    bytes: Option<ByteRegion>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ByteRegion {
    byte_offset: u64,
    byte_length: u32,
}

#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "gamewire/v1")]
    gamewire: String,
}

/// Appends the outcomes as one log. `config`: the configuration file that was read.
///
/// # Errors
/// None that a `Vec` can have.
pub fn write(
    outcomes: &[Outcome],
    unreadable: &[Unreadable],
    config: Option<&str>,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let rules = outcomes.first().map_or(&[][..], |outcome| &outcome.rules);
    let results = outcomes.iter().flat_map(|outcome| {
        let file = outcome.captures.first().map_or("", String::as_str);
        let known = outcome.baselined.as_ref();
        let new = known.map(|_| Vec::new);
        let findings = outcome.findings.iter();
        let findings = findings.map(move |found| result(found, outcome, new.map(|new| new())));
        let known = known.map_or(&[][..], |known| &known.findings).iter();
        let missing =
            outcome.rules.iter().enumerate().filter(|(_, rule_outcome)| rule_outcome.missing > 0);
        let missing = missing.map(move |(at, rule_outcome)| {
            not_exercised(rule_outcome.rule, at, file, new.map(|new| new()))
        });
        missing
            .chain(findings)
            .chain(known.map(move |found| result(found, outcome, Some(vec![IN_BASELINE]))))
    });
    let unread = unreadable.iter().map(|it| (it.file.as_str(), it.why.clone()));
    let no_traffic = outcomes.iter().flat_map(|outcome| outcome.missing_traffic());
    let no_traffic = no_traffic.map(|(capture, holds)| {
        (capture.as_str(), format!("required traffic: there is none: {holds}"))
    });
    let notifications = Vec::from_iter(unread.chain(no_traffic));
    let requests = outcomes.iter().map(|outcome| outcome.requests);
    let (asked, answered) =
        requests.fold((0, 0), |(asked, answered), it| (asked + it.asked, answered + it.answered));
    let log = SarifLog {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [SarifRun {
            tool: Tool {
                driver: Driver {
                    name: "gamewire",
                    version: env!("CARGO_PKG_VERSION"),
                    rules: rules.iter().map(|rule_outcome| descriptor(rule_outcome.rule)).collect(),
                },
            },
            invocations: invocation(rules, &notifications).map(|invocation| [invocation]),
            automation_details: Automation { id: "gamewire/check/" },
            column_kind: "utf16CodeUnits",
            properties: RunProperties {
                requests_asked: asked,
                requests_answered: answered,
                config,
            },
            results: results.collect(),
        }],
    };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    out.push(b'\n');
    Ok(())
}

fn descriptor(rule: &Rule) -> Descriptor {
    let why = super::rules::why(rule);
    let cites = rule.cite.iter().map(|cite| {
        let quote = if cite.quote.is_empty() { String::new() } else { format!(": {}", cite.quote) };
        format!("\n{}, \"{}\"{quote}", rule.document(), cite.section)
    });
    Descriptor {
        id: rule.code.to_string(),
        name: rule.slug,
        short_description: SarifText::of(rule.asks),
        full_description: SarifText::of(&why),
        help: SarifText::of(&format!("Asks: {}.\n{why}{}", rule.asks, cites.collect::<String>())),
        help_uri: help_uri(rule),
        default_configuration: Configuration { level: level(rule.severity) },
        properties: security(rule),
    }
}

/// The URL of the rule's documentation.
fn help_uri(rule: &Rule) -> String {
    let code = rule.code.to_string().to_lowercase();
    format!("{}/blob/main/docs/rules.md#{code}-{}", env!("CARGO_PKG_REPOSITORY"), rule.slug)
}

/// The severity on the scale from 0 to 10 that GitHub uses; `None` for other rules.
fn security(rule: &Rule) -> Option<Security> {
    let severity = match rule.severity {
        Severity::Error => "8.0",
        Severity::Warning => "5.0",
        Severity::Note => "2.0",
    };
    let is_security = rule.code.to_string().starts_with("SEC");
    is_security.then_some(Security { tags: ["security"], severity })
}

/// `None` if no severity was changed, and there are no notifications: files, and what is wrong with them.
fn invocation(rules: &[RuleOutcome], notifications: &[(&str, String)]) -> Option<Invocation> {
    let changed = rules
        .iter()
        .enumerate()
        .filter(|(_, rule_outcome)| rule_outcome.severity != rule_outcome.rule.severity);
    let overrides = changed.map(|(index, rule_outcome)| Override {
        descriptor: Reference { id: rule_outcome.rule.code.to_string(), index },
        configuration: Configuration { level: level(rule_outcome.severity) },
    });
    let overrides: Vec<_> = overrides.collect();
    let is_needed = !overrides.is_empty() || !notifications.is_empty();
    is_needed.then(|| Invocation {
        execution_successful: notifications.is_empty(),
        rule_configuration_overrides: overrides,
        tool_execution_notifications: notifications.iter().map(notification).collect(),
    })
}

fn notification((file, why): &(&str, String)) -> Notification {
    let artifact_location = FileUri { uri: uri(file).into_owned() };
    Notification {
        level: "error",
        message: SarifText::of(why),
        locations: [FileLocation { physical_location: WholeFile { artifact_location } }],
    }
}

fn result<'a>(
    found: &ReportedFinding,
    outcome: &'a Outcome,
    suppressions: Option<Vec<Suppression>>,
) -> Result_<'a> {
    let rules = &outcome.rules;
    let (kind, level) = match found.verdict {
        Verdict::Inconclusive => ("review", "none"),
        Verdict::Fail | Verdict::Note => ("fail", level(found.severity)),
    };
    let gamewire = Fingerprint::of(found).to_string();
    Result_ {
        rule_id: found.rule.code.to_string(),
        rule_index: rules
            .iter()
            .position(|rule_outcome| rule_outcome.rule == found.rule)
            .unwrap_or(0),
        kind,
        level,
        message: SarifText::of(&outcome.line(found)),
        locations: [location(
            outcome.file(found),
            found
                .file_offset
                .map(|byte_offset| ByteRegion { byte_offset, byte_length: found.length }),
        )],
        partial_fingerprints: Fingerprints { gamewire },
        suppressions,
    }
}

/// A required rule that was not exercised in the whole file.
fn not_exercised<'a>(
    rule: &Rule,
    at: usize,
    file: &'a str,
    suppressions: Option<Vec<Suppression>>,
) -> Result_<'a> {
    Result_ {
        rule_id: rule.code.to_string(),
        rule_index: at,
        kind: "fail",
        level: "error",
        message: SarifText::of("required, and not exercised"),
        locations: [location(file, None)],
        partial_fingerprints: Fingerprints { gamewire: format!("{}/required", rule.code) },
        suppressions,
    }
}

/// Bytes of a file, if they are known.
fn location(file: &str, bytes: Option<ByteRegion>) -> Location<'_> {
    let artifact_location = Artifact { uri: uri(file) };
    let region = Region { start_line: 1, bytes };
    Location { physical_location: Physical { artifact_location, region } }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// A path as a relative reference: what a URI gives a meaning to is escaped.
fn uri(path: &str) -> std::borrow::Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    if path.bytes().all(plain) {
        return path.into();
    }
    let escape = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    path.bytes().map(escape).collect::<String>().into()
}
