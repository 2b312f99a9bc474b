//! What all scenarios of a run share.

use std::net::SocketAddr;

use super::faults::{Dice, Faults};
use super::player::Secret;
use crate::spoken::{PacketMaker, Tape};

/// What was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Datagrams, and messages of connections.
    pub requests: u64,
    /// Of these, those that are in no script.
    pub unknown: u64,
    /// What was sent.
    pub answers: u64,
    /// Answers that were withheld, because they are large and the client's address may be forged.
    pub withheld: u64,
    /// How often a script was played to its end.
    pub played: u64,
    /// The recording reached its maximum size before the end.
    pub is_cut: bool,
}

/// The state of a run.
pub(super) struct Run {
    pub(super) maker: PacketMaker,
    pub(super) tape: Tape,
    pub(super) faults: Faults,
    pub(super) seed: u64,
    /// Challenges of each client's own, if other hosts are allowed: they may have forged addresses.
    pub(super) secret: Option<Secret>,
    /// The number of clients so far.
    pub(super) clients: u64,
    pub(super) report: Report,
}

impl Run {
    /// The dice of the next client.
    pub(super) fn dice(&mut self) -> Dice {
        self.clients += 1;
        Dice::new(self.seed, self.clients)
    }

    /// Sends copies of a datagram from one socket to another; `send` sends one, and returns whether it could. They are
    /// recorded with one identification, because the way makes them, not the sender.
    pub(super) fn say_datagram(
        &mut self,
        [from, to]: [SocketAddr; 2],
        payload: &[u8],
        copies: usize,
        send: impl Fn() -> bool,
    ) {
        let packet = self.maker.datagram(from, to, payload);
        // What cannot be sent is lost, as on any way.
        for _ in (0..copies).filter(|_| send()) {
            self.report.answers += 1;
            if let Some(packet) = &packet {
                self.tape.keep(packet);
            }
        }
    }
}
