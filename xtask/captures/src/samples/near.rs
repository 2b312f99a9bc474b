//! Samples of other protocols that are near the supported ones, and of software that the
//! specifications exempt: nothing in them breaks a rule.

use crate::exchange::Setting;
use crate::samples::{Sample, play};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "near-protocols.pcap",
        shows: "protocols that are named and not decoded: GameSpy 2 and QR2, Frontlines: Fuel of War, \
                Quake 3, SA-MP, RakNet, the Steam Web API; no rule judges them",
        make: || play(include_str!("near-protocols.txt"), &QUERIES, &[]).pcap(),
    },
    Sample {
        name: "near-masters.pcap",
        shows: "masters of the GameSpy text protocol: a client of Deus Ex, which needs no validate \
                (a note), and another master that synchronises its list; no error",
        make: || play(include_str!("near-masters.txt"), &MASTERS, &[]).pcap(),
    },
    Sample {
        name: "near-players.pcap",
        shows: "a player who joins a Source server: the challenge of the game is not one of a query; \
                no error",
        make: || play(include_str!("near-players.txt"), &QUERIES, &[]).pcap(),
    },
];

/// Servers that are queried.
const QUERIES: Setting = Setting::udp(27015);

/// Masters.
const MASTERS: Setting = Setting::udp(28900);
