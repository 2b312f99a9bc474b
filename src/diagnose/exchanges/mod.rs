//! The exchanges between clients and servers, one by one: when each began, and how it ended.

pub(in crate::diagnose) mod kind_words;
pub(in crate::diagnose) mod latest_queries;
pub(in crate::diagnose) mod pattern;

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Clock, Map, Purpose, RecentMap, Time};

use crate::diagnose::facts::Failure;

/// An exchange is kept for so many nanoseconds at least, because an incomplete response is reported late.
const KEPT: i64 = 60_000_000_000;

/// Requests of one kind from one socket to another: they and their repeats are one exchange.
type Key = ([SocketAddr; 2], &'static str);

/// Exchanges that have not ended, each with the time of its latest message.
type Open = Map<Key, (Box<Exchange>, Time)>;

/// A request.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Request {
    pub(in crate::diagnose) client: SocketAddr,
    pub(in crate::diagnose) server: SocketAddr,
    /// The name of its message.
    pub(in crate::diagnose) kind: &'static str,
    pub(in crate::diagnose) protocol: Id,
    pub(in crate::diagnose) frame: u64,
    pub(in crate::diagnose) time: Time,
    /// The challenge that it has.
    pub(in crate::diagnose) challenge: Option<i64>,
    /// How many nanoseconds before it the server gave the client that one, if that is known.
    pub(in crate::diagnose) challenge_age: Option<i64>,
    /// Its length in bytes.
    pub(in crate::diagnose) length: usize,
    /// See [`asks_for_data`].
    pub(in crate::diagnose) is_query: bool,
    /// Not all of it was recorded.
    pub(in crate::diagnose) is_cut: bool,
    /// It is wrong, and needs no answer; of an exchange, what the server has not answered yet.
    pub(in crate::diagnose) is_wrong: bool,
    /// It is right, and needs none either.
    pub(in crate::diagnose) is_optional: bool,
}

impl Request {
    /// What tells it from other exchanges between the same sockets.
    pub(in crate::diagnose) fn key(&self) -> &'static str {
        exchange_key(self.protocol, self.kind)
    }

    /// Whether it has the number of a challenge, and not one that asks for it.
    fn has_challenge(&self) -> bool {
        !matches!(self.challenge, None | Some(-1 | 0))
    }

    /// The number that it has in place of a challenge.
    pub(in crate::diagnose) fn appendix(&self) -> Option<i64> {
        let is_appended = self.is_query && !self.protocol.info().diagnosis.challenge_first;
        self.challenge.filter(|_| is_appended && !self.has_challenge())
    }
}

/// Whether a request asks for more than a challenge, or is the first step of that.
pub(in crate::diagnose) fn asks_for_data(protocol: Id, purpose: Purpose) -> bool {
    purpose == Purpose::Query || protocol.info().diagnosis.challenge_first
}

/// What tells requests of this kind from other exchanges between the same sockets. Where a request for a challenge begins
/// each exchange, what will be asked is not known then.
pub(in crate::diagnose) fn exchange_key(protocol: Id, kind: &'static str) -> &'static str {
    if protocol.info().diagnosis.challenge_first { "" } else { kind }
}

/// An exchange.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Exchange {
    /// Its first request.
    pub(in crate::diagnose) request: Request,
    /// How fast it follows others of the client's host with this server, and those of anybody.
    pub(in crate::diagnose) paces: [Pace; 2],
    /// The latest challenge of the server.
    challenge: Option<i64>,
    latest: LatestMessage,
    /// The latest challenge did not reach the client where it waits: it came from an address that was not asked, or was
    /// refused.
    is_astray: bool,
    /// The client sent the request again with a challenge.
    is_returned: bool,
    /// How many challenges it got.
    challenges: u64,
    /// The length of its latest request in bytes.
    pub(in crate::diagnose) length: usize,
    /// The server answered its own challenge with another one.
    pub(in crate::diagnose) is_challenged_again: bool,
    /// Two different challenges came, and nothing of the client between them.
    pub(in crate::diagnose) is_challenged_twice: bool,
    /// The data that was asked for came.
    pub(in crate::diagnose) is_answered: bool,
    /// Something else came in its place, as far as is known.
    pub(in crate::diagnose) is_odd: bool,
    /// By what came before it, a request of it seems to be wrong.
    pub(in crate::diagnose) seems_wrong: bool,
    /// An ICMP error came in its place.
    pub(in crate::diagnose) refusal: Option<Box<Failure>>,
}

/// Nanoseconds in which exchanges are counted: limits are per second or per minute.
pub(in crate::diagnose) const WINDOWS: [i64; 2] = [1_000_000_000, 60_000_000_000];

/// Exchanges that follow each other within so many nanoseconds are one burst: the usual pause of a client that asks again
/// and again is longer.
pub(in crate::diagnose) const PAUSE: i64 = 2_000_000_000;

/// How fast an exchange follows others.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct Pace {
    /// Nanoseconds since the one before it began.
    pub(in crate::diagnose) gap: Option<i64>,
    /// How many began before it in each of the [`WINDOWS`].
    pub(in crate::diagnose) before: [u32; WINDOWS.len()],
    pub(in crate::diagnose) burst: Burst,
}

/// The place of an exchange in a burst.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct Burst {
    /// When the burst began.
    pub(in crate::diagnose) begun: Time,
    /// How many began before it in the burst.
    pub(in crate::diagnose) before: u32,
}

/// When exchanges began.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    latest: Option<Time>,
    /// When each of the [`WINDOWS`] began, and how many began in it.
    windows: [(Time, u32); WINDOWS.len()],
    /// The latest one's.
    burst: Burst,
}

impl Begun {
    /// Another one begins.
    fn another(&mut self, now: Time) -> Pace {
        let latest = self.latest.replace(now);
        let gap = latest.map(|latest| now.since(latest));
        let Burst { begun, before } = self.burst;
        self.burst = match gap {
            None | Some(PAUSE..) => Burst { begun: now, before: 0 },
            Some(_) => Burst { begun, before: before.saturating_add(1) },
        };
        let mut pace = Pace { gap, burst: self.burst, ..Pace::default() };
        for (((began, count), length), before) in
            self.windows.iter_mut().zip(WINDOWS).zip(&mut pace.before)
        {
            if *count == 0 || now.since(*began) >= length {
                (*began, *count) = (now, 0);
            }
            *before = *count;
            *count = count.saturating_add(1);
        }
        pace
    }
}

/// The latest message of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LatestMessage {
    /// A request.
    Request,
    /// A request with the server's challenge.
    Returned,
    Challenge,
}

impl Exchange {
    /// One that begins with this request. `paces`: as in [`Exchange::paces`].
    pub(in crate::diagnose) fn new(request: Request, paces: [Pace; 2]) -> Exchange {
        Exchange {
            length: request.length,
            request,
            paces,
            challenge: None,
            latest: LatestMessage::Request,
            is_astray: false,
            is_returned: false,
            challenges: 0,
            is_challenged_again: false,
            is_challenged_twice: false,
            is_answered: false,
            is_odd: false,
            seems_wrong: false,
            refusal: None,
        }
    }

    /// The kind of its latest request, unless that only asks for the challenge with which each exchange begins.
    pub(in crate::diagnose) fn kind(&self) -> Option<&'static str> {
        let is_first = self.request.protocol.info().diagnosis.challenge_first
            && !self.request.has_challenge()
            && !self.is_answered
            && !self.is_challenged();
        (!is_first).then_some(self.request.kind)
    }

    /// Whether the server sent a challenge.
    pub(in crate::diagnose) fn is_challenged(&self) -> bool {
        self.challenge.is_some()
    }

    /// The server sends this challenge. `is_astray`: from an address that was not asked.
    fn challenged(&mut self, challenge: i64, is_astray: bool) {
        match self.latest {
            LatestMessage::Request => {}
            LatestMessage::Returned => self.is_challenged_again = true,
            LatestMessage::Challenge => {
                self.is_challenged_twice |= self.challenge != Some(challenge);
            }
        }
        let is_again = self.latest == LatestMessage::Challenge && self.challenge == Some(challenge);
        self.challenges += u64::from(!is_again);
        (self.challenge, self.latest) = (Some(challenge), LatestMessage::Challenge);
        self.is_astray = is_astray;
    }

    /// The client sends a request again.
    fn asked_again(&mut self, request: &Request) {
        self.is_returned |= self.is_continued_by(request);
        let owes_more = self.latest != LatestMessage::Challenge && !self.request.is_wrong;
        self.request.is_wrong = request.is_wrong && !owes_more;
        self.request.kind = request.kind;
        self.request.challenge_age = request.challenge_age;
        self.length = request.length;
        self.latest = match self.is_challenged() && self.challenge == request.challenge {
            true => LatestMessage::Returned,
            false => LatestMessage::Request,
        };
    }

    /// Whether the server owes the client nothing, because the client did not return its challenge.
    pub(in crate::diagnose) fn is_left_by_client(&self) -> bool {
        self.ends_with_challenge() && !self.is_astray
    }

    /// The same, because the client never got the challenge.
    pub(in crate::diagnose) fn goes_astray(&self) -> bool {
        self.ends_with_challenge() && self.is_astray
    }

    fn ends_with_challenge(&self) -> bool {
        self.is_challenged() && !self.is_returned && !self.is_answered
    }

    /// Whether the client got all that it may expect.
    pub(in crate::diagnose) fn is_owed_nothing(&self) -> bool {
        self.ends_with_challenge() || self.request.is_wrong && !self.is_answered
    }

    /// How many challenges the client did not return in such an exchange.
    pub(in crate::diagnose) fn challenges_left(&self) -> u64 {
        self.challenges
    }

    /// Whether a request is sent again while it waits. `latest`: the time of its latest message; `timeout`: how long
    /// that may be ago, in nanoseconds.
    fn is_repeated_by(&self, request: &Request, latest: Time, timeout: i64) -> bool {
        Clock { now: request.time, timeout }.waits(self.request.time, latest)
    }

    /// Whether a request returns its challenge, or what the client takes for it: of one that was cut, the length shows it.
    fn is_continued_by(&self, request: &Request) -> bool {
        let is_longer = request.is_cut && request.length > self.request.length;
        self.is_challenged()
            && (request.has_challenge() || is_longer || self.challenge == request.challenge)
    }
}

/// The exchanges that have not ended.
#[derive(Default)]
pub(in crate::diagnose) struct ExchangeLog {
    /// Those with a message since the latest turn.
    young: Open,
    /// Those whose latest message came between the two latest turns.
    old: Open,
    /// When the young ones became old.
    turned: Option<Time>,
    /// When a host began exchanges with a server, and when anybody did.
    begun: RecentMap<(Option<IpAddr>, SocketAddr), Begun>,
    /// Those that have ended.
    #[allow(clippy::vec_box, reason = "they are moved there, and not copied")]
    ended: Vec<Box<Exchange>>,
}

impl ExchangeLog {
    /// A client sends a request. `within`: an exchange without a message for so many nanoseconds has ended, unless the
    /// client then returns the challenge; `most`: how many may be open. Returns whether there was room.
    pub(in crate::diagnose) fn request(
        &mut self,
        request: Request,
        within: i64,
        most: usize,
    ) -> bool {
        let time = request.time;
        let key = ([request.client, request.server], request.key());
        match self.young.remove(&key).or_else(|| self.old.remove(&key)) {
            Some((mut exchange, latest))
                if exchange.is_repeated_by(&request, latest, within)
                    || exchange.is_continued_by(&request) =>
            {
                exchange.asked_again(&request);
                self.young.insert(key, (exchange, time));
                return true;
            }
            Some((exchange, _)) => self.ended.push(exchange),
            None => {}
        }
        if self.young.len() + self.old.len() >= most {
            return false;
        }
        let paces = [Some(request.client.ip()), None].map(|host| {
            let key = (host, request.server);
            self.begun.get_or_insert_with(key, Begun::default, most).another(time)
        });
        let exchange = Box::new(Exchange::new(request, paces));
        self.young.insert(key, (exchange, time));
        true
    }

    /// A server answers a request with this [`exchange_key`]; `challenge`: only with this one, which the client must
    /// return, and whether it comes from an address that was not asked. Returns whether one waited for that.
    pub(in crate::diagnose) fn response(
        &mut self,
        ends: [SocketAddr; 2],
        key: &'static str,
        time: Time,
        challenge: Option<(i64, bool)>,
    ) -> bool {
        if let Some((challenge, is_astray)) = challenge {
            let open = self.go_on(ends, key, time);
            return open.map(|exchange| exchange.challenged(challenge, is_astray)).is_some();
        }
        let Some(mut exchange) = self.remove(ends, key) else { return false };
        exchange.is_answered = true;
        self.ended.push(exchange);
        true
    }

    /// A server answers a request with this [`exchange_key`] with something that is no response. Returns whether one
    /// waited.
    pub(in crate::diagnose) fn odd_answer(
        &mut self,
        ends: [SocketAddr; 2],
        key: &'static str,
    ) -> bool {
        let Some(mut exchange) = self.remove(ends, key) else { return false };
        (exchange.is_answered, exchange.is_odd) = (true, true);
        self.ended.push(exchange);
        true
    }

    /// The exchange with this [`exchange_key`] that waits for its response, which goes on now.
    fn go_on(
        &mut self,
        ends: [SocketAddr; 2],
        key: &'static str,
        time: Time,
    ) -> Option<&mut Exchange> {
        let key = (ends, key);
        if let Some(old) = self.old.remove(&key) {
            self.young.insert(key, old);
        }
        let (exchange, latest) = self.young.get_mut(&key)?;
        *latest = time;
        Some(exchange)
    }

    /// Removes the exchange with this [`exchange_key`] that waits for its response.
    fn remove(&mut self, ends: [SocketAddr; 2], key: &'static str) -> Option<Box<Exchange>> {
        let key = (ends, key);
        let (exchange, _) = self.young.remove(&key).or_else(|| self.old.remove(&key))?;
        Some(exchange)
    }

    /// Whether an exchange with this [`exchange_key`] waits for its response.
    pub(in crate::diagnose) fn waits(&self, ends: [SocketAddr; 2], key: &'static str) -> bool {
        let key = (ends, key);
        self.young.contains_key(&key) || self.old.contains_key(&key)
    }

    /// The exchange with this [`exchange_key`] that waits for its response.
    fn waiting(&mut self, ends: [SocketAddr; 2], key: &'static str) -> Option<&mut Exchange> {
        let key = (ends, key);
        let open = self.young.get_mut(&key).or_else(|| self.old.get_mut(&key));
        open.map(|(exchange, _)| &mut **exchange)
    }

    /// An ICMP error answers a request of this kind, or one for a challenge with which each exchange begins.
    pub(in crate::diagnose) fn refuses(
        &mut self,
        ends: [SocketAddr; 2],
        kind: &'static str,
        why: &Failure,
    ) {
        for key in [kind, ""] {
            if let Some(exchange) = self.waiting(ends, key) {
                exchange.refusal = Some(Box::new(why.clone()));
            }
        }
    }

    /// The client's host refuses the challenge in such an exchange.
    pub(in crate::diagnose) fn refuses_challenge(
        &mut self,
        ends: [SocketAddr; 2],
        key: &'static str,
    ) {
        if let Some(exchange) = self.waiting(ends, key) {
            exchange.is_astray |= exchange.latest == LatestMessage::Challenge;
        }
    }

    /// Ends the exchanges without a message for long. A request comes now.
    pub(in crate::diagnose) fn turn(&mut self, now: Time) {
        let turned = *self.turned.get_or_insert(now);
        if now.since(turned) < KEPT {
            return;
        }
        self.turned = Some(now);
        self.end(|_, _| true, false);
        std::mem::swap(&mut self.young, &mut self.old);
    }

    /// The capture ends: what still waits has no answer if the capture goes on for long enough after it, or if none is
    /// due. `is_complete`: nothing comes after the capture.
    pub(in crate::diagnose) fn finish(&mut self, end: Time, within: i64, is_complete: bool) {
        let is_over = |exchange: &Exchange, latest| {
            // An ICMP error needs no time to show that it gets none.
            let is_settled = exchange.request.is_wrong || exchange.refusal.is_some();
            is_complete || is_settled || end.since(latest) >= within
        };
        self.end(is_over, true);
    }

    /// Ends the old exchanges, `and_young` ones, in the order of their requests, of which this is so, with the time of
    /// their latest message.
    fn end(&mut self, may_end: impl Fn(&Exchange, Time) -> bool, and_young: bool) {
        let mut ended = Vec::new();
        let mut end = |open: &mut Open| {
            let open = open.extract_if(|_, (exchange, latest)| may_end(exchange, *latest));
            open.for_each(|(_, (exchange, _))| ended.push(exchange));
        };
        end(&mut self.old);
        if and_young {
            end(&mut self.young);
        }
        ended.sort_unstable_by_key(|exchange| exchange.request.frame);
        self.ended.append(&mut ended);
    }

    /// Takes those that have ended.
    #[allow(clippy::vec_box, reason = "as they are kept")]
    pub(in crate::diagnose) fn take(&mut self) -> Vec<Box<Exchange>> {
        std::mem::take(&mut self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn ends() -> [SocketAddr; 2] {
        ["10.0.0.1:50000", "10.0.0.2:27015"].map(|end| end.parse().unwrap())
    }

    fn request(port: u16, frame: u64, seconds: i64) -> Request {
        let [mut client, server] = ends();
        client.set_port(port);
        let (kind, protocol, time) = ("info_request", Id::ALL[0], Time(seconds * SECOND));
        let (challenge, length, is_query) = (None, 25, true);
        let (is_wrong, is_optional, is_cut) = (false, false, false);
        Request {
            client,
            server,
            kind,
            protocol,
            frame,
            time,
            challenge,
            challenge_age: None,
            length,
            is_query,
            is_cut,
            is_wrong,
            is_optional,
        }
    }

    fn ask(log: &mut ExchangeLog, frame: u64, seconds: i64) {
        log.turn(Time(seconds * SECOND));
        assert!(log.request(request(50_000, frame, seconds), 2 * SECOND, 200));
    }

    fn ask_with(log: &mut ExchangeLog, challenge: i64, frame: u64, seconds: i64) {
        let request = Request { challenge: Some(challenge), ..request(50_000, frame, seconds) };
        assert!(log.request(request, 2 * SECOND, 100));
    }

    #[test]
    fn repeats_and_challenges_belong_to_one_exchange() {
        let mut log = ExchangeLog::default();
        ask(&mut log, 1, 0);
        ask(&mut log, 2, 1);
        log.response(ends(), "info_request", Time(SECOND + 1), Some((7, false)));
        ask_with(&mut log, 7, 4, 2);
        log.response(ends(), "info_request", Time(2 * SECOND + 1), None);
        ask(&mut log, 6, 10);
        log.finish(Time(11 * SECOND), 2 * SECOND, false);
        let ended = log.take();
        assert_eq!(ended.len(), 1, "the last one may still be answered");
        assert!(ended[0].is_answered && ended[0].is_returned && ended[0].request.frame == 1);
        log.finish(Time(11 * SECOND), 2 * SECOND, true);
        assert!(!log.take()[0].is_answered);
    }

    #[test]
    fn a_challenge_that_is_not_returned_is_the_clients_fault() {
        let mut log = ExchangeLog::default();
        ask(&mut log, 1, 0);
        log.response(ends(), "info_request", Time(1), Some((7, false)));
        ask(&mut log, 3, 5);
        let ended = log.take();
        assert!(ended[0].is_left_by_client());
        log.finish(Time(20 * SECOND), 2 * SECOND, false);
        let ended = log.take();
        assert!(
            !ended[0].is_left_by_client()
                && ended[0].paces.map(|pace| pace.gap) == [Some(5 * SECOND); 2]
        );
    }

    /// However late it is, and however often the server challenges the client again.
    #[test]
    fn a_challenge_that_is_returned_is_the_servers_turn() {
        let mut log = ExchangeLog::default();
        ask(&mut log, 1, 0);
        log.response(ends(), "info_request", Time(1), Some((7, false)));
        ask_with(&mut log, 7, 3, 20);
        log.response(ends(), "info_request", Time(20 * SECOND + 1), Some((8, false)));
        log.finish(Time(40 * SECOND), 2 * SECOND, false);
        let ended = log.take();
        assert!(ended.len() == 1 && !ended[0].is_left_by_client() && !ended[0].is_answered);
    }

    #[test]
    fn what_waits_for_long_takes_no_memory() {
        let mut log = ExchangeLog::default();
        for second in 0..1000 {
            // Repeats of one request, and requests of other ports that are never answered.
            ask(&mut log, second, second as i64);
            let other = request(second as u16, second, second as i64);
            assert!(log.request(other, 2 * SECOND, 200));
            assert!(log.young.len() + log.old.len() <= 200, "{second}");
        }
        let ended = log.take();
        assert!(ended.len() > 800 && ended.iter().all(|it| !it.is_answered));
    }
}
