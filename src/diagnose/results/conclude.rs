//! Conclusions at the end of a capture, from all flows together.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{CauseKind, Item, Map, Symptom, Verdict, causes, is_private};
use dissectors::net_rules::NET014;

use crate::check::{Checker, Selection};
use crate::diagnose::exchanges::kind_words::requests;
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::diagnose::server::belief;
use crate::diagnose::server::path;
use crate::diagnose::server::{Kind, Server};
use crate::diagnose::signs::{FindingSign, symptom};
use crate::diagnose::{CapturePosition, Diagnosis, ServerPacket, ServerPacketKind};
use crate::session::Totals;
use crate::text::{counted, grouped};

impl Diagnosis {
    /// Results that only all flows together show.
    pub(in crate::diagnose) fn across_flows(&mut self, read: &mut Totals) {
        let empty = Checker::new(Selection::default(), self.ledger_settings, self.complete);
        let checker = std::mem::replace(&mut self.checker, empty);
        let outcome = checker.outcome(Vec::new(), read);
        self.seems_lossy = outcome.seems_lossy;
        let mut elsewhere: Map<[SocketAddr; 2], u64> = Map::default();
        let findings = outcome.findings.iter();
        for ends in findings.filter_map(|found| Some([found.asked?, found.party?])) {
            *elsewhere.entry(ends).or_default() += 1;
        }
        // What is missing is counted by exchange.
        for found in outcome.findings.iter().filter(|found| !found.if_heard) {
            let sign = FindingSign {
                rule: found.rule,
                verdict: found.verdict,
                words: &found.detail,
                frame: found.frame(),
            };
            let silent = found.rule == &NET014;
            let Some(party) = found.party else { continue };
            if silent {
                self.silent(party, &sign);
                continue;
            }
            let Some(symptom) = symptom(found.rule, &found.detail) else { continue };
            if symptom.item == Item::FromAsked {
                let asked = found.asked.filter(|asked| {
                    let times = elsewhere.get(&[*asked, party]).copied().unwrap_or_default();
                    let from = self.translations.as_asked(*asked, party);
                    times >= NO_ACCIDENT || self.is_likely_for(*asked, from)
                });
                asked.into_iter().for_each(|asked| self.responds_elsewhere([asked, party], &sign));
            } else if let Some(server) = self.resolve(party) {
                let client = found.client.filter(|_| symptom.item == Item::Whole);
                self.sign(server, client, symptom, &sign);
            } else if symptom.item == Item::Whole {
                self.responds_elsewhere_in_part(party, &sign);
            }
        }
    }

    /// Parts of a response to a request to another port of this host came, and not all of them.
    fn responds_elsewhere_in_part(&mut self, from: SocketAddr, sign: &FindingSign<'_>) {
        let sent = self.sent.get_mut(sign.frame, self.remembered).copied();
        let Some(ServerPacket { server, what: ServerPacketKind::Part { request } }) = sent else {
            return;
        };
        self.responds_in_part(server, request, sign.frame);
        let Some(server_asked) = self.servers.get_mut(&server) else { return };
        server_asked.responds_from(server, from, sign.frame);
        server_asked.in_part += 1;
        // The rest may have come from yet another port.
        let why = Failure::new(&causes::CAPTURE_DROPS, sign.frame, sign.words);
        server_asked.fact_mut(Item::Whole).may_fail(why);
    }

    /// A server never responded, or a master never reacted to one.
    fn silent(&mut self, party: SocketAddr, sign: &FindingSign<'_>) {
        let sent = self.sent.get_mut(sign.frame, self.remembered).copied();
        let joins = sent.and_then(|sent| match sent.what {
            ServerPacketKind::Join { master } => Some((sent.server, master)),
            _ => None,
        });
        let server = joins.map_or(party, |(server, _)| server);
        let registers = self.servers.get(&server).and_then(|server| server.registers);
        let challenges =
            registers.is_some_and(|id| id.info().diagnosis.items.contains(&Item::Challenged));
        let cause = match (joins, challenges) {
            (None, _) => &causes::QUERIES_UNANSWERED,
            (Some(_), true) => &causes::JOIN_UNANSWERED,
            (Some(_), false) => &causes::REGISTRATION_UNANSWERED,
        };
        let master = joins.map(|(_, master)| master);
        let symptom = Symptom::of(&NET014, cause);
        // The finding is about all of its requests: it counts them.
        let known = self.servers.get_mut(&server).into_iter();
        for fact in known.flat_map(|known| known.facts_of(symptom.item, master)) {
            let is_same = |latest: &Failure| latest.cause == cause;
            let counts = joins.is_none() || sign.verdict == Verdict::Fail;
            if counts && fact.failure(joins.is_none()).is_some_and(is_same) {
                fact.fails_by(Vec::new());
            }
        }
        self.sign(server, joins.map(|_| party), &symptom, sign);
    }

    /// Whether a response from elsewhere is in place of one of the server that was asked, and not one to a request that
    /// the capture lacks: a server that answers requests to itself sends those, and a host with several addresses keeps
    /// the port.
    fn is_likely_for(&self, asked: SocketAddr, from: SocketAddr) -> bool {
        let answerer = self.servers.get(&from);
        let answers_itself = answerer.is_some_and(|it| it.fact(Item::FromAsked).good > 0);
        asked.ip() == from.ip() || asked.port() == from.port() && !answers_itself
    }

    /// A response came from an endpoint that was not asked.
    pub(in crate::diagnose) fn responds_elsewhere(
        &mut self,
        [asked, from]: [SocketAddr; 2],
        sign: &FindingSign<'_>,
    ) {
        let from = self.translations.as_asked(asked, from);
        let sent = self.sent.get_mut(sign.frame, self.remembered).map(|sent| sent.what);
        let is_challenge = matches!(sent, Some(ServerPacketKind::Response { to: None }));
        if sign.verdict == Verdict::Fail
            && let Some(server) = self.servers.get_mut(&asked)
        {
            server.responds_from(asked, from, sign.frame);
            server.answers_elsewhere += u64::from(!is_challenge);
        }
    }

    /// Results at the end of the capture, but for those of registrations.
    pub(in crate::diagnose) fn late_facts(
        &mut self,
        address: SocketAddr,
        server: &mut Server,
        read: &Totals,
        position: CapturePosition,
    ) {
        let whole = server.fact(Item::Whole);
        if let Some((frame, times)) = server.in_one_packet
            && whole.run == 0
            && whole.mended == 0
        {
            server.good(Item::Whole, frame);
            server.fact_mut(Item::Whole).good_beside_doubts(times);
        }
        path::suspect(server, position, self.ledger_settings.answer_timeout);
        if let Some(frame) = self.hosts.get(&address.ip()).and_then(|host| host.lost) {
            let text = "a fragment of a response of this host is lost, and it has several servers";
            server.fact_mut(Item::Whole).open(&causes::FRAGMENT_LOST, frame, text);
        }
        if let Some((frame, what)) = server.wrong.take()
            && server.fact(Item::Answered).run == 0
        {
            if server.fact(Item::Challenges).good > 0 && !server.fact(Item::Verified).is_known() {
                server.fact_mut(Item::Verified).open(&causes::REQUEST_WRONG, frame, &*what);
            }
            server.fact_mut(Item::Answered).open(&causes::REQUEST_WRONG, frame, what);
        }
        let asks_others = |client: &IpAddr| self.ask_several.contains(client);
        let may_be_others = server.clients.iter().any(asks_others);
        elsewhere(address, server, may_be_others);
        only_info(server);
        self.patterns(address, server, read);
        belief::conclude(server);
        if let Some(frame) = server.fact(Item::FromAsked).shown.first().copied()
            && server.fact(Item::PlayPort).open.is_none()
        {
            server.good(Item::PlayPort, frame);
        }
        of_one_kind(server, Item::Readable, 1);
        of_one_kind(server, Item::InTime, NO_ACCIDENT);
    }
}

/// Whether many responses of a server came from another address or port: all of them, those to some kinds of
/// requests or to one client, or one of ten. `may_be_others`: its clients ask others, too.
fn elsewhere(address: SocketAddr, server: &mut Server, may_be_others: bool) {
    let Some((from, cause, frame)) = server.elsewhere.first().copied() else { return };
    let count = server.responses_elsewhere;
    let all = count + server.fact(Item::FromAsked).good;
    // The only client to which that is so gets nothing else.
    let gets_others = |client| server.pattern.of_client(client).answered > server.answers_elsewhere;
    let is_of_one = server.only_failing(Item::FromAsked).is_some_and(|client| !gets_others(client));
    let is_much = 2 * count >= all || count >= NO_ACCIDENT && (is_of_one || 10 * count >= all);
    let is_mended =
        server.is_mended(Item::FromAsked, count) || server.pattern.was_explained_by(count);
    if !is_much || is_mended {
        return;
    }
    // Those that get answers from where they ask are elsewhere.
    let misses = |client: &&IpAddr| server.pattern.of_client(**client).answered == 0;
    let mut missing = server.clients.iter().filter(misses).peekable();
    let is_of_one_network = is_private(from.ip())
        && !is_private(address.ip())
        && missing.peek().is_some()
        && missing.all(|client| is_private(*client));
    if is_of_one_network {
        let cause = &causes::answers::NAT_LOOPBACK;
        let values: [(_, &dyn Display); 2] = [("from", &from), ("times", &grouped(count))];
        let frames = server.elsewhere.iter().map(|(.., frame)| *frame).take(3);
        let frames = Vec::from_iter(frames);
        server.fact_mut(Item::FromAsked).doubt(frames, Failure::with(cause, 0, &values));
        return;
    }
    let (count, all) = (grouped(count), counted(all, "response"));
    let values: [(_, &dyn Display); 3] =
        [("elsewhere", &count), ("responses", &all), ("from", &from)];
    // A request to the host that responds may be missing from the capture.
    if may_be_others && from.ip() != address.ip() && server.responses_elsewhere < NO_ACCIDENT {
        let why = Failure::with(cause, frame, &values);
        if server.fact(Item::FromAsked).good == 0 {
            server.fact_mut(Item::Answered).doubt(Vec::new(), why.clone());
        }
        server.fact_mut(Item::FromAsked).doubt(Vec::new(), why);
        return;
    }
    let toward = server.all_to_one(Item::FromAsked);
    let failure = |(.., frame): &(_, _, u64)| {
        let mut why = Failure::with(cause, *frame, &values);
        why.text.extend(toward.as_deref());
        why
    };
    let failures = server.elsewhere.iter().map(failure).collect();
    server.fact_mut(Item::FromAsked).fails_by(failures);
}

/// Whether a server answers some kinds of requests and never others.
fn only_info(server: &mut Server) {
    if server.fact(Item::Answered).good == 0 || server.kinds.is_empty() {
        return;
    }
    // If some requests with its challenge are answered, the challenge is not the reason for others.
    let verified = server.fact_mut(Item::Verified);
    let cause = verified.failure(true).map(|failure| failure.cause);
    let is_accepted = verified.good > 0;
    if is_accepted && cause == Some(&causes::CHALLENGED_REQUEST_UNANSWERED) {
        verified.fails_by(Vec::new());
    }
    let is_answered = |kind: &&Kind| kind.answered.good > 0;
    let fails = |kind: &Kind| kind.answered.failure(true).cloned();
    let is_silent = |kind: &&Kind| {
        let why = kind.answered.failure(true).map(|failure| failure.cause.kind);
        let is_proven = kind.answered.run >= NO_ACCIDENT || why == Some(CauseKind::Icmp);
        kind.answered.good == 0 && is_proven
    };
    let silent = server.kinds.iter().find(is_silent);
    let only_info = server.only_describes();
    let is_elsewhere = !server.elsewhere.is_empty();
    let failure = match silent.filter(|_| only_info && !is_elsewhere) {
        Some(kind) => fails(kind).map(|it| {
            let values: [(_, &dyn Display); 1] = [("kind", &requests(kind.name))];
            let mut only_info = Failure::with(&causes::ONLY_INFO_ANSWERED, it.frame, &values);
            only_info.text.extend(server.pattern.beside_silent_kinds());
            let is_silence = it.cause == &causes::QUERIES_UNANSWERED
                || is_accepted && it.cause == &causes::CHALLENGED_REQUEST_UNANSWERED;
            Failure { cause: if is_silence { only_info.cause } else { it.cause }, ..only_info }
        }),
        // Answered before, but no longer.
        None => server.kinds.iter().filter(is_answered).find_map(fails),
    };
    server.fact_mut(Item::Answered).fails_by(failure.into_iter().collect());
}

/// Whether a server's responses to one kind of request are always wrong, while most are correct:
/// often enough that it is not a coincidence.
fn of_one_kind(server: &mut Server, item: Item, least: u64) {
    let mut kinds = server.kinds.iter().filter_map(|kind| Some((kind.name, kind.never_met(item)?)));
    let Some((name, fact)) = kinds.find(|(_, fact)| fact.run >= least) else { return };
    if server.fact(item).failure(true).is_none() {
        let failures = fact.failures().iter().cloned();
        let failures = failures.map(|it| Failure {
            text: format!("{}, in each response to {}", it.text, requests(name)),
            ..it
        });
        let failures = failures.collect();
        server.fact_mut(item).fails_by(failures);
    }
}
