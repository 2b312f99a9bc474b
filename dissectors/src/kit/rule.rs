//! Rules: each requirement of a specification is declared once, next to its check.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::GROUPS;

/// The severity of a breach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Valid bytes that contradict the specification's stated practice or its example.
    Warning,
    /// Breaks what the specification states.
    Error,
}

impl Severity {
    /// All of them, the most severe first.
    pub const ALL: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

    /// As scripts read it.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

crate::named! {
    /// A party: the sender of a message, or the party at fault.
    #[derive(Serialize, Deserialize)]
    pub enum Role {
        /// Sends requests.
        Client = "client",
        /// A game server.
        Server = "server",
        /// A master server.
        Master = "master",
        /// The sender, whatever its role.
        Any = "any",
        /// No party: the recording.
        Capture = "capture",
    }
}

/// What the capture must contain to prove that a breach is the party's fault and not the
/// recording's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededEvidence {
    /// The message itself, whole.
    Message,
    /// The beginning of the conversation, and both directions.
    Beginning,
    /// The time in which a response was due, and a packet from the party that should respond.
    Response,
    /// The time between two messages: its length, or the messages that would explain the second
    /// one.
    Interval,
}

/// A group of rules: those of a protocol, or rules that are not from a specification.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// The prefix of its rules' codes.
    pub prefix: &'static str,
    /// What its rules are about.
    pub about: &'static str,
    /// The title of the specification that its rules cite, if any.
    pub document: Option<&'static str>,
}

impl Group {
    /// The heading above its rules.
    pub fn title(&self) -> String {
        format!("{}: {}", self.prefix, self.about)
    }
}

/// A rule's code: its group and its number, as a dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u16);

/// Size of a group's range of numbers.
const NUMBERS: usize = 100;

/// One more than the greatest [`Code::index`].
pub const CODES: usize = GROUPS.len() * NUMBERS;

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.code == other.code
    }
}

impl Eq for Rule {}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.slug)
    }
}

impl Rule {
    /// The title of the specification that it cites, or an empty text.
    pub fn document(&self) -> &'static str {
        self.code.group().document.unwrap_or_default()
    }
}

impl Code {
    /// The code with a name like `A2S030`. An invalid name does not compile.
    pub const fn of(name: &str) -> Code {
        let name = name.as_bytes();
        assert!(name.len() > 3, "a code is a group and three digits");
        let split = name.len() - 3;
        let mut i = 0;
        while i < GROUPS.len() {
            if same(name, split, GROUPS[i].prefix.as_bytes()) {
                let (hundreds, tens, ones) = (name[split], name[split + 1], name[split + 2]);
                assert!(hundreds == b'0' && tens.is_ascii_digit() && ones.is_ascii_digit());
                let number = ((tens - b'0') * 10 + ones - b'0') as u16;
                return Code((i * NUMBERS) as u16 + number);
            }
            i += 1;
        }
        panic!("no group of rules has this prefix")
    }

    /// The index of this code in a table of [`CODES`] entries.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The group it belongs to.
    pub const fn group(self) -> &'static Group {
        &GROUPS[self.index() / NUMBERS]
    }
}

const fn same(name: &[u8], length: usize, prefix: &[u8]) -> bool {
    if length != prefix.len() {
        return false;
    }
    let mut i = 0;
    while i < length {
        if name[i] != prefix[i] {
            return false;
        }
        i += 1;
    }
    true
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:03}", self.group().prefix, self.index() % NUMBERS)
    }
}

/// The section and the words in the [document](Group::document) of a rule's group that the rule is
/// based on.
#[derive(Clone, Copy, Debug)]
pub struct Cite {
    /// The heading above the words.
    pub section: &'static str,
    /// The exact words; empty if bytes or a table say it.
    pub quote: &'static str,
}

/// One rule of the catalogue.
pub struct Rule {
    /// Its code, which never changes.
    pub code: Code,
    /// Its name, which never changes.
    pub slug: &'static str,
    /// It requires a response to a request: the requests that it checks count for NET012 and
    /// NET014.
    pub requires_response: bool,
    /// The severity of a breach.
    pub severity: Severity,
    /// The party at fault.
    pub who: Role,
    /// What the capture must contain to prove a breach.
    pub needs: NeededEvidence,
    /// The requirement, in one sentence.
    pub asks: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// Where the specification says so.
    pub cite: &'static [Cite],
    /// An exchange that conforms to the rule.
    pub right: &'static str,
    /// An exchange that breaks it.
    pub wrong: &'static str,
    /// Why an exchange is missing, if one is.
    pub unshown: &'static str,
}

impl Rule {
    /// The exchanges, each with its name, and why one is missing.
    pub fn examples(&self) -> [(&'static str, Result<&'static str, &'static str>); 2] {
        [("Right", self.right), ("Wrong", self.wrong)].map(|(name, script)| {
            let script = script.trim();
            (name, if script.is_empty() { Err(self.unshown) } else { Ok(script) })
        })
    }
}

/// Some of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSet([bool; CODES]);

impl RuleSet {
    /// Whether a rule is one of them.
    #[inline]
    pub fn has(&self, rule: &Rule) -> bool {
        self.0[rule.code.index()]
    }
}

impl FromIterator<&'static Rule> for RuleSet {
    fn from_iter<T: IntoIterator<Item = &'static Rule>>(rules: T) -> RuleSet {
        let mut set = RuleSet([false; CODES]);
        rules.into_iter().for_each(|rule| set.0[rule.code.index()] = true);
        set
    }
}

/// Declares a rule: a `static` named by its code. The doc comment is the reason, for users.
/// `checks: requests` marks the protocol's rule that [requests are
/// answered](Rule::requires_response).
#[macro_export]
macro_rules! rule {
    ($(#[doc = $doc:literal])+
     pub $name:ident $slug:literal {
        severity: $severity:ident, who: $who:ident, needs: $needs:ident, $(checks: $checks:ident,)?
        asks: $asks:literal,
        cite: [$(($section:literal, $quote:literal)),* $(,)?],
        right: $right:expr,
        wrong: $wrong:expr $(, unshown: $unshown:literal)? $(,)?
     }) => {
        $(#[doc = $doc])+
        #[allow(unreachable_pub, reason = "each protocol decides which of its rules are public")]
        pub static $name: $crate::kit::Rule = $crate::kit::Rule {
            code: $crate::kit::Code::of(stringify!($name)),
            slug: $slug,
            requires_response: $crate::rule!(@requires_response $($checks)?),
            severity: $crate::kit::Severity::$severity,
            who: $crate::kit::Role::$who,
            needs: $crate::kit::NeededEvidence::$needs,
            asks: $asks,
            why: concat!($($doc, "\n"),+),
            cite: &[$($crate::kit::Cite {
                section: $section,
                quote: $quote,
            }),*],
            right: $right,
            wrong: $wrong,
            unshown: concat!($($unshown)?),
        };
    };
    (@requires_response) => { false };
    (@requires_response requests) => { true };
}
