//! The fields of A2S messages, in the order of the specification's tables.

use std::borrow::Cow;

use super::{kept, rules};
use crate::kit::{Field, Kind, Treatment, fields, is_game};

fields! {
    // Simple Response
    HEADER = Field::new("header", "Header", Kind::Signed).framing().number(header);
    SECOND_HEADER = Field::new("second_header", "Header, once more", Kind::Signed).framing().number(header);
    TYPE = Field::new("type", "Message type", Kind::Char).framing().number(message_type).kept();

    // Multi-packet Response
    /// How the response was split into packets; absent if it came in one.
    SPLIT = Field::new("split", "Split", Kind::Group).beside()
        .of(&[&LAYOUT, &CHOSEN_BY, &ID, &TOTAL, &SIZE, &COMPRESSED, &DECOMPRESSED_SIZE, &CRC32]);
    /// Which of the layouts of split packets it has: goldsrc, source or orange_box.
    LAYOUT = Field::new("layout", "Layout", Kind::Name).number(layout);
    /// Why that layout was chosen.
    CHOSEN_BY = Field::new("chosen_by", "Layout chosen by", Kind::Name).number(chosen_by);
    /// The number that all packets of one response share.
    ID = Field::new("id", "ID", Kind::Unsigned).treated(Treatment::SplitId);
    /// How many packets the response was split into.
    TOTAL = Field::new("total", "Total", Kind::Unsigned).kept();
    /// Which of the packets this is, from 0.
    NUMBER = Field::new("number", "Number", Kind::Unsigned).kept();
    PACKET_NUMBER = Field::new("packet_number", "Packet number and total", Kind::Unsigned).framing().kept();
    /// The largest packet that the server sends before it splits.
    SIZE = Field::new("size", "Size", Kind::Unsigned).unit("bytes").kept();
    /// The response was compressed with bzip2.
    COMPRESSED = Field::new("compressed", "Compressed", Kind::Flag);
    /// Size of the response after decompression, as the server states it.
    DECOMPRESSED_SIZE = Field::new("decompressed_size", "Decompressed size", Kind::Unsigned).unit("bytes").kept();
    /// CRC32 sum of the decompressed response, as the server states it.
    CRC32 = Field::new("crc32", "CRC32 sum", Kind::Unsigned);
    SPLIT_PAYLOAD = Field::new("payload", "Payload", Kind::Bytes).framing();
    COMPRESSED_BYTES = Field::new("compressed_bytes", "bzip2 data", Kind::Bytes).framing();

    // A2A_PING
    /// What the server sends back to a ping.
    PING_PAYLOAD = Field::new("payload", "Payload", Kind::Text).kept_if(kept::is_pong);

    // A2S_INFO, request
    QUERY = Field::new("query", "Payload", Kind::Text).framing().kept_if(kept::is_query);
    PADDING = Field::new("padding", "Padding", Kind::Bytes).framing();

    // A2S_INFO, response
    /// Address and port of the server, as it knows them.
    ADDRESS = Field::new("address", "Address", Kind::Text);
    /// Version of the game's network protocol.
    PROTOCOL = Field::new("protocol", "Protocol", Kind::Unsigned).kept();
    /// Name of the server.
    NAME = Field::new("name", "Name", Kind::Text);
    /// The map that is being played.
    MAP = Field::new("map", "Map", Kind::Text);
    /// Name of the folder that holds the game's files.
    FOLDER = Field::new("folder", "Folder", Kind::Text).kept_if(is_game);
    /// Full name of the game.
    GAME = Field::new("game", "Game", Kind::Text);
    /// Steam Application ID of the game, its low 16 bits.
    APP_ID = Field::new("app_id", "ID", Kind::Unsigned).kept();
    /// How many players are on the server.
    PLAYERS_COUNT = Field::new("players", "Players", Kind::Unsigned).kept();
    /// How many players the server has room for.
    MAX_PLAYERS = Field::new("max_players", "Max. Players", Kind::Unsigned).kept();
    /// How many of the players are bots.
    BOTS = Field::new("bots", "Bots", Kind::Unsigned).kept();
    /// d: dedicated, l: listen server, p: SourceTV or HLTV.
    SERVER_TYPE = Field::new("server_type", "Server type", Kind::Char).number(server_type).kept();
    /// Operating system of the server: l, w, m or o.
    ENVIRONMENT = Field::new("environment", "Environment", Kind::Char).number(environment).kept();
    /// 0: public, 1: a password is needed.
    VISIBILITY = Field::new("visibility", "Visibility", Kind::Unsigned).number(visibility).kept();
    /// 1: the server is protected by VAC.
    VAC = Field::new("vac", "VAC", Kind::Unsigned).number(vac).kept();
    /// Game mode of The Ship.
    MODE = Field::new("mode", "Mode", Kind::Unsigned).number(ship_mode).kept();
    /// The Ship: how many witnesses a player needs to be arrested.
    WITNESSES = Field::new("witnesses", "Witnesses", Kind::Unsigned).kept();
    /// The Ship: how long it takes until a witnessed player is arrested.
    DURATION_ARREST = Field::new("duration", "Duration", Kind::Unsigned).unit("seconds").kept();
    /// Version of the game on the server.
    VERSION = Field::new("version", "Version", Kind::Text);
    /// A bit for each optional field that follows.
    EDF = Field::new("edf", "Extra Data Flag (EDF)", Kind::Unsigned).kept();
    /// The server's game port.
    PORT = Field::new("port", "Port", Kind::Unsigned).kept();
    /// Steam ID of the server.
    STEAM_ID = Field::new("steam_id", "SteamID", Kind::Id);
    /// Port of SourceTV.
    SOURCETV_PORT = Field::new("sourcetv_port", "SourceTV port", Kind::Unsigned).kept();
    /// Name of the SourceTV server.
    SOURCETV_NAME = Field::new("sourcetv_name", "SourceTV name", Kind::Text);
    /// Tags that describe the game, as the server sets them.
    KEYWORDS = Field::new("keywords", "Keywords", Kind::Text);
    /// The Steam Application ID in the GameID, where it does not fit into the two bytes of the other field.
    FULL_APP_ID = Field::new("full_app_id", "App ID by GameID", Kind::Unsigned).framing();
    /// The game's whole ID; its low 24 bits are the Steam Application ID.
    GAME_ID = Field::new("game_id", "GameID", Kind::Id).kept_up_to(kept::app_id);

    // A2S_INFO, the obsolete response of GoldSource servers
    /// 1: the game is a mod of Half-Life.
    MOD = Field::new("mod", "Mod", Kind::Unsigned).number(is_mod).kept();
    /// Address of the mod's website.
    LINK = Field::new("link", "Link", Kind::Text);
    /// Address to download the mod from.
    DOWNLOAD_LINK = Field::new("download_link", "Download Link", Kind::Text);
    MOD_NULL = Field::new("null", "NULL", Kind::Unsigned).framing().kept();
    /// Version of the mod.
    MOD_VERSION = Field::new("mod_version", "Version", Kind::Unsigned).kept();
    /// Size of the mod.
    MOD_SIZE = Field::new("mod_size", "Size", Kind::Unsigned).unit("bytes").kept();
    /// 0: single and multiplayer, 1: multiplayer only.
    MOD_TYPE = Field::new("mod_type", "Type", Kind::Unsigned).number(mod_type).kept();
    /// 1: the mod has a DLL of its own.
    MOD_DLL = Field::new("mod_dll", "DLL", Kind::Unsigned).number(mod_dll).kept();

    // A2S_SERVERQUERY_GETCHALLENGE, A2S_PLAYER, A2S_RULES
    /// The number that a server gives out and a request must repeat; -1 or 0 asks for one.
    CHALLENGE = Field::new("challenge", "Challenge", Kind::Signed).number(challenge).treated(Treatment::Challenge);
    CHALLENGE_BYTES = Field::new("challenge_bytes", "Challenge, not 4 bytes long", Kind::Bytes).framing();
    /// Of the listed players, those without a name.
    UNNAMED = Field::new("unnamed", "Players without a name", Kind::Unsigned).framing();
    /// How many players follow, as the server states it.
    NUM_PLAYERS = Field::new("num_players", "Num Players", Kind::Unsigned).kept();
    /// The players on the server.
    PLAYERS = Field::new("players", "Players", Kind::List).of(&[&PLAYER]);
    PLAYER = Field::new("player", "Player", Kind::Group).of(&[&INDEX, &PLAYER_NAME, &SCORE, &DURATION, &DEATHS, &MONEY]);
    /// Index of the player, from 0; many servers send 0 always.
    INDEX = Field::new("index", "Index", Kind::Unsigned).kept();
    /// Name of the player.
    PLAYER_NAME = Field::new("name", "Player Name", Kind::Text);
    /// Kills, or what the game counts instead.
    SCORE = Field::new("score", "Kills", Kind::Signed).kept();
    /// How long the player has been connected.
    DURATION = Field::new("duration", "Time connected", Kind::Float).unit("seconds").kept();
    /// The Ship: deaths and money of the players, in the order of the list of players.
    SHIP_PLAYERS = Field::new("ship_players", "The Ship: deaths and money", Kind::List).of(&[&SHIP_PLAYER]);
    SHIP_PLAYER = Field::new("ship_player", "Player", Kind::Group).of(&[&DEATHS, &MONEY]);
    /// The player's deaths.
    DEATHS = Field::new("deaths", "Deaths", Kind::Signed).kept();
    /// The player's money.
    MONEY = Field::new("money", "Money", Kind::Signed).kept();
    /// How many rules follow, as the server states it.
    NUM_RULES = Field::new("num_rules", "Num Rules", Kind::Unsigned).kept();
    /// The server's rules: settings and console variables.
    RULES = Field::new("rules", "Rules", Kind::List).of(&[&RULE]);
    RULE = Field::new("rule", "Rule", Kind::Group).of(&[&RULE_NAME, &RULE_VALUE]);
    /// Name of the rule.
    RULE_NAME = Field::new("name", "Rule Name", Kind::Text).text(chunk).key(kept::is_rule);
    /// Value of the rule.
    RULE_VALUE = Field::new("value", "Rule Value", Kind::Text).value(kept::rule_value);

    // Not in the specification
    /// The word that a message of the game begins with: `getchallenge`, `connect`, `rcon` and others.
    COMMAND = Field::new("command", "Command", Kind::Text).kept();
    /// Text for the console of the client; what follows the command or the message byte, if it is text.
    TEXT = Field::new("text", "Text", Kind::Text);
    /// What follows the message byte, or the text.
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
        b'l' => "text for the console, not in the specification",
        _ => return None,
    })
}

/// The layouts a split response may have. The values are [`Layout`](super::layout::Layout)'s.
fn layout(value: u64) -> Option<&'static str> {
    ["goldsrc", "source", "orange_box"].get(value as usize).copied()
}

/// How the layout was identified. The values are [`Reason`](super::layout::Reason)'s.
fn chosen_by(value: u64) -> Option<&'static str> {
    Some(match value {
        0 => "only in this layout do the parts make one whole",
        1 => "FF FF FF FF is where this layout's payload begins",
        2 => "bzip2 data is where this layout's payload begins",
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
