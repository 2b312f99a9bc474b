//! Unanswered exchanges that may be owed no answer: what their clients do is known only at the end.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Map;

use super::Pattern;
use crate::diagnose::exchanges::Exchange;

/// The unanswered exchanges by server.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "they are moved there, and not copied")]
pub(in crate::diagnose) struct Unanswered {
    by_server: Map<SocketAddr, Vec<Box<Exchange>>>,
    count: usize,
}

impl Unanswered {
    /// Keeps an exchange, unless it is answered, or there are so many already: returns it then.
    pub(in crate::diagnose) fn keep(
        &mut self,
        exchange: Box<Exchange>,
        most: usize,
    ) -> Option<Box<Exchange>> {
        if exchange.is_answered || self.count >= most {
            return Some(exchange);
        }
        self.count += 1;
        self.by_server.entry(exchange.request.server).or_default().push(exchange);
        None
    }

    /// Takes all of them, in the order in which they ended.
    #[allow(clippy::vec_box, reason = "as they are kept")]
    pub(in crate::diagnose) fn take(&mut self) -> Map<SocketAddr, Vec<Box<Exchange>>> {
        std::mem::take(self).by_server
    }
}

/// Unanswered exchanges with a server, some of which may be owed no answer.
#[derive(Debug)]
#[allow(clippy::vec_box, reason = "as they are kept")]
pub(in crate::diagnose) struct Disputed {
    /// The other exchanges.
    pattern: Pattern,
    exchanges: Vec<Box<Exchange>>,
}

impl Disputed {
    /// The pattern without the exchanges that are owed nothing, and these.
    #[allow(clippy::vec_box, reason = "as they are kept")]
    pub(in crate::diagnose) fn settle(
        self,
        is_owed_nothing: impl Fn(&Exchange) -> bool,
    ) -> (Pattern, Vec<Box<Exchange>>) {
        let Disputed { mut pattern, exchanges } = self;
        let (excused, owed): (Vec<_>, Vec<_>) =
            exchanges.into_iter().partition(|exchange| is_owed_nothing(exchange));
        owed.iter().for_each(|exchange| pattern.add(exchange));
        (pattern, excused)
    }
}

impl Pattern {
    /// Adds the unanswered exchanges. Returns them with what was before, if some of them may be owed no answer.
    /// `asks_wrongly`: whether a client may do so.
    #[allow(clippy::vec_box, reason = "as they are kept")]
    pub(in crate::diagnose) fn with_disputed(
        &mut self,
        exchanges: Vec<Box<Exchange>>,
        asks_wrongly: impl Fn(IpAddr) -> bool,
    ) -> Option<Box<Disputed>> {
        let is_doubtful = |exchange: &Exchange| {
            exchange.seems_wrong
                || !self.responds_in.contains(&exchange.request.protocol)
                || asks_wrongly(exchange.request.client.ip())
        };
        let before = (self.all.answered > 0 && exchanges.iter().any(|it| is_doubtful(it)))
            .then(|| self.clone());
        exchanges.iter().for_each(|exchange| self.add(exchange));
        before.map(|pattern| Box::new(Disputed { pattern, exchanges }))
    }
}
