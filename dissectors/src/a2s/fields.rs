//! The fields of A2S messages, in the order of the document's tables.

use std::borrow::Cow;

use super::rules;
use crate::kit::{Field, Kind, fields};

fields! {
    // Simple Response
    HEADER = Field::new("header", "Header", Kind::Signed).framing().number(header);
    SECOND_HEADER = Field::new("second_header", "Header, once more", Kind::Signed).framing().number(header);
    TYPE = Field::new("type", "Message type", Kind::Char).framing().number(message_type);

    // Multi-packet Response
    SPLIT = Field::new("split", "Split", Kind::Group).beside();
    LAYOUT = Field::new("layout", "Layout", Kind::Name).number(layout);
    CHOSEN_BY = Field::new("chosen_by", "Layout chosen by", Kind::Name).number(chosen_by);
    ID = Field::new("id", "ID", Kind::Unsigned);
    TOTAL = Field::new("total", "Total", Kind::Unsigned);
    NUMBER = Field::new("number", "Number", Kind::Unsigned);
    PACKET_NUMBER = Field::new("packet_number", "Packet number and total", Kind::Unsigned).framing();
    SIZE = Field::new("size", "Size", Kind::Unsigned);
    COMPRESSED = Field::new("compressed", "Compressed", Kind::Flag);
    DECOMPRESSED_SIZE = Field::new("decompressed_size", "Decompressed size", Kind::Unsigned);
    CRC32 = Field::new("crc32", "CRC32 sum", Kind::Unsigned);
    SPLIT_PAYLOAD = Field::new("payload", "Payload", Kind::Bytes).framing();
    COMPRESSED_BYTES = Field::new("compressed_bytes", "bzip2 data", Kind::Bytes).framing();

    // A2A_PING
    PING_PAYLOAD = Field::new("payload", "Payload", Kind::Text);

    // A2S_INFO, request
    QUERY = Field::new("query", "Payload", Kind::Text).framing();
    PADDING = Field::new("padding", "Padding", Kind::Bytes).framing();

    // A2S_INFO, response
    ADDRESS = Field::new("address", "Address", Kind::Text);
    PROTOCOL = Field::new("protocol", "Protocol", Kind::Unsigned);
    NAME = Field::new("name", "Name", Kind::Text);
    MAP = Field::new("map", "Map", Kind::Text);
    FOLDER = Field::new("folder", "Folder", Kind::Text);
    GAME = Field::new("game", "Game", Kind::Text);
    APP_ID = Field::new("app_id", "ID", Kind::Unsigned);
    PLAYERS_COUNT = Field::new("players", "Players", Kind::Unsigned);
    MAX_PLAYERS = Field::new("max_players", "Max. Players", Kind::Unsigned);
    BOTS = Field::new("bots", "Bots", Kind::Unsigned);
    SERVER_TYPE = Field::new("server_type", "Server type", Kind::Char).number(server_type);
    ENVIRONMENT = Field::new("environment", "Environment", Kind::Char).number(environment);
    VISIBILITY = Field::new("visibility", "Visibility", Kind::Unsigned).number(visibility);
    VAC = Field::new("vac", "VAC", Kind::Unsigned).number(vac);
    MODE = Field::new("mode", "Mode", Kind::Unsigned).number(ship_mode);
    WITNESSES = Field::new("witnesses", "Witnesses", Kind::Unsigned);
    DURATION_ARREST = Field::new("duration", "Duration", Kind::Unsigned);
    VERSION = Field::new("version", "Version", Kind::Text);
    EDF = Field::new("edf", "Extra Data Flag (EDF)", Kind::Unsigned);
    PORT = Field::new("port", "Port", Kind::Unsigned);
    STEAM_ID = Field::new("steam_id", "SteamID", Kind::Id);
    SOURCETV_PORT = Field::new("sourcetv_port", "SourceTV port", Kind::Unsigned);
    SOURCETV_NAME = Field::new("sourcetv_name", "SourceTV name", Kind::Text);
    KEYWORDS = Field::new("keywords", "Keywords", Kind::Text);
    GAME_ID = Field::new("game_id", "GameID", Kind::Id);

    // A2S_INFO, the obsolete response of GoldSource servers
    MOD = Field::new("mod", "Mod", Kind::Unsigned).number(is_mod);
    LINK = Field::new("link", "Link", Kind::Text);
    DOWNLOAD_LINK = Field::new("download_link", "Download Link", Kind::Text);
    MOD_NULL = Field::new("null", "NULL", Kind::Unsigned).framing();
    MOD_VERSION = Field::new("mod_version", "Version", Kind::Unsigned);
    MOD_SIZE = Field::new("mod_size", "Size", Kind::Unsigned);
    MOD_TYPE = Field::new("mod_type", "Type", Kind::Unsigned).number(mod_type);
    MOD_DLL = Field::new("mod_dll", "DLL", Kind::Unsigned).number(mod_dll);

    // A2S_SERVERQUERY_GETCHALLENGE, A2S_PLAYER, A2S_RULES
    CHALLENGE = Field::new("challenge", "Challenge", Kind::Signed).number(challenge);
    CHALLENGE_BYTES = Field::new("challenge_bytes", "Challenge, not 4 bytes long", Kind::Bytes).framing();
    NUM_PLAYERS = Field::new("num_players", "Num Players", Kind::Unsigned);
    PLAYERS = Field::new("players", "Players", Kind::List);
    PLAYER = Field::new("player", "Player", Kind::Group);
    INDEX = Field::new("index", "Index", Kind::Unsigned);
    PLAYER_NAME = Field::new("name", "Player Name", Kind::Text);
    SCORE = Field::new("score", "Kills", Kind::Signed);
    DURATION = Field::new("duration", "Time connected", Kind::Float);
    SHIP_PLAYERS = Field::new("ship_players", "The Ship: deaths and money", Kind::List);
    SHIP_PLAYER = Field::new("ship_player", "Player", Kind::Group);
    DEATHS = Field::new("deaths", "Deaths", Kind::Signed);
    MONEY = Field::new("money", "Money", Kind::Signed);
    NUM_RULES = Field::new("num_rules", "Num Rules", Kind::Unsigned);
    RULES = Field::new("rules", "Rules", Kind::List);
    RULE = Field::new("rule", "Rule", Kind::Group);
    RULE_NAME = Field::new("name", "Rule Name", Kind::Text).text(chunk);
    RULE_VALUE = Field::new("value", "Rule Value", Kind::Text);

    // Not in the document
    TEXT = Field::new("text", "Text", Kind::Text);
    BODY = Field::new("body", "Body", Kind::Bytes);
}

/// The four bytes before every message.
fn header(value: u64) -> Option<&'static str> {
    match value as i64 {
        -1 => Some("single packet"),
        -2 => Some("split packet"),
        _ => None,
    }
}

fn message_type(value: u64) -> Option<&'static str> {
    Some(match value as u8 {
        b'i' => "A2A_PING",
        b'j' => "A2A_PING response",
        b'T' => "A2S_INFO",
        b'I' => "A2S_INFO response",
        b'm' => "A2S_INFO response, obsolete GoldSource form",
        b'W' => "A2S_SERVERQUERY_GETCHALLENGE",
        b'A' => "S2C_CHALLENGE",
        b'U' => "A2S_PLAYER",
        b'D' => "A2S_PLAYER response",
        b'V' => "A2S_RULES",
        b'E' => "A2S_RULES response",
        b'l' => "text for the console, not in the document",
        _ => return None,
    })
}

/// The layouts a split answer may have. The values are [`Layout`](super::layout::Layout)'s.
fn layout(value: u64) -> Option<&'static str> {
    ["goldsrc", "source", "orange_box"].get(value as usize).copied()
}

/// How the layout was told. The values are [`Reason`](super::layout::Reason)'s.
fn chosen_by(value: u64) -> Option<&'static str> {
    Some(match value {
        0 => "only in this layout do the parts make one whole",
        1 => "FF FF FF FF stands where this layout's payload begins",
        2 => "bzip2 data stands where this layout's payload begins",
        3 => "earlier answers of this server",
        4 => "the form of the Size field",
        5 => "nothing decides: the newest layout is assumed",
        _ => return None,
    })
}

fn server_type(value: u64) -> Option<&'static str> {
    match value as u8 {
        b'D' | b'd' => Some("dedicated server"),
        b'L' | b'l' => Some("non-dedicated server"),
        b'P' | b'p' => Some("SourceTV or HLTV server"),
        _ => None,
    }
}

fn environment(value: u64) -> Option<&'static str> {
    match value as u8 {
        b'L' | b'l' => Some("Linux"),
        b'W' | b'w' => Some("Windows"),
        b'M' | b'm' | b'O' | b'o' => Some("macOS"),
        _ => None,
    }
}

fn visibility(value: u64) -> Option<&'static str> {
    ["public", "private"].get(value as usize).copied()
}

fn vac(value: u64) -> Option<&'static str> {
    ["unsecured", "secured"].get(value as usize).copied()
}

fn is_mod(value: u64) -> Option<&'static str> {
    ["Half-Life", "Half-Life mod"].get(value as usize).copied()
}

fn mod_type(value: u64) -> Option<&'static str> {
    ["single and multiplayer mod", "multiplayer only mod"].get(value as usize).copied()
}

fn mod_dll(value: u64) -> Option<&'static str> {
    ["uses the Half-Life DLL", "uses its own DLL"].get(value as usize).copied()
}

fn ship_mode(value: u64) -> Option<&'static str> {
    ["Hunt", "Elimination", "Duel", "Deathmatch", "VIP Team", "Team Elimination"]
        .get(value as usize)
        .copied()
}

fn challenge(value: u64) -> Option<&'static str> {
    match value as i64 {
        -1 => Some("asks for a challenge"),
        0 => Some("asks for a challenge, as some clients do"),
        _ => None,
    }
}

/// Arma 3 and DayZ put binary data into rules, in chunks that are named by two bytes.
fn chunk(name: &[u8]) -> Option<Cow<'static, str>> {
    let (number, total) = rules::chunk(name).filter(|chunk| !chunk.0.is_ascii_graphic())?;
    Some(format!("binary data, chunk {number} of {total}").into())
}
