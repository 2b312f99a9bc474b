//! Resolves paths in filters to fields or attributes of messages.

use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::{Field, Kind, Message};

use super::attribute::{ATTRIBUTES, Attribute, Sort};
use super::literal::Measure;
use crate::message::FieldPath;
use crate::text::nearest as nearest_of;

/// Alternatives to filters by whether a request was answered.
pub(super) const ANSWERED: &str = "responses have `request` and `response_time`; `gamewire flows` counts \
    requests and answered ones, `gamewire check` finds those without a response";

/// A step from a node to nodes below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The field of this name.
    Field(Box<str>),
    /// The value of this key, which comes from the wire.
    Key(Box<[u8]>),
}

impl FieldPath for &[Step] {
    fn is_end(self) -> bool {
        self.is_empty()
    }

    fn after(self, name: &str) -> Option<Self> {
        match self.split_first()? {
            (Step::Field(field), rest) if **field == *name => Some(rest),
            _ => None,
        }
    }

    fn is_key(self, key: &[u8]) -> bool {
        matches!(self, [Step::Key(its_key)] if **its_key == *key)
    }
}

/// A field of one message.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) protocol: Id,
    pub(super) message: &'static Message,
    pub(super) steps: Box<[Step]>,
    /// The types of its values; for a list, of its elements.
    pub(super) kinds: Vec<Kind>,
    pub(super) measure: Option<Measure>,
    /// It is a list, or inside one.
    pub(super) is_many: bool,
}

impl Source {
    /// Whether it has a value of its own: groups, lists of them and maps have none.
    pub(super) fn has_value(&self) -> bool {
        self.is_of_key() || has_value(&self.kinds)
    }

    /// Whether it is the value of a key, a text which may be numeric.
    pub(super) fn is_of_key(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Key(_)))
    }
}

/// All meanings of a path.
#[derive(Clone, Default)]
pub(super) struct Meanings {
    pub(super) attribute: Option<(Attribute, Sort)>,
    pub(super) protocol: Option<Id>,
    pub(super) message: Option<&'static Message>,
    pub(super) fields: Vec<Source>,
}

impl Meanings {
    pub(super) fn of(path: &[String]) -> Meanings {
        let mut meanings = Meanings::default();
        let whole = path.join(".");
        let attribute = ATTRIBUTES.iter().find(|(name, ..)| *name == whole);
        meanings.attribute = attribute.map(|&(_, attribute, sort)| (attribute, sort));
        let id =
            Id::ALL.iter().copied().find(|id| path.first().is_some_and(|it| it == id.info().id));
        match (id, path) {
            (Some(id), [_]) => meanings.protocol = Some(id),
            (Some(id), [_, message]) => {
                meanings.message = id.info().messages.iter().copied().find(|it| it.name == message);
            }
            _ => {}
        }
        let mut lists: Vec<(&'static Message, String)> = Vec::new();
        for listed in catalogue::fields() {
            if listed.field.kind == Kind::List {
                lists.push((listed.message, listed.path.clone()));
            }
            let pattern: Vec<&str> = listed.path.split('.').collect();
            // The complete path, or only its last part.
            let start = if id.is_some() { 0 } else { starts_at(&pattern, path) };
            let Some(steps) = pattern.get(start..).and_then(|rest| steps(rest, path)) else {
                continue;
            };
            let before = pattern.get(2..start).unwrap_or_default();
            if before.contains(&"*") {
                continue;
            }
            let mut all: Vec<Step> = before.iter().map(|&name| Step::Field(name.into())).collect();
            // Protocol and message are not nodes.
            all.extend(steps.into_iter().skip(2_usize.saturating_sub(start)));
            let (kinds, unit) = kinds(listed.field, &listed.otherwise);
            let measure = match unit {
                "seconds" => Some(Measure::Time),
                "bytes" => Some(Measure::Size),
                _ => None,
            };
            let is_many = kinds.contains(&Kind::List)
                || lists.iter().any(|(message, path)| {
                    std::ptr::eq(*message, listed.message)
                        && listed
                            .path
                            .strip_prefix(&**path)
                            .is_some_and(|rest| rest.starts_with('.'))
                });
            let its = |id: &Id| pattern.first().is_some_and(|first| *first == id.info().id);
            let Some(protocol) = Id::ALL.iter().copied().find(its) else { continue };
            let (message, steps) = (listed.message, all.into());
            meanings.fields.push(Source { protocol, message, steps, kinds, measure, is_many });
        }
        meanings
    }

    /// Whether a message can have several values.
    pub(super) fn has_many(&self) -> bool {
        let many = [
            Attribute::Frames,
            Attribute::Rule,
            Attribute::Severity,
            Attribute::Address,
            Attribute::Port,
        ];
        self.attribute.is_some_and(|(attribute, _)| many.contains(&attribute))
            || self.fields.iter().any(|field| field.is_many)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.attribute.is_none()
            && self.protocol.is_none()
            && self.message.is_none()
            && self.fields.is_empty()
    }
}

/// Where a path without a protocol starts in a listed one, so that both have the same end.
fn starts_at(pattern: &[&str], path: &[String]) -> usize {
    match pattern.iter().position(|part| *part == "*") {
        // Keys of a map may contain dots, so the path must have the map's name.
        Some(key) => pattern
            .get(..key)
            .unwrap_or_default()
            .iter()
            .rposition(|part| path.first().is_some_and(|first| first == part))
            .unwrap_or(usize::MAX),
        None => {
            pattern.len().checked_sub(path.len()).filter(|&start| start >= 1).unwrap_or(usize::MAX)
        }
    }
}

/// The steps of a path, if it matches this pattern.
fn steps(pattern: &[&str], path: &[String]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    for (at, part) in pattern.iter().enumerate() {
        let (first, more) = rest.split_first()?;
        if *part != "*" {
            if part != first {
                return None;
            }
            steps.push(Step::Field((*part).into()));
            rest = more;
        } else if at + 1 == pattern.len() {
            steps.push(Step::Key(rest.join(".").into_bytes().into()));
            rest = &[];
        } else {
            steps.push(Step::Key(first.as_bytes().into()));
            rest = more;
        }
    }
    rest.is_empty().then_some(steps)
}

/// Whether one of these types is that of a value, and not of what holds others.
fn has_value(kinds: &[Kind]) -> bool {
    let holds = |kind: &Kind| matches!(kind, Kind::Group | Kind::List | Kind::Map | Kind::Pair);
    !kinds.iter().all(holds)
}

/// The types of a field's values, and their unit.
fn kinds(field: &'static Field, otherwise: &[Kind]) -> (Vec<Kind>, &'static str) {
    if field.kind != Kind::List {
        return ([&[field.kind], otherwise].concat(), field.unit);
    }
    let elements = field.children.iter().map(|element| element.kind);
    let unit = field.children.first().map_or("", |element| element.unit);
    ([&[Kind::List], &Vec::from_iter(elements)[..], otherwise].concat(), unit)
}

/// The first fields with a value that are parts of what this path names: of a message, a group, a list or a map.
pub(super) fn parts(path: &[String]) -> Vec<String> {
    /// Maximum number of fields.
    const MOST: usize = 6;
    let whole = path.join(".");
    let parts = catalogue::fields().into_iter().filter_map(|listed| {
        let (parent, name) = listed.path.rsplit_once('.')?;
        let is_part = parent == whole || parent.ends_with(&format!(".{whole}"));
        if !is_part {
            return None;
        }
        if name == "*" {
            return Some(format!("`{parent}.KEY`"));
        }
        let (kinds, _) = kinds(listed.field, &listed.otherwise);
        has_value(&kinds).then(|| format!("`{}`", listed.path))
    });
    parts.take(MOST).collect()
}

/// The paths of messages with this name.
pub(super) fn messages_named(name: &str) -> Vec<String> {
    let infos = Id::ALL.iter().map(|id| id.info());
    let named = infos.filter(|info| info.messages.iter().any(|message| message.name == name));
    named.map(|info| format!("`{}.{name}`", info.id)).collect()
}

/// The names that are most similar to a path.
pub(super) fn nearest(path: &[String]) -> Vec<String> {
    let typed = path.join(".");
    let parts = typed.split('.').count();
    let mut names: Vec<String> = ATTRIBUTES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    for id in Id::ALL {
        let info = id.info();
        names.push(info.id.to_owned());
        names.extend(info.messages.iter().map(|message| format!("{}.{}", info.id, message.name)));
    }
    for listed in catalogue::fields().into_iter().filter(|listed| !listed.path.contains('*')) {
        if parts == 1 {
            names.extend(listed.path.rsplit('.').next().map(str::to_owned));
        }
        names.push(listed.path);
    }
    nearest_of(&typed, names)
}
