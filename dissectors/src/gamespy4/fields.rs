//! The fields of GameSpy 4, in the order of the specification's packets, and the meanings of UT3's
//! variables.

use std::borrow::Cow;

use super::kept;
use super::variables::lists_variables;
use crate::kit::{Field, Kind, Treatment, fields};

fields! {
    // Packets 1 and 3: requests
    MAGIC = Field::new("magic", "Protocol identifier", Kind::Bytes).framing().kept();
    REQUEST_TYPE = Field::new("type", "Request type", Kind::Unsigned).framing().number(request_type).kept();
    /// Four bytes of the client's choice, which responses repeat. UT3 takes the time.
    TIMESTAMP = Field::new("timestamp", "Timestamp", Kind::Unsigned).seconds().treated(Treatment::Timestamp);
    /// The number that the server gives and the second request must repeat.
    CHALLENGE = Field::new("challenge", "Challenge", Kind::Signed).treated(Treatment::Challenge);
    TAIL = Field::new("tail", "Tail", Kind::Bytes).framing().kept_if(kept::is_tail);
    FORM = Field::new("form", "Form", Kind::Name).framing().number(form);
    PADDING = Field::new("padding", "Padding", Kind::Bytes).framing();
    /// What follows the type of the packet.
    BODY = Field::new("body", "Body", Kind::Bytes);

    // Packet 2: the challenge
    RESPONSE_TYPE = Field::new("type", "Response type", Kind::Unsigned).framing().number(request_type).kept();
    /// The text of a challenge that is not a number.
    CHALLENGE_TEXT = Field::new("challenge", "Challenge, not a number", Kind::Text);

    // Packet 4: server information
    SPLITNUM = Field::new("splitnum", "splitnum", Kind::Text).framing().kept_if(kept::is_splitnum);
    PACKET_NUMBER = Field::new("packet_number", "numPackets byte", Kind::Unsigned).framing().kept();
    /// Which of the response's packets this is, from 0.
    INDEX = Field::new("index", "Packet index", Kind::Unsigned);
    /// This is the last packet of the response.
    LAST = Field::new("last", "Last packet", Kind::Flag);
    SECTION = Field::new("section", "Section", Kind::Unsigned).framing().number(section).kept();
    /// The server's description of itself.
    PROPERTIES = Field::new("properties", "Server information", Kind::Map).of(&[&PROPERTY]);
    /// The value of a variable.
    PROPERTY = Field::new("property", "Variable", Kind::Pair).pair(variable);
    KEY = Field::new("key", "Name", Kind::Text).key(kept::is_key);
    VALUE = Field::new("value", "Value", Kind::Text).value(kept::value);
    MUTATOR = Field::new("mutator", "Custom mutator", Kind::Text);
    PROPERTIES_END = Field::new("properties_end", "End of the variables", Kind::Bytes).framing();

    // Packet 4: players and teams, which the specification does not describe
    COLUMNS = Field::new("columns", "Columns", Kind::List).framing();
    COLUMN = Field::new("column", "Column", Kind::Group);
    COLUMN_NAME = Field::new("name", "Column name", Kind::Text).key(kept::is_column);
    COLUMN_FIRST = Field::new("first", "First row", Kind::Unsigned).kept();
    COLUMN_VALUE = Field::new("value", "Value", Kind::Text).value(kept::value);
    COLUMN_END = Field::new("column_end", "End of the column", Kind::Bytes).framing();
    SECTION_END = Field::new("section_end", "End of the section", Kind::Bytes).framing();
    /// The players on the server.
    PLAYERS = Field::new("players", "Players", Kind::List).of(&[&PLAYER]);
    /// How many these are.
    NUM_PLAYERS = Field::new("num_players", "Players listed", Kind::Unsigned).framing();
    PLAYER = Field::new("player", "Player", Kind::Group)
        .of(&[&ROW_VALUE, &PING, &STEAM_ID, &PLAYER_NAME]);
    /// The teams of the game.
    TEAMS = Field::new("teams", "Teams", Kind::List).of(&[&TEAM]);
    TEAM = Field::new("team", "Team", Kind::Group).of(&[&ROW_VALUE]);
    /// The value of a column of the server's choice.
    ROW_VALUE = Field::new("cell", "Value", Kind::Pair);
    COUNT = Field::new("count", "Count", Kind::Unsigned).framing().kept();
    /// Round-trip time between the player and the server.
    PING = Field::new("ping", "Ping", Kind::Unsigned).unit("milliseconds").kept();
    /// Steam ID of the player.
    STEAM_ID = Field::new("steam_id", "Steam ID", Kind::Text);
    /// Name of the player.
    PLAYER_NAME = Field::new("name", "Name", Kind::Text);
    NAMES_END = Field::new("names_end", "End of the column names", Kind::Bytes).framing();
    /// Values of the requested variables, without their names.
    VALUES = Field::new("values", "Values of the variables that were asked for", Kind::Bytes);
    PORT_BYTES = Field::new("port_bytes", "Port, little-endian", Kind::Unsigned).framing().kept();
}

fn request_type(value: u64) -> Option<&'static str> {
    match value {
        0x00 => Some("server information"),
        0x09 => Some("challenge"),
        _ => None,
    }
}

/// How a request or a response differs from the specification. The values are those of
/// [`RequestForm`](super::packet::Form).
fn form(value: u64) -> Option<&'static str> {
    Some(match value {
        0 => "UT3",
        1 => "Minecraft, full",
        2 => "Minecraft, basic",
        3 => "GameSpy QR2, no challenge",
        4 => "GameSpy QR2, with a challenge",
        5 => "Just Cause 2 Multiplayer",
        6 => "GameSpy QR2, not split",
        7 => "GameSpy QR2",
        _ => "other",
    })
}

fn section(value: u64) -> Option<&'static str> {
    ["server information", "players", "teams"].get(value as usize).copied()
}

/// The stock mutators, by their bit.
pub(super) const MUTATORS: [(u32, &str); 12] = [
    (1, "BigHead"),
    (2, "FriendlyFire"),
    (4, "Handicap"),
    (8, "Instagib"),
    (16, "LowGrav"),
    (64, "NoPowerups"),
    (128, "NoTranslocator"),
    (256, "Slomo"),
    (1024, "SpeedFreak"),
    (2048, "SuperBerserk"),
    (8192, "WeaponReplacement"),
    (16384, "WeaponsRespawn"),
];

/// The separator of custom mutators: the specification's "0x1c (end of file)".
pub(super) const MUTATOR_SEPARATOR: u8 = 0x1C;

/// The meaning of a variable of the specification's table.
fn variable(key: &[u8], value: &[u8]) -> Option<Cow<'static, str>> {
    let number = || std::str::from_utf8(value).ok()?.parse::<u32>().ok();
    let of = |names: &[&'static str]| names.get(number()? as usize).copied();
    let named = |label: &str, name: Option<&str>| {
        Cow::Owned(name.map_or(label.to_owned(), |name| format!("{label}: {name}")))
    };
    let fixed: &'static str = match key {
        b"hostname" => "name of the server; UT3 puts the owning player's there",
        b"hostport" => "server port",
        b"numplayers" => "current number of players",
        b"maxplayers" | b"NumPublicConnections" => "maximum number of players",
        b"mapname" if lists_variables(value) => "not a map name: UT3 lists all variables here",
        b"OwningPlayerId" => "owning player ID",
        b"OwningPlayerName" => "owning player's name",
        b"bUsesStats" => "stats enabled",
        b"bIsDedicated" => "dedicated server",
        b"AverageSkillRating" => "for joining players of similar skill level",
        b"EngineVersion" => "server version, since patch 2",
        b"MinNetVersion" => "minimum client version, since patch 2",
        b"gamemode" => {
            let joins = match value {
                b"openplaying" => "players may join a game in progress",
                b"closedplaying" => "players may not join a game in progress",
                _ => return None,
            };
            return Some(Cow::Owned(format!("{joins} (bAllowJoinInProgress)")));
        }
        b"s32779" => {
            let modes = ["", "DM", "WAR", "VCTF", "TDM", "DUEL"];
            return Some(named("game mode", of(&modes).filter(|mode| !mode.is_empty())));
        }
        b"s0" => {
            return Some(named("bot skill level", of(&SKILLS).filter(|name| !name.is_empty())));
        }
        b"s6" => return Some(named("pure server", of(&["no, tainted with mutators", "yes"]))),
        b"s7" => return Some(named("needs a password", of(&["no", "yes"]))),
        b"s8" => {
            let ratios = ["disabled", "enabled", "1:1", "3:2", "2:1"];
            return Some(named("players against bots", of(&ratios)));
        }
        b"s10" => return Some(named("forced respawn", of(&["no", "yes"]))),
        b"p1073741825" => "map name",
        b"p1073741826" => "game type",
        b"p1073741827" => "server name in the browser",
        b"p1073741828" | b"p1073741829" => {
            let label = if key.ends_with(b"8") {
                "custom mutators, since patch 1"
            } else {
                "custom mutator classes"
            };
            let names: Vec<_> = value
                .split(|&byte| byte == MUTATOR_SEPARATOR)
                .filter(|name| !name.is_empty())
                .map(String::from_utf8_lossy)
                .collect();
            return Some(named(label, Some(names.join(", ").as_str()).filter(|s| !s.is_empty())));
        }
        b"p268435703" => "number of bots",
        b"p268435704" => "score limit",
        b"p268435705" => "time limit, minutes",
        b"p268435717" => {
            return Some(named("stock mutators", Some(mutators(number()?).as_str())));
        }
        _ => return None,
    };
    Some(Cow::Borrowed(fixed))
}

const SKILLS: [&str; 9] =
    ["", "Novice", "Average", "Experienced", "Skilled", "Adept", "Masterful", "Inhuman", "Godlike"];

/// The names of the bits of p268435717.
fn mutators(bits: u32) -> String {
    let known = MUTATORS.iter().filter(|(bit, _)| bits & bit != 0).map(|&(_, name)| name);
    let mut names: Vec<_> = known.map(Cow::Borrowed).collect();
    let unknown = MUTATORS.iter().fold(bits, |bits, (bit, _)| bits & !bit);
    if unknown != 0 {
        names.push(Cow::Owned(format!("unknown bits {unknown:#x}")));
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_mutators_of_the_specification() {
        assert_eq!(variable(b"p268435717", b"17").unwrap(), "stock mutators: BigHead, LowGrav");
        assert_eq!(variable(b"p268435717", b"0").unwrap(), "stock mutators: none");
        assert_eq!(
            variable(b"p268435717", b"33").unwrap(),
            "stock mutators: BigHead, unknown bits 0x20"
        );
    }

    #[test]
    fn variables_are_explained_by_the_table() {
        assert_eq!(variable(b"s32779", b"2").unwrap(), "game mode: WAR");
        assert_eq!(variable(b"s0", b"8").unwrap(), "bot skill level: Godlike");
        assert_eq!(variable(b"s0", b"0").unwrap(), "bot skill level");
        assert_eq!(
            variable(b"p1073741828", b"A\x1cB").unwrap(),
            "custom mutators, since patch 1: A, B"
        );
        assert!(variable(b"gravity", b"800").is_none());
    }
}
