//! Determines verdicts from the state of servers.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Cause, CauseKind, Item, ItemGroup, Role, Set, Time, Values, causes};

use super::hosts::Broadcast;
use super::position::position;
use super::server::Server;
use super::{CapturePosition, Diagnosis};
use crate::session::{ExchangeCounts, Totals};
use crate::text::{brief_span, counted, grouped, long_span};

/// Whether a condition is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// Unknown from this capture.
    Unknown,
}

impl Verdict {
    /// The name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Unknown => "unknown",
        }
    }
}

/// The result for one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Something is wrong.
    Fault,
    /// Nothing is known to be wrong.
    Unknown,
    /// Clients see it.
    Good,
}

impl Outcome {
    /// The name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Fault => "fault",
            Outcome::Unknown => "unknown",
            Outcome::Good => "ok",
        }
    }
}

/// The verdict on one condition of a server.
#[derive(Clone, Debug)]
pub struct ItemVerdict {
    /// Which.
    pub item: Item,
    /// Whether it is met.
    pub verdict: Verdict,
    /// Why not, or why it is unknown.
    pub cause: Option<&'static Cause>,
    /// The first packets that show it.
    pub frames: Vec<u64>,
    /// There are more packets.
    pub has_more: bool,
    /// The details.
    pub text: String,
    /// The values in the cause's sentence.
    pub values: Values,
    /// The exchanges that it is about, if any.
    pub exchanges: Option<ExchangeCounts>,
    /// What all packets that show it have in common: a name and a value.
    pub by: Option<(&'static str, String)>,
    /// From when to when, if it was so for a while.
    pub span: Option<[Time; 2]>,
}

/// A client, or a master.
#[derive(Clone, Debug)]
pub struct DiagnosedParty {
    /// Its address: of a client without a port.
    pub address: String,
    /// Whether it is a client or a master.
    pub role: Role,
    /// The protocol of a master.
    pub protocol: Option<Id>,
    /// The library of a client, if its messages show it.
    pub library: Option<&'static str>,
    /// Its conditions.
    pub items: Vec<ItemVerdict>,
}

impl DiagnosedParty {
    /// The first condition that is not met.
    pub fn first_no(&self) -> Option<&ItemVerdict> {
        first_no(&self.items)
    }

    /// The result.
    pub fn outcome(&self) -> Outcome {
        const DECIDE: [Item; 3] = [Item::GetsAnswers, Item::GivesList, Item::GivesWholeList];
        let is_good = |it: &ItemVerdict| DECIDE.contains(&it.item) && it.verdict == Verdict::Yes;
        match self.first_no() {
            Some(_) => Outcome::Fault,
            None if self.items.iter().any(is_good) => Outcome::Good,
            None => Outcome::Unknown,
        }
    }

    /// The text of the first line.
    pub fn headline(&self) -> String {
        let open = || self.items.iter().find(|it| it.is_open());
        match (self.first_no(), self.outcome()) {
            (Some(it), _) => it.headline(),
            (None, Outcome::Good) => "nothing is wrong".to_owned(),
            (None, _) => match open() {
                Some(it) => it.headline(),
                None => "this capture shows too little of it".to_owned(),
            },
        }
    }
}

/// One server.
#[derive(Clone, Debug)]
pub struct DiagnosedServer {
    /// Its address, with its query port.
    pub server: SocketAddr,
    /// The protocol of clients' queries, or, without any, of its registration.
    pub protocol: Option<Id>,
    /// Its name, as it says.
    pub name: Option<String>,
    /// The position of the capture.
    pub position: CapturePosition,
    /// Its conditions.
    pub items: Vec<ItemVerdict>,
    /// It needs no master.
    pub needs_no_master: bool,
    /// Other ports of its host, which clients asked in vain.
    pub probed: Vec<SocketAddr>,
}

/// The first condition that is not met.
fn first_no(items: &[ItemVerdict]) -> Option<&ItemVerdict> {
    items.iter().find(|item| item.verdict == Verdict::No)
}

impl ItemVerdict {
    /// Nothing is known about a condition.
    pub(super) fn new(item: Item) -> ItemVerdict {
        ItemVerdict {
            item,
            verdict: Verdict::Unknown,
            cause: None,
            frames: Vec::new(),
            has_more: false,
            text: String::new(),
            values: Values::new(),
            exchanges: None,
            by: None,
            span: None,
        }
    }

    /// Whether the capture has messages about it, but does not decide it.
    fn is_open(&self) -> bool {
        self.verdict == Verdict::Unknown && self.cause != Some(&causes::NOT_IN_CAPTURE)
    }

    /// The text of the first line about a condition that is not met, or unknown.
    fn headline(&self) -> String {
        let Some(cause) = self.cause else { return String::new() };
        let says = cause.sentence(&self.values);
        let to_master = matches!(self.item, Item::Join | Item::Challenged | Item::Accepted);
        match self.verdict {
            Verdict::No if to_master && cause.kind == CauseKind::Icmp => {
                format!("it cannot reach the master: {says}")
            }
            Verdict::No => says.into_owned(),
            _ => {
                let subject = if self.item == Item::ListWhole { "" } else { "it " };
                format!("whether {subject}{} is unknown: {says}", self.item.does())
            }
        }
    }
}

/// The conditions for a server of unknown protocol.
const OF_ANY: [Item; 6] =
    [Item::Join, Item::ListWhole, Item::Listed, Item::Address, Item::Asked, Item::Answered];

/// The text for a server that leaves one kind of request unanswered.
const BUT: &str = "but never to ";

impl DiagnosedServer {
    /// The first condition that is not met.
    pub fn first_no(&self) -> Option<&ItemVerdict> {
        first_no(&self.items)
    }

    /// The result.
    pub fn outcome(&self) -> Outcome {
        let is_so = |wanted: &[Item]| {
            self.items.iter().any(|it| wanted.contains(&it.item) && it.verdict == Verdict::Yes)
        };
        match self.first_no() {
            Some(_) => Outcome::Fault,
            // Clients may have got no response.
            None if self.unanswered().is_some() || self.asked_again().is_some() => Outcome::Unknown,
            None if is_so(&[Item::Answered, Item::Accepted, Item::Listed]) => Outcome::Good,
            None => Outcome::Unknown,
        }
    }

    /// The condition that it responds, if clients query it and that is unknown.
    fn unanswered(&self) -> Option<&ItemVerdict> {
        self.items.iter().find(|it| it.item == Item::Answered && it.is_open())
    }

    /// The condition that complete responses reach clients, if clients repeat some requests.
    fn asked_again(&self) -> Option<&ItemVerdict> {
        self.items.iter().find(|it| it.cause == Some(&causes::LARGE_ASKED_AGAIN))
    }

    /// Whether the advice for a condition is shown.
    pub fn is_advised(&self, item: &ItemVerdict) -> bool {
        let is_decisive = self.decisive().is_some_and(|it| it.item == item.item);
        let is_suspicion = item.cause.is_some_and(is_suspicion);
        item.verdict == Verdict::No || is_decisive || is_suspicion
    }

    /// The condition for the first line, if any.
    pub fn decisive(&self) -> Option<&ItemVerdict> {
        let open = || self.items.iter().find(|it| it.is_open());
        self.first_no().or_else(|| match self.outcome() {
            Outcome::Good => None,
            _ => self.unanswered().or_else(|| self.asked_again()).or_else(open),
        })
    }

    /// The text of the first line.
    pub fn headline(&self) -> String {
        if let Some(it) = self.decisive() {
            return it.headline();
        }
        let is_good = self.outcome() == Outcome::Good;
        let answered = self.items.iter().find(|it| it.item == Item::Answered);
        if let Some(but) = answered.filter(|it| it.text.starts_with(BUT)) {
            return format!("it responds, {}", but.text);
        }
        let all_yes = self.items.iter().all(|it| it.verdict == Verdict::Yes);
        let all_absent = self.items.iter().all(|it| it.cause == Some(&causes::NOT_IN_CAPTURE));
        match (is_good, all_yes, all_absent) {
            (true, true, _) => "nothing is wrong",
            (true, false, _) => "nothing is wrong, as far as this capture tells",
            (false, _, true) => "nothing of it is in this capture",
            (false, ..) => "this capture shows too little of it",
        }
        .to_owned()
    }
}

/// The results for a capture's servers.
#[derive(Debug)]
pub struct Diagnoses {
    /// Those with faults first, then by address.
    pub servers: Vec<DiagnosedServer>,
    /// The clients that ask servers, in the same order.
    pub clients: Vec<DiagnosedParty>,
    /// The masters that clients ask for lists, in the same order.
    pub masters: Vec<DiagnosedParty>,
    /// Addresses of several hosts, which clients ask.
    pub broadcasts: Vec<Broadcast>,
    /// Clients asked masters for lists.
    pub has_lists: bool,
    /// What was left out because of limits.
    pub cut: Option<&'static str>,
}

impl Diagnoses {
    /// Whether something is wrong with a server, a client or a master.
    pub fn has_fault(&self) -> bool {
        let parties = self.clients.iter().chain(&self.masters).map(DiagnosedParty::outcome);
        let mut all = self.servers.iter().map(DiagnosedServer::outcome).chain(parties);
        all.any(|outcome| outcome == Outcome::Fault)
    }
}

impl Diagnosis {
    /// The results. `wanted`: only servers with this address and port; one that is named with its
    /// port has a result even if nothing is known about it.
    pub fn outcome(
        mut self,
        read: &mut Totals,
        wanted: Option<(IpAddr, Option<u16>)>,
    ) -> Diagnoses {
        self.across_flows(read);
        let (clients, givers) = self.other_parties(read, wanted.is_some());
        // A server that is named is shown, whatever it is.
        if wanted.is_none() {
            self.probed = self.other_ports();
        }
        // A server that registers also sends requests to its masters, which are not servers.
        let masters = self.servers.values().flat_map(|server| &server.masters);
        let masters: Set<_> = masters.copied().collect();
        let known = self.servers.keys().copied();
        let known = known.filter(|server| wanted.is_some() || !masters.contains(server));
        let is_wanted = |server: &SocketAddr| {
            wanted.is_none_or(|(ip, port)| {
                ip == server.ip() && port.is_none_or(|port| port == server.port())
            })
        };
        let mut addresses: Vec<_> = known.filter(is_wanted).collect();
        if addresses.is_empty()
            && let Some((ip, port)) = wanted
        {
            addresses.push(SocketAddr::new(ip, port.unwrap_or(0)));
        }
        addresses.sort_unstable();
        let each = addresses.into_iter();
        let mut servers: Vec<_> =
            each.map(|address| self.diagnosed(address, read, wanted.is_some())).collect();
        servers.sort_by_key(DiagnosedServer::outcome);
        let cut = if self.is_cut {
            Some("there are more servers than fit into memory; see --memory")
        } else if self.lists.is_cut {
            Some("lists have more servers than fit into memory; see --memory")
        } else if self.parties_are_cut {
            Some("there are more clients, masters or requests than fit into memory; see --memory")
        } else {
            None
        };
        let has_lists = !self.lists.is_empty();
        let broadcasts = std::mem::take(&mut self.broadcasts);
        Diagnoses { servers, clients, masters: givers, broadcasts, has_lists, cut }
    }

    fn diagnosed(&mut self, address: SocketAddr, read: &Totals, is_named: bool) -> DiagnosedServer {
        let mut server = self.servers.remove(&address).unwrap_or_default();
        let clients: Vec<_> = server.clients.iter().copied().collect();
        let masters: Vec<_> = server.masters.iter().map(SocketAddr::ip).collect();
        let position = position(address.ip(), &server.hops, &self.everywhere, (&clients, &masters));
        self.late_facts(address, &mut server, read, position, is_named);
        let query = server.query.map(|id| id.info().diagnosis);
        let registers = server.registers.map(|id| id.info().diagnosis);
        let has = |item: &Item| {
            [query, registers].into_iter().flatten().any(|it| it.items.contains(item))
        };
        let is_known = query.is_some() || registers.is_some();
        let shows_registration = self.shows_registration(&server);
        let is_shown = |item: &&Item| {
            has(item) && (shows_registration || !is_of_registration(**item))
                || !is_known && OF_ANY.contains(item)
        };
        let master_heard = server.masters.iter().any(|it| self.is_heard(it.ip(), read));
        let server_heard = self.is_heard(address.ip(), read);
        let lacks = read.lossy || read.dropped;
        let items = Item::ALL.iter().filter(is_shown);
        let items = items.map(|item| {
            let heard = if is_of_registration(*item) { master_heard } else { server_heard };
            verdict(*item, &server, address, (position, heard, lacks))
        });
        DiagnosedServer {
            server: address,
            protocol: server.query.or(server.registers),
            name: server.name.clone(),
            position,
            items: items.collect(),
            needs_no_master: query.is_some_and(|it| it.registers.is_none()),
            probed: self.probed.remove(&address).unwrap_or_default(),
        }
    }

    /// Whether to show a server's registration: its protocol may have none, or it may register in
    /// another one, which the capture may lack.
    fn shows_registration(&self, server: &Server) -> bool {
        let own = server.query.is_some_and(|id| id.info().diagnosis.items.contains(&Item::Join));
        server.registers.is_some() || own
    }
}

/// Whether an item is one of registration or of lists.
fn is_of_registration(item: Item) -> bool {
    matches!(item.group(), ItemGroup::Registration | ItemGroup::Lists)
}

/// The verdict on a condition. `heard`: the capture has packets from the party that should respond;
/// `lacks`: packets are missing.
fn verdict(
    item: Item,
    server: &Server,
    address: SocketAddr,
    (position, heard, lacks): (CapturePosition, bool, bool),
) -> ItemVerdict {
    let fact = server.fact(item);
    let is_about_all = item == Item::Answered && server.exchanges.asked > 0;
    let exchanges = is_about_all.then_some(server.exchanges);
    if let Some(failure) = fact.failure(!is_of_registration(item)) {
        let times = fact.run;
        let mut text = match (&*failure.text, times) {
            (text, 1) => text.to_owned(),
            (text, _) => format!("{text} ({} times)", grouped(times)),
        };
        let pattern = server.unanswered.as_ref().filter(|_| item == Item::Answered);
        if let Some(counts) = exchanges.filter(|_| pattern.is_some()) {
            let (answered, asked) = (grouped(counts.answered), counted(counts.asked, "request"));
            text = format!("{answered} of {asked} answered; {text}");
        }
        if let Some(before) = fact.shown.first().filter(|_| fact.good > 0) {
            text += &format!("; before, it was so: frame {before}");
        }
        let frames = fact.failed();
        let has_more = times > frames.len() as u64;
        debug_assert!(failure.cause.no.contains(&item), "{item:?} by {:?}", failure.cause);
        let (verdict, cause, values) = (Verdict::No, Some(failure.cause), failure.values.clone());
        let (by, span) = pattern.map_or((None, None), |it| (it.by.clone(), it.span));
        return ItemVerdict {
            item,
            verdict,
            cause,
            frames,
            has_more,
            text,
            values,
            exchanges,
            by,
            span,
        };
    }
    let cannot_arrive =
        item == Item::Whole && position == CapturePosition::Server && server.packets > 1;
    if fact.good > 0 && !cannot_arrive {
        let has_more = fact.good > fact.shown.len() as u64;
        let (verdict, mut frames) = (Verdict::Yes, fact.shown.clone());
        frames.sort_unstable();
        let text = said(item, server, address);
        return ItemVerdict {
            verdict,
            frames,
            has_more,
            text,
            exchanges,
            ..ItemVerdict::new(item)
        };
    }
    let (cause, frames, text) = match &fact.open {
        Some(doubt) if is_suspicion(doubt.cause) => {
            (doubt.cause, fact.shown.clone(), doubt.text.clone())
        }
        _ if cannot_arrive => {
            let text = "captured at the server: whether all packets arrive is unknown";
            (&causes::CAPTURE_ONE_SIDED, Vec::new(), text.to_owned())
        }
        Some(open) => {
            let is_about_silence = open.cause == &causes::CAPTURE_TOO_SHORT;
            let cause = match open.cause {
                _ if lacks => &causes::CAPTURE_DROPS,
                _ if is_about_silence && is_awaited(item) && !heard => &causes::CAPTURE_ONE_SIDED,
                cause => cause,
            };
            let is_silent = is_about_silence && cause == open.cause && item == Item::Answered;
            let more = match is_silent {
                _ if cause == &causes::CAPTURE_ONE_SIDED => {
                    "; nothing of this host is in the capture"
                }
                true => "; that is too little to call it silent",
                false => "",
            };
            let frames = if open.frame > 0 { vec![open.frame] } else { Vec::new() };
            (cause, frames, format!("{}{more}", open.text))
        }
        None => (&causes::NOT_IN_CAPTURE, Vec::new(), absent(item, server)),
    };
    debug_assert!(cause.unknown.contains(&item), "{item:?} by {cause:?}");
    let values = fact.open.as_ref().filter(|open| open.cause == cause);
    ItemVerdict {
        cause: Some(cause),
        frames,
        text,
        values: values.map_or(Values::new(), |open| open.values.clone()),
        exchanges,
        ..ItemVerdict::new(item)
    }
}

/// Why nothing in the capture shows a condition.
fn absent(item: Item, server: &Server) -> String {
    let is_of_responses = matches!(item, Item::InTime | Item::Whole | Item::Readable);
    match server.elsewhere.first() {
        Some((from, ..)) if is_of_responses => {
            format!("only responses from {from} are in the capture")
        }
        _ if is_of_responses && server.in_part > 0 && !server.responds_whole() => {
            "no response is whole".to_owned()
        }
        _ => "not in this capture".to_owned(),
    }
}

/// Whether a cause is only a suspicion.
fn is_suspicion(cause: &Cause) -> bool {
    cause.kind == CauseKind::Suspicion
}

/// Whether a condition is that a party responds.
fn is_awaited(item: Item) -> bool {
    matches!(item, Item::Challenged | Item::Accepted | Item::Answered | Item::Verified)
}

/// The details of a condition that is met.
fn said(item: Item, server: &Server, address: SocketAddr) -> String {
    let every = || {
        server.interval().map_or(String::new(), |interval| {
            format!("every {}", long_span(interval.unsigned_abs()))
        })
    };
    match item {
        Item::Join => {
            let masters: Vec<_> = server.masters.iter().map(SocketAddr::to_string).collect();
            masters.join(", ")
        }
        Item::Heartbeats => every(),
        Item::Accepted => server.reported.clone().unwrap_or_default(),
        Item::Listed | Item::Address => format!("as {address}"),
        Item::Asked => {
            let clients = counted(server.clients.len() as u64, "client");
            format!("{clients}, {}", counted(server.exchanges.asked, "request"))
        }
        Item::Answered if server.in_part > 0 && !server.responds_whole() => {
            "only in part".to_owned()
        }
        Item::Answered => {
            let kinds = server.kinds.iter();
            let silent = kinds.filter(|kind| kind.answered.good == 0 && kind.answered.run > 0);
            let silent: Vec<_> = silent.map(|kind| kind.name).collect();
            let ExchangeCounts { asked, answered } = server.exchanges;
            match &silent[..] {
                [] if (1..asked).contains(&answered) => {
                    format!("{} of {}", grouped(answered), counted(asked, "request"))
                }
                [] => String::new(),
                silent => format!("{BUT}{}", silent.join(", ")),
            }
        }
        Item::InTime => format!("within {}", brief_span(server.slowest)),
        Item::Whole if server.packets > 1 => {
            format!("up to {} a response", counted(server.packets as u64, "packet"))
        }
        _ => match server.fact(item).mended {
            0 => String::new(),
            mended => format!("except {}", counted(mended, "time")),
        },
    }
}
