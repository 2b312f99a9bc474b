//! Names of servers, players and settings.

use crate::wire::Prng;

const MAPS: &[&str] = &[
    "de_dust2",
    "cs_italy",
    "pl_badwater",
    "cp_dustbowl",
    "ctf_2fort",
    "koth_harvest_final",
    "gm_construct",
    "surf_mesa",
    "arena_badlands",
    "DM-Deck16",
    "CTF-Face",
    "c1m1_hotel",
];

const WORDS: &[&str] = &[
    "Pro",
    "24/7",
    "Dust2",
    "EU",
    "NA",
    "Vanilla",
    "FastDL",
    "NoLag",
    "Fun",
    "Deathmatch",
    "Zombie",
    "Escape",
    "Surf",
    "Clan",
    "Public",
    "Official",
    "Server",
    "#1",
    "Русский",
    "日本",
    "Ümlaut",
];

/// Prefixes of server variables, which are combined with each noun.
const PREFIXES: &[&str] = &["mp", "sv", "tf", "tv", "sm", "r"];
const NOUNS: &[&str] = &[
    "friendlyfire",
    "timelimit",
    "maxrounds",
    "fraglimit",
    "gravity",
    "maxspeed",
    "alltalk",
    "airaccelerate",
    "stopspeed",
    "password",
    "flashlight",
    "forcerespawn",
    "weaponstay",
    "noclipspeed",
    "rollangle",
    "steamgroup",
    "voiceenable",
    "wateraccelerate",
];

/// The name of a map.
pub(super) fn map(prng: &mut Prng) -> &'static str {
    prng.pick::<&'static str>(MAPS)
}

/// A name with this number of words.
pub(super) fn name(words: u64, prng: &mut Prng) -> String {
    let words: Vec<&str> = (0..words).map(|_| *prng.pick(WORDS)).collect();
    words.join(" ")
}

/// The name of a server's variable; those of two numbers differ.
pub(super) fn variable(number: usize) -> String {
    let prefix = PREFIXES[number % PREFIXES.len()];
    let noun = NOUNS[number / PREFIXES.len() % NOUNS.len()];
    match number / (PREFIXES.len() * NOUNS.len()) {
        0 => format!("{prefix}_{noun}"),
        round => format!("{prefix}_{noun}_{round}"),
    }
}

/// The value of a server variable, mostly short as in reality.
pub(super) fn setting(prng: &mut Prng) -> String {
    match prng.below(4) {
        0 => "0".to_owned(),
        1 => "1".to_owned(),
        2 => prng.below(1000).to_string(),
        _ => name(prng.between(1, 3), prng),
    }
}
