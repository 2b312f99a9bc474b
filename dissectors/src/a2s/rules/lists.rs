//! A2S_PLAYER and A2S_RULES: the lists they answer with.

use crate::kit::{Read, Sink, Span};
use crate::rule;

use super::{A2S004, A2S005};

/// The announced and the actual number of entries of a list.
pub(in crate::a2s) struct ListCount {
    /// The number in front of the list.
    pub(in crate::a2s) announced: u32,
    /// Where it is.
    at: Span,
    /// The number of complete entries.
    pub(in crate::a2s) found: u32,
    /// A further entry ends too early.
    pub(in crate::a2s) has_part: bool,
    /// In a list of players, the number of entries without a name.
    pub(in crate::a2s) unnamed: u32,
    /// In a list of rules, the number of entries that are ASCII.
    pub(in crate::a2s) utf8: u32,
    /// The first index that differs from the entry's position.
    wrong_index: Option<(Read<u8>, u32)>,
    /// Some index is not 0.
    indexed: bool,
}

impl ListCount {
    pub(in crate::a2s) fn new(announced: u32, at: Span) -> ListCount {
        ListCount {
            announced,
            at,
            found: 0,
            has_part: false,
            unnamed: 0,
            utf8: 0,
            wrong_index: None,
            indexed: false,
        }
    }

    /// Whether there are as many entries as announced, whole or not.
    fn is_right(&self) -> bool {
        self.found + u32::from(self.has_part) == self.announced
    }

    /// The number of entries, for people.
    fn shown(&self, noun: &str) -> String {
        let found = crate::kit::counted(self.found as usize, noun);
        if self.has_part { found + " and a part of another" } else { found }
    }

    /// A whole player entry with this index was read. Indices are bytes: after 255 they wrap.
    pub(in crate::a2s) fn player(&mut self, index: Read<u8>) {
        if u32::from(index.value) != self.found & 0xFF && self.wrong_index.is_none() {
            self.wrong_index = Some((index, self.found));
        }
        self.indexed |= index.value != 0;
        self.found += 1;
    }
}

rule! {
    /// The list is cut inside an entry, and nothing in it tells a reader that more would follow.
    pub A2S008 "cut-off-list" { severity: Warning, who: Server, needs: Message,
        asks: "a player or rules list does not end inside an entry at the size of a datagram (about 1260 bytes is the documented behaviour of Team Fortress 2; 1200, 1248, 1400 and 1460 are other limits; reported instead of A2S004, A2S007, A2S030, A2S033)",
        cite: [("Protocol", "TF2 currently does not split replies, expect A2S_PLAYER and A2S_RULES to be simply cut off after 1260 bytes.")],
        right: rules_answered!("FFFFFFFF 45 0200 'motd' 00 'hello' 00 'sv_cheats' 00 '0' 00"),
        wrong: rules_answered!("FFFFFFFF 45 0200 'motd' 00 'x'*1240 00 'sv_ch'") }
}

pub(in crate::a2s) fn cut_off_list<S: Sink>(
    cut_off: bool,
    list: &ListCount,
    length: usize,
    sink: &mut S,
) {
    sink.checked(&A2S008, !cut_off, Span::new(length, length), || {
        format!(
            "the list is cut off at {}, after {} of {} entries",
            crate::kit::counted(length, "byte"),
            list.found,
            list.announced
        )
    });
}

rule! {
    /// Browsers that trust the number read past the end, or drop players.
    pub A2S030 "player-count" { severity: Error, who: Server, needs: Message,
        asks: "the number of player entries is Num Players",
        cite: [("A2S_PLAYER, Response format", "The number of players reported in this response")],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5"),
        wrong: players_answered!("FFFFFFFF 44 02 00 'Ann' 00 03000000 f32:61.5") }
}

/// `lost`: the recording lost the entries after those that were read.
pub(in crate::a2s) fn player_count<S: Sink>(list: &ListCount, lost: bool, sink: &mut S) {
    sink.checked(&A2S030, !lost && list.is_right(), list.at, || {
        if lost {
            return LOST.to_owned();
        }
        let found = list.shown("entry/entries");
        format!("Num Players says {}, the packet holds {found}", list.announced)
    });
}

rule! {
    /// Some readers take the index for the player's slot; most servers count, some send 0 throughout.
    pub A2S031 "player-index" { severity: Note, who: Server, needs: Message,
        asks: "indices run 0..n-1 (all zero, the documented Left 4 Dead 2 quirk: a note)",
        cite: [("A2S_PLAYER, Response format", "Left4Dead2 returns an index of zero for all players.")],
        right: players_answered!("FFFFFFFF 44 02 00 'Ann' 00 03000000 f32:61.5 01 'Bob' 00 00000000 f32:9"),
        wrong: players_answered!("FFFFFFFF 44 02 01 'Ann' 00 03000000 f32:61.5 02 'Bob' 00 00000000 f32:9") }
}

/// `lost`: the recording lost the entries after those that were read.
pub(in crate::a2s) fn player_indices<S: Sink>(list: &ListCount, lost: bool, sink: &mut S) {
    match list.wrong_index {
        Some((index, _)) if !list.indexed => {
            sink.noted(&A2S031, index.at, || "all indices are 0".to_owned());
        }
        Some((index, place)) => {
            sink.whole_elements(true);
            sink.checked(&A2S031, false, index.at, || {
                format!("entry {place} has index {}", index.value)
            });
            sink.whole_elements(false);
        }
        None => sink.checked(&A2S031, !lost, list.at, || LOST.to_owned()),
    }
}

rule! {
    /// Readers that compute with it get meaningless results, or a floating-point exception.
    pub A2S032 "player-duration" { severity: Warning, who: Server, needs: Message,
        asks: "time connected is a finite float, not negative",
        cite: [("A2S_PLAYER, Response format", "The time in seconds this player has been connected")],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5"),
        wrong: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:-1") }
}

pub(in crate::a2s) fn player_duration<S: Sink>(duration: Read<f32>, sink: &mut S) {
    let ok = duration.value.is_finite() && duration.value >= 0.0;
    sink.checked(&A2S032, ok, duration.at, || format!("time connected is {}", duration.value));
}

/// Players that the recording lost count as one, because their number is unknown.
pub(in crate::a2s) fn players_lost<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&A2S032, false, at, || LOST.to_owned());
}

/// Rules that the recording lost count as one, because their number is unknown.
pub(in crate::a2s) fn rules_lost<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&A2S005, false, at, || LOST.to_owned());
}

/// Texts that the recording lost, of which none is cut, count as one.
pub(in crate::a2s) fn texts_lost<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&A2S004, false, at, || LOST.to_owned());
}

const LOST: &str = "the capture does not hold the rest of the list";

rule! {
    /// Browsers show one number in their lists and the other beside the names: a server that
    /// inflates one of them draws players to empty places.
    pub A2S066 "counts-agree" { severity: Note, who: Server, needs: Interval,
        asks: "Num Players differs from Players of an info up to 10 s before or after by 3 at most, bots in or out, and most entries have a name (not judged of a list that was cut off)",
        cite: [("A2S_INFO, Response format", "Number of players on the server."),
               ("A2S_PLAYER, Response format", "The number of players reported in this response")],
        right: concat!(info_answered!("49 11 'a' 00 'm' 00 'f' 00 'g' 00 0A00 01 10 00 64 6C 00 01 '1' 00"), "\n1.00 c > s  FFFFFFFF 55 FFFFFFFF\n1.02 s > c  FFFFFFFF 41 4BA1D522\n1.03 c > s  FFFFFFFF 55 4BA1D522\n1.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 05000000 0000A041"),
        wrong: concat!(info_answered!("49 11 'a' 00 'm' 00 'f' 00 'g' 00 0A00 0A 10 00 64 6C 00 01 '1' 00"), "\n1.00 c > s  FFFFFFFF 55 FFFFFFFF\n1.02 s > c  FFFFFFFF 41 4BA1D522\n1.03 c > s  FFFFFFFF 55 4BA1D522\n1.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 05000000 0000A041") }
}

/// Players who are joining are counted and not listed, or listed without a name.
const JOINING: u32 = 3;

/// What info and the list of players say about one server.
pub(in crate::a2s) fn counts_agree<S: Sink>(
    players: u8,
    bots: u8,
    listed: u32,
    at: Span,
    sink: &mut S,
) {
    let [players, bots] = [players, bots].map(u32::from);
    let least = players.saturating_sub(bots).saturating_sub(JOINING);
    let agrees = (least..=players + JOINING).contains(&listed);
    sink.checked(&A2S066, agrees, at, || {
        format!("info counts {players} (bots: {bots}), the list has {listed}")
    });
}

/// A list of players, of whom so many have no name.
pub(in crate::a2s) fn names_present<S: Sink>(listed: u32, unnamed: u32, at: Span, sink: &mut S) {
    if listed > JOINING && 2 * unnamed > listed {
        sink.checked(&A2S066, false, at, || format!("{unnamed} of {listed} players have no name"));
    }
}

rule! {
    /// Readers that trust the number read past the end, or drop rules.
    pub A2S033 "rules-count" { severity: Error, who: Server, needs: Message,
        asks: "the number of rules is Num Rules",
        cite: [("A2S_RULES, Response format", "The number of rules reported in this response")],
        right: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'hello' 00"),
        wrong: rules_answered!("FFFFFFFF 45 0200 'motd' 00 'hello' 00") }
}

/// `lost`: the recording lost the rules after those that were read.
pub(in crate::a2s) fn rules_count<S: Sink>(list: &ListCount, lost: bool, sink: &mut S) {
    sink.checked(&A2S033, !lost && list.is_right(), list.at, || {
        if lost {
            return LOST.to_owned();
        }
        let found = list.shown("rule");
        format!("Num Rules says {}, the packet holds {found}", list.announced)
    });
}

/// These rules are known to be UTF-8.
pub(in crate::a2s) fn utf8_rules<S: Sink>(list: &ListCount, sink: &mut S) {
    sink.kept(&A2S005, list.utf8);
}

/// Rules that hold binary data in numbered chunks (Arma 3, DayZ) are a known deviation: their text
/// is not UTF-8.
#[cold]
pub(in crate::a2s) fn rule_text<S: Sink>(
    name: &[u8],
    value: &[u8],
    list: &ListCount,
    at: Span,
    sink: &mut S,
) {
    let is_utf8 = |text: &[u8]| text.is_ascii() || std::str::from_utf8(text).is_ok();
    if is_utf8(name) && is_utf8(value) {
        sink.checked(&A2S005, true, at, String::new);
    } else if let Some((number, total)) = chunk(name).filter(|it| u32::from(it.1) <= list.announced)
    {
        sink.noted(&A2S005, at, || format!("binary data, chunk {number} of {total}"));
    } else {
        sink.checked(&A2S005, false, at, || {
            format!("the rule {} is not UTF-8", crate::kit::Quoted(name))
        });
    }
}

/// The number and the total in the name of a chunk of binary rules.
pub(in crate::a2s) fn chunk(name: &[u8]) -> Option<(u8, u8)> {
    match *name {
        [number, total] if (1..=total).contains(&number) && total < 0x80 => Some((number, total)),
        _ => None,
    }
}

rule! {
    /// Of two values with the same name a reader keeps one, and readers differ in which.
    pub A2S034 "rule-names-unique" { severity: Warning, who: Server, needs: Message,
        asks: "no rule name occurs twice",
        cite: [("A2S_RULES, Response format", "The name of the rule")],
        right: rules_answered!("FFFFFFFF 45 0200 'motd' 00 'hello' 00 'sv_cheats' 00 '0' 00"),
        wrong: rules_answered!("FFFFFFFF 45 0200 'motd' 00 'hello' 00 'motd' 00 'bye' 00") }
}

/// `lost`: the recording lost the rules after those that were read.
pub(in crate::a2s) fn rule_names<S: Sink>(
    repeated: &[Read<&[u8]>],
    lost: bool,
    at: Span,
    sink: &mut S,
) {
    sink.whole_elements(true);
    for name in repeated {
        sink.checked(&A2S034, false, name.at, || {
            format!("the rule {} occurs twice", crate::kit::Quoted(name.value))
        });
    }
    sink.whole_elements(false);
    if repeated.is_empty() {
        sink.checked(&A2S034, !lost, at, || LOST.to_owned());
    }
}
