//! Shared code of all dissectors: fields, the reader, sinks, rules, and the traits of a protocol.
//!
//! Its only inputs are bytes and times: no files, sockets, clocks, threads, terminals or output
//! formats.

mod asking;
mod cause;
pub mod causes;
mod counted;
pub mod coverage;
mod cross_flow;
mod diagnosis;
pub(crate) mod dotted;
mod evidence;
mod exchanges;
mod field;
mod habit;
mod hash;
mod hosts;
pub(crate) mod http;
pub(crate) mod inflate;
mod item;
#[cfg(test)]
pub(crate) mod lab;
mod left_out;
mod limits;
mod lists;
mod mark;
mod message;
mod missing_requests;
mod name;
mod named;
mod node;
mod on_demand;
mod outline;
mod pairs;
mod parts;
mod payload;
mod protocol;
mod purpose;
mod quoted;
mod reader;
mod recent;
pub(crate) mod repeated_names;
mod reply;
#[cfg(test)]
pub(crate) mod robustness;
mod rounds;
mod rule;
mod rule_counts;
mod rule_results;
pub(crate) mod scan;
mod settings;
mod severities;
mod sink;
mod statics;
mod time;
mod treatment;
mod tree;

pub use asking::{Asking, Elsewhere, Inquiry, WITH_CHALLENGE};
pub use cause::{Cause, CauseKind, Values};
pub use counted::counted;
pub use coverage::Coverage;
pub use cross_flow::{
    CrossFlowEvent, GameName, ListRules, NewFor, PartsFound, Registration, RegistrationStep,
    ResponseRules, SeenMessage, Unmatched,
};
pub use diagnosis::{Diagnosis, Symptom};
pub use evidence::{Evidence, Finding, Verdict};
pub use exchanges::{
    Answer, CompactRequest, Exchanges, IncompleteResponse, LatestRequests, PendingRequests,
    Question, Request, RequestFlags, ResponseDue, Sent, Unfinished, UnfinishedResponses,
};
pub use field::{Field, Kind, Meaning, Place, Read, Span};
pub(crate) use field::{LONGEST, fields};
pub use habit::{Bytes, Habit, Habits};
pub(crate) use hash::{AT_ONCE, HashedMap, HashedSet, ShortHash};
pub use hash::{Host, Map, Seed, Set, Socket, keyed_hash};
pub use hosts::{
    TRANSLATED_ROUTERS, TRANSLATED_WITHIN, is_broadcast, is_of_several, is_private,
    may_be_of_several, sorted, unreachable,
};
pub use item::{AddressRole, Item, ItemGroup};
pub use left_out::LeftOut;
pub use limits::{Limit, Limits, NamedLimit};
pub(crate) use lists::append;
pub use lists::room;
pub use mark::{Mark, ShortMark};
pub use message::Message;
pub(crate) use message::messages;
pub use name::Name;
pub use node::{Node, TextPlace, TreeView};
pub use on_demand::OnDemand;
pub use outline::{Outline, TextChallenge};
pub use pairs::{Pair, PairFields, Pairs};
pub use parts::{Buffer, PartSpan};
pub use payload::{Payload, Piece, Side, Transport};
pub use protocol::{
    Claim, Closed, Context, FlowFacts, FlowState, Framed, Hint, Info, Protocol, StreamView, Unread,
};
pub use purpose::{
    COUNTS_COMPARED_WITHIN, Description, EndOfList, KeyLookup, ListFilter, Masters, Purpose,
};
pub use quoted::Quoted;
pub use reader::{Cut, Endings, Reader, decode};
pub use recent::{Recent, RecentMap};
pub use reply::{Reply, Sending};
pub use rounds::Rounds;
pub use rule::{CODES, Cite, Code, Group, NeededEvidence, Role, Rule, RuleSet, Severity};
pub use rule_counts::{Counts, RuleCounts};
pub use rule_results::RuleResults;
pub use settings::{AbuseThresholds, Budget, FloodLimit, Secret, Settings};
pub use severities::Severities;
pub use sink::{Blind, Leaf, Sink, Unchecked};
pub use time::{Clock, Time};
pub use treatment::{Scrub, Treatment};
pub(crate) use treatment::{is_game, is_plain, is_small_number, kept_if, words};
pub use tree::Tree;
