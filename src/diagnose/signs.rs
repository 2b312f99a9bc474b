//! What findings and ICMP errors show about servers.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{
    Cause, Finding, Item, Mark, NeededEvidence, Purpose, Role, Rule, Symptom, Transport, Verdict,
    causes,
};
use dissectors::net_rules::{NET005, NET014};

use super::{Diagnosis, ServerPacket, ServerPacketKind, is_clients_fault, masters};
use crate::check::ReportedFinding;
use crate::diagnose::facts::item_set::ItemSet;
use crate::diagnose::facts::{Failure, NOT_WHOLE};
use crate::diagnose::registration::is_of_registration;
use crate::diagnose::server::Server;
use crate::session::{FlowContext, IcmpEvent, MessageEvent};
use crate::text::grouped;

/// The symptom of a finding.
pub(super) fn symptom(rule: &Rule, words: &str) -> Option<&'static Symptom> {
    let all = Id::ALL.iter().flat_map(|id| id.info().diagnosis.symptoms);
    let mut of_rule = all.filter(|symptom| symptom.rule == rule);
    of_rule.find(|symptom| words.contains(symptom.words))
}

/// Both numbers of players, where a list has another one than it says.
pub(super) fn contradiction(event: &MessageEvent<'_>) -> Option<String> {
    let is_it = |found: &&Finding| {
        found.verdict == Verdict::Fail
            && symptom(found.rule, &found.detail)
                .is_some_and(|it| it.cause == &causes::answers::COUNTS_DISAGREE)
    };
    let findings = event.checked().findings;
    findings.iter().find(is_it).map(|found| found.detail.to_string())
}

/// Whether a finding may explain why players do not see a server.
pub fn concerns(found: &ReportedFinding) -> bool {
    found.verdict == Verdict::Fail
        && (found.rule == &NET014
            || symptom(found.rule, &found.detail).is_some_and(|it| !it.cause.no.is_empty()))
}

/// The rules that show whether a condition is met.
pub(super) fn rules_of(item: Item) -> impl Iterator<Item = &'static Rule> {
    let all = Id::ALL.iter().flat_map(|id| id.info().diagnosis.symptoms);
    all.filter(move |symptom| symptom.item == item).map(|symptom| symptom.rule)
}

/// A finding that matters for a server.
pub(super) struct FindingSign<'f> {
    pub(super) rule: &'static Rule,
    pub(super) verdict: Verdict,
    pub(super) words: &'f str,
    pub(super) frame: u64,
}
impl Diagnosis {
    /// Handles findings in a message; returns the conditions that are not met.
    pub(super) fn findings(&mut self, event: &MessageEvent<'_>) -> ItemSet {
        let (context, payload) = (event.context(), event.payload());
        let mut failed = ItemSet::default();
        // What a master gets is no response to a client.
        let is_registration =
            matches!(event.message().purpose, Purpose::ChallengeResponse | Purpose::CheckResponse);
        for finding in event.checked().findings {
            let item = || symptom(finding.rule, &finding.detail).map(|symptom| symptom.item);
            if is_registration && matches!(item(), Some(Item::Whole | Item::Readable)) {
                continue;
            }
            let about = Some((payload.mark(), payload.from));
            let is_cut = payload.lost && finding.verdict == Verdict::Inconclusive;
            if is_cut && event.reply().is_some() && item() == Some(Item::Whole) {
                // Counted with the response.
                failed.insert(Item::Whole);
                continue;
            }
            // What is missing in a packet that was cut is the recorder's fault.
            let is_of_cut = is_cut && why_open(finding.rule) == &causes::CAPTURE_DROPS;
            let failing = match is_of_cut {
                true => {
                    let cut = Finding { detail: NOT_WHOLE.into(), ..finding.clone() };
                    self.finding(&cut, context, about)
                }
                false => self.finding(finding, context, about),
            };
            failed.extend(failing);
        }
        failed
    }

    /// Handles a finding; `about`: in this message. Returns the condition that is not met.
    pub(super) fn finding(
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
        if rule == &NET005 {
            let is_lost = finding.verdict != Verdict::Inconclusive;
            self.lost_fragment(context, mark.frame, words, is_lost);
            return None;
        }
        let symptom = symptom(rule, words)?;
        let sign = FindingSign { rule, verdict: finding.verdict, words, frame: mark.frame };
        if symptom.item == Item::FromAsked {
            // The rule's own search is for the same: the latest request to the host.
            let client = context.flow.ends.into_iter().find(|end| *end != sender)?;
            let asked = self.asked.server(client, Some(sender.ip()), self.remembered)?;
            self.responds_elsewhere([asked, sender], &sign);
            return None;
        }
        if symptom.item == Item::ListWhole {
            if sign.verdict == Verdict::Fail
                && let Some(id) = context.protocol
            {
                self.list_is_cut(id, context.flow.ends, &sign);
            }
            return None;
        }
        // What a master gives, and how many players a server counts, is judged with the message.
        let is_counted = symptom.cause == &causes::answers::COUNTS_DISAGREE;
        if symptom.item == Item::GivesList || is_counted {
            return None;
        }
        if symptom.item == Item::WellFormed {
            // Faults of the request at hand are its client's already.
            if sign.verdict == Verdict::Fail
                && !is_clients_fault(&finding)
                && let Some(client) = self.client(sender.ip())
            {
                client.items.fact(Item::WellFormed).bad(symptom.cause, sign.frame, words);
            }
            return None;
        }
        let address = match rule.who {
            Role::Any => self.resolve(sender)?,
            Role::Server if self.resolve(sender).is_some() => self.resolve(sender)?,
            _ => {
                let ends = context.flow.ends;
                let speaks = ends.into_iter().find_map(|end| self.resolve(end));
                let probed = || ends.into_iter().find_map(|end| self.below(context.protocol?, end));
                speaks.or_else(probed)?
            }
        };
        let master = context.flow.ends.into_iter().find(|end| end.ip() != address.ip());
        self.sign(address, master, symptom, &sign);
        (is_about_message && sign.verdict != Verdict::Note).then_some(symptom.item)
    }

    /// A list between these two ends is not whole.
    fn list_is_cut(&mut self, id: Id, [one, other]: [SocketAddr; 2], sign: &FindingSign<'_>) {
        for (end, client) in [(one, other), (other, one)] {
            self.lists.cut(id, end, sign.frame, sign.words);
            if let Some(master) = self.service_of(id, end.ip()) {
                master.cut(client.ip(), sign.frame, sign.words);
            }
        }
    }

    /// A finding shows something about a server, and the master or client at the other end, if that is known.
    pub(super) fn sign(
        &mut self,
        address: SocketAddr,
        other: Option<SocketAddr>,
        symptom: &Symptom,
        sign: &FindingSign<'_>,
    ) {
        let sent = self.sent.get_mut(sign.frame, self.remembered).map(|sent| sent.what);
        let master = other.map(|other| other.ip());
        let Some(server) = self.servers.get_mut(&address) else { return };
        let (frame, words) = (sign.frame, sign.words);
        match sign.verdict {
            Verdict::Note => {}
            Verdict::Inconclusive => {
                let why = Failure::new(why_open(sign.rule), frame, words);
                server.doubts(master, symptom.item, &why);
            }
            Verdict::Fail if symptom.cause.no.is_empty() => {
                let why = Failure::new(symptom.cause, frame, words);
                server.doubts(master, symptom.item, &why);
            }
            Verdict::Fail if symptom.item == Item::Answered => {
                let cause = match sent {
                    Some(ServerPacketKind::Request { follows: true, .. }) => {
                        &causes::CHALLENGED_REQUEST_UNANSWERED
                    }
                    _ => symptom.cause,
                };
                if cause != symptom.cause {
                    server.fact_mut(Item::Verified).bad(cause, frame, words);
                }
                unanswered(server, sent, cause, frame, words);
            }
            Verdict::Fail => {
                let kind = match sent {
                    Some(ServerPacketKind::Response { to }) => to,
                    _ => None,
                };
                server.breaks_rounds |= symptom.cause == &causes::CHALLENGE_LOOP;
                let why = Failure::new(symptom.cause, frame, words);
                let rechallenged = server.registers.and_then(|id| id.info().diagnosis.rechallenged);
                if rechallenged == Some(symptom.cause)
                    && let Some(registration) = master.and_then(|master| server.with(master))
                {
                    registration.rechallenged.add(frame);
                }
                let port = other.filter(|_| is_of_registration(symptom.item));
                match port.and_then(|end| Some((end.port(), server.with(end.ip())?))) {
                    Some((port, registration)) => registration.fails_at(port, symptom.item, why),
                    None => server.fails(kind, master, symptom.item, &why),
                }
                master
                    .into_iter()
                    .for_each(|client| server.fails_toward(client, symptom.item, frame));
                if let Some(ServerPacketKind::Part { request }) = sent {
                    server.in_part += u64::from(symptom.item == Item::Whole);
                    self.responds_in_part(address, request, frame);
                }
            }
        }
    }

    /// Some fragments of a datagram are missing, or their bytes were not recorded. The sender's port is 0 if
    /// the fragment with it is missing.
    fn lost_fragment(&mut self, context: &FlowContext, frame: u64, words: &str, is_lost: bool) {
        let [sender, client] = context.flow.ends;
        // It has a number, too.
        self.identifications.other(sender.ip(), self.remembered);
        let Some(host) = self.hosts.get_mut(&sender.ip()) else { return };
        self.everywhere.sends(sender.ip(), context.hop_limit, context.direction);
        let server = match sender.port() {
            0 if host.has_more => {
                host.lost = Some(frame);
                return;
            }
            0 => host.server,
            _ => sender,
        };
        if let Some(server) = self.servers.get_mut(&server) {
            server.fails_toward(client.ip(), Item::Whole, frame);
            match is_lost {
                true => server.fact_mut(Item::Whole).bad(&causes::FRAGMENT_LOST, frame, words),
                false => {
                    let why = Failure::new(why_open(&NET005), frame, words);
                    server.fact_mut(Item::Whole).may_fail(why);
                }
            }
            server.in_part += 1;
        }
        let asked = self.latest_query(sender, client);
        if let Some(query) = asked.filter(|query| query.frame < frame) {
            self.responds_in_part(sender, query.frame, frame);
        }
    }

    /// A part of a response came, or one that cannot be read: the server responds.
    pub(super) fn responds_in_part(&mut self, server: SocketAddr, request: u64, frame: u64) {
        let request = self.sent.get_mut(request, self.remembered).map(|sent| sent.what);
        let Some(server) = self.servers.get_mut(&server) else { return };
        let Some(ServerPacketKind::Request { kind, follows, .. }) = request else { return };
        server.good_of(Some(kind), Item::Answered, frame);
        if follows {
            server.good(Item::Verified, frame);
        }
    }

    /// An ICMP error quotes a packet.
    pub(super) fn icmp(&mut self, error: &IcmpEvent) {
        self.identifications.other(error.from, self.remembered);
        let refused = error.ends[1].ip();
        if error.message > 0 && self.hosts.contains_key(&refused) {
            self.everywhere.refuses(refused, error);
        }
        let Some(cause) = of_icmp(error) else { return };
        if error.transport == Transport::Udp && cause != &causes::ICMP_TOO_BIG {
            self.game_messages.refused(error);
        }
        if error.transport == Transport::Tcp {
            // Of a packet that is too large, a smaller one follows.
            if cause != &causes::ICMP_TOO_BIG {
                let why = Failure::new(cause, error.frame, in_words(error));
                self.connection_fails(error.ends, why);
            }
            return;
        }
        let sent = self.sent.get_mut(error.message, self.remembered).map(|sent| {
            // It is not the challenge that fails it.
            if let ServerPacketKind::Request { follows, .. } = &mut sent.what {
                *follows = false;
            }
            *sent
        });
        let text = in_words(error);
        match sent {
            Some(ServerPacket {
                server,
                what: what @ (ServerPacketKind::Request { .. } | ServerPacketKind::Join { .. }),
            }) => {
                let Some(server) = self.servers.get_mut(&server) else { return };
                match what {
                    ServerPacketKind::Join { master } => {
                        let why = Failure::new(cause, error.frame, text);
                        server.fails(None, Some(master), Item::Challenged, &why);
                    }
                    ServerPacketKind::Request { kind, .. } => {
                        let why = Failure::new(cause, error.frame, &*text);
                        self.log.refuses(error.ends, kind, &why);
                        unanswered(server, Some(what), cause, error.frame, &text);
                    }
                    _ => {}
                }
            }
            // A client's request to a master.
            None if self.masters.contains_key(&error.ends[1].ip())
                && cause != &causes::ICMP_TOO_BIG =>
            {
                let (client, address) = (error.ends[0].ip(), error.ends[1]);
                if let Some(client) = self.clients.get_mut(&client) {
                    client.masters.is_refused(address, &text);
                }
                if let Some(master) = self.service_at(address) {
                    let why = Failure::new(cause, error.frame, text);
                    master.cannot_be_reached(client, why);
                }
            }
            // A response, or a part of an incomplete one.
            _ if cause == &causes::ICMP_TOO_BIG => {
                let [from, _] = error.ends;
                let Some(server) = self.servers.get_mut(&from) else { return };
                server.too_large = Some(error.message);
                server.fact_mut(Item::Whole).bad(cause, error.frame, text);
            }
            Some(ServerPacket { what: ServerPacketKind::Response { .. }, .. }) => {
                self.challenge_refused(error.ends);
                self.response_refused(error, cause);
            }
            // A packet of a response that has several.
            _ if self.is_response(error.ends) => self.response_refused(error, cause),
            _ => {
                self.probe_refused(error, cause, &text);
                self.masters_challenge_refused(error, cause, text);
            }
        }
    }

    /// A challenge of a master does not reach the server that joined it.
    fn masters_challenge_refused(
        &mut self,
        error: &IcmpEvent,
        cause: &'static Cause,
        text: String,
    ) {
        let [master, joined] = error.ends;
        let server = self.resolve(joined).and_then(|server| self.servers.get_mut(&server));
        let registration = server.and_then(|server| server.with(master.ip()));
        if let Some(registration) = registration.filter(|_| cause.no.contains(&Item::Echo)) {
            let why = Failure::new(cause, error.frame, text);
            registration.fails_at(master.port(), Item::Echo, why);
        }
    }

    /// A client's host refuses what may be a challenge.
    fn challenge_refused(&mut self, [server, client]: [SocketAddr; 2]) {
        let Some(query) = self.latest_query(server, client) else { return };
        for (_, key) in query.kinds() {
            self.log.refuses_challenge([client, server], key);
        }
    }

    /// A server's host refuses the probe of a master.
    fn probe_refused(&mut self, error: &IcmpEvent, cause: &'static Cause, text: &str) {
        let [master, probed] = error.ends;
        let mut all = Id::ALL.iter();
        let server = all.find_map(|id| self.below(*id, probed).filter(|_| is_probing(*id)));
        let server = server.and_then(|server| self.servers.get_mut(&server));
        if let Some(registration) = server.and_then(|server| server.with(master.ip()))
            && cause.no.contains(&Item::ProbeBack)
        {
            registration.fact_mut(Item::ProbeBack).bad(cause, error.frame, text);
        }
    }
}

/// Whether the masters of a protocol probe servers at a port of their own.
fn is_probing(id: Id) -> bool {
    masters(id).is_some_and(|it| it.probe_above.is_some())
}

/// A request was not answered.
fn unanswered(
    server: &mut Server,
    sent: Option<ServerPacketKind>,
    cause: &'static Cause,
    frame: u64,
    words: &str,
) {
    let kind = match sent {
        // What a challenge would have been for is unknown.
        Some(ServerPacketKind::Request { message, kind, .. })
            if message.purpose == Purpose::Query =>
        {
            Some(kind)
        }
        _ => None,
    };
    server.fails(kind, None, Item::Answered, &Failure::new(cause, frame, words));
}
/// What an ICMP error says.
fn in_words(error: &IcmpEvent) -> String {
    let mut text = format!("{} says: {}", error.from, error.meaning);
    if let Some(mtu) = error.mtu {
        text += &format!("; packets of at most {} bytes pass", grouped(mtu.into()));
    }
    text
}

/// The cause that an ICMP error shows, if it means that the packet was lost for good.
fn of_icmp(error: &IcmpEvent) -> Option<&'static Cause> {
    let is_v6 = error.from.is_ipv6();
    Some(match (is_v6, error.kind) {
        (false, [3, 3]) | (true, [1, 4]) => &causes::ICMP_PORT,
        (false, [3, 4]) | (true, [2, _]) => &causes::ICMP_TOO_BIG,
        (false, [3, 9 | 10 | 13]) | (true, [1, 1 | 5]) => &causes::ICMP_PROHIBITED,
        // Routers that send packets back to each other have no route to the host either.
        (false, [3, _] | [11, 0]) | (true, [1, _] | [3, 0]) => &causes::ICMP_HOST,
        _ => return None,
    })
}

/// Why the result of a rule is unknown, by what the rule needs.
pub(super) fn why_open(rule: &Rule) -> &'static Cause {
    match rule.needs {
        NeededEvidence::Beginning => &causes::CAPTURE_STARTS_LATE,
        NeededEvidence::Message | NeededEvidence::Interval => &causes::CAPTURE_DROPS,
        NeededEvidence::Response => &causes::CAPTURE_TOO_SHORT,
    }
}
