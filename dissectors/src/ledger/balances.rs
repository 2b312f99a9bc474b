//! Which ports get more packets than they send. Most packets that are no messages are of players, of
//! downloads, of other services: only these ports are looked at.

use std::hash::BuildHasher;
use std::net::SocketAddr;

use foldhash::fast::FixedState;

use super::game_port::asks_for_something;
use crate::kit::{Socket, Time};

/// A port is looked at from when it got so many more packets than it sent within a window.
const NOTICED: u32 = 16;

/// Number of counters; several ports may share one.
const BALANCES: usize = 1 << 12;

/// How many more packets ports got than they sent. Takes no memory before the first packet.
#[derive(Clone, Default)]
pub struct Balances(Vec<Balance>);

/// That of a port, in the latest window.
#[derive(Clone, Copy, Default)]
struct Balance {
    window: i64,
    packets: u32,
    /// Packets that ask for something: what it sends does not make these fewer.
    asking: u32,
}

impl Balances {
    /// A packet between these ends. `window`: of a flood, in nanoseconds. Returns for how many packets this one stands, if
    /// its receiver is to be looked at.
    pub fn see(
        &mut self,
        [from, to]: [SocketAddr; 2],
        bytes: &[u8],
        now: Time,
        window: i64,
    ) -> Option<u32> {
        if self.0.is_empty() {
            self.0 = vec![Balance::default(); BALANCES];
        }
        let window = now.0.div_euclid(window.max(1));
        // Nothing sends packets to itself: such a packet is forged.
        if from != to {
            let sender = self.of(from, window)?;
            sender.packets = sender.packets.saturating_sub(1);
        }
        let more = self.of(to, window)?.gets(bytes);
        (more >= NOTICED).then_some(more)
    }

    /// The balance of a port in this window.
    fn of(&mut self, port: SocketAddr, window: i64) -> Option<&mut Balance> {
        let hash = FixedState::with_seed(0x5EC0_0007).hash_one(Socket(port));
        let balance = self.0.get_mut(hash as usize % BALANCES)?;
        if balance.window != window {
            *balance = Balance { window, ..Balance::default() };
        }
        Some(balance)
    }
}

impl Balance {
    /// The port gets a packet. Returns how many more of them it got than it answered.
    fn gets(&mut self, bytes: &[u8]) -> u32 {
        self.packets = self.packets.saturating_add(1);
        self.asking = self.asking.saturating_add(u32::from(asks_for_something(bytes)));
        self.packets.max(self.asking)
    }
}
