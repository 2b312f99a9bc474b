//! Selects events and their contents.

use dissectors::kit::{Message, Purpose, Rule, RuleSet, Tree};

/// Which events are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Messages.
    pub messages: Messages,
    /// With their fields, up to these limits.
    pub fields: Option<FieldLimits>,
    /// With the servers that they list.
    pub servers: bool,
    /// Findings.
    pub findings: Findings,
    /// The rules that each message passed, not only their counts.
    pub passes: Passes,
    /// Events for rules that span flows.
    pub cross_flow: bool,
    /// Responses, and parts of split ones, from servers that were not asked; requests without a response, and responses that
    /// lack parts: as events before what is said about them.
    pub elsewhere: bool,
    /// Requests that were not answered.
    pub unanswered: bool,
    /// The counts of all messages, with requests for this many servers. See
    /// [`Totals::traffic`](super::Totals::traffic).
    pub traffic: Option<usize>,
    /// ICMP errors about messages, or about datagrams.
    pub icmp: bool,
    /// Single UDP datagrams of any protocol.
    pub datagrams: Datagrams,
    /// TCP connections that were refused, as events for rules that span flows.
    pub refusals: bool,
    /// Flows that have ended, with the counts of their requests.
    pub flows: bool,
    /// With further details for a listing: the traffic of each end, and the response times.
    pub flow_details: bool,
    /// The files of packets.
    pub files: bool,
    /// The number of packets of each port that are not known to be of a supported protocol when they
    /// come; see [`Totals::foreign`](super::Totals::foreign).
    pub ports: bool,
    /// The hosts in the recording; see [`Totals::heard`](super::Totals::heard).
    pub hosts: bool,
    /// Packets without a message, by their ends; see [`Totals::pairs`](super::Totals::pairs).
    pub pairs: bool,
}

impl Needs {
    /// All messages with their fields and their own findings.
    pub fn messages_with_fields() -> Needs {
        let fields = Some(FieldLimits::default());
        let (messages, findings) = (Messages::All, Findings::OfMessages);
        Needs { messages, fields, findings, ..Needs::default() }
    }

    /// What two readers of the same events need together.
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            messages: self.messages.max(other.messages),
            fields: match (self.fields, other.fields) {
                (Some(one), Some(two)) => Some(one.and(two)),
                (one, two) => one.or(two),
            },
            servers: self.servers || other.servers,
            findings: self.findings.max(other.findings),
            passes: self.passes.and(other.passes),
            cross_flow: self.cross_flow || other.cross_flow,
            elsewhere: self.elsewhere || other.elsewhere,
            unanswered: self.unanswered || other.unanswered,
            traffic: self.traffic.max(other.traffic),
            icmp: self.icmp || other.icmp,
            datagrams: self.datagrams.and(other.datagrams),
            refusals: self.refusals || other.refusals,
            flows: self.flows || other.flows,
            flow_details: self.flow_details || other.flow_details,
            files: self.files || other.files,
            ports: self.ports || other.ports,
            hosts: self.hosts || other.hosts,
            pairs: self.pairs || other.pairs,
        }
    }

    /// Whether rules of messages that are not reported count, too.
    pub(super) fn count_rules(&self) -> bool {
        let counts_all = matches!(self.findings, Findings::All { .. });
        counts_all
            || self.passes != Passes::None
            || self.cross_flow
            || self.flows
            || self.traffic.is_some()
    }
}

/// Which passed rules are needed for each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passes {
    /// None.
    #[default]
    None,
    /// These.
    Of(&'static RuleSet),
    /// All.
    All,
}

impl Passes {
    /// Those of two readers.
    fn and(self, other: Passes) -> Passes {
        match (self, other) {
            (Passes::None, passes) | (passes, Passes::None) => passes,
            (one, two) if one == two => one,
            _ => Passes::All,
        }
    }

    /// Whether a rule is among them.
    #[inline]
    pub(super) fn has(self, rule: &Rule) -> bool {
        match self {
            Passes::None => false,
            Passes::Of(rules) => rules.has(rule),
            Passes::All => true,
        }
    }
}

/// Whether single UDP datagrams of any protocol are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datagrams {
    /// They are not.
    #[default]
    None,
    /// Instead of events about flows: no flows are kept, and TCP is not read.
    Only,
    /// Beside these.
    Beside,
}

impl Datagrams {
    /// Those of two readers, of which one may need events about flows.
    pub(crate) fn and(self, other: Datagrams) -> Datagrams {
        match (self, other) {
            (Datagrams::None, Datagrams::None) => Datagrams::None,
            (Datagrams::Only, Datagrams::Only) => Datagrams::Only,
            _ => Datagrams::Beside,
        }
    }
}

/// Which messages are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Messages {
    /// None.
    #[default]
    None,
    /// Those with findings.
    WithFindings,
    /// All.
    All,
}

/// The size of a message's tree of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLimits {
    /// Maximum number of fields.
    pub fields: usize,
    /// Maximum depth of groups.
    pub depth: usize,
    /// With the elements of lists; otherwise lists are empty.
    pub elements: bool,
    /// Which messages have them.
    pub of: FieldsOf,
}

/// Which messages have fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldsOf {
    /// All, and their bytes.
    All,
    /// Those that describe a server, and those from and to masters; lists have no bytes, because they
    /// are long and their end mark is not a text.
    Servers,
}

impl FieldsOf {
    /// Whether a message has its fields, and its bytes.
    pub(super) fn has(self, message: &Message) -> [bool; 2] {
        let is_between_clients_and_servers = matches!(
            message.purpose,
            Purpose::Query
                | Purpose::ChallengeRequest
                | Purpose::Response
                | Purpose::ClientChallenge
        );
        let has_fields =
            self == FieldsOf::All || message.describes.is_some() || !is_between_clients_and_servers;
        let is_long = self == FieldsOf::Servers && message.purpose == Purpose::List;
        [has_fields, has_fields && !is_long]
    }
}

impl Default for FieldLimits {
    fn default() -> FieldLimits {
        FieldLimits { fields: Tree::MOST, depth: Tree::DEEPEST, elements: true, of: FieldsOf::All }
    }
}

impl FieldLimits {
    /// Only the fields about servers and masters, without the servers of lists: see
    /// [`Needs::servers`].
    pub fn of_servers() -> FieldLimits {
        FieldLimits { elements: false, of: FieldsOf::Servers, ..FieldLimits::default() }
    }

    /// All fields, without the elements of lists.
    pub fn of_parties() -> FieldLimits {
        FieldLimits { elements: false, ..FieldLimits::default() }
    }

    /// The limits of two readers.
    fn and(self, other: FieldLimits) -> FieldLimits {
        FieldLimits {
            fields: self.fields.max(other.fields),
            depth: self.depth.max(other.depth),
            elements: self.elements || other.elements,
            of: if self.of == other.of { self.of } else { FieldsOf::All },
        }
    }

    /// A tree with these limits.
    pub(super) fn tree(self) -> Tree {
        let tree = Tree::bounded(self.fields, self.depth);
        if self.elements { tree } else { tree.without_elements() }
    }
}

/// Which findings are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Findings {
    /// None.
    #[default]
    None,
    /// Those that a message shows by itself, when it is decoded.
    OfMessages,
    /// All, including those that only later packets show, and inconclusive ones.
    All {
        /// Each has a text: otherwise only the first ones of a rule and verdict.
        in_words: bool,
    },
}
