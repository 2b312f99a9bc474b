//! Whether a server responds, as all exchanges with it show together.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Cause, CauseKind, Item, causes};

use super::repeated_answers::Surplus;
use super::{ChallengeLoops, ODD_NAMED, Odd, OddResponse, Server};
use crate::diagnose::Diagnosis;
use crate::diagnose::exchanges::pattern::PatternFailure;
use crate::diagnose::exchanges::{Exchange, Request};
use crate::diagnose::facts::{Failure, NO_ACCIDENT, NOT_WHOLE, is_too_much};
use crate::session::Totals;
use crate::summary::described;
use crate::text::{counted, grouped};

impl Diagnosis {
    /// What all exchanges with a server show together.
    pub(in crate::diagnose) fn patterns(
        &self,
        address: SocketAddr,
        server: &mut Server,
        read: &Totals,
    ) {
        server.pattern.shows_dates(read.passes_midnight());
        if server.reaches_nobody() {
            return;
        }
        self.excuse(address, server);
        self.too_few(server);
        server.late_challenges();
        too_doubtful(server, Item::Whole);
        too_doubtful(server, Item::Readable);
        if self.is_lossy(read) {
            proves_nothing(server);
            return;
        }
        odd_responses(server);
        challenged_again(server);
        too_many(server, Item::Whole);
        too_many(server, Item::Readable);
        too_many(server, Item::InTime);
        let from_elsewhere = server.fact(Item::FromAsked);
        if from_elsewhere.run > 0 || from_elsewhere.open.is_some() {
            return;
        }
        if is_mended(server) {
            return answers_repeatedly(server);
        }
        let why = server.fact(Item::Answered).failure(true).map(|failure| failure.cause);
        let answers = server.pattern.all.answered > 0;
        let is_accepted = server.fact(Item::Verified).good > 0;
        let is_guess = why.is_none_or(|why| why == &causes::QUERIES_UNANSWERED);
        if is_guess && let Some(known) = self.asked_at_wrong_address(address, server) {
            server.fact_mut(Item::Answered).fails_by(Vec::new());
            server.fact_mut(Item::Answered).open_by(known);
            return;
        }
        match why {
            // It answers them with challenges.
            None if is_looping(server) => only_challenges(server),
            None if server.fact(Item::Answered).good == 0 => self.silence(address, server, read),
            // What the unanswered requests have in common says more than that they are unanswered.
            None => in_common(server),
            Some(why) if answers && why == &causes::QUERIES_UNANSWERED => in_common(server),
            // Its challenge is not the reason where it accepted that before, and other kinds are still answered.
            Some(why)
                if why == &causes::CHALLENGED_REQUEST_UNANSWERED
                    && is_accepted
                    && server.pattern.ends_a_kind() =>
            {
                in_common(server);
            }
            // The cause says why; what they have in common still shows which.
            Some(why) if answers && why == &causes::CHALLENGED_REQUEST_UNANSWERED => {
                server.unanswered = server.pattern.failure().filter(|it| it.by.is_some());
            }
            // Its port is closed since it answered.
            Some(why) if answers && why.kind == CauseKind::Icmp => refused(server),
            Some(_) => {}
        }
        self.silent_like_all(server);
        answers_repeatedly(server);
        self.names_other_port(address, server);
    }

    /// A server may be silent because nobody answers.
    fn silent_like_all(&self, server: &mut Server) {
        let silence = server.unanswered.as_mut();
        if let Some(silence) = silence.filter(|silence| self.silences.explain(silence)) {
            let failure = silence.is_of_all().clone();
            server.fact_mut(Item::Answered).fails_by(vec![failure]);
        }
    }

    /// Why nothing can answer at an address, or what answers there instead.
    fn asked_at_wrong_address(&self, address: SocketAddr, server: &Server) -> Option<Failure> {
        let (all, frame) = (server.pattern.all, server.pattern.frame());
        if server.fact(Item::Answered).good > 0 || all.answered > 0 {
            return None;
        }
        if all.asked > 0 && is_relay(address.ip()) {
            return Some(Failure::with(&causes::answers::FAKE_ADDRESS, frame, &[]));
        }
        let other = self.other_answering(address).filter(|_| all.asked < NO_ACCIDENT)?;
        Some(Failure::with(&causes::answers::OTHER_PORT_ANSWERS, frame, &[("other", &other)]))
    }

    /// Another port of a server's host that answers.
    fn other_answering(&self, address: SocketAddr) -> Option<SocketAddr> {
        self.answering.get(&address.ip())?.iter().copied().find(|it| *it != address)
    }

    /// Where a server is silent, or no longer answers, another port of its host may be meant.
    fn names_other_port(&self, address: SocketAddr, server: &mut Server) {
        let Some(other) = self.other_answering(address) else { return };
        let is_over = server.pattern.answers_none_since();
        let answered = server.fact_mut(Item::Answered);
        let is_silence = |why: &Failure| {
            why.cause == &causes::QUERIES_UNANSWERED
                || why.cause == &causes::answers::SILENT_PERIOD && is_over
        };
        if answered.failure(true).is_some_and(is_silence) {
            answered.says_more(&format!("; {other} answers"));
        }
    }

    /// Whether a server is silent that, as far as is known, answers nothing.
    fn silence(&self, address: SocketAddr, server: &mut Server, read: &Totals) {
        let (all, frame) = (server.pattern.all, server.pattern.frame());
        // All of them returned a challenge, as far as is known.
        let verified = server.fact(Item::Verified);
        let are_returned = server.returned >= all.asked && verified.run == 0;
        let are_two = |why: &&Failure| why.cause == &causes::answers::TWO_CHALLENGES;
        let gives_two = verified.open.as_deref().filter(are_two).is_some();
        let answered = server.fact_mut(Item::Answered);
        if all.answered == 0 && all.asked >= NO_ACCIDENT && self.is_heard(address.ip(), read) {
            let text = format!("none of {} requests is answered", grouped(all.asked));
            if are_returned {
                let cause = &causes::CHALLENGED_REQUEST_UNANSWERED;
                answered.bad(cause, frame, &*text);
                if !gives_two {
                    server.fact_mut(Item::Verified).bad(cause, frame, text);
                }
            } else {
                answered.bad(&causes::QUERIES_UNANSWERED, frame, text);
            }
        }
    }

    /// That one or two requests are not answered proves no silence, unless the capture is complete.
    fn too_few(&self, server: &mut Server) {
        let asked = server.pattern.all.asked;
        for item in [Item::Verified, Item::Answered] {
            let fact = server.fact_mut(item);
            let is_few = fact.good == 0 && fact.run < NO_ACCIDENT && asked < NO_ACCIDENT;
            let is_silence = |why: &&Failure| {
                [&causes::QUERIES_UNANSWERED, &causes::CHALLENGED_REQUEST_UNANSWERED]
                    .contains(&why.cause)
            };
            let why = fact.failure(true).filter(is_silence);
            if let Some(why) = why.filter(|_| is_few && !self.complete).cloned() {
                fact.fails_by(Vec::new());
                fact.open(&causes::CAPTURE_TOO_SHORT, why.frame, why.text);
            }
        }
    }

    /// Requests of clients that ask wrongly are owed no answer.
    fn excuse(&self, address: SocketAddr, server: &mut Server) {
        let in_vain = |host: &IpAddr| Some(self.faulty.get(host)?.in_vain(address));
        let in_vain = server.clients.iter().filter_map(|host| Some((*host, in_vain(host)?)));
        let in_vain = Vec::from_iter(in_vain.filter(|(_, exchanges)| *exchanges > 0));
        if !in_vain.is_empty() {
            server.owed_nothing += in_vain.iter().map(|(_, exchanges)| exchanges).sum::<u64>();
            server.is_asked_otherwise_by(&Vec::from_iter(in_vain.iter().map(|(host, _)| *host)));
        }
        let is_left = self.excuse_challenges(server);
        let pattern = &server.pattern;
        let mut unanswered: Vec<_> = pattern
            .clients_missing()
            .map(|host| (host, pattern.of_client(host).missing()))
            .collect();
        // The first exchange may not have ended, however often its request was sent.
        let why = server.fact(Item::Answered).failure(true);
        if pattern.all.asked == 0 && why.is_some_and(|why| why.cause.kind != CauseKind::Icmp) {
            let asked = server.fact(Item::Asked).good;
            unanswered.extend(server.clients.iter().map(|host| (*host, asked)));
        }
        let is_faulty = |(host, missing): &(IpAddr, u64)| {
            self.faulty.get(host).is_some_and(|faults| faults.explain(address, *missing))
        };
        if unanswered.is_empty() || !unanswered.iter().all(is_faulty) {
            return self.settle(address, server);
        }
        let answers = server.pattern.all.answered > 0;
        // Those in another protocol are counted already.
        let others = unanswered.iter().filter(|(host, _)| in_vain.iter().all(|it| it.0 != *host));
        server.owed_nothing += others.map(|(_, missing)| missing).sum::<u64>();
        for item in [Item::Verified, Item::Answered] {
            let fact = server.fact_mut(item);
            fact.fails_by(Vec::new());
            if item == Item::Answered && answers {
                fact.good(0);
            }
            // That challenges are not returned says more.
            if fact.good == 0 && !(is_left && fact.open.is_some()) {
                fact.open(&causes::REQUEST_WRONG, 0, "the requests are wrong: see the client");
            }
        }
        server.pattern = Default::default();
    }

    /// What clients that ask wrongly miss does not count where others miss something, too.
    fn settle(&self, address: SocketAddr, server: &mut Server) {
        let Some(disputed) = server.disputed.take() else { return };
        let pattern = &server.pattern;
        let is_in_vain = |exchange: &Exchange| {
            let Request { client, protocol, .. } = exchange.request;
            let faults = self.faulty.get(&client.ip());
            faults.is_some_and(|faults| faults.in_vain(address) > 0)
                && !pattern.responds_in().contains(&protocol)
        };
        let is_wrong = |exchange: &Exchange| {
            let client = exchange.request.client.ip();
            let missing = pattern.of_client(client).missing();
            self.faulty
                .get(&client)
                .is_some_and(|faults| exchange.seems_wrong || faults.explain(address, missing))
        };
        let (owed, excused) =
            disputed.settle(|exchange| is_in_vain(exchange) || is_wrong(exchange));
        if excused.is_empty() || owed.all.missing() == 0 {
            return;
        }
        // Those in another protocol are counted already.
        server.owed_nothing += excused.iter().filter(|it| !is_in_vain(it)).count() as u64;
        let has_dates = pattern.has_dates();
        server.pattern = owed;
        server.pattern.shows_dates(has_dates);
        if server.pattern.is_accident() && !server.pattern.answers_none_since() {
            let answered = server.fact_mut(Item::Answered);
            answered.fails_by(Vec::new());
            answered.good(0);
        }
    }

    /// Where no client returns a server's challenge, it is unknown whether it accepts one. Returns whether that is so.
    fn excuse_challenges(&self, server: &mut Server) -> bool {
        let cause_of = |host: &IpAddr| self.faulty.get(host).and_then(|faults| faults.cause);
        let other_port = &causes::clients::CHALLENGE_OTHER_PORT;
        let not_returned = &causes::clients::CHALLENGE_NOT_RETURNED;
        let wrong = &causes::clients::CHALLENGE_WRONG;
        let returns_none = |host: IpAddr| cause_of(&host) == Some(not_returned);
        let only_rounds = server.left == 0
            && server.pattern.all.asked > 0
            && server.pattern.clients().all(returns_none);
        let verified = server.fact(Item::Verified);
        if !(server.left > 0 || only_rounds) || verified.good > 0 || verified.run > 0 {
            return false;
        }
        let any = |cause| server.left_by.iter().any(|host| cause_of(host) == Some(cause));
        let (cause, text) = if any(other_port) {
            (other_port, "no client returns its challenge from the port that got it")
        } else if any(wrong) {
            (&causes::REQUEST_WRONG, "no client returns the challenge that it got: see the client")
        } else if server.left > 0 && server.left_perhaps == server.left {
            (&causes::CAPTURE_DROPS, NOT_WHOLE)
        } else {
            (not_returned, "no client returns its challenge")
        };
        let frame = server.left_frame;
        for item in [Item::Verified, Item::Answered] {
            let fact = server.fact_mut(item);
            if fact.good == 0 && fact.run == 0 {
                fact.open(cause, frame, text);
            }
        }
        true
    }
}

/// The recording lost packets.
fn proves_nothing(server: &mut Server) {
    let is_answered = server.pattern.is_accident();
    for item in [Item::Verified, Item::Answered, Item::Whole] {
        let fact = server.fact_mut(item);
        let why = fact.failure(true).map(|failure| failure.cause.kind);
        if why.is_some_and(|why| why != CauseKind::Icmp)
            || why.is_none() && item == Item::Answered && !is_answered
        {
            let text = "the recording lost packets: what is missing proves nothing";
            fact.fails_by(Vec::new());
            fact.doubt(Vec::new(), Failure::new(&causes::CAPTURE_DROPS, 0, text));
        }
    }
}

/// ICMP errors answer what is unanswered.
fn refused(server: &mut Server) {
    if let Some(refused) = server.pattern.refused() {
        server.fact_mut(Item::Answered).fails_by(vec![refused.failure.clone()]);
        server.unanswered = Some(refused);
    }
}

/// What the unanswered requests have in common.
fn in_common(server: &mut Server) {
    // It is known to be at fault if it no longer answers what it did.
    let is_fault = server.fact(Item::Answered).failure(true).is_some();
    let found = server.pattern.failure();
    let found = found.or_else(|| is_fault.then(|| server.pattern.no_longer()));
    if let Some(mut found) = found.filter(|found| !responds_in_part(server, found)) {
        // Several kinds are never answered: whoever answers the other one knows no more.
        if found.failure.cause == &causes::answers::ONLY_SOME_KINDS
            && server.only_describes()
            && server.pattern.silent_kinds().count() > 1
        {
            let Failure { frame, ref values, .. } = found.failure;
            let kinds = values.iter().find(|(name, _)| *name == "kind");
            let kinds = kinds.map_or("", |(_, kinds)| kinds);
            found.failure = Failure::with(&causes::ONLY_INFO_ANSWERED, frame, &[("kind", &kinds)]);
            found.failure.text.extend(server.pattern.beside_silent_kinds());
        }
        if found.failure.cause == &causes::answers::SOMETIMES_UNANSWERED {
            found.failure.counts(server.exchanges);
        }
        server.fact_mut(Item::Answered).fails_by(vec![found.failure.clone()]);
        server.unanswered = Some(found);
    } else if server.pattern.may_be_more() && !responds_only_in_part(server) {
        let mut why = server.pattern.some_unanswered();
        why.counts(server.exchanges);
        server.fact_mut(Item::Answered).doubt(vec![why.frame], why);
    }
}

/// Whether a server answers requests so often that it is no accident. It answers them all the same.
fn answers_repeatedly(server: &mut Server) {
    let Surplus { further, many, most, first, .. } = server.surplus;
    let answered = server.fact(Item::Answered);
    let is_met = answered.failure(true).is_none() && answered.good > 0;
    if is_met && is_too_much(many, further + answered.good) {
        let values: [(_, &dyn Display); 2] =
            [("most", &grouped(most)), ("further", &grouped(further))];
        let why = Failure::with(&causes::answers::ANSWERS_REPEATED, first, &values);
        server.fact_mut(Item::Answered).open_by(why);
    }
}

/// Whether an address stands for a relay of Steam.
fn is_relay(host: IpAddr) -> bool {
    matches!(host, IpAddr::V4(host) if host.is_link_local())
}

/// Whether some of its responses are not whole.
fn responds_only_in_part(server: &Server) -> bool {
    server.in_part > 0 || server.fact(Item::Whole).failure(true).is_some()
}

/// Whether it answers the kind of request that is never answered, but not whole.
fn responds_in_part(server: &Server, found: &PatternFailure) -> bool {
    if responds_only_in_part(server) {
        return true;
    }
    let is_never = found.failure.cause == &causes::answers::ONLY_SOME_KINDS;
    let kind = found.by.as_ref().filter(|_| is_never);
    let answers =
        |name: &str| server.kinds.iter().any(|it| it.name == name && it.answered.good > 0);
    kind.is_some_and(|(_, kind)| answers(kind))
}

/// Whether unanswered requests got a response from elsewhere, or another challenge, and all are answered since.
fn is_mended(server: &Server) -> bool {
    let again = server.loops.iter().map(|loops| loops.times).sum::<u64>();
    server.pattern.was_explained_by(server.responses_elsewhere + again)
}

/// Whether it would answer requests is unknown: they get challenges only.
fn only_challenges(server: &mut Server) {
    let answered = server.fact_mut(Item::Answered);
    if !answered.is_known() {
        let text = "requests get challenges only, however often these are returned";
        answered.open(&causes::CHALLENGE_LOOP, 0, text);
    }
}

/// Whether it answers its own challenges with others.
fn is_looping(server: &Server) -> bool {
    let verified = server.fact(Item::Verified).failure(true);
    verified.is_some_and(|failure| failure.cause == &causes::CHALLENGE_LOOP)
}

/// It answers its own challenges with others, or gives two at a time.
fn challenged_again(server: &mut Server) {
    let verified = server.fact(Item::Verified);
    let unanswered = &causes::CHALLENGED_REQUEST_UNANSWERED;
    let is_open = verified.failure(true).is_none_or(|failure| failure.cause == unanswered);
    let is_accepted = verified.good > 0;
    let enough = if server.breaks_rounds { 1 } else { NO_ACCIDENT };
    // If some requests with its challenge are answered, others may be of a kind that never is, or be many.
    let proves = |loops: &&ChallengeLoops| {
        loops.times >= enough
            && (!is_accepted
                || server.pattern.never_answers(loops.kind, enough)
                || server.pattern.is_explained_by(loops.times))
    };
    let loops = server.loops.iter().find(proves);
    if let Some(loops) = loops.filter(|_| is_open && !server.pattern.is_over()) {
        let why = Failure::with(&causes::CHALLENGE_LOOP, loops.frame, &[]);
        server.fact_mut(Item::Verified).fails_by(vec![why]);
        return;
    }
    let (times, frame) = server.doubly_challenged;
    // Of two challenges, the one that a client returns may be the other program's.
    if times >= NO_ACCIDENT && is_open {
        let values: [(_, &dyn Display); 1] = [("times", &grouped(times))];
        let why = Failure::with(&causes::answers::TWO_CHALLENGES, frame, &values);
        let verified = server.fact_mut(Item::Verified);
        verified.fails_by(Vec::new());
        verified.doubt(vec![frame], why);
    }
}

impl Odd {
    /// What it shows.
    fn cause(&self) -> &'static Cause {
        match self {
            Odd::Nothing | Odd::Zeros => &causes::answers::ZERO_FILLED,
            Odd::Text(text) if described::is_refusal(text) => &causes::answers::REFUSED_IN_WORDS,
            Odd::Text(_) => &causes::answers::OTHER_PROTOCOL,
        }
    }
}

/// It sends something else than a response. Of texts that differ, the most frequent one is shown.
fn odd_responses(server: &mut Server) {
    let Some(most) = server.odd.iter().max_by_key(|odd| odd.times) else { return };
    let good = server.fact(Item::Readable).good;
    let cause = most.is.cause();
    let is_empty = |odd: &&OddResponse| odd.is == Odd::Nothing;
    let is_alike = |odd: &&OddResponse| odd.is.cause() == cause && is_empty(odd) == is_empty(&most);
    let alike = || server.odd.iter().filter(is_alike);
    let count: u64 = alike().map(|odd| odd.times).sum();
    let odd: u64 = server.odd.iter().map(|odd| odd.times).sum();
    if server.is_mended(Item::Readable, odd) {
        return;
    }
    let (times, text) = match &most.is {
        Odd::Nothing => (grouped(count), "are empty"),
        Odd::Zeros => (grouped(count), "hold only zeros"),
        Odd::Text(text) if described::is_refusal(text) => (counted(count, "time"), &**text),
        Odd::Text(text) => (grouped(count), &**text),
    };
    let one = most.client.filter(|_| good > 0 && alike().all(|odd| odd.client == most.client));
    let toward = one.map_or(String::new(), |client| format!(" to {client}"));
    let all = counted(odd + good, "response");
    let all = one.map_or(all.clone(), |client| format!("{all}, all to {client},"));
    let text = match &most.is {
        Odd::Text(_) => format!("\"{text}\"{toward}"),
        _ => text.to_owned(),
    };
    let values: [(_, &dyn Display); 3] = [("times", &times), ("all", &all), ("text", &text)];
    let mut frames = Vec::from_iter(alike().flat_map(|odd| odd.frames.iter().copied()));
    frames.sort_unstable();
    frames.truncate(ODD_NAMED);
    let failure = |frame: &u64| Failure::with(cause, *frame, &values);
    let failures: Vec<_> = frames.iter().map(failure).collect();
    let is_accident = !is_too_much(odd, odd + good);
    let readable = server.fact_mut(Item::Readable);
    match failures.first().filter(|_| is_accident) {
        Some(why) if readable.run == 0 => readable.doubt(frames, why.clone()),
        Some(_) => {}
        None => readable.fails_by(failures),
    }
}

/// Too many packets were cut for a condition to be met.
fn too_doubtful(server: &mut Server, item: Item) {
    let fact = server.fact_mut(item);
    if fact.failure(true).is_some() {
        return;
    }
    let Some((why, doubts, all)) = fact.doubtful_share() else { return };
    let text = format!("{} of {} responses: {}", grouped(doubts), grouped(all), why.text);
    let why = Failure { text, ..why.clone() };
    fact.doubt(vec![why.frame], why);
}

/// A condition is not met too often to be an accident, though it is met at other times.
fn too_many(server: &mut Server, item: Item) {
    let fact = server.fact(item);
    if fact.failure(true).is_some() {
        return;
    }
    let Some((latest, bad, all)) = fact.share() else { return };
    if server.is_mended(item, bad) {
        return;
    }
    let is_too_many = is_too_much(bad, all);
    let of_kind = || server.only_kind_failing(item, bad).map(|kind| format!(", all to {kind}"));
    let toward = server.all_to_one(item).or_else(of_kind).unwrap_or_default();
    let text = format!("{} of {} responses{toward}: {}", grouped(bad), grouped(all), latest.text);
    let failure = Failure { text, ..latest.clone() };
    let is_kept = failure.cause.unknown.contains(&item);
    match is_too_many {
        true => server.fact_mut(item).fails_by(vec![failure]),
        false if is_kept => {
            // The latest ones, too.
            server.fact_mut(item).fails_by(Vec::new());
            server.fact_mut(item).doubt(vec![failure.frame], failure);
        }
        false => {}
    }
}
