//! All rules in the order of their codes, and all fields: the source of listings, reports and
//! tests.
//!
//! ```
//! use dissectors::catalogue;
//!
//! let rule = catalogue::rule("A2S062").expect("a rule");
//! assert_eq!(rule.slug, "request-answered");
//! let fields = catalogue::fields();
//! let map = fields.iter().find(|it| it.path == "a2s.info_response.map").expect("a field");
//! assert!(!map.field.about.is_empty());
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Id;
use crate::kit::{Cause, Field, Kind, Message, Rule, causes};
use crate::{abuse_rules, net_rules};

/// Every rule, by code.
pub fn rules() -> Vec<&'static Rule> {
    let protocols = Id::ALL.iter().flat_map(|id| id.info().rules.iter().copied());
    let others = abuse_rules::ALL.iter().chain(net_rules::ALL);
    let mut rules: Vec<_> = protocols.chain(others.copied()).collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}

/// Every cause that `diagnose` may report, in the order of the conditions that they explain.
pub fn causes() -> Vec<&'static Cause> {
    let own = Id::ALL.iter().flat_map(|id| id.info().diagnosis.causes);
    let mut causes: Vec<_> = causes::ALL.iter().chain(own).copied().collect();
    // Those that only leave a condition open come last.
    causes.sort_by_key(|cause| (cause.no.is_empty(), cause.no.first()));
    causes
}

/// The rule with this code or this slug, in either case. Of several, the first one.
pub fn rule(name: &str) -> Option<&'static Rule> {
    static BY_NAME: LazyLock<HashMap<String, &Rule>> = LazyLock::new(|| {
        let mut by_name = HashMap::new();
        for rule in rules() {
            for name in [rule.code.to_string(), rule.slug.to_owned()] {
                by_name.entry(name.to_ascii_lowercase()).or_insert(rule);
            }
        }
        by_name
    });
    BY_NAME.get(&name.to_ascii_lowercase()).copied()
}

/// The rules that match a word: a code, the beginning of a code, or a name, in either case. Several
/// protocols may have rules of one name.
pub fn rules_meant(word: &str) -> Vec<&'static Rule> {
    /// The minimum length of the beginning of a code: that of the shortest prefix, `VM`.
    const SHORTEST: usize = 2;
    let begins = |code: &str| {
        let head = code.as_bytes().get(..word.len());
        word.len() >= SHORTEST
            && head.is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
    };
    let is_meant =
        |rule: &&Rule| rule.slug.eq_ignore_ascii_case(word) || begins(&rule.code.to_string());
    rules().into_iter().filter(is_meant).collect()
}

/// See [`Rule::requires_response`].
#[doc(hidden)]
pub fn requires_response(rule: &Rule) -> bool {
    rule.requires_response
}

/// A field of a message, with its path.
pub struct ListedField {
    /// The path: `a2s.player_response.players.name`. A `*` in it stands for a key from the wire.
    pub path: String,
    /// The protocol.
    pub protocol: Id,
    /// The message that has it.
    pub message: &'static Message,
    /// Its declaration.
    pub field: &'static Field,
    /// Other types that its value may have, such as a number that is sent as text.
    pub otherwise: Vec<Kind>,
}

impl ListedField {
    /// Whether `named` matches it: the beginning of its path, or its name.
    pub fn is(&self, named: &str) -> bool {
        self.path.starts_with(named) || self.path.rsplit('.').next() == Some(named)
    }
}

/// Every field that scripts see, by protocol and message, in the order of the messages' tables.
pub fn fields() -> Vec<ListedField> {
    let mut fields: Vec<ListedField> = Vec::new();
    for &protocol in Id::ALL {
        let info = protocol.info();
        for &message in info.messages {
            let first = fields.len();
            message.each_field(|path, field| {
                let path = format!("{}.{}.{path}", info.id, message.name);
                match fields[first..].iter_mut().find(|listed| listed.path == path) {
                    Some(listed) => listed.otherwise.push(field.kind),
                    None => {
                        let otherwise = Vec::new();
                        fields.push(ListedField { path, protocol, message, field, otherwise });
                    }
                }
            });
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::kit::Role;

    use super::*;

    #[test]
    fn codes_and_slugs_are_unique() {
        let rules = rules();
        assert!(rules.windows(2).all(|pair| pair[0].code < pair[1].code));
        let mut slugs: Vec<_> = rules.iter().map(|rule| (rule.code.group(), rule.slug)).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), rules.len());
    }

    #[test]
    fn causes_are_declared_once_and_explain_conditions_of_their_protocols() {
        let causes = causes();
        let names = Vec::from_iter(causes.iter().map(|cause| cause.name));
        for (at, cause) in causes.iter().enumerate() {
            assert!(!names[..at].contains(&cause.name), "{} is declared twice", cause.name);
            assert!(
                [cause.no, cause.unknown, cause.yes].iter().any(|items| !items.is_empty()),
                "{cause:?} explains nothing"
            );
            assert!(cause.no.is_empty() || !cause.advice.is_empty(), "{cause:?} gives no advice");
            assert!(!cause.remedy(false).is_empty(), "{cause:?} says nothing to do");
            assert!(!cause.says.ends_with('.') && cause.remedy(true).ends_with('.'), "{cause:?}");
        }
        for info in Id::ALL.iter().map(|id| id.info()) {
            let diagnosis = info.diagnosis;
            for symptom in diagnosis.symptoms {
                let (rule, cause) = (symptom.rule, symptom.cause);
                // Conditions of clients and masters are the same in all protocols.
                let is_of_server = symptom.item.group().party() == Role::Server;
                let is_there = diagnosis.items.contains(&symptom.item);
                assert!(is_there || !is_of_server, "{rule:?}: {:?}", symptom.item);
                assert!(names.contains(&cause.name), "{rule:?}: {cause:?} is in no list");
            }
            for own in diagnosis.causes {
                let others = [diagnosis.rechallenged, diagnosis.lan_only].into_iter().flatten();
                let all = diagnosis.symptoms.iter().map(|symptom| symptom.cause).chain(others);
                let is_used = all.into_iter().any(|cause| cause == *own);
                assert!(is_used, "{}: nothing shows {own:?}", info.id);
            }
        }
    }

    /// The source files of this package.
    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// A rule missing from its protocol's list would be checked but never shown.
    #[test]
    fn every_rule_that_is_declared_is_listed() {
        let mut found = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        let blocks = found.iter().flat_map(|source| source.split("\nrule! {\n").skip(1));
        let mut declared: Vec<_> = blocks
            .filter_map(|block| block.lines().find_map(|line| line.trim().strip_prefix("pub ")))
            .filter_map(|rule| rule.split(' ').next())
            .collect();
        declared.sort_unstable();
        let mut listed: Vec<_> = rules().iter().map(|rule| rule.code.to_string()).collect();
        listed.sort_unstable();
        assert_eq!(declared, listed);
    }

    #[test]
    fn every_field_is_described() {
        let fields = fields();
        assert!(fields.len() > 100);
        for listed in &fields {
            let about = listed.field.about;
            assert!(about.len() > 5 && about.ends_with('.'), "{}: {about:?}", listed.path);
        }
        let name = fields.iter().find(|listed| listed.path == "a2s.player_response.players.name");
        assert_eq!(name.map(|name| name.field.kind), Some(Kind::Text));
        let port = fields.iter().find(|listed| listed.path == "acr_master.register_request.p");
        assert_eq!(port.map(|port| port.otherwise.as_slice()), Some(&[Kind::Text][..]));
    }

    /// Whether a message lists this path; the last part of it may be a key of a map.
    fn has(message: &Message, path: &str) -> bool {
        let any_key = path.rsplit_once('.').map(|(map, _)| format!("{map}.*"));
        let mut found = false;
        message
            .each_field(|listed, _| found |= listed == path || Some(listed) == any_key.as_deref());
        found
    }

    /// A path with a misspelled name would only make a column of `summary` or a line of `diagnose` empty.
    #[test]
    fn descriptions_name_fields_that_there_are() {
        let (mut described, mut named) = (0, 0);
        for info in Id::ALL.iter().map(|id| id.info()) {
            for message in info.messages {
                let Some(it) = message.describes else { continue };
                let lists = [it.name, it.map, it.version, it.players, it.max_players];
                for path in lists.concat() {
                    assert!(has(message, path), "{}.{} has no {path}", info.id, message.name);
                }
                described += 1;
            }
            let Some(it) = info.masters else { continue };
            // The end of a list, its encrypted part and HTTP's status may be framing, which is not listed.
            let mut paths = Vec::new();
            paths.extend([it.query_port, it.goes_on_after, it.game].into_iter().flatten());
            paths.extend(it.narrowed.iter().map(|(path, _)| *path));
            paths.extend(it.selects.map(|selects| selects.description));
            paths.extend(it.refusal.map(|(path, _)| path));
            paths.extend(it.stranger.map(|(path, _)| path));
            for path in paths {
                let is_there = info.messages.iter().any(|message| has(message, path));
                assert!(is_there, "no message of {} has {path}", info.id);
                named += 1;
            }
        }
        assert!(described >= 5 && named >= 8, "{described} descriptions, {named} fields");
    }

    #[test]
    fn rules_are_found_by_code_and_by_slug() {
        assert_eq!(rule("a2s030").map(|rule| rule.slug), Some("player-count"));
        assert_eq!(rule("player-count").map(|rule| rule.code.to_string()), Some("A2S030".into()));
        assert!(rule("A2S999").is_none());
    }
}
