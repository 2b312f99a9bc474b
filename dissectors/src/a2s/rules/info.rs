//! A2S_INFO and A2A_PING: valid values of their fields.

use crate::kit::{Field, Read, Sink, Span};
use crate::rule;

rule! {
    /// Servers compare the text byte by byte and do not respond to any other.
    pub A2S010 "info-request-payload" { severity: Error, who: Client, needs: Message,
        asks: "`T` is followed by \"Source Engine Query\\0\" (and, as an extension, 4 challenge bytes)",
        cite: [("A2S_INFO, Request format", "\"Source Engine Query\"")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00"),
        wrong: "0.00 c > s  FFFFFFFF 54 'Source Engine Quarry' 00" }
}

pub(in crate::a2s) fn info_request<S: Sink>(ok: bool, at: Span, sink: &mut S) {
    sink.checked(&A2S010, ok, at, || {
        "what follows T is not \"Source Engine Query\" and its zero".to_owned()
    });
}

/// The text is right, but FF FF FF FF comes twice before it.
pub(in crate::a2s) fn info_header_doubled<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&A2S010, false, at, || "FF FF FF FF comes twice before T".to_owned());
}

/// The text is right, but fewer than four bytes of a challenge follow it.
pub(in crate::a2s) fn info_challenge_cut<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&A2S010, false, at, || format!("the challenge has {} of 4 bytes", at.len()));
}

rule! {
    /// Browsers use it to filter out listen servers and relays.
    pub A2S011 "server-type" { severity: Warning, who: Server, needs: Message,
        asks: "the server type is D, L or P, in either case (0 from Rag Doll Kung Fu, app 1002, the specification's own example: a note)",
        cite: [("A2S_INFO, Response format", "Indicates the type of server: - 'D' for a dedicated server")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00"),
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'xl' 00 01 '1.38' 00") }
}

/// Steam Application ID of Rag Doll Kung Fu, whose server type is 0 in the specification's own
/// example.
const RAG_DOLL_KUNG_FU: u16 = 1002;

pub(in crate::a2s) fn server_type<S: Sink>(read: Read<u8>, app_id: Option<u16>, sink: &mut S) {
    if read.value == 0 && app_id == Some(RAG_DOLL_KUNG_FU) {
        sink.noted(&A2S011, read.at, || "Rag Doll Kung Fu sends no server type, but 0".to_owned());
        return;
    }
    let ok = matches!(read.value.to_ascii_uppercase(), b'D' | b'L' | b'P');
    sink.checked(&A2S011, ok, read.at, || {
        format!("the server type is {}, not D, L or P", shown(read.value))
    });
}

rule! {
    /// Clients use it to choose mods and downloads.
    pub A2S012 "environment" { severity: Warning, who: Server, needs: Message,
        asks: "the environment is L or W, in either case (m and o, a later extension, are accepted)",
        cite: [("A2S_INFO, Response format", "Indicates the operating system of the server: - 'L' for Linux")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00"),
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dx' 00 01 '1.38' 00") }
}

pub(in crate::a2s) fn environment<S: Sink>(read: Read<u8>, sink: &mut S) {
    let ok = matches!(read.value.to_ascii_uppercase(), b'L' | b'W' | b'M' | b'O');
    sink.checked(&A2S012, ok, read.at, || {
        format!("the environment is {}, not L or W", shown(read.value))
    });
}

fn shown(value: u8) -> String {
    if value.is_ascii_graphic() {
        format!("'{}'", char::from(value))
    } else {
        format!("0x{value:02X}")
    }
}

rule! {
    /// Some readers test for 0, others for 1: any other value is interpreted differently.
    pub A2S013 "flag-values" { severity: Warning, who: Server, needs: Message,
        asks: "visibility, VAC, mod, DLL and mod type are 0 or 1",
        cite: [("A2S_INFO, Response format", "Indicates whether the server requires a password: - 0 for public")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 01 01 '1.38' 00"),
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 02 01 '1.38' 00") }
}

pub(in crate::a2s) fn flag<S: Sink>(field: &'static Field, read: Read<u8>, sink: &mut S) {
    sink.checked(&A2S013, read.value <= 1, read.at, || {
        format!("{} is {}, neither 0 nor 1", field.label, read.value)
    });
}

rule! {
    /// Inflated counts draw players to servers that are empty.
    pub A2S014 "player-limits" { severity: Warning, who: Server, needs: Message,
        asks: "players <= max players, bots <= players",
        cite: [("A2S_INFO, Response format", "Maximum number of players the server reports it can hold.")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 02 'dl' 00 01 '1.38' 00"),
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 06 'dl' 00 01 '1.38' 00") }
}

/// `bots`: `None` if the response ends before them; then only too many players are reported.
pub(in crate::a2s) fn player_limits<S: Sink>(
    players: Read<u8>,
    max_players: Read<u8>,
    bots: Option<Read<u8>>,
    sink: &mut S,
) {
    let [count, most] = [players.value, max_players.value];
    if count > most {
        sink.checked(&A2S014, false, players.at, || {
            format!("{} where {most} fit", crate::kit::counted(count.into(), "player"))
        });
    } else if let Some(bots) = bots {
        sink.checked(&A2S014, bots.value <= count, bots.at, || {
            let players = crate::kit::counted(count.into(), "player");
            format!("{} among {players}", crate::kit::counted(bots.value.into(), "bot"))
        });
    }
}

rule! {
    /// The mod fields have no length of their own: a reader that trusts the mod byte reads
    /// everything after it wrong.
    pub A2S015 "goldsrc-mod-section" { severity: Error, who: Server, needs: Message,
        asks: "the mod fields are present exactly if mod is 1, and their NULL byte is 0",
        cite: [("A2S_INFO, Response format", "These fields are only present in the response if \"Mod\" is 1:")],
        right: info_answered!("6D '10.0.0.2:27015' 00 'Test' 00 'crossfire' 00 'tfc' 00 'Team Fortress' 00 05 10 2F 'dl' 00 01 'a.b' 00 'a.b/c' 00 00 01000000 00100000 00 00 01 00"),
        wrong: info_answered!("6D '10.0.0.2:27015' 00 'Test' 00 'crossfire' 00 'tfc' 00 'Team Fortress' 00 05 10 2F 'dl' 00 01 01 00") }
}

/// The section is present although it must not be, or missing: `present` is what the bytes show.
pub(in crate::a2s) fn mod_section<S: Sink>(present: bool, is_mod: Read<u8>, sink: &mut S) {
    let ok = present == (is_mod.value == 1);
    sink.checked(&A2S015, ok, is_mod.at, || {
        let stand = if present { "follow" } else { "do not follow" };
        format!("Mod is {}, yet the mod fields {stand} it", is_mod.value)
    });
}

pub(in crate::a2s) fn mod_null<S: Sink>(null: Read<u8>, sink: &mut S) {
    sink.checked(&A2S015, null.value == 0, null.at, || {
        format!("the NULL byte of the mod fields is {}", null.value)
    });
}

rule! {
    /// Each bit announces a field: after an unknown one, a reader cannot find the following fields.
    pub A2S016 "edf-bits" { severity: Warning, who: Server, needs: Message,
        asks: "no EDF bit beyond 0x80, 0x10, 0x40, 0x20, 0x01",
        cite: [("A2S_INFO, Response format", "If present, this specifies which additional data fields will be included.")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00 80 le16:27015"),
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00 82 le16:27015") }
}

pub(in crate::a2s) fn edf_bits<S: Sink>(edf: Read<u8>, sink: &mut S) {
    let unknown = edf.value & !0xF1;
    sink.checked(&A2S016, unknown == 0, edf.at, || {
        format!("EDF 0x{:02X} has bits 0x{unknown:02X} that announce no field", edf.value)
    });
}

rule! {
    /// The fields are in the middle of the message: if they are missing, all following fields are
    /// misread.
    pub A2S017 "ship-fields" { severity: Error, who: Server, needs: Message,
        asks: "a response of The Ship (app 2400) has mode 0-5, witnesses and duration between VAC and version",
        cite: [("A2S_INFO, Response format", "These fields only exist in a response if the server is running The Ship:")],
        right: info_answered!("49 07 'Ship Server' 00 'batavier' 00 'ship' 00 'The Ship' 00 le16:2400 01 05 00 'lw' 00 00 01 03 03 '1.0.0.4' 00"),
        wrong: info_answered!("49 07 'Ship Server' 00 'batavier' 00 'ship' 00 'The Ship' 00 le16:2400 01 05 00 'lw' 00 00 '1.0.0.4' 00") }
}

/// `mode`: the game mode, if the fields are present.
pub(in crate::a2s) fn ship_fields<S: Sink>(mode: Option<u8>, at: Span, sink: &mut S) {
    sink.checked(&A2S017, mode.is_some_and(|mode| mode <= 5), at, || match mode {
        Some(mode) => format!("the game mode is {mode}, beyond 5"),
        None => "mode, witnesses and duration are missing".to_owned(),
    });
}

rule! {
    /// The 16 bits of ID are too few for some application IDs; GameID has all bits. Readers use one
    /// or the other.
    pub A2S018 "game-id-app" { severity: Note, who: Server, needs: Message,
        asks: "the low 24 bits of GameID are the app id, and agree with ID in its low 16 bits (later documentation)",
        cite: [("A2S_INFO, Response format", "The server's 64-bit GameID.")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00 01 le64:730"),
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00 01 le64:440") }
}

pub(in crate::a2s) fn game_id<S: Sink>(game_id: Read<u64>, app_id: Read<u16>, sink: &mut S) {
    if app_id.value == 0 {
        // The application ID does not fit in ID, so only GameID has it.
        return;
    }
    let app = game_id.value & 0x00FF_FFFF;
    sink.checked(&A2S018, app & 0xFFFF == u64::from(app_id.value), game_id.at, || {
        format!("GameID names app {app}, ID names app {}", app_id.value)
    });
}

rule! {
    /// The old format has neither an application ID nor a version, and newer clients cannot read
    /// it.
    pub A2S019 "obsolete-info" { severity: Note, who: Server, needs: Message,
        asks: "info is answered in the Source format: the GoldSrc 'm' reply is obsolete (not from an HLTV proxy, type p)",
        cite: [("A2S_INFO, Response format", "GoldSource servers (except for HLTV ones?) now report using the same protocol as Source servers.")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00"),
        wrong: info_answered!("6D '10.0.0.2:27015' 00 'Test' 00 'crossfire' 00 'tfc' 00 'Team Fortress' 00 05 10 2F 'dl' 00 00 01 00") }
}

pub(in crate::a2s) fn obsolete_info<S: Sink>(obsolete: bool, at: Span, sink: &mut S) {
    sink.checked(&A2S019, !obsolete, at, || "info is answered in the obsolete form".to_owned());
}

rule! {
    /// Players join at this port; at port 0 they cannot.
    pub A2S067 "port-announced" { severity: Note, who: Server, needs: Message,
        asks: "Port and Spectator port are not 0",
        cite: [("A2S_INFO, Response format", "The server's game port number.")],
        right: info_answered!("49 11 'a' 00 'm' 00 'f' 00 'g' 00 0A00 00 10 00 64 6C 00 01 '1' 00 80 8769"),
        wrong: info_answered!("49 11 'a' 00 'm' 00 'f' 00 'g' 00 0A00 00 10 00 64 6C 00 01 '1' 00 80 0000") }
}

pub(in crate::a2s) fn port_announced<S: Sink>(
    field: &'static Field,
    port: Read<u16>,
    sink: &mut S,
) {
    sink.checked(&A2S067, port.value != 0, port.at, || format!("{} is 0", field.label));
}

rule! {
    /// Old clients compare the whole response and ignore any other.
    pub A2S063 "ping-payload" { severity: Error, who: Server, needs: Message,
        asks: "`j` is followed by an empty string or \"00000000000000\\0\"",
        cite: [("A2A_PING, Response format", "'00000000000000'")],
        right: "0.00 c > s  FFFFFFFF 69\n0.02 s > c  FFFFFFFF 6A '00000000000000' 00",
        wrong: "0.00 c > s  FFFFFFFF 69\n0.02 s > c  FFFFFFFF 6A '0000' 00" }
}

pub(in crate::a2s) fn ping_payload<S: Sink>(payload: &[u8], at: Span, sink: &mut S) {
    let ok = payload.is_empty() || payload == b"00000000000000";
    sink.checked(&A2S063, ok, at, || {
        format!("the payload is {}, not empty and not 14 zeros", crate::kit::Quoted(payload))
    });
}

/// GoldSource responds without even the terminator of an empty string: a known deviation.
pub(in crate::a2s) fn bare_ping<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&A2S063, at, || "nothing follows j, not even a zero".to_owned());
}

rule! {
    /// Newer servers do not answer it; use an info request to see whether a server is running.
    pub A2S064 "ping-deprecated" { severity: Note, who: Client, needs: Message,
        asks: "a client does not send A2A_PING, which is deprecated",
        cite: [("A2A_PING", "is considered a deprecated feature.")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 69\n0.02 s > c  FFFFFFFF 6A 00" }
}

pub(in crate::a2s) fn ping_deprecated<S: Sink>(ping: bool, at: Span, sink: &mut S) {
    sink.checked(&A2S064, !ping, at, || "A2A_PING is deprecated".to_owned());
}
