//! Clients that ask servers for challenges, and never for anything with one.

use std::net::SocketAddr;

use super::faults::SERVERS;
use crate::diagnose::exchanges::Exchange;
use crate::diagnose::facts::NO_ACCIDENT;
use crate::diagnose::facts::find_or_add::find_or_add;

/// What a client asks of each server.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct ChallengeRounds(Vec<Rounds>);

#[derive(Debug)]
struct Rounds {
    server: SocketAddr,
    /// Requests for a challenge that were answered, and the packet of the latest one.
    answered: u64,
    frame: u64,
    /// There are other requests.
    has_queries: bool,
}

impl ChallengeRounds {
    /// An exchange has ended.
    pub(in crate::diagnose) fn ended(&mut self, exchange: &Exchange) {
        let request = &exchange.request;
        let server = request.server;
        let new = || Rounds { server, answered: 0, frame: 0, has_queries: false };
        if let Some(rounds) = find_or_add(&mut self.0, SERVERS, |it| it.server == server, new) {
            rounds.has_queries |= request.is_query;
            if exchange.is_answered && !request.is_query {
                (rounds.answered, rounds.frame) = (rounds.answered + 1, request.frame);
            }
        }
    }

    /// The servers that are asked for challenges alone, how many they gave, and the latest packet.
    pub(in crate::diagnose) fn take_alone(
        &mut self,
    ) -> impl Iterator<Item = (SocketAddr, u64, u64)> + use<> {
        let alone = |it: &Rounds| it.answered >= NO_ACCIDENT && !it.has_queries;
        let all = std::mem::take(&mut self.0).into_iter();
        all.filter(alone).map(|it| (it.server, it.answered, it.frame))
    }
}
