//! Plays a part to one client: finds what was said in the script, and what is to be said then.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

use super::heard::{Challenge, Heard};
use super::part::{Cue, Demand, Expected, Item, Line, Part};

/// What a client did.
#[derive(Clone)]
pub(super) enum Did {
    Opened,
    Sent(Heard),
    /// It sent bytes that are no message.
    Unread,
    /// It sent a datagram beside the connection.
    Datagram,
}

/// What is said in return.
#[derive(Default)]
pub(super) struct Reaction {
    pub(super) lines: Vec<Line>,
    /// The script ends with the last line.
    pub(super) ends: bool,
    /// What was said was in the script.
    pub(super) is_known: bool,
    /// The client has returned a challenge of this server, which the script does not look at.
    pub(super) ignores_challenge: bool,
}

impl Reaction {
    /// Whether it gives a challenge.
    pub(super) fn gives_challenge(&self) -> bool {
        self.lines.iter().any(|line| !line.challenges.is_empty())
    }
}

/// Challenges that differ for each client, in place of those of the script: only who receives an answer can return
/// them.
#[derive(Default)]
pub(super) struct Secret(RandomState);

impl Secret {
    /// What a client gets in place of a challenge.
    fn instead(&self, client: SocketAddr, challenge: u32) -> u32 {
        // Without the sign, which some protocols write as text.
        (self.0.hash_one((client, challenge)) >> 33) as u32
    }
}

/// The state of one client.
#[derive(Clone)]
pub(super) struct Player {
    client: SocketAddr,
    /// The item that is expected next.
    next: usize,
    /// Timestamps of the script, and what the client chose in their place.
    timestamps: Vec<(Vec<u8>, Vec<u8>)>,
    /// The challenges that this client was given, at its port.
    given: Vec<u32>,
    /// How often each item was heard before.
    heard: HashMap<usize, u32>,
    /// It has returned a challenge.
    pub(super) is_proven: bool,
}

impl Player {
    pub(super) fn new(client: SocketAddr) -> Player {
        Player {
            client,
            next: 0,
            timestamps: Vec::new(),
            given: Vec::new(),
            heard: HashMap::new(),
            is_proven: false,
        }
    }

    /// Whether the script goes on after what was said so far.
    pub(super) fn is_within(&self) -> bool {
        self.next > 0
    }

    /// What is said in return. With a `secret`, challenges are the client's own.
    pub(super) fn react(&mut self, part: &Part, did: Did, secret: Option<&Secret>) -> Reaction {
        let did = self.translated(part, did, secret);
        let Some(at) = self.place(part, &did) else { return Reaction::default() };
        let mut ignores_challenge = false;
        if let (Did::Sent(heard), Some(Item::Hear(Cue::Message(expected)))) =
            (&did, part.items.get(at))
        {
            let demands_challenge = matches!(expected.demands, Some(Demand::Challenge(_)));
            self.is_proven |= demands_challenge;
            let is_given = |it: &Challenge| part.given.contains(&it.value);
            ignores_challenge = !demands_challenge && heard.challenges.iter().any(is_given);
            self.remember(expected, heard);
        }
        let rest = part.items.get(at + 1..).unwrap_or_default();
        let lines = rest.iter().map_while(|item| match item {
            Item::Say(line) => Some(line),
            Item::Hear(_) => None,
        });
        let mut lines: Vec<_> = lines.map(|line| self.spoken(line, secret)).collect();
        let times = self.heard.entry(at).or_default();
        lines.iter_mut().for_each(|line| line.renew_split(*times));
        *times = times.wrapping_add(1);
        self.gives(&lines);
        let next = at + 1 + lines.len();
        let ends = next >= part.items.len();
        self.next = if ends { 0 } else { next };
        Reaction { lines, ends, is_known: true, ignores_challenge }
    }

    /// The place in the script: the next one that demands what was said exactly, or else the next one that demands
    /// nothing of it.
    fn place(&self, part: &Part, did: &Did) -> Option<usize> {
        let count = part.items.len();
        let order = || (0..count).map(|at| (self.next + at) % count);
        let fits = |at: &usize, exactly: bool| match part.items.get(*at) {
            Some(Item::Hear(cue)) => fits(cue, did, exactly),
            _ => false,
        };
        order().find(|at| fits(at, true)).or_else(|| order().find(|at| fits(at, false)))
    }

    /// Challenges of this client as those of the script. One that this client was not given is none.
    fn translated(&self, part: &Part, did: Did, secret: Option<&Secret>) -> Did {
        let Did::Sent(mut heard) = did else { return did };
        let Some(secret) = secret else {
            let is_anothers =
                |it: &Challenge| part.given.contains(&it.value) && !self.given.contains(&it.value);
            if part.protocol.info().challenge_is_of_port {
                heard.challenges.retain(|challenge| !is_anothers(challenge));
            }
            return Did::Sent(heard);
        };
        heard.challenges.retain_mut(|challenge| {
            let is_it = |given: &&u32| secret.instead(self.client, **given) == challenge.value;
            let given = part.given.iter().find(is_it);
            challenge.value = given.copied().unwrap_or_default();
            given.is_some()
        });
        Did::Sent(heard)
    }

    /// This client gets these lines, from whomever.
    pub(super) fn gives(&mut self, lines: &[Line]) {
        for challenge in lines.iter().flat_map(|line| &line.challenges) {
            if !self.given.contains(&challenge.value) {
                self.given.push(challenge.value);
            }
        }
    }

    fn remember(&mut self, expected: &Expected, heard: &Heard) {
        let (Some(written), Some(chosen)) = (&expected.timestamp, &heard.timestamp) else { return };
        self.timestamps.retain(|(known, _)| known != written);
        self.timestamps.push((written.clone(), chosen.clone()));
    }

    /// A line as this client gets it.
    fn spoken(&self, line: &Line, secret: Option<&Secret>) -> Line {
        let mut line = match secret {
            Some(secret) => line.with_challenges(|given| secret.instead(self.client, given)),
            None => line.clone(),
        };
        self.with_timestamp(&mut line.payload);
        line
    }

    /// An answer begins with its kind and the timestamp of its request.
    fn with_timestamp(&self, payload: &mut [u8]) {
        for (written, chosen) in &self.timestamps {
            let place = payload.get_mut(1..1 + written.len());
            if let Some(place) = place.filter(|it| it == written && chosen.len() == written.len()) {
                place.copy_from_slice(chosen);
                return;
            }
        }
    }
}

fn fits(cue: &Cue, did: &Did, exactly: bool) -> bool {
    match (cue, did) {
        (Cue::Opened, Did::Opened) | (Cue::Unread, Did::Unread) => true,
        (Cue::Datagram, Did::Datagram) => true,
        (Cue::Message(expected), Did::Sent(heard)) => {
            std::ptr::eq(expected.message, heard.message)
                && match &expected.demands {
                    None => !exactly,
                    Some(Demand::Challenge(demanded)) => {
                        exactly && heard.challenges.iter().any(|it| it.value == *demanded)
                    }
                    Some(Demand::GoesOnAfter(address)) => {
                        exactly && heard.goes_on_after.as_ref() == Some(address)
                    }
                }
        }
        _ => false,
    }
}
