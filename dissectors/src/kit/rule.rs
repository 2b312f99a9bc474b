//! Rules: what a document asks, told once beside the check that judges it.

use std::fmt;

/// How much a breach weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Legal bytes, but against the document's stated practice or its example.
    Warning,
    /// Breaks what the document states.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Asks.
    Client,
    /// A game server.
    Server,
    /// A master server.
    Master,
    /// Whoever sent it.
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
    /// The time in which an answer was due, and a sign that the asked party was recorded.
    Answer,
    /// What lies between two messages: the time, or the messages that would explain the second.
    Interval,
}

/// The catalogue's groups of rules, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Valve master server.
    Vm,
    /// A2S.
    A2s,
    /// GameSpy 4.
    Gs4,
    /// GameSpy text protocol.
    Gs1,
    /// AssaultCube Reloaded master.
    Acr,
    /// Shapes of abuse.
    Sec,
    /// The recording itself.
    Net,
}

/// Each with the prefix of its rules' codes, and a title for people.
const GROUPS: [(Group, &str, &str); 7] = [
    (Group::Vm, "VM", "Valve master server"),
    (Group::A2s, "A2S", "Valve server queries"),
    (Group::Gs4, "GS4", "GameSpy query protocol 4"),
    (Group::Gs1, "GS1", "GameSpy text protocol"),
    (Group::Acr, "ACR", "AssaultCube Reloaded master server"),
    (Group::Sec, "SEC", "shapes of abuse"),
    (Group::Net, "NET", "the recording itself"),
];

impl Group {
    /// What people call it: the prefix of its rules' codes, and what they are about.
    pub fn title(self) -> String {
        let of = GROUPS.iter().find(|(group, ..)| *group == self);
        of.map_or_else(String::new, |(_, prefix, about)| format!("{prefix}: {about}"))
    }
}

/// A rule's code: its group and its number there. It is its own dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u16);

/// Numbers that a group has room for.
const NUMBERS: usize = 100;

/// One more than the greatest [`Code::index`].
pub const CODES: usize = GROUPS.len() * NUMBERS;

impl Code {
    /// The code that a name like `A2S030` spells. A name that spells none does not build.
    pub const fn of(name: &str) -> Code {
        let name = name.as_bytes();
        assert!(name.len() > 3, "a code is a group and three digits");
        let split = name.len() - 3;
        let mut i = 0;
        while i < GROUPS.len() {
            if same(name, split, GROUPS[i].1.as_bytes()) {
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

    /// See [`Rule::asks_for_answer`].
    pub const fn asks_for_answer(self) -> bool {
        const CODES: [Code; 6] = [
            Code::of("A2S062"),
            Code::of("VM026"),
            Code::of("VM047"),
            Code::of("GS4031"),
            Code::of("GS1030"),
            Code::of("ACR035"),
        ];
        let mut i = 0;
        while i < CODES.len() {
            if CODES[i].0 == self.0 {
                return true;
            }
            i += 1;
        }
        false
    }

    /// The group it belongs to.
    pub const fn group(self) -> Group {
        GROUPS[self.index() / NUMBERS].0
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
        let name = GROUPS.get(self.index() / NUMBERS).map_or("", |group| group.1);
        write!(f, "{name}{:03}", self.index() % NUMBERS)
    }
}

/// The documents that rules cite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// "Master Server Query Protocol".
    ValveMaster,
    /// "UT3 query protocol".
    Ut3Query,
    /// AssaultCube Reloaded master server, "Protocol v1.3".
    AcrMaster,
    /// 333networks, "MasterServer".
    Networks333,
    /// "Server queries".
    ServerQueries,
}

impl Document {
    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Document::ValveMaster => "Valve Developer Community, Master Server Query Protocol",
            Document::Ut3Query => "UnrealAdmin Wiki, UT3 query protocol",
            Document::AcrMaster => "AssaultCube Reloaded master server, Protocol v1.3",
            Document::Networks333 => "333networks wiki, MasterServer",
            Document::ServerQueries => "Valve Developer Community, Server queries",
        }
    }
}

/// A place in a document, and the words there that a rule rests on.
#[derive(Clone, Copy, Debug)]
pub struct Cite {
    /// Which document.
    pub document: Document,
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
    /// It asks that a request is answered: what it judges are the requests of NET012 and NET014.
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
    /// Where the document says so.
    pub cite: &'static [Cite],
    /// An exchange that exercises the rule and keeps it.
    pub right: &'static str,
    /// An exchange that breaks it.
    pub wrong: &'static str,
}

/// Declares a rule: a `static` named by its code. The doc comment is what users read as the reason.
#[macro_export]
macro_rules! rule {
    ($(#[doc = $doc:literal])+
     pub $name:ident $slug:literal {
        severity: $severity:ident, who: $who:ident, needs: $needs:ident,
        asks: $asks:literal,
        cite: [$(($document:ident, $section:literal, $quote:literal)),* $(,)?],
        right: $right:expr,
        wrong: $wrong:expr $(,)?
     }) => {
        $(#[doc = $doc])+
        #[allow(unreachable_pub, reason = "a protocol says itself which of its rules it lets out")]
        pub static $name: $crate::kit::Rule = $crate::kit::Rule {
            code: $crate::kit::Code::of(stringify!($name)),
            slug: $slug,
            asks_for_answer: $crate::kit::Code::of(stringify!($name)).asks_for_answer(),
            severity: $crate::kit::Severity::$severity,
            who: $crate::kit::Who::$who,
            needs: $crate::kit::Needs::$needs,
            asks: $asks,
            why: concat!($($doc, "\n"),+),
            cite: &[$($crate::kit::Cite {
                document: $crate::kit::Document::$document,
                section: $section,
                quote: $quote,
            }),*],
            right: $right,
            wrong: $wrong,
        };
    };
}
