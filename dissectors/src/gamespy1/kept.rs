//! What `scrub` keeps of texts.

use crate::kit::{Treatment, is_game, is_plain, is_small_number, kept_if, words};

use super::keywords::{is_bare, is_query};

words! {
    /// Keys of responses and requests, whose values are numbers or flags.
    NUMBERS = "allied_team_ratio allow_nose_cam auto_balance_teams axis_team_ratio \
    balanceteams bandwidth_choke_limit botskill changelevels content_check dedicated enctype \
    external_view fraglimit free_camera friendlyfire game_start_delay goalteamscore hit_indicator \
    hostport kickback kickback_on_splash listenserver location maxplayers maxteams minnetver \
    minplayers name_tag_distance name_tag_distance_scope number_of_rounds numplayers \
    password playersbalanceteams rankedserver reservedslots roundTime roundTimeRemain \
    soldier_friendly_fire soldier_friendly_fire_on_splash spawn_delay spawn_wave_time statechanged \
    sv_punkbuster teamplay ticket_ratio tickets1 tickets2 time_limit timelimit tk_mode tournament \
    translocator vehicle_friendly_fire vehicle_friendly_fire_on_splash wantworldlog worldlog";

    /// The same with other values.
    TEXTS = "AdminEMail AdminName active_mods averageFPS changed cpu error gameId gamemode \
    gamename gamestyle gametype gamever heartbeat hostname ip list mapId mapname maptitle msid \
    mutators protocol secure status sync unpure_mods validate version where";

    /// Keys that are followed by the number of a player or a team, whose values are numbers.
    COUNTED = "deaths frags kills ping score size team";

    /// The same with other values.
    NAMED = "face maxsize mesh ngsecret player playername skin teamname";
}

/// Forms of a list.
pub(super) fn is_list(text: &[u8]) -> bool {
    matches!(text, b"cmp" | b"groups" | b"info2")
}

/// The argument that clients of one library send.
pub(super) fn is_argument(text: &[u8]) -> bool {
    text == b"xserverquery"
}

/// Whether it is a keyword.
pub(super) fn is_keyword(text: &[u8]) -> bool {
    is_bare(text) || is_query(text) || is_key(text) || matches!(text, b"queryid")
}

/// Whether it is a known key, also with the number of a player.
pub(super) fn is_key(key: &[u8]) -> bool {
    let (numbered, named) = (numbered(key), NUMBERS.contains(key) || TEXTS.contains(key));
    named
        || numbered.is_some_and(|base| COUNTED.contains(base) || NAMED.contains(base))
        || is_bare(key)
        || is_query(key)
}

/// Whether a key is known, or is a game: masters that synchronise list servers by their games.
pub(super) fn is_key_or_game(key: &[u8]) -> bool {
    is_key(key) || is_game(key)
}

/// The key without the number of a player or a team.
fn numbered(key: &[u8]) -> Option<&[u8]> {
    let at = key.iter().rposition(|&byte| byte == b'_')?;
    let (base, number) = key.split_at(at);
    let digits = number.get(1..)?;
    ((1..=3).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)).then_some(base)
}

pub(super) fn value(key: &[u8], value: &[u8]) -> Treatment {
    let is_counted = numbered(key).is_some_and(|base| COUNTED.contains(base));
    match key {
        b"gamename" => kept_if(is_game(value)),
        b"sync" => kept_if(value == b"all" || is_game(value)),
        b"validate" => Treatment::Code,
        b"secure" => Treatment::CodeChallenge,
        b"heartbeat" => kept_if(is_small_number(value)),
        b"list" => kept_if(is_list(value)),
        b"queryid" => Treatment::Words(is_small_number),
        b"status" | b"info" | b"rules" | b"players" => kept_if(is_argument(value)),
        _ => kept_if(
            NUMBERS.contains(key) && is_plain(value) || is_counted && is_small_number(value),
        ),
    }
}

/// Whether a text is a word by which readers find their way.
pub(super) fn is_known_word(text: &[u8]) -> bool {
    is_keyword(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_their_keys() {
        let is_kept = |key: &str, text: &str| {
            is_key(key.as_bytes())
                && matches!(value(key.as_bytes(), text.as_bytes()), Treatment::Kept)
        };
        for (key, value) in [
            ("hostport", "7777"),
            ("frags_0", "-3"),
            ("gamename", "ut"),
            ("tournament", "False"),
            ("list", "cmp"),
            ("sync", "all"),
        ] {
            assert!(is_kept(key, value), "{key} {value}");
        }
        for (key, value) in [
            ("hostname", "1"),
            ("player_0", "1"),
            ("frags_0", "3405803786"),
            ("location", "203.0.113.9"),
            ("where", "1"),
            ("echo", "1"),
            ("gamename", "Ann"),
            ("3", "7"),
            ("ZebtQuxa", "7"),
            ("player_4711", "7"),
            ("pin", "4711"),
        ] {
            assert!(!is_kept(key, value), "{key} {value}");
        }
    }
}
