//! Verdicts on servers, clients and masters, and on each of their conditions.

pub(in crate::diagnose) mod checklist;

use std::borrow::Cow;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{AddressRole, Cause, CauseKind, Item, Role, Time, Values, causes};

use crate::abuse::{Attack, AttackKind, Omitted};
use crate::diagnose::CapturePosition;
use crate::diagnose::exchanges::pattern::in_words;
use crate::diagnose::facts::FirstFrames;
use crate::diagnose::hosts::Broadcast;
use crate::diagnose::registration::is_of_registration;
use crate::session::{ExchangeCounts, NamedTraffic};
use crate::text::counted;

dissectors::named! {
    /// Whether a condition is met.
    pub enum Met {
        /// It is.
        Yes = "yes",
        /// It is not.
        No = "no",
        /// Unknown from this capture.
        Unknown = "unknown",
    }
}

dissectors::named! {
    /// The result for one server.
    pub enum Outcome {
        /// Something is wrong.
        Fault = "fault",
        /// Nothing is known to be wrong.
        Unknown = "unknown",
        /// Clients see it.
        Good = "ok",
    }
}

/// What decides what to do about a cause, beside the cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Situation {
    /// Nothing else is known.
    #[default]
    Any,
    /// The capture was taken at the server: what it shows is the server's own part.
    AtServer,
    /// The server is flooded, which explains that it responds late or seldom.
    Flooded,
}

/// The causes that a flood explains.
const BY_FLOOD: [&Cause; 7] = [
    &causes::QUERIES_UNANSWERED,
    &causes::ANSWERED_LATE,
    &causes::answers::SOMETIMES_UNANSWERED,
    &causes::answers::SILENT_PERIOD,
    &causes::answers::RATE_LIMITED,
    &causes::answers::ONLY_SOME_KINDS,
    &causes::answers::ONE_CLIENT_UNANSWERED,
];

/// The verdict on one condition of a server.
#[derive(Clone, Debug)]
pub struct ItemVerdict {
    /// Which.
    pub item: Item,
    /// The master, of a condition of registration.
    pub master: Option<SocketAddr>,
    /// Whether it is met.
    pub met: Met,
    /// Why not, or why it is unknown.
    pub cause: Option<&'static Cause>,
    /// The first packets that show it.
    pub frames: FirstFrames,
    /// There are more packets.
    pub has_more: bool,
    /// The details.
    pub text: Cow<'static, str>,
    /// The values in the cause's sentence.
    pub values: Values,
    /// The exchanges that it is about, if any.
    pub exchanges: Option<ExchangeCounts>,
    /// It counts at least as many as the text says: a limit was met.
    pub at_least: bool,
    /// What all packets that show it have in common: a name and a value.
    pub by: Option<(&'static str, String)>,
    /// From when to when, if it was so for a while.
    pub span: Option<[Time; 2]>,
    /// Its times are shown with their day.
    pub has_dates: bool,
    /// What decides what to do about it.
    pub situation: Situation,
    /// What to do about it, if the exchanges say more of that than the cause.
    pub remedy: Option<&'static str>,
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

    /// All conditions that are not met; each but the first, which the party's line names, with a line of its own, which
    /// names another service of a master.
    pub fn faults(&self) -> impl Iterator<Item = (&ItemVerdict, Option<String>)> {
        let faults = self.items.iter().filter(|it| it.met == Met::No);
        faults.enumerate().map(|(nth, it)| {
            let of = it.master.map_or(String::new(), |service| format!("{service}: "));
            (it, (nth > 0).then(|| format!("Also: {of}{}", it.headline())))
        })
    }

    /// The result.
    pub fn outcome(&self) -> Outcome {
        const DECIDE: [Item; 3] = [Item::GetsAnswers, Item::GivesList, Item::GivesWholeList];
        let is_good = |it: &ItemVerdict| DECIDE.contains(&it.item) && it.met == Met::Yes;
        match self.first_no() {
            Some(_) => Outcome::Fault,
            None if self.items.iter().any(is_good) => Outcome::Good,
            None => Outcome::Unknown,
        }
    }

    /// The text of the first line.
    pub fn headline(&self) -> String {
        headline_of(self.items.iter(), self.outcome() == Outcome::Good)
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
    /// Its conditions: those of registration for each master that it addressed.
    pub items: Vec<ItemVerdict>,
    /// The master with which its registration goes best: the result is about that one.
    pub best: Option<SocketAddr>,
    /// Something of the capture did not fit into memory: what is not known of the server may be in the capture.
    pub is_cut: bool,
    /// It needs no master.
    pub needs_no_master: bool,
    /// Its other addresses, each with what it is.
    pub addresses: Vec<(SocketAddr, AddressRole)>,
    /// Other ports of its host, which clients asked in vain.
    pub probed: Vec<SocketAddr>,
}

impl DiagnosedServer {
    /// Whether an address is one of its own.
    fn has(&self, address: &SocketAddr) -> bool {
        self.server == *address || self.addresses.iter().any(|(own, _)| own == address)
    }
}

/// The first condition that is not met.
fn first_no<'i>(items: impl IntoIterator<Item = &'i ItemVerdict>) -> Option<&'i ItemVerdict> {
    items.into_iter().find(|item| item.met == Met::No)
}

/// The first line about these conditions: about the first that is not met, or is open.
fn headline_of<'i>(items: impl Iterator<Item = &'i ItemVerdict> + Clone, is_good: bool) -> String {
    match (first_no(items.clone()), is_good) {
        (Some(it), _) => it.headline(),
        (None, true) => "nothing is wrong".to_owned(),
        (None, false) => match items.clone().find(|it| it.is_open()) {
            Some(it) => it.headline(),
            None => too_little(items).to_owned(),
        },
    }
}

/// What is known where nothing is wrong, and too little shows that all is well.
fn too_little<'i>(mut items: impl Iterator<Item = &'i ItemVerdict>) -> &'static str {
    let joins = |it: &ItemVerdict| it.met == Met::Yes && matches!(it.item, Item::Echo | Item::Info);
    match items.any(joins) {
        true => "it joins as it should; whether it is accepted is not in this capture",
        false => "this capture shows too little of it",
    }
}

impl ItemVerdict {
    /// Nothing is known about a condition.
    pub(in crate::diagnose) fn new(item: Item) -> ItemVerdict {
        ItemVerdict {
            item,
            master: None,
            met: Met::Unknown,
            cause: None,
            frames: FirstFrames::default(),
            has_more: false,
            text: Cow::default(),
            values: Values::new(),
            exchanges: None,
            at_least: false,
            by: None,
            span: None,
            has_dates: false,
            situation: Situation::Any,
            remedy: None,
        }
    }

    /// What to do about a condition that is not met, or unknown.
    pub fn advice(&self) -> Option<&'static str> {
        let cause = self.cause?;
        let remedy = cause.remedy(self.met == Met::No);
        Some(match self.situation {
            Situation::Flooded if BY_FLOOD.contains(&cause) => {
                "The flood explains that: see what is left of it when the flood is over."
            }
            _ if let Some(remedy) = self.remedy => remedy,
            Situation::AtServer if !cause.at_server.is_empty() => cause.at_server,
            _ => remedy,
        })
    }

    /// Whether the capture has nothing about it.
    pub fn is_absent(&self) -> bool {
        self.cause == Some(&causes::NOT_IN_CAPTURE)
    }

    /// Whether it may not be met, as messages suggest: what is open is not only what the capture lacks.
    fn is_suspected(&self) -> bool {
        let is_of_capture = self.cause.is_none_or(|it| it.kind == CauseKind::Capture);
        self.is_open() && !is_of_capture
    }

    /// Whether the capture has messages about it, but does not decide it.
    fn is_open(&self) -> bool {
        self.met == Met::Unknown && !self.is_absent()
    }

    /// What its cause says of it.
    fn sentence(&self, cause: &Cause) -> Cow<'_, str> {
        // A party's conclusion may have a text of its own, without the values of the cause's sentence.
        match self.values.is_empty() && cause.says.contains('{') {
            true => Cow::Borrowed(&*self.text),
            false => cause.sentence(&self.values),
        }
    }

    /// The text of the first line about a condition that is not met, or unknown.
    fn headline(&self) -> String {
        let Some(cause) = self.cause else { return String::new() };
        let says = self.sentence(cause);
        // The time of a silence is in its sentence.
        let when = self.span.filter(|_| cause.kind == CauseKind::Icmp);
        let when =
            when.map_or(String::new(), |span| format!("{}, ", in_words(span, self.has_dates)));
        let to_master = matches!(self.item, Item::Join | Item::Challenged | Item::Accepted);
        match self.met {
            Met::No if to_master && cause.kind == CauseKind::Icmp => {
                format!("it cannot reach the master: {says}")
            }
            Met::No => format!("{when}{says}"),
            _ => {
                let subject = if self.item == Item::ListWhole { "" } else { "it " };
                format!("whether {subject}{} is unknown: {says}", self.item.does())
            }
        }
    }
}

/// The result of a registration with one master.
pub(in crate::diagnose) fn outcome_with_master<'i>(
    items: impl Iterator<Item = &'i ItemVerdict> + Clone,
) -> Outcome {
    let is_good =
        |it: &ItemVerdict| matches!(it.item, Item::Accepted | Item::Listed) && it.met == Met::Yes;
    match first_no(items.clone()) {
        Some(_) => Outcome::Fault,
        None if items.clone().any(is_good) => Outcome::Good,
        None => Outcome::Unknown,
    }
}

/// The text for a server that leaves one kind of request unanswered.
pub(in crate::diagnose) const BUT: &str = "but never to ";

impl DiagnosedServer {
    /// The conditions that decide: all but those with other masters than the best one.
    pub fn decisive_items(&self) -> impl Iterator<Item = &ItemVerdict> + Clone {
        self.items.iter().filter(|it| it.master.is_none() || it.master == self.best)
    }

    /// The masters with which its registration goes less well, each with the result and the first line about it.
    pub fn other_masters(&self) -> Vec<(SocketAddr, Outcome, String)> {
        let mut masters: Vec<_> = self.items.iter().filter_map(|it| it.master).collect();
        masters.dedup();
        masters.retain(|master| Some(*master) != self.best);
        let line = |master| {
            let items = self.items.iter().filter(move |it| it.master == Some(master));
            let outcome = outcome_with_master(items.clone());
            (master, outcome, headline_of(items, outcome == Outcome::Good))
        };
        masters.into_iter().map(line).collect()
    }

    /// The first condition that is not met.
    pub fn first_no(&self) -> Option<&ItemVerdict> {
        first_no(self.decisive_items())
    }

    /// The result.
    pub fn outcome(&self) -> Outcome {
        let is_so = |wanted: &[Item]| {
            self.decisive_items().any(|it| wanted.contains(&it.item) && it.met == Met::Yes)
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

    /// The conditions that are not met, and those that may not be, as the capture suggests.
    pub fn troubles(&self) -> impl Iterator<Item = &ItemVerdict> {
        self.decisive_items().filter(|it| it.met == Met::No || it.is_suspected())
    }

    /// Whether the advice for a condition is shown.
    pub fn is_advised(&self, item: &ItemVerdict) -> bool {
        let is_decisive = self.decisive().is_some_and(|it| it.item == item.item);
        let is_beside = item.met == Met::Yes && item.cause.is_some();
        item.met == Met::No || is_decisive || item.is_suspected() || is_beside
    }

    /// The condition for the first line, if any.
    pub fn decisive(&self) -> Option<&ItemVerdict> {
        let open = || self.decisive_items().find(|it| it.is_open());
        self.first_no().or_else(|| match self.outcome() {
            Outcome::Good => None,
            _ => self.unanswered().or_else(|| self.asked_again()).or_else(open),
        })
    }

    /// Whether the capture shows anything of its registration, or of a list that should have it.
    fn shows_registration(&self) -> bool {
        let mut known = self.items.iter().filter(|it| !it.is_absent());
        // One that goes elsewhere, where it cannot be read, is not in the capture.
        let is_elsewhere = |it: &ItemVerdict| it.item == Item::Elsewhere && !it.is_open();
        known.any(|it| is_of_registration(it.item) || is_elsewhere(it))
    }

    /// The text of the first line: of a server that is well, also what seems odd, which is what a user may look for.
    pub fn headline(&self) -> String {
        if let Some(it) = self.decisive() {
            return it.headline();
        }
        let odd = self.decisive_items().find(|it| it.is_suspected());
        match odd.and_then(|it| Some(it.sentence(it.cause?))) {
            Some(odd) => format!("{}; {odd}", self.state()),
            None => self.state(),
        }
    }

    /// How it is, where nothing is wrong, or too little known.
    fn state(&self) -> String {
        let is_good = self.outcome() == Outcome::Good;
        let answered = self.items.iter().find(|it| it.item == Item::Answered);
        if let Some(but) = answered.filter(|it| it.text.starts_with(BUT)) {
            return format!("it responds, {}", but.text);
        }
        if is_good && !self.needs_no_master && !self.shows_registration() {
            let place = if self.is_cut { "what fits into memory" } else { "this capture" };
            return format!("it answers clients; no registration in {place}");
        }
        let all_yes = self.decisive_items().all(|it| it.met == Met::Yes);
        let all_absent = self.decisive_items().all(ItemVerdict::is_absent);
        match (is_good, all_yes, all_absent) {
            (true, true, _) => "nothing is wrong",
            (true, false, _) => "nothing is wrong, as far as this capture tells",
            (false, _, true) if self.is_cut => {
                "too little of this capture fits into memory; see --memory"
            }
            (false, _, true) => "nothing of it is in this capture",
            (false, ..) => too_little(self.decisive_items()),
        }
        .to_owned()
    }
}

/// Servers that did not fit into memory.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut {
    /// The number of their addresses.
    pub servers: usize,
    /// There may be more.
    pub at_least: bool,
}

impl LeftOut {
    /// What a user should know, if there are any.
    pub fn note(self) -> Option<String> {
        let LeftOut { servers, at_least } = self;
        let at_least = if at_least { "at least " } else { "" };
        (servers > 0).then(|| {
            let servers = counted(servers as u64, "more server");
            format!("{at_least}{servers} did not fit into memory, and nothing is said of them; see --memory")
        })
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
    /// Where the capture was taken: as seen from all servers, if they agree.
    pub position: CapturePosition,
    /// The recording lost packets.
    pub is_lossy: bool,
    /// Number of digits of a second in the capture's times.
    pub digits: u8,
    /// Clients asked masters for lists.
    pub has_lists: bool,
    /// The attacks in the capture.
    pub attacks: Vec<Attack>,
    /// What was left out of these because of limits.
    pub omitted: Omitted,
    /// Packets of near protocols, which are not decoded.
    pub near: Vec<NamedTraffic>,
    /// Servers that did not fit into memory.
    pub left_out: LeftOut,
    /// What else was left out because of limits.
    pub cut: Option<&'static str>,
    /// They are of what gamewire asked by itself.
    pub of_probe: bool,
}

impl Diagnoses {
    /// The attacks on what is no server here, such as masters and victims of reflection: no server's items tell of them.
    pub fn other_attacks(&self) -> impl Iterator<Item = &Attack> {
        let is_here = |target: &SocketAddr| self.servers.iter().any(|it| it.has(target));
        self.attacks.iter().filter(move |attack| {
            attack.kind == AttackKind::Victim || !attack.targets.iter().any(is_here)
        })
    }

    /// What was left out because of limits, if anything was.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.note().into_iter().chain(self.cut.map(str::to_owned))
    }

    /// Whether something is wrong with a server, a client or a master.
    pub fn has_fault(&self) -> bool {
        if self.other_attacks().next().is_some() {
            return true;
        }
        let parties = self.clients.iter().chain(&self.masters).map(DiagnosedParty::outcome);
        let mut all = self.servers.iter().map(DiagnosedServer::outcome).chain(parties);
        all.any(|outcome| outcome == Outcome::Fault)
    }
}

/// Whether a cause is only a suspicion.
pub(in crate::diagnose) fn is_suspicion(cause: &Cause) -> bool {
    cause.kind == CauseKind::Suspicion
}
