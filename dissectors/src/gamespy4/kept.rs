//! What `scrub` keeps of texts.

use crate::kit::{Treatment, is_game, is_plain, is_small_number, kept_if, words};

use super::packet::{CHALLENGE, INFO};
use super::response::{LONGEST_NAME, column_name};
use super::variables::is_name;

words! {
    /// Variables of well-known games, besides those of the specification, whose values are numbers or
    /// flags.
    NUMBERS = "bf2_anticheat bf2_autobalanced bf2_autorec bf2_bots bf2_coopbotcount \
    bf2_coopbotdiff bf2_coopbotratio bf2_dedicated bf2_fps bf2_friendlyfire bf2_globalunlocks \
    bf2_mapsize bf2_novehicles bf2_pure bf2_ranked bf2_reservedslots bf2_scorelimit bf2_spawntime \
    bf2_startdelay bf2_teamratio bf2_ticketratio bf2_tkmode bf2_voip fraglimit gravity numteams \
    password rankingon roundtime teamplay timelimit";

    /// The same with other values.
    TEXTS = "bf2_communitylogo_url bf2_d_dl bf2_d_idx bf2_os bf2_plasma bf2_sponsorlogo_url \
    bf2_sponsortext bf2_team1 bf2_team2 description gamename gamevariant gamever map version";

    /// Columns of players and of teams, whose values are numbers, except for names.
    COLUMNS = "AIBot_ deaths_ frags_ pid_ ping_ player_ score_ skill_ team_ time_ \
    avgping_t score_t team_t";
}

pub(super) fn is_splitnum(text: &[u8]) -> bool {
    matches!(text, b"splitnum" | b"")
}

/// The selectors and the flags at the end of an info request.
pub(super) fn is_tail(bytes: &[u8]) -> bool {
    bytes.len() <= 4 && bytes.iter().all(|&byte| byte <= 3 || byte == 0xFF)
}

/// Whether it is the name of a variable of the specification's table, or of a well-known game.
pub(super) fn is_key(name: &[u8]) -> bool {
    // `s` and `p` with a number: those of the table's ranges.
    let is_known = match name {
        [b's', digits @ ..] if is_name(name) => digits.len() <= 5,
        [b'p', digits @ ..] if is_name(name) => {
            digits.len() <= 10 && (digits.starts_with(b"2684") || digits.starts_with(b"107374"))
        }
        _ => is_name(name),
    };
    is_known || NUMBERS.contains(name) || TEXTS.contains(name) || is_column(name)
}

pub(super) fn is_column(name: &[u8]) -> bool {
    COLUMNS.contains(name)
}

pub(super) fn value(key: &[u8], value: &[u8]) -> Treatment {
    match key {
        b"mapname" => Treatment::Words(is_key),
        b"game_id" | b"gamename" => kept_if(is_game(value)),
        b"gamemode" => kept_if(matches!(value, b"openplaying" | b"closedplaying")),
        b"player_" | b"team_t" | b"OwningPlayerId" => Treatment::Replaced,
        _ if is_column(key) => kept_if(is_small_number(value)),
        _ if NUMBERS.contains(key) => kept_if(is_plain(value)),
        _ if is_name(key) && is_key(key) => kept_if(is_plain(value)),
        _ => Treatment::Replaced,
    }
}

/// Whether a text is a word by which readers find their way.
pub(super) fn is_known_word(text: &[u8]) -> bool {
    is_key(text)
}

/// Whether a text is a word by which readers find their way: the name of a variable or a column,
/// also of an unknown one.
pub(super) fn is_word(text: &[u8]) -> bool {
    is_name(text) || is_key(text) || is_like_column(text)
}

/// Whether it has the form of a column's name.
fn is_like_column(text: &[u8]) -> bool {
    let name = [text, &[0]].concat();
    text.len() < LONGEST_NAME && column_name(&name).is_some()
}

/// The header of a packet of a server information response, as lengths and treatments.
pub(super) fn part_header(bytes: &[u8]) -> Option<&'static [(usize, Treatment)]> {
    const HEADER: &[(usize, Treatment)] =
        &[(1, Treatment::Kept), (4, Treatment::Timestamp), (11, Treatment::Kept)];
    let is_part = bytes.first().is_some_and(|kind| [INFO, CHALLENGE].contains(kind))
        && bytes.get(5..).is_some_and(|rest| rest.starts_with(b"splitnum\0"));
    is_part.then_some(HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_their_names() {
        let is_kept = |key: &str, text: &str| {
            is_key(key.as_bytes())
                && matches!(value(key.as_bytes(), text.as_bytes()), Treatment::Kept)
        };
        for (key, value) in [
            ("numplayers", "4"),
            ("s32779", "2"),
            ("p268435717", "17"),
            ("bUsesStats", "True"),
            ("game_id", "MINECRAFT"),
            ("score_", "-3"),
        ] {
            assert!(is_kept(key, value), "{key} {value}");
        }
        for (key, value) in [
            ("hostname", "Ann's server"),
            ("OwningPlayerId", "7"),
            ("p1073741827", "Ann"),
            ("numplayers", "3405803786"),
            ("gamemode", "Ann"),
            ("player_", "123"),
            ("rcon_pw", "4711"),
            ("p203000113", "1"),
            ("s3405803786", "1"),
            ("cb007109_", "1"),
        ] {
            assert!(!is_kept(key, value), "{key} {value}");
        }
        assert!(is_word(b"ann_") && is_word(b"clan_t") && is_word(b"s7") && !is_word(b"ann"));
        assert!(is_tail(&[0xFF, 0, 0]) && !is_tail(b"Ann") && !is_tail(&[0; 5]));
    }
}
