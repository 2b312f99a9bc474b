//! Requests that are wrong by what came before them: something of that may be missing, and what follows shows it.

use std::net::SocketAddr;

use dissectors::kit::{Finding, NeededEvidence, causes};

use crate::diagnose::exchanges::Exchange;
use crate::diagnose::facts::Failure;
use crate::diagnose::facts::find_or_add::keep_latest;

/// Maximum number of each kind.
const KEPT: usize = 8;

/// The requests of a client that seem to be wrong.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct UnprovenFaults {
    /// Those that may be answered.
    waiting: Vec<(SocketAddr, &'static str, Unproven)>,
    /// Those that were not.
    unanswered: Vec<Unproven>,
    /// A server answers requests with another number of the session, as the specification lets it.
    may_change_session: bool,
    /// In this packet, the client had done several times in a row what it should do.
    mended: u64,
}

/// One of them, to this server.
#[derive(Debug)]
struct Unproven {
    server: SocketAddr,
    why: Failure,
    /// It is wrong only if the server answers others.
    if_others_are_answered: bool,
}

/// A request that was wrong.
pub(in crate::diagnose) struct SettledFault {
    pub(in crate::diagnose) why: Failure,
    /// The client does it right since.
    pub(in crate::diagnose) is_mended: bool,
    /// Only that the server answers others shows it.
    pub(in crate::diagnose) is_guess: bool,
}

/// Whether something that is missing before a request may explain why it seems to be wrong.
pub(in crate::diagnose) fn is_unproven(finding: &Finding) -> bool {
    finding.rule.needs == NeededEvidence::Beginning
}

impl UnprovenFaults {
    /// A request between these two, in an exchange with this key, seems to be wrong. `if_others_are_answered`: it is only
    /// if the server answers others.
    pub(in crate::diagnose) fn seen(
        &mut self,
        [client, server]: [SocketAddr; 2],
        key: &'static str,
        why: Failure,
        if_others_are_answered: bool,
    ) {
        let unproven = Unproven { server, why, if_others_are_answered };
        keep_latest(&mut self.waiting, KEPT, (client, key, unproven));
    }

    /// An exchange has ended: what the server answers is right. Returns how many wrong requests are in it, without those
    /// with a challenge that another port got: that one's exchange counts.
    pub(in crate::diagnose) fn ended(&mut self, exchange: &mut Exchange) -> u64 {
        let request = &exchange.request;
        let is_of = |(client, key, it): &mut (SocketAddr, &str, Unproven)| {
            (*client, it.server) == (request.client, request.server)
                && *key == request.key()
                && it.why.frame >= request.frame
        };
        let mut wrong = 0;
        for (.., unproven) in self.waiting.extract_if(.., is_of) {
            if exchange.is_answered {
                self.may_change_session |= unproven.is_of_session();
            } else {
                exchange.seems_wrong = true;
                wrong += u64::from(unproven.why.cause != &causes::clients::CHALLENGE_OTHER_PORT);
                keep_latest(&mut self.unanswered, KEPT, unproven);
            }
        }
        wrong
    }

    /// Only what these servers may not have answered is wrong.
    pub(in crate::diagnose) fn doubt_only(&mut self, is_heard: impl Fn(&SocketAddr) -> bool) {
        self.unanswered.retain(|unproven| is_heard(&unproven.server));
    }

    /// The client has done several times in a row what it should do.
    pub(in crate::diagnose) fn mended(&mut self, frame: u64) {
        self.mended = frame;
    }

    /// The requests that were wrong, the latest ones last.
    /// `answers_any`: whether a server answers anybody.
    pub(in crate::diagnose) fn take(
        &mut self,
        answers_any: impl Fn(&SocketAddr) -> bool,
    ) -> impl Iterator<Item = SettledFault> {
        let (mended, may_change) = (self.mended, self.may_change_session);
        let unanswered = std::mem::take(&mut self.unanswered).into_iter();
        let is_wrong = move |it: &Unproven| {
            (!it.if_others_are_answered || answers_any(&it.server))
                && !(may_change && it.is_of_session())
        };
        unanswered.filter(is_wrong).map(move |it| {
            let (is_mended, is_guess) = (it.why.frame <= mended, it.if_others_are_answered);
            SettledFault { why: it.why, is_mended, is_guess }
        })
    }
}

impl Unproven {
    /// Whether the request has another number than its session began with.
    fn is_of_session(&self) -> bool {
        self.why.cause == &causes::clients::SESSION_CHANGED
    }
}
