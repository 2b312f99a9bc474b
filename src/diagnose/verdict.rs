//! From what is known of servers to verdicts.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Cause, Item, Needs, Rule, Set, Symptom, Time, Verdict as Ruled};
use dissectors::net_rules::NET014;

use super::fact::{Failure, NO_ACCIDENT};
use super::lists::Lists;
use super::seat::seat;
use super::server::{Kind, Server};
use super::{Diagnosis, Seat, Sign, What, symptom, words};
use crate::check::{Checker, Selection};
use crate::session::Totals;
use crate::text::{counted, grouped};

/// Heartbeats are due at least so often, in nanoseconds: a server that sent none for twice as long does not.
const HEARTBEAT: i64 = 300_000_000_000;

/// Whether an item is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It cannot be told from this capture.
    Unknown,
}

impl Verdict {
    /// The name scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Unknown => "unknown",
        }
    }
}

/// What came of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Something is wrong.
    Fault,
    /// Nothing is wrong, as far as can be told.
    Unknown,
    /// Clients see it.
    Good,
}

impl Outcome {
    /// The name scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Fault => "fault",
            Outcome::Unknown => "unknown",
            Outcome::Good => "ok",
        }
    }
}

/// One item of a server.
#[derive(Clone, Debug)]
pub struct ItemVerdict {
    /// Which.
    pub item: Item,
    /// Whether it is so.
    pub verdict: Verdict,
    /// Why not, or why it cannot be told.
    pub cause: Option<Cause>,
    /// The first packets that show it.
    pub frames: Vec<u64>,
    /// More packets do.
    pub has_more: bool,
    /// What there is to say of it.
    pub text: String,
}

/// One server.
#[derive(Clone, Debug)]
pub struct Diagnosed {
    /// Its address, with the port that it takes queries on.
    pub server: SocketAddr,
    /// The protocol in which clients ask it, or, if none does, in which it registers.
    pub protocol: Option<Id>,
    /// Its name, as it says.
    pub name: Option<String>,
    /// Where the capture was taken.
    pub seat: Seat,
    /// What must be so.
    pub items: Vec<ItemVerdict>,
    /// It needs no master.
    pub needs_no_master: bool,
}

impl Diagnosed {
    /// The first item that is not so.
    pub fn first_no(&self) -> Option<&ItemVerdict> {
        self.items.iter().find(|item| item.verdict == Verdict::No)
    }

    /// What came of it.
    pub fn outcome(&self) -> Outcome {
        let is_so = |wanted: &[Item]| {
            self.items.iter().any(|it| wanted.contains(&it.item) && it.verdict == Verdict::Yes)
        };
        match self.first_no() {
            Some(_) => Outcome::Fault,
            None if is_so(&[Item::Answered, Item::Accepted, Item::Listed]) => Outcome::Good,
            None => Outcome::Unknown,
        }
    }

    /// What the first line says of it.
    pub fn headline(&self) -> String {
        if let Some(no) = self.first_no() {
            return no.cause.map_or(String::new(), |cause| words::headline(no.item, cause));
        }
        let is_good = self.outcome() == Outcome::Good;
        let mut open = self.items.iter().filter(|it| {
            it.cause.is_some_and(|cause| cause != Cause::NotInCapture)
                && (!is_good || it.item == Item::Answered)
        });
        if let Some(it) = open.next() {
            return it.cause.map_or(String::new(), |cause| words::open(it.item, cause));
        }
        let all_yes = self.items.iter().all(|it| it.verdict == Verdict::Yes);
        let all_absent = self.items.iter().all(|it| it.cause == Some(Cause::NotInCapture));
        match (is_good, all_yes, all_absent) {
            (true, true, _) => "nothing is wrong",
            (true, false, _) => "nothing is wrong, as far as this capture tells",
            (false, _, true) => "nothing of it is in this capture",
            (false, ..) => "this capture shows too little of it",
        }
        .to_owned()
    }
}

/// What came of a capture's servers.
#[derive(Debug)]
pub struct Diagnoses {
    /// Those with faults first, then by address.
    pub servers: Vec<Diagnosed>,
    /// What did not fit, in words.
    pub cut: Option<&'static str>,
}

/// Why what a rule asks cannot be told from a capture: by what the rule needs.
pub(super) fn why_open(rule: &Rule) -> Cause {
    match rule.needs {
        Needs::Beginning => Cause::CaptureStartsLate,
        Needs::Message | Needs::Interval => Cause::CaptureDrops,
        Needs::Answer => Cause::CaptureTooShort,
    }
}

impl Diagnosis {
    /// What came of it all. `wanted`: only servers of this address, and port if there is one; one that is
    /// named with its port has a diagnosis even if nothing is known of it.
    pub fn outcome(
        mut self,
        read: &mut Totals,
        wanted: Option<(IpAddr, Option<u16>)>,
    ) -> Diagnoses {
        self.across_flows(read);
        // A server that registers asks its masters, too: that makes no server of them.
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
        servers.sort_by_key(Diagnosed::outcome);
        let cut = if self.is_cut {
            Some("there are more servers than fit into memory; see --memory")
        } else if self.lists.is_cut {
            Some("lists have more servers than fit into memory; see --memory")
        } else {
            None
        };
        Diagnoses { servers, cut }
    }

    /// What only all flows together show.
    fn across_flows(&mut self, read: &mut Totals) {
        let empty = Checker::new(Selection::default(), self.terms, self.vouched);
        let checker = std::mem::replace(&mut self.checker, empty);
        let findings = checker.outcome(Vec::new(), read).findings;
        for found in &findings {
            let sign = Sign {
                rule: found.rule,
                verdict: found.verdict,
                words: &found.detail,
                frame: found.frame(),
            };
            let silent = found.rule.code == NET014.code;
            let Some(party) = found.party else { continue };
            if silent {
                self.silent(party, &sign);
                continue;
            }
            let Some(symptom) = symptom(found.rule, &found.detail) else { continue };
            if symptom.item == Item::FromAsked {
                self.responds_elsewhere(party, &sign);
            } else if let Some(server) = self.resolve(party) {
                self.sign(server, symptom, &sign);
            }
        }
    }

    /// A server never responded, or a master never reacted to one.
    fn silent(&mut self, party: SocketAddr, sign: &Sign<'_>) {
        let sent = self.sent.get_mut(&sign.frame, self.remembered).copied();
        let joins = sent.filter(|sent| matches!(sent.what, What::Join));
        let server = joins.map_or(party, |sent| sent.server);
        let registers = self.servers.get(&server).and_then(|server| server.registers);
        let challenges =
            registers.is_some_and(|id| id.info().diagnosis.items.contains(&Item::Challenged));
        let (item, cause) = match (joins, challenges) {
            (None, _) => (Item::Answered, Cause::QueriesUnanswered),
            (Some(_), true) => (Item::Challenged, Cause::JoinUnanswered),
            (Some(_), false) => (Item::Accepted, Cause::RegistrationUnanswered),
        };
        self.sign(server, &Symptom::of(&NET014, item, cause), sign);
    }

    /// A response came from an address that was not asked.
    fn responds_elsewhere(&mut self, from: SocketAddr, sign: &Sign<'_>) {
        if sign.verdict != Ruled::Fail {
            return;
        }
        let Some(asked) = self.unasked.get_mut(&sign.frame, self.remembered).copied() else {
            return;
        };
        let Some(server) = self.servers.get_mut(&asked) else { return };
        let is_port = asked.ip() == from.ip();
        let cause = if is_port { Cause::OtherPort } else { Cause::OtherAddress };
        server.responds_from(from, cause, sign.frame);
        server.good(Item::Answered, sign.frame);
    }

    fn diagnosed(&mut self, address: SocketAddr, read: &Totals, is_named: bool) -> Diagnosed {
        let mut server = self.servers.remove(&address).unwrap_or_default();
        let clients: Vec<_> = server.clients.iter().copied().collect();
        let masters: Vec<_> = server.masters.iter().map(SocketAddr::ip).collect();
        let seat = seat(address.ip(), &server.hops, &self.everywhere, (&clients, &masters));
        self.late_facts(address, &mut server, read, seat, is_named);
        let query = server.query.map(|id| id.info().diagnosis);
        let registers = server.registers.map(|id| id.info().diagnosis);
        let has = |item: &Item| {
            [query, registers].into_iter().flatten().any(|it| it.items.contains(item))
        };
        let is_known = query.is_some() || registers.is_some();
        let shows_registration = self.shows_registration(&server);
        let is_shown = |item: &&Item| {
            has(item) && (shows_registration || !is_of_registration(**item))
                || !is_known
                    && matches!(**item, Item::Join | Item::Listed | Item::Asked | Item::Answered)
        };
        let is_heard = |ip: IpAddr| read.heard.contains(ip) || self.speakers.contains(&ip);
        let master_heard = server.masters.iter().any(|master| is_heard(master.ip()));
        let server_heard = is_heard(address.ip());
        let lacks = read.lossy || read.dropped;
        let items = Item::ALL.iter().filter(is_shown);
        let items = items.map(|item| {
            let heard = if *item >= Item::Asked { server_heard } else { master_heard };
            verdict(*item, &server, address, (seat, heard, lacks))
        });
        Diagnosed {
            server: address,
            protocol: server.query.or(server.registers),
            name: server.name.clone(),
            seat,
            items: items.collect(),
            needs_no_master: query.is_some_and(|it| it.registers.is_none()),
        }
    }

    /// Whether there is something to say of a server's registration: its protocol has none, or registers
    /// in another one, of which the capture may have nothing.
    fn shows_registration(&self, server: &Server) -> bool {
        let own = server.query.is_some_and(|id| id.info().diagnosis.items.contains(&Item::Join));
        server.registers.is_some() || own
    }

    /// What the end of the capture shows.
    fn late_facts(
        &self,
        address: SocketAddr,
        server: &mut Server,
        read: &Totals,
        seat: Seat,
        is_named: bool,
    ) {
        let end = read.span.map_or(Time(0), |[_, end]| end);
        if let Some((frame, time)) = server.challenged.take().filter(|_| !judges_silence(server)) {
            let fact = server.fact_mut(Item::Echo);
            if end.since(time) < self.terms.answer_timeout && !self.vouched {
                fact.open(
                    Cause::CaptureTooShort,
                    frame,
                    "the capture ends before an answer is due",
                );
            } else if read.lossy || read.dropped {
                fact.open(Cause::CaptureDrops, frame, "no answer is in the capture");
            } else if fact.run == 0 {
                fact.bad(
                    Cause::ChallengeUnanswered,
                    frame,
                    "no answer comes to the master's challenge",
                );
            }
        }
        self.ignored_by_master(server, read);
        self.listing(address, server, seat, is_named);
        if let Some(known) = server.known
            && server.fact(Item::Accepted).good == 0
        {
            let told = "the master goes on with it as with a server that it knows";
            server.told.get_or_insert_with(|| told.to_owned());
            server.good(Item::Accepted, known);
        }
        let span = read.span.map_or(0, |[begin, end]| end.since(begin));
        let own = server.query.filter(|id| id.info().diagnosis.items.contains(&Item::Heartbeats));
        let is_long = seat == Seat::Server && span > 2 * HEARTBEAT;
        if own.is_some() && server.joins.is_none() && (is_long || self.vouched) {
            server.fact_mut(Item::Join).bad(Cause::NeverJoined, 0, "no heartbeat to any master");
        }
        if server.joins.is_some() && server.fact(Item::Heartbeats).good == 0 {
            let text = "too short to see when it comes again";
            server.fact_mut(Item::Heartbeats).open(Cause::CaptureTooShort, 0, text);
        }
        if let Some(frame) = server.in_one_packet
            && server.fact(Item::Whole).run == 0
        {
            server.good(Item::Whole, frame);
        }
        elsewhere(server);
        only_info(server);
    }

    /// A master that challenges others does not challenge this one.
    fn ignored_by_master(&self, server: &mut Server, read: &Totals) {
        let joins = server.joins.map_or(0, |(.., joins)| joins);
        let challenges = server.masters.iter().any(|master| self.challengers.contains(master));
        let fact = server.fact(Item::Challenged);
        let is_open = fact.good == 0 && fact.run == 0;
        if let Some(Failure { frame, .. }) = fact.open
            && is_open
            && challenges
            && joins >= NO_ACCIDENT
            && !read.lossy
            && !read.dropped
        {
            let text = "the master challenges others, and not this one";
            server.fact_mut(Item::Challenged).bad(Cause::JoinUnanswered, frame, text);
        }
    }

    /// Whether the server is in lists, and how.
    fn listing(&self, address: SocketAddr, server: &mut Server, seat: Seat, is_named: bool) {
        let lists = &self.lists;
        let id = server.registers.map(|id| id.info().id);
        let id = id.or(server.query.and_then(|id| id.info().diagnosis.registers));
        let joined = !server.masters.is_empty();
        let masters: Vec<SocketAddr> = match joined {
            true => server.masters.clone(),
            false => lists.given.keys().copied().collect(),
        };
        let wholes = masters.iter().filter_map(|master| lists.whole(*master, &server.game));
        let whole = wholes.max_by_key(|listing| listing.last);
        let sighting = lists.sighting(&address);
        let givens = masters.iter().filter_map(|master| lists.given.get(master));
        let narrowed = givens.clone().filter_map(|given| given.narrowed).max();
        let begun = givens.clone().filter_map(|given| given.begun.as_ref()).map(|it| it.last).max();
        let cut = givens.filter_map(|given| given.cut.clone()).max();
        match (whole, sighting, &cut) {
            (Some(whole), _, _) => server.good(Item::ListWhole, whole.last),
            (None, None, Some((frame, why))) => {
                server.fact_mut(Item::ListWhole).bad(Cause::ListCut, *frame, why.clone());
            }
            (None, Some(sighting), _) if narrowed.is_some() => {
                server.good(Item::ListWhole, sighting.frame);
            }
            _ => {
                if let Some(frame) = begun {
                    let text = "no list comes to its end";
                    server.fact_mut(Item::ListWhole).open(Cause::ListCut, frame, text);
                }
            }
        }
        let joined_at = server.joins.map(|(first, ..)| first);
        let could_hold = whole
            .filter(|whole| joined_at.is_none_or(|joined| whole.begun >= joined) && id.is_some());
        if let Some(sighting) = sighting.filter(|sighting| {
            could_hold.is_none_or(|whole| !Lists::is_later(whole, Some(sighting)))
        }) {
            server.good(Item::Listed, sighting.frame);
            server.good(Item::Accepted, sighting.frame);
            // Whatever a document asks, this master was content with it.
            for item in [Item::Challenged, Item::Echo, Item::Info, Item::ProbeBack, Item::Stays] {
                if server.fact(item).run > 0 {
                    server.good(item, sighting.frame);
                }
            }
            server.told.get_or_insert_with(|| "it is in the list".to_owned());
            let client = sighting.client.ip();
            let fact = server.fact_mut(Item::Address);
            match address.ip() {
                ip if ip.is_loopback() && !client.is_loopback() => {
                    fact.bad(Cause::ListedLoopback, sighting.frame, format!("as {address}"));
                }
                ip if is_private(ip) && !is_private(client) => {
                    let text = format!("as {address}, to {client}");
                    fact.bad(Cause::ListedPrivate, sighting.frame, text);
                }
                _ => fact.good(sighting.frame),
            }
            return;
        }
        let Some(whole) = could_hold else {
            let (cause, frame, text) = match (narrowed, begun.or(cut.map(|(frame, _)| frame))) {
                (Some(frame), _) => {
                    (Cause::ListFiltered, frame, "only filtered lists are in the capture")
                }
                (None, Some(frame)) => (Cause::ListCut, frame, "no whole list is in the capture"),
                (None, None) => (Cause::NotInCapture, 0, "no list is in the capture"),
            };
            return server.fact_mut(Item::Listed).open(cause, frame, text);
        };
        let others = lists.ports_of(address.ip());
        let stranger = others
            .iter()
            .find(|(other, _)| other.port() != address.port() && !self.servers.contains_key(other));
        if let Some((other, sighting)) = stranger.filter(|_| joined || is_named) {
            server.good(Item::Listed, sighting.frame);
            let text = format!("as {other}");
            server.fact_mut(Item::Address).bad(Cause::ListedOtherPort, sighting.frame, text);
        } else if is_private(address.ip())
            && seat == Seat::Server
            && !masters.iter().all(|it| is_private(it.ip()))
        {
            let text = "it has a private address, and is listed, if so, with its public one: name that \
                        with --server";
            server.fact_mut(Item::Listed).open(Cause::NotInCapture, whole.last, text);
        } else if joined || is_named || self.vouched {
            let text = "the latest whole list does not have it";
            server.fact_mut(Item::Listed).bad(Cause::NotInList, whole.last, text);
        } else {
            let text = "the list in the capture does not have it, and nothing shows that it should";
            server.fact_mut(Item::Listed).open(Cause::NotInCapture, whole.last, text);
        }
    }
}

/// Whether a rule of the protocol in which a server registers says that a challenge was not answered.
pub(super) fn judges_silence(server: &Server) -> bool {
    let symptoms = server.registers.map_or(&[][..], |id| id.info().diagnosis.symptoms);
    symptoms.iter().any(|it| it.item == Item::Echo && it.rule.needs == Needs::Answer)
}

/// Whether an item is one of registration or of lists.
fn is_of_registration(item: Item) -> bool {
    item <= Item::Address
}

/// Whether an address means something only in the network that it is used in.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            // 100.64.0.0/10 is between providers and their customers.
            ip.is_private() || ip.is_link_local() || ip.is_loopback() || a == 100 && b & 0xC0 == 64
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_loopback(),
    }
}

/// Of a server of which responses came from elsewhere, whether most did: one that is set up so does it
/// always, but for what another program answers.
fn elsewhere(server: &mut Server) {
    let Some((from, cause, _)) = server.elsewhere.first().copied() else { return };
    let count = server.responses_elsewhere;
    let all = count + server.fact(Item::FromAsked).good;
    if 2 * count <= all {
        return;
    }
    let text = format!("{} of {} responses come from {from}", grouped(count), grouped(all));
    let failure = |(.., frame): &(_, _, u64)| Failure { cause, frame: *frame, text: text.clone() };
    let failures = server.elsewhere.iter().map(failure).collect();
    server.fact_mut(Item::FromAsked).fails_by(failures);
}

/// Of a server that answers some kinds of requests, whether others get no answer.
fn only_info(server: &mut Server) {
    if server.fact(Item::Answered).good == 0 || server.kinds.is_empty() {
        return;
    }
    // Where some requests with its challenge are answered, the challenge is not what fails others.
    let verified = server.fact_mut(Item::Verified);
    let cause = verified.failure(true).map(|failure| failure.cause);
    if verified.good > 0 && cause == Some(Cause::ChallengedRequestUnanswered) {
        verified.fails_by(Vec::new());
    }
    let is_answered = |kind: &&Kind| kind.answered.good > 0;
    let fails = |kind: &Kind| kind.answered.failure(true).cloned();
    let silent = server.kinds.iter().find(|kind| kind.answered.good == 0 && kind.answered.run > 0);
    let only_info = server.kinds.iter().filter(is_answered).all(|kind| kind.describes);
    let is_elsewhere = !server.elsewhere.is_empty();
    let failure = match silent.filter(|_| only_info && !is_elsewhere) {
        Some(kind) => fails(kind).map(|it| Failure {
            cause: match it.cause {
                Cause::QueriesUnanswered => Cause::OnlyInfoAnswered,
                cause => cause,
            },
            text: format!("{} never gets a response", kind.name),
            ..it
        }),
        // What was answered before, and is not any more.
        None => server.kinds.iter().filter(is_answered).find_map(fails),
    };
    server.fact_mut(Item::Answered).fails_by(failure.into_iter().collect());
}

/// Whether an item is so. `heard`: whoever is to respond is in the capture; `lacks`: packets are missing.
fn verdict(
    item: Item,
    server: &Server,
    address: SocketAddr,
    (seat, heard, lacks): (Seat, bool, bool),
) -> ItemVerdict {
    let fact = server.fact(item);
    if let Some(failure) = fact.failure(item >= Item::Asked) {
        let times = fact.run;
        let text = match (&*failure.text, times) {
            (text, 1) => text.to_owned(),
            (text, _) => format!("{text} ({} times)", grouped(times)),
        };
        let frames = fact.failed();
        let has_more = times > frames.len() as u64;
        let (verdict, cause) = (Verdict::No, Some(failure.cause));
        return ItemVerdict { item, verdict, cause, frames, has_more, text };
    }
    let cannot_arrive = item == Item::Whole && seat == Seat::Server && server.packets > 1;
    if fact.good > 0 && !cannot_arrive {
        let has_more = fact.good > fact.shown.len() as u64;
        let (verdict, mut frames) = (Verdict::Yes, fact.shown.clone());
        frames.sort_unstable();
        let text = said(item, server, address);
        return ItemVerdict { item, verdict, cause: None, frames, has_more, text };
    }
    let (cause, frames, text) = match &fact.open {
        _ if cannot_arrive => {
            let text = "captured at the server: whether all packets arrive cannot be told";
            (Cause::CaptureOneSided, Vec::new(), text.to_owned())
        }
        Some(open) => {
            let is_about_silence = matches!(open.cause, Cause::CaptureTooShort);
            let cause = match open.cause {
                _ if lacks => Cause::CaptureDrops,
                Cause::CaptureTooShort if is_awaited(item) && !heard => Cause::CaptureOneSided,
                cause => cause,
            };
            let more = match cause {
                Cause::CaptureOneSided => "; nothing of this host is in the capture",
                Cause::CaptureTooShort if is_about_silence && item == Item::Answered => {
                    "; that is too little to call it silent"
                }
                _ => "",
            };
            let frames = if open.frame > 0 { vec![open.frame] } else { Vec::new() };
            (cause, frames, format!("{}{more}", open.text))
        }
        None => (Cause::NotInCapture, Vec::new(), "not in this capture".to_owned()),
    };
    ItemVerdict {
        item,
        verdict: Verdict::Unknown,
        cause: Some(cause),
        frames,
        has_more: false,
        text,
    }
}

/// Whether an item is that somebody responds.
fn is_awaited(item: Item) -> bool {
    matches!(item, Item::Challenged | Item::Accepted | Item::Answered | Item::Verified)
}

/// What there is to say of an item that is so.
fn said(item: Item, server: &Server, address: SocketAddr) -> String {
    let every =
        || server.interval().map_or(String::new(), |interval| format!("every {}", span(interval)));
    match item {
        Item::Join => {
            let masters: Vec<_> = server.masters.iter().map(SocketAddr::to_string).collect();
            masters.join(", ")
        }
        Item::Heartbeats => every(),
        Item::Accepted => server.told.clone().unwrap_or_default(),
        Item::Listed | Item::Address => format!("as {address}"),
        Item::Asked => {
            let clients = counted(server.clients.len() as u64, "client");
            format!("{clients}, {}", counted(server.fact(item).good, "request"))
        }
        Item::Answered => {
            let kinds = server.kinds.iter();
            let silent = kinds.filter(|kind| kind.answered.good == 0 && kind.answered.run > 0);
            let silent: Vec<_> = silent.map(|kind| kind.name).collect();
            match (&silent[..], server.fact(item).mended) {
                ([], 0) => String::new(),
                ([], mended) => format!("{} not", counted(mended, "time")),
                (silent, _) => format!("but never to {}", silent.join(", ")),
            }
        }
        Item::InTime => format!("within {:.3} s", server.slowest as f64 / 1e9),
        Item::Whole if server.packets > 1 => {
            format!("up to {} a response", counted(server.packets as u64, "packet"))
        }
        _ => match server.fact(item).mended {
            0 => String::new(),
            mended => format!("{} not", counted(mended, "time")),
        },
    }
}

/// A time that passes, in minutes and seconds.
fn span(nanoseconds: i64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known() {
        for ip in [
            "10.1.2.3",
            "192.168.0.9",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(is_private(ip.parse().unwrap()), "{ip}");
        }
        for ip in ["203.0.113.5", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_private(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn spans_are_minutes_and_seconds() {
        let told = [59, 60, 301].map(|seconds| span(seconds * 1_000_000_000));
        assert_eq!(told, ["59 s", "1 min 0 s", "5 min 1 s"]);
    }
}
