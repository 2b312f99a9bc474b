//! Why players see a server, or do not.
//!
//! What must be so is a list of items, in the order in which they must happen; each protocol says which
//! of them its servers have, and which rules show that one is not so. Messages show what went well,
//! findings what did not; in the end the latest of both counts.

mod fact;
mod lists;
mod seat;
mod server;
mod verdict;
pub mod words;

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{
    Cause, Finding, Item, Map, Mark, Masters, Message, Purpose, RecentMap, Rule, Set, Symptom,
    Verdict as Ruled, Who,
};
use dissectors::ledger::Terms;

use crate::check::{Checker, Found, Selection};
use crate::session::{
    Event, Findings, FlowContext, IcmpEvent, MessageEvent, Messages, Needs, Value,
};
use crate::summary::described;

use lists::Lists;
use seat::Everywhere;
use server::Server;

pub use seat::Seat;
pub use verdict::{Diagnosed, Diagnoses, ItemVerdict, Outcome, Verdict};

/// Bytes of memory for which a server is kept.
const BYTES_OF_SERVER: usize = 1 << 13;

/// Bytes of memory for which a server of a list, or a packet, is remembered.
const BYTES_OF_FACT: usize = 1 << 7;

/// Reads the events of a capture, and diagnoses its servers.
pub struct Diagnosis {
    servers: Map<SocketAddr, Server>,
    /// The first server of each host: for what names no port.
    hosts: Map<IpAddr, SocketAddr>,
    most: usize,
    /// There were more servers than are kept.
    is_cut: bool,
    /// From which addresses servers speak to masters.
    aliases: RecentMap<SocketAddr, SocketAddr>,
    lists: Lists,
    /// Whose packets there were, and what for.
    sent: RecentMap<u64, Sent>,
    /// Whom each client asked last.
    asked: RecentMap<SocketAddr, SocketAddr>,
    /// Responses that nobody asked their senders for, and whom the client asked last.
    unasked: RecentMap<u64, SocketAddr>,
    /// Which client was challenged by which server, and for which kind of request; `None`: it had asked for
    /// just that, and whatever it asks next needs the challenge.
    challenged: RecentMap<[SocketAddr; 2], Option<&'static str>>,
    /// Packets that are remembered.
    remembered: usize,
    everywhere: Everywhere,
    /// Hosts that sent something.
    speakers: Set<IpAddr>,
    /// Masters that have challenged some server.
    challengers: Set<SocketAddr>,
    /// Judges what only all flows together show.
    checker: Checker,
    terms: Terms,
    /// The user vouches that the capture is complete.
    vouched: bool,
}

/// A packet to a server, or of one.
#[derive(Clone, Copy)]
struct Sent {
    server: SocketAddr,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// A client asks it. `follows`: it had challenged this client for that.
    Request { message: &'static Message, follows: bool },
    /// It speaks to a master.
    Join,
    /// It responds.
    Response,
}

/// The symptom that a finding is.
fn symptom(rule: &Rule, words: &str) -> Option<&'static Symptom> {
    let all = Id::ALL.iter().flat_map(|id| id.info().diagnosis.symptoms);
    let mut of_rule = all.filter(|symptom| symptom.rule.code == rule.code);
    of_rule.find(|symptom| words.contains(symptom.words))
}

/// Whether a finding says something about why players do not see a server.
pub fn concerns(found: &Found) -> bool {
    found.verdict == Ruled::Fail
        && (found.rule.code == dissectors::net_rules::NET014.code
            || symptom(found.rule, &found.detail).is_some())
}

/// Whether it depends on a rule if an item is so.
fn shows(rule: &Rule, item: Item) -> bool {
    let all = Id::ALL.iter().flat_map(|id| id.info().diagnosis.symptoms);
    all.into_iter().any(|symptom| symptom.rule.code == rule.code && symptom.item == item)
}

/// A finding that matters to a server.
struct Sign<'f> {
    rule: &'static Rule,
    verdict: Ruled,
    words: &'f str,
    frame: u64,
}

impl Diagnosis {
    /// Nothing known yet. It takes so many bytes of memory at most.
    pub fn new(bytes: usize, terms: Terms, vouched: bool) -> Diagnosis {
        Diagnosis {
            servers: Map::default(),
            hosts: Map::default(),
            most: (bytes / 2 / BYTES_OF_SERVER).max(16),
            is_cut: false,
            aliases: RecentMap::default(),
            lists: Lists::new(bytes / 8 / BYTES_OF_FACT),
            sent: RecentMap::default(),
            asked: RecentMap::default(),
            unasked: RecentMap::default(),
            challenged: RecentMap::default(),
            remembered: (bytes / 16 / BYTES_OF_FACT).max(16),
            everywhere: Everywhere::default(),
            speakers: Set::default(),
            challengers: Set::default(),
            checker: Checker::new(Selection::default(), terms, vouched),
            terms,
            vouched,
        }
    }

    /// Which events are read.
    pub fn needs(terms: &Terms) -> Needs {
        Needs {
            messages: Messages::All,
            findings: Findings::All { in_words: true },
            passes: true,
            icmp: true,
            ..Needs {
                fields: Needs::messages_with_fields().fields,
                ..Checker::needs(&Selection::default(), terms)
            }
        }
    }

    /// The next event of the capture.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Message(message) => self.message(message),
            Event::Checked(it) => {
                for finding in it.checked().findings {
                    self.finding(finding, it.context(), None);
                }
            }
            Event::CrossFlow(_) => self.checker.event(event),
            Event::Icmp(error) => self.icmp(error),
            Event::FlowEnded(_) => {}
        }
    }

    /// The server at one of these addresses, or that speaks to masters from it.
    fn resolve(&mut self, end: SocketAddr) -> Option<SocketAddr> {
        if self.servers.contains_key(&end) {
            return Some(end);
        }
        self.aliases.get_mut(&end, self.remembered).copied()
    }

    /// The server at an address, which is known from now on.
    fn server(&mut self, address: SocketAddr) -> Option<&mut Server> {
        if !self.servers.contains_key(&address) {
            if self.servers.len() >= self.most {
                self.is_cut = true;
                return None;
            }
            self.hosts.entry(address.ip()).or_insert(address);
            self.servers.insert(address, Server::default());
        }
        self.servers.get_mut(&address)
    }

    fn message(&mut self, event: &MessageEvent<'_>) {
        let context = event.context();
        // A datagram that was doubled on the way shows nothing new.
        let (Some(id), None) = (context.protocol, context.copy_of) else { return };
        let payload = event.payload();
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        self.everywhere.see(from.ip(), to.ip());
        if self.speakers.len() < self.remembered {
            self.speakers.insert(from.ip());
        }
        let purpose = event.message().purpose;
        let mut shown = Vec::new();
        let server = match (purpose, event.message().speaker) {
            (Purpose::ListRequest, _) => return self.list_asked(id, event),
            (Purpose::List, _) => self.list(event),
            (Purpose::Query | Purpose::ChallengeRequest, _) => self.query(id, event),
            (Purpose::Response | Purpose::ClientChallenge, _) => self.response(event, &mut shown),
            (Purpose::Join | Purpose::Heartbeat, _) => self.join(id, event, &mut shown),
            (Purpose::Challenge, _) => self.challenge(to, event, &mut shown),
            (Purpose::Check, _) => self.probe(id, event, &mut shown),
            (Purpose::ChallengeResponse, _) => {
                self.challenge_response(id, event, &mut shown, &[Item::Echo, Item::Info])
            }
            (Purpose::CheckResponse, Who::Server) => {
                let server = self.below(id, from);
                shown.push(Item::ProbeBack);
                server
            }
            (Purpose::CheckResponse, _) => {
                self.challenge_response(id, event, &mut shown, &[Item::Echo])
            }
            (Purpose::JoinResponse, _) => self.join_response(id, event, &mut shown),
            (Purpose::Quit, _) => self.quit(event),
            (Purpose::Authentication | Purpose::Other, _) => None,
        };
        let failed = self.findings(event);
        let Some(server) = server.and_then(|server| self.servers.get_mut(&server)) else { return };
        let own = from.ip() != to.ip() && matches!(event.message().speaker, Who::Server);
        match event.message().speaker {
            Who::Server if own => server.hops.server.see(context.hop_limit),
            Who::Client => server.hops.clients.see(context.hop_limit),
            Who::Master => server.hops.masters.see(context.hop_limit),
            _ => {}
        }
        if let Some(name) = event.message().describes.and_then(|it| {
            it.name.iter().find_map(|path| event.field(path)).map(|name| name.to_string())
        }) {
            server.name = Some(name.chars().take(256).collect());
        }
        for item in shown.into_iter().filter(|item| !failed.contains(item)) {
            server.good(item, frame);
        }
        if event
            .checked()
            .passes
            .iter()
            .any(|it| it.side.is_none() && shows(it.rule, Item::Heartbeats))
        {
            server.good(Item::Heartbeats, frame);
        }
    }

    /// A client asks a server.
    fn query(&mut self, id: Id, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        let message = event.message();
        let challenged = self.challenged.get_mut(&[from, to], self.remembered);
        let follows = challenged.is_some_and(|of| of.is_none_or(|of| of == message.name));
        let what = What::Request { message, follows };
        self.sent.insert(frame, Sent { server: to, what }, self.remembered);
        self.asked.insert(from, to, self.remembered);
        let server = self.server(to)?;
        server.query = Some(id);
        server.asked_by(from.ip());
        server.good(Item::Asked, frame);
        Some(to)
    }

    /// A server responds to a client.
    fn response(&mut self, event: &MessageEvent<'_>, shown: &mut Vec<Item>) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        let Some(reply) = event.reply() else {
            let asked = self.asked.get_mut(&to, self.remembered).copied();
            if let Some(asked) = asked.filter(|asked| *asked != from) {
                self.unasked.insert(frame, asked, self.remembered);
            }
            return self.servers.contains_key(&from).then_some(from);
        };
        let request = self.sent.get_mut(&reply.request, self.remembered).map(|sent| sent.what);
        self.sent.insert(frame, Sent { server: from, what: What::Response }, self.remembered);
        if event.message().purpose == Purpose::ClientChallenge {
            let of = match request {
                Some(What::Request { message, .. }) if message.purpose == Purpose::Query => {
                    Some(message.name)
                }
                _ => None,
            };
            self.challenged.insert([to, from], of, self.remembered);
            shown.push(Item::Challenges);
        }
        let timeout = self.terms.answer_timeout;
        let server = self.servers.get_mut(&from)?;
        server.good(Item::FromAsked, frame);
        shown.push(Item::Readable);
        if event.message().purpose == Purpose::ClientChallenge {
            return Some(from);
        }
        let taken = payload.time.since(reply.sent);
        server.slowest = server.slowest.max(taken.unsigned_abs());
        if taken > timeout {
            let text = format!("after {:.1} s", taken as f64 / 1e9);
            server.fact_mut(Item::InTime).bad(Cause::AnsweredLate, frame, text);
        } else {
            server.good(Item::InTime, frame);
        }
        let mut packets = Vec::new();
        payload.frames(&mut packets);
        server.packets = server.packets.max(packets.len());
        // Where some are in one packet, and others are not, only the latter can be cut short.
        match packets.len() {
            0 | 1 => server.in_one_packet = Some(frame),
            _ => shown.push(Item::Whole),
        }
        shown.push(Item::Answered);
        if let Some(What::Request { message, follows }) = request {
            if follows {
                shown.push(Item::Verified);
            }
            if let Some(kind) = server.kind(message.name) {
                kind.describes |= event.message().describes.is_some();
                kind.answered.good(frame);
            }
        }
        Some(from)
    }

    /// A server joins a master, or says that it is still there.
    fn join(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let (frame, time) = (payload.frame, payload.time);
        let address = self.announced(id, event)?;
        let game = masters(id).and_then(|it| it.game).and_then(|path| event.field(path));
        self.sent.insert(frame, Sent { server: address, what: What::Join }, self.remembered);
        let server = self.servers.get_mut(&address)?;
        if let Some(Value::Text(game)) = game {
            server.game = game.iter().copied().take(64).collect();
        }
        server.joins_at(time);
        // Nothing came to the challenge before.
        if let Some((challenge, _)) =
            server.challenged.take().filter(|_| !verdict::judges_silence(server))
        {
            let cause = Cause::ChallengeUnanswered;
            server.fact_mut(Item::Echo).bad(cause, challenge, "it joins anew instead");
        }
        let is_proven = server.fact(Item::Echo).good > 0 && server.fact(Item::Echo).run == 0;
        if event.message().purpose == Purpose::Heartbeat && is_proven {
            server.known = Some(frame);
        }
        shown.extend([Item::Join, Item::Stays]);
        Some(address)
    }

    /// The server that speaks to a master, which is known from now on.
    fn announced(&mut self, id: Id, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        let address = described::own_endpoint(event, from)?;
        if address != from {
            self.aliases.insert(from, address, self.remembered);
        }
        self.server(address)?.meets(to, id);
        Some(address)
    }

    /// A master challenges a server.
    fn challenge(
        &mut self,
        to: SocketAddr,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let address = self.resolve(to)?;
        if self.challengers.len() < self.most {
            self.challengers.insert(payload.from);
        }
        // A server may be challenged by a client, too, to see whether it is genuine.
        let server = self.servers.get_mut(&address).filter(|server| server.joins.is_some())?;
        let is_proven =
            [Item::Echo, Item::Info].map(|item| server.fact(item)).iter().all(|fact| fact.run == 0)
                && server.fact(Item::Echo).good > 0;
        server.known = is_proven.then_some(payload.frame);
        server.challenged = Some((payload.frame, payload.time));
        shown.push(Item::Challenged);
        Some(address)
    }

    /// A master checks a server: by a challenge, or by a probe of a port of its own.
    fn probe(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let to = event.payload().to;
        if masters(id).is_some_and(|it| it.probe_above.is_some()) {
            shown.push(Item::Probed);
            return self.below(id, to);
        }
        let address = self.challenge(to, event, shown)?;
        self.servers.get_mut(&address)?.known = None;
        Some(address)
    }

    /// The known server of which a master probes this address.
    fn below(&self, id: Id, probed: SocketAddr) -> Option<SocketAddr> {
        let above = masters(id).and_then(|it| it.probe_above).unwrap_or(0);
        let port = probed.port().checked_sub(above)?;
        let address = SocketAddr::new(probed.ip(), port);
        self.servers.contains_key(&address).then_some(address)
    }

    /// A server answers a master's challenge.
    fn challenge_response(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
        items: &[Item],
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let known = self.resolve(payload.from);
        let names_port = masters(id)
            .and_then(|it| it.query_port)
            .is_some_and(|path| event.field(path).is_some());
        // A client may be challenged, too, and answers in the same way.
        let address = match known {
            Some(address) => address,
            None if names_port || event.message().speaker == Who::Server => {
                self.announced(id, event)?
            }
            None => return None,
        };
        let server = self.servers.get_mut(&address)?;
        server.challenged = None;
        let proof = id.info().diagnosis.proof;
        let passes = event.checked().passes;
        let is_proven =
            proof.is_none_or(|proof| passes.iter().any(|it| it.rule.code == proof.code));
        if is_proven {
            shown.extend(items);
        } else {
            let text = "whether the answer is right cannot be told without the game's secret key";
            server.fact_mut(Item::Echo).open(Cause::KeyUnknown, payload.frame, text);
        }
        Some(address)
    }

    /// A master answers a registration.
    fn join_response(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let masters = masters(id)?;
        let address = self.resolve(payload.to)?;
        let server = self.servers.get_mut(&address)?;
        let status = masters.status.and_then(|(path, fine)| {
            let status = event.field(path).and_then(described::number);
            status.filter(|status| *status != fine)
        });
        let text = masters.refusal.and_then(|(path, _)| event.field(path));
        let text = text.map(|text| text.to_string().chars().take(256).collect::<String>());
        let said = text.as_ref().map_or(String::new(), |text| format!("\"{text}\""));
        if let Some(status) = status {
            let text = format!("status {status} {said}");
            let cause = Cause::RegistrationRefused;
            server.fact_mut(Item::Accepted).bad(cause, payload.frame, text.trim_end());
        } else if described::refuses(event) {
            server.fact_mut(Item::Accepted).bad(Cause::RegistrationRefused, payload.frame, said);
        } else {
            shown.push(Item::Accepted);
            server.told = text;
        }
        Some(address)
    }

    /// A server takes leave.
    fn quit(&mut self, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let address = self.resolve(payload.from)?;
        let server = self.servers.get_mut(&address)?;
        server.fact_mut(Item::Stays).bad(Cause::QuitSent, payload.frame, "a quit");
        Some(address)
    }

    /// A client asks a master for a list, or for the next page of one.
    fn list_asked(&mut self, id: Id, event: &MessageEvent<'_>) {
        if !described::begins_list(event) {
            return;
        }
        let (payload, masters) = (event.payload(), masters(id));
        let is_all = |(path, all): &(&str, &str)| {
            event.field(path).is_none_or(|value| match value {
                Value::Name(_) => false,
                value => value.to_string() == *all,
            })
        };
        let narrowed = masters.is_some_and(|it| !it.narrowed.iter().all(is_all));
        let game = masters.and_then(|it| it.game).and_then(|path| event.field(path));
        let game = match game {
            Some(Value::Text(game)) => game.iter().copied().take(64).collect(),
            _ => Vec::new(),
        };
        let ends = (payload.from, payload.to);
        self.lists.asked(ends, (payload.frame, payload.time), narrowed, game);
    }

    /// A master lists servers.
    fn list(&mut self, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let mut servers = Vec::new();
        described::each_listed(event, |server| servers.push(server));
        let ends = described::ends_list(event);
        self.lists.listed((payload.to, payload.from), payload.frame, ends, servers);
        None
    }

    /// What is wrong in a message; returns which items it shows not to be so.
    fn findings(&mut self, event: &MessageEvent<'_>) -> Vec<Item> {
        let (context, payload) = (event.context(), event.payload());
        let mut failed = Vec::new();
        for finding in event.checked().findings {
            let about = Some((payload.mark(), payload.from));
            failed.extend(self.finding(finding, context, about));
        }
        failed
    }

    /// Something was found; `about`: in a message that is here. Returns which item that shows not to be so.
    fn finding(
        &mut self,
        finding: &Finding,
        context: &FlowContext,
        about: Option<(Mark, SocketAddr)>,
    ) -> Option<Item> {
        let sender = |mark: &Mark| context.flow.ends_from(mark.side)[0];
        let recalled = finding.mark.map(|mark| (mark, sender(&mark)));
        let is_about_message = recalled.is_none();
        let (mark, sender) = recalled.or(about)?;
        let (rule, words) = (finding.rule, &*finding.detail);
        if is_lost_fragment(rule) {
            self.lost_fragment(context.flow.ends[0].ip(), mark.frame, words);
            return None;
        }
        let symptom = symptom(rule, words)?;
        let sign = Sign { rule, verdict: finding.verdict, words, frame: mark.frame };
        if symptom.item == Item::ListWhole {
            if sign.verdict == Ruled::Fail {
                for end in context.flow.ends {
                    if self.lists.given.contains_key(&end) {
                        self.lists.cut(end, sign.frame, words);
                    }
                }
            }
            return None;
        }
        let address = match rule.who {
            Who::Any => self.resolve(sender)?,
            Who::Server if self.resolve(sender).is_some() => self.resolve(sender)?,
            _ => {
                let ends = context.flow.ends;
                let speaks = ends.into_iter().find_map(|end| self.resolve(end));
                let probed = || ends.into_iter().find_map(|end| self.below(context.protocol?, end));
                speaks.or_else(probed)?
            }
        };
        self.sign(address, symptom, &sign);
        (is_about_message && sign.verdict != Ruled::Note).then_some(symptom.item)
    }

    /// A finding shows something of a server.
    fn sign(&mut self, address: SocketAddr, symptom: &Symptom, sign: &Sign<'_>) {
        let sent = self.sent.get_mut(&sign.frame, self.remembered).map(|sent| sent.what);
        let Some(server) = self.servers.get_mut(&address) else { return };
        let (frame, words) = (sign.frame, sign.words);
        match sign.verdict {
            Ruled::Note => {}
            Ruled::Inconclusive => {
                let cause = verdict::why_open(sign.rule);
                let fact = server.fact_mut(symptom.item);
                fact.open(cause, frame, words);
            }
            Ruled::Fail if symptom.item == Item::Answered => {
                let cause = match sent {
                    Some(What::Request { follows: true, .. }) => Cause::ChallengedRequestUnanswered,
                    _ => symptom.cause,
                };
                if cause != symptom.cause {
                    server.fact_mut(Item::Verified).bad(cause, frame, words);
                }
                unanswered(server, sent, cause, frame, words);
            }
            Ruled::Fail => server.fact_mut(symptom.item).bad(symptom.cause, frame, words),
        }
    }

    /// A datagram's fragments did not all come.
    fn lost_fragment(&mut self, sender: IpAddr, frame: u64, words: &str) {
        let Some(address) = self.hosts.get(&sender) else { return };
        if let Some(server) = self.servers.get_mut(address) {
            server.fact_mut(Item::Whole).bad(Cause::FragmentLost, frame, words);
        }
    }

    /// An ICMP error quotes a packet.
    fn icmp(&mut self, error: &IcmpEvent) {
        let Some(cause) = of_icmp(error) else { return };
        let Some(sent) = self.sent.get_mut(&error.message, self.remembered).copied() else {
            return;
        };
        let text = format!("{} says: {}", error.from, error.meaning);
        let Some(server) = self.servers.get_mut(&sent.server) else { return };
        match sent.what {
            What::Request { .. } => unanswered(server, Some(sent.what), cause, error.frame, &text),
            What::Join => server.fact_mut(Item::Challenged).bad(cause, error.frame, text),
            What::Response if cause == Cause::IcmpTooBig => {
                server.fact_mut(Item::Whole).bad(cause, error.frame, text);
            }
            // That a client is gone is no fault of the server's.
            What::Response => {}
        }
    }
}

/// A request was not answered.
fn unanswered(server: &mut Server, sent: Option<What>, cause: Cause, frame: u64, words: &str) {
    server.fact_mut(Item::Answered).bad(cause, frame, words);
    if let Some(What::Request { message, .. }) = sent
        && let Some(kind) = server.kind(message.name)
    {
        kind.answered.bad(cause, frame, words);
    }
}

fn masters(id: Id) -> Option<&'static Masters> {
    id.info().masters
}

/// Whether a rule is broken by a datagram whose fragments did not all come.
fn is_lost_fragment(rule: &Rule) -> bool {
    rule.code == dissectors::net_rules::NET005.code
}

/// What an ICMP error means, if it means that what was sent did not arrive for good.
fn of_icmp(error: &IcmpEvent) -> Option<Cause> {
    let is_v6 = error.from.is_ipv6();
    Some(match (is_v6, error.kind) {
        (false, [3, 3]) | (true, [1, 4]) => Cause::IcmpPort,
        (false, [3, 4]) | (true, [2, _]) => Cause::IcmpTooBig,
        (false, [3, 9 | 10 | 13]) | (true, [1, 1 | 5]) => Cause::IcmpProhibited,
        (false, [3, _]) | (true, [1, _]) => Cause::IcmpHost,
        _ => return None,
    })
}
