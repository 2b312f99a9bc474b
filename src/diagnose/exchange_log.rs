//! The exchanges between clients and servers, one by one: when each began, and how it ended.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Map, RecentMap, Time};

/// An exchange is kept for so many nanoseconds, because an incomplete response is reported late.
const KEPT: i64 = 60_000_000_000;

/// Requests of one kind from one socket to another: they and their repeats are one exchange.
type Key = ([SocketAddr; 2], &'static str);

/// A request.
pub(super) struct Request {
    /// The client and the server.
    pub(super) ends: [SocketAddr; 2],
    /// The name of its message.
    pub(super) kind: &'static str,
    pub(super) protocol: Id,
    pub(super) frame: u64,
    pub(super) time: Time,
    /// It asks for a challenge where it could hold one.
    pub(super) asks_for_challenge: bool,
    /// It asks for more than a challenge.
    pub(super) is_query: bool,
}

/// An exchange that has ended.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
    pub(super) kind: &'static str,
    pub(super) protocol: Id,
    /// The packet of its first request.
    pub(super) frame: u64,
    /// When it began.
    pub(super) begun: Time,
    /// Nanoseconds since the client's host began another exchange with this server.
    pub(super) gap: Option<i64>,
    /// Its first request asks for a challenge where it could hold one.
    pub(super) asks_for_challenge: bool,
    /// It asks for more than a challenge.
    pub(super) is_query: bool,
    /// The server sent a challenge.
    pub(super) is_challenged: bool,
    /// The client sent the request again after that.
    pub(super) is_returned: bool,
    /// The data that was asked for came.
    pub(super) is_answered: bool,
}

impl Exchange {
    /// Whether the server owes the client nothing, because the client did not return its challenge.
    pub(super) fn is_left_by_client(&self) -> bool {
        self.is_challenged && !self.is_returned && !self.is_answered
    }
}

/// The exchanges that have not ended.
#[derive(Default)]
pub(super) struct ExchangeLog {
    open: Map<Key, (Exchange, Time)>,
    /// When each may have ended, in the order of the capture.
    due: VecDeque<(Time, Key)>,
    /// When a host began its latest exchange with a server.
    latest: RecentMap<(IpAddr, SocketAddr), Time>,
    /// Those that have ended.
    ended: Vec<Exchange>,
    /// There were too many at a time.
    pub(super) is_cut: bool,
}

impl ExchangeLog {
    /// A client sends a request. `within`: an exchange without a message for so many nanoseconds has ended; `most`:
    /// how many may be open.
    pub(super) fn request(&mut self, request: &Request, within: i64, most: usize) {
        self.expire(request.time, within.max(KEPT));
        let &Request { ends: [client, server], kind, protocol, frame, time, .. } = request;
        let key = (request.ends, kind);
        let is_over = |(_, latest): &mut (Exchange, Time)| time.since(*latest) >= within;
        if self.open.get_mut(&key).is_some_and(is_over)
            && let Some((exchange, _)) = self.open.remove(&key)
        {
            self.ended.push(exchange);
        }
        if let Some((exchange, latest)) = self.open.get_mut(&key) {
            exchange.is_returned |= exchange.is_challenged;
            *latest = time;
        } else if self.open.len() < most {
            let host = (client.ip(), server);
            let before = self.latest.get_mut(&host, most).copied();
            self.latest.insert(host, time, most);
            let exchange = Exchange {
                client,
                server,
                kind,
                protocol,
                frame,
                begun: time,
                gap: before.map(|before| time.since(before)),
                asks_for_challenge: request.asks_for_challenge,
                is_query: request.is_query,
                is_challenged: false,
                is_returned: false,
                is_answered: false,
            };
            self.open.insert(key, (exchange, time));
        } else {
            self.is_cut = true;
            return;
        }
        self.due.push_back((time, key));
    }

    /// A server answers a request of this kind; `is_challenge`: only with a challenge, which the client must return.
    pub(super) fn response(
        &mut self,
        [client, server]: [SocketAddr; 2],
        kind: &'static str,
        time: Time,
        is_challenge: bool,
    ) {
        let key = ([client, server], kind);
        if is_challenge {
            if let Some((exchange, latest)) = self.open.get_mut(&key) {
                (exchange.is_challenged, exchange.is_returned) = (true, false);
                *latest = time;
                self.due.push_back((time, key));
            }
        } else if let Some((exchange, _)) = self.open.remove(&key) {
            self.ended.push(Exchange { is_answered: true, ..exchange });
        }
    }

    /// Ends the exchanges without a message for so long.
    fn expire(&mut self, now: Time, within: i64) {
        while let Some(&(time, key)) = self.due.front()
            && now.since(time) >= within
        {
            self.due.pop_front();
            if self.open.get(&key).is_some_and(|(_, latest)| *latest == time)
                && let Some((exchange, _)) = self.open.remove(&key)
            {
                self.ended.push(exchange);
            }
        }
    }

    /// The capture ends: what still waits has no answer if the capture goes on for long enough after it.
    /// `is_complete`: nothing comes after the capture.
    pub(super) fn finish(&mut self, end: Time, within: i64, is_complete: bool) {
        self.expire(end, if is_complete { 0 } else { within });
    }

    /// Takes those that have ended.
    pub(super) fn take(&mut self) -> Vec<Exchange> {
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

    fn ask(log: &mut ExchangeLog, frame: u64, seconds: i64) {
        let (ends, kind, protocol) = (ends(), "info_request", Id::ALL[0]);
        let time = Time(seconds * SECOND);
        let (asks_for_challenge, is_query) = (false, true);
        let request = Request { ends, kind, protocol, frame, time, asks_for_challenge, is_query };
        log.request(&request, 2 * SECOND, 100);
    }

    #[test]
    fn repeats_and_challenges_belong_to_one_exchange() {
        let mut log = ExchangeLog::default();
        ask(&mut log, 1, 0);
        ask(&mut log, 2, 1);
        log.response(ends(), "info_request", Time(SECOND + 1), true);
        ask(&mut log, 4, 2);
        log.response(ends(), "info_request", Time(2 * SECOND + 1), false);
        ask(&mut log, 6, 10);
        log.finish(Time(11 * SECOND), 2 * SECOND, false);
        let ended = log.take();
        assert_eq!(ended.len(), 1, "the last one may still be answered");
        assert!(ended[0].is_answered && ended[0].is_returned && ended[0].frame == 1);
        log.finish(Time(11 * SECOND), 2 * SECOND, true);
        assert!(!log.take()[0].is_answered);
    }

    #[test]
    fn a_challenge_that_is_not_returned_is_the_clients_fault() {
        let mut log = ExchangeLog::default();
        ask(&mut log, 1, 0);
        log.response(ends(), "info_request", Time(1), true);
        ask(&mut log, 3, 5);
        let ended = log.take();
        assert!(ended[0].is_left_by_client());
        log.finish(Time(20 * SECOND), 2 * SECOND, false);
        let ended = log.take();
        assert!(!ended[0].is_left_by_client() && ended[0].gap == Some(5 * SECOND));
    }
}
