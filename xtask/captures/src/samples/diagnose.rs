//! Samples for `gamewire diagnose`: servers that players do not see, each for another reason, and the same
//! servers without faults.

use crate::exchange::Setting;
use crate::samples::{Sample, play};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "diagnose-registration.pcap",
        shows: "six servers register with a Valve master, and are in the list that a client gets",
        make: || play(REGISTRATION, &VALVE, &[]).pcap(),
    },
    Sample {
        name: "diagnose-registration-faults.pcap",
        shows: "faults: the same six, and none is listed: the challenge is missing, or is not \
                answered, or is in the wrong byte order; keys are missing; a quit; and one that \
                does everything right and is not in the list",
        make: || play(include_str!("diagnose-registration-faults.txt"), &VALVE, &[]).pcap(),
    },
    Sample {
        name: "diagnose-text-master.pcap",
        shows: "three servers register with a master of the GameSpy text protocol, and a client gets the \
                list and asks them",
        make: || play(TEXT_MASTER, &GAMESPY1, &[]).pcap(),
    },
    Sample {
        name: "diagnose-text-master-faults.pcap",
        shows: "faults: the same three: a wrong code, an unanswered challenge, a heartbeat every 15 \
                minutes",
        make: || play(include_str!("diagnose-text-master-faults.txt"), &GAMESPY1, &[]).pcap(),
    },
    Sample {
        name: "diagnose-acr.pcap",
        shows: "three servers register with the master of AssaultCube Reloaded, and a client gets the list",
        make: || play(ACR, &HTTP, &[]).pcap(),
    },
    Sample {
        name: "diagnose-acr-faults.pcap",
        shows: "the same three, and players see none: one is rejected, one does not respond to the probe, one is listed with \
                another port",
        make: || play(include_str!("diagnose-acr-faults.txt"), &HTTP, &[]).pcap(),
    },
    Sample {
        name: "diagnose-queries.pcap",
        shows: "six servers are asked for their info and their players, and respond",
        make: || play(QUERIES, &A2S, &[]).pcap(),
    },
    Sample {
        name: "diagnose-queries-faults.pcap",
        shows: "faults: the same six: a closed port; responses from another address; responses only \
                to info; a challenge that is not accepted; a split response without its second part; \
                late responses",
        make: || play(include_str!("diagnose-queries-faults.txt"), &A2S, &[]).pcap(),
    },
    Sample {
        name: "diagnose-path.pcap",
        shows: "six servers are asked for their info, their players and their rules, and respond, one in \
                fragments",
        make: || play(PATH, &A2S, &[]).pcap(),
    },
    Sample {
        name: "diagnose-path-faults.pcap",
        shows: "faults: the same six: responses from another port; a firewall that rejects requests; \
                responses larger than the path's MTU; lost fragments; a challenge for each challenge; \
                truncated responses",
        make: || play(include_str!("diagnose-path-faults.txt"), &A2S, &[]).pcap(),
    },
    Sample {
        name: "diagnose-masters.pcap",
        shows: "eight servers register with masters of three protocols, and are in the lists that clients get",
        make: || play(MASTERS, &HTTP, &[]).pcap(),
    },
    Sample {
        name: "diagnose-masters-faults.pcap",
        shows: "faults: the same eight: a probe answered from another port; a server that the master does \
                not know; a registration without a response; a master that refuses connections; one that \
                does not challenge; a truncated list; a wrong challenge; more players than the maximum",
        make: || play(include_str!("diagnose-masters-faults.txt"), &HTTP, &[]).pcap(),
    },
];

const REGISTRATION: &str = include_str!("diagnose-registration.txt");
const TEXT_MASTER: &str = include_str!("diagnose-text-master.txt");
const ACR: &str = include_str!("diagnose-acr.txt");
const QUERIES: &str = include_str!("diagnose-queries.txt");
const PATH: &str = include_str!("diagnose-path.txt");
const MASTERS: &str = include_str!("diagnose-masters.txt");

const VALVE: Setting = Setting::udp(27015);
const GAMESPY1: Setting = Setting::udp(27900);
const HTTP: Setting = Setting::tcp(80);
const A2S: Setting = Setting::udp(27015);

/// The conversations that conform to the specifications.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    let all = [
        (REGISTRATION, VALVE),
        (TEXT_MASTER, GAMESPY1),
        (ACR, HTTP),
        (QUERIES, A2S),
        (PATH, A2S),
        (MASTERS, HTTP),
    ];
    all.map(|(script, setting)| (script.to_owned(), setting)).to_vec()
}
