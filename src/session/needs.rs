//! Which events somebody wants to read, and how much of them.

use dissectors::kit::{Message, Purpose, Tree};

/// Which events somebody wants to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Messages.
    pub messages: Messages,
    /// With their bytes and their fields: as many as fit in this tree.
    pub fields: Option<FieldLimits>,
    /// With the servers that they list.
    pub servers: bool,
    /// What was found.
    pub findings: Findings,
    /// Which rules each message passed, beside how many did.
    pub passes: bool,
    /// What matters beyond its flow.
    pub cross_flow: bool,
    /// What messages there were in all, requests by server among it: of this many servers. See
    /// [`Totals::traffic`](super::Totals::traffic).
    pub traffic: Option<usize>,
    /// ICMP errors about messages, or about datagrams.
    pub icmp: bool,
    /// Datagrams of UDP as they come, of whatever protocol, in place of all that flows show: no flow is
    /// kept, and TCP is not read.
    pub datagrams: bool,
    /// TCP connections that were refused, with what matters beyond its flow.
    pub refusals: bool,
    /// Flows that have ended, with what was asked in them.
    pub flows: bool,
    /// With what else a listing shows of them: what each end sent, and how requests fared.
    pub flow_details: bool,
    /// From which of several files packets are.
    pub files: bool,
    /// How many packets each port has, ours too; see [`Totals::foreign`](super::Totals::foreign).
    pub ports: bool,
    /// Whom the recording has heard; see [`Totals::heard`](super::Totals::heard).
    pub hosts: bool,
}

impl Needs {
    /// All messages with their fields, and what each shows by itself.
    pub fn messages_with_fields() -> Needs {
        let fields = Some(FieldLimits::default());
        let (messages, findings) = (Messages::All, Findings::OfMessages);
        Needs { messages, fields, findings, ..Needs::default() }
    }

    /// Whether rules count beyond the messages that are reported.
    pub(super) fn count_rules(&self) -> bool {
        let counts_all = matches!(self.findings, Findings::All { .. });
        counts_all || self.passes || self.cross_flow || self.flows || self.traffic.is_some()
    }
}

/// Which messages are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Messages {
    /// None.
    #[default]
    None,
    /// Those in which something was found.
    WithFindings,
    /// All.
    All,
}

/// How large a message's tree of fields becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLimits {
    /// Fields.
    pub fields: usize,
    /// Groups within groups.
    pub depth: usize,
    /// What is in lists, too; otherwise these are empty.
    pub elements: bool,
    /// Which messages have them.
    pub of: FieldsOf,
}

/// Which messages are reported with their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldsOf {
    /// All, and with their bytes.
    All,
    /// Those that describe a server, or that masters have a part in; lists, which are long, do not have
    /// their bytes: what says that they end is no text.
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
    /// No more than what says something of servers and masters, but for the servers of lists: see
    /// [`Needs::servers`].
    pub fn of_servers() -> FieldLimits {
        FieldLimits { elements: false, of: FieldsOf::Servers, ..FieldLimits::default() }
    }

    /// A tree that keeps to them.
    pub(super) fn tree(self) -> Tree {
        let tree = Tree::bounded(self.fields, self.depth);
        if self.elements { tree } else { tree.without_elements() }
    }
}

/// Which findings are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Findings {
    /// None.
    #[default]
    None,
    /// What a message shows by itself, when it is read.
    OfMessages,
    /// All, also those that only what follows a message shows, and those that are inconclusive.
    All {
        /// Each is put into words: otherwise only the first ones of a rule and verdict.
        in_words: bool,
    },
}
