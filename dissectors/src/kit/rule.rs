//! Rules: what a document asks, stated once beside the check that checks it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::GROUPS;

/// How much a breach weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Legal bytes, but against the specification's stated practice or its example.
    Warning,
    /// Breaks what the specification states.
    Error,
}

impl Severity {
    /// All of them, the gravest first.
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

/// A party: who speaks a message, who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Who {
    /// Asks.
    Client,
    /// A game server.
    Server,
    /// A master server.
    Master,
    /// The sender, be it a client, a server or a master.
    Any,
    /// Nobody: the recording.
    Capture,
}

impl Who {
    /// As scripts read it.
    pub const fn name(self) -> &'static str {
        match self {
            Who::Client => "client",
            Who::Server => "server",
            Who::Master => "master",
            Who::Any => "any",
            Who::Capture => "capture",
        }
    }
}

/// What must be in the capture before a breach is the party's fault and not the recording's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The message itself, whole.
    Message,
    /// The beginning of the conversation, and both its directions.
    Beginning,
    /// The time in which a response was due, and a sign that the asked party was recorded.
    Answer,
    /// What lies between two messages: the time, or the messages that would explain the second.
    Interval,
}

/// A group of rules: those of a protocol, or those that no document states.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// What its rules' codes begin with.
    pub prefix: &'static str,
    /// What its rules are about.
    pub about: &'static str,
    /// The title of the specification that its rules cite, if they cite one.
    pub document: Option<&'static str>,
}

impl Group {
    /// The heading above its rules.
    pub fn title(&self) -> String {
        format!("{}: {}", self.prefix, self.about)
    }
}

/// A rule's code: its group and its number there. It is its own dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u16);

/// Numbers that a group has room for.
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
    /// The title of the specification that it cites; empty if it cites none.
    pub fn document(&self) -> &'static str {
        self.code.group().document.unwrap_or_default()
    }
}

impl Code {
    /// The code that a name like `A2S030` spells. A name that spells none does not build.
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

    /// The place of this code in a table of [`CODES`] entries.
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

/// A place in the [document](Group::document) of a rule's group, and the words there that it rests
/// on.
#[derive(Clone, Copy, Debug)]
pub struct Cite {
    /// The heading above the words.
    pub section: &'static str,
    /// The words, exactly; empty where bytes or a table say it.
    pub quote: &'static str,
}

/// One rule of the catalogue.
pub struct Rule {
    /// Its code: never changes.
    pub code: Code,
    /// Its name: never changes.
    pub slug: &'static str,
    /// It asks that a request is answered: what it checks are the requests of NET012 and NET014.
    pub asks_for_answer: bool,
    /// How much a breach weighs.
    pub severity: Severity,
    /// Who is at fault.
    pub who: Who,
    /// What must be in the capture before a breach is proven.
    pub needs: Needs,
    /// What is asked, in one sentence.
    pub asks: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// Where the specification says so.
    pub cite: &'static [Cite],
    /// An exchange that exercises the rule and keeps it.
    pub right: &'static str,
    /// An exchange that breaks it.
    pub wrong: &'static str,
}

/// Declares a rule: a `static` named by its code. The doc comment is what users read as the reason.
/// `checks: requests` makes it the protocol's rule that [requests are
/// answered](Rule::asks_for_answer).
#[macro_export]
macro_rules! rule {
    ($(#[doc = $doc:literal])+
     pub $name:ident $slug:literal {
        severity: $severity:ident, who: $who:ident, needs: $needs:ident, $(checks: $checks:ident,)?
        asks: $asks:literal,
        cite: [$(($section:literal, $quote:literal)),* $(,)?],
        right: $right:expr,
        wrong: $wrong:expr $(,)?
     }) => {
        $(#[doc = $doc])+
        #[allow(unreachable_pub, reason = "a protocol says itself which of its rules it lets out")]
        pub static $name: $crate::kit::Rule = $crate::kit::Rule {
            code: $crate::kit::Code::of(stringify!($name)),
            slug: $slug,
            asks_for_answer: $crate::rule!(@asks_for_answer $($checks)?),
            severity: $crate::kit::Severity::$severity,
            who: $crate::kit::Who::$who,
            needs: $crate::kit::Needs::$needs,
            asks: $asks,
            why: concat!($($doc, "\n"),+),
            cite: &[$($crate::kit::Cite {
                section: $section,
                quote: $quote,
            }),*],
            right: $right,
            wrong: $wrong,
        };
    };
    (@asks_for_answer) => { false };
    (@asks_for_answer requests) => { true };
}
