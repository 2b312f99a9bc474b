//! The variables of the specification's table.

use crate::gamespy4::fields::MUTATORS;
use crate::gamespy4::variables::{is_name, is_numbered, lists_variables};
use crate::kit::repeated_names::repeated;
use crate::kit::{Quoted, Read, Sink, Span};
use crate::rule;

rule! {
    /// Browsers sort and filter by these; other texts are read as 0, or stop the reader.
    pub GS4024 "numbers" { severity: Warning, who: Server, needs: Message,
        asks: "hostport, numplayers, maxplayers, OwningPlayerId, NumPublicConnections, EngineVersion, MinNetVersion, s* and the numeric p* are decimal; AverageSkillRating is a float",
        cite: [("Packet 4: Server information response", "hostport 8277 The server port"),
               ("Packet 4: Server information response", "AverageSkillRating 1000.000000")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\08277\\0AverageSkillRating\\01000.000000\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\0unknown\\0\\0'" }
}
rule! {
    /// A server with more players than its maximum is treated as full, or as forged.
    pub GS4025 "player-limits" { severity: Warning, who: Server, needs: Message,
        asks: "numplayers is at most maxplayers, and maxplayers equals NumPublicConnections",
        cite: [("Packet 4: Server information response", "numplayers 4 Current number of players"),
               ("Packet 4: Server information response", "NumPublicConnections 24 Maximum number of players")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'numplayers\\04\\0maxplayers\\024\\0NumPublicConnections\\024\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'numplayers\\025\\0maxplayers\\024\\0NumPublicConnections\\024\\0\\0'" }
}
rule! {
    /// A value outside the table has no meaning.
    pub GS4026 "value-domains" { severity: Warning, who: Server, needs: Message,
        asks: "gamemode, bUsesStats, bIsDedicated, s32779 (1 to 5), s0 (1 to 8), s6, s7, s10 (0, 1) and s8 (0 to 4) are as in the table",
        cite: [("Packet 4: Server information response", "s32779 3 GameMode (1=DM, 2=WAR, 3=VCTF, 4=TDM, 5=DUEL)"),
               ("Packet 4: Server information response", "bUsesStats True Stats enabled (True/False)")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'gamemode\\0openplaying\\0bUsesStats\\0True\\0s32779\\03\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'gamemode\\0openplaying\\0bUsesStats\\0yes\\0s32779\\03\\0\\0'" }
}
rule! {
    /// Each bit is a mutator; the specification does not define bits outside the table.
    pub GS4027 "mutator-bits" { severity: Warning, who: Server, needs: Message,
        asks: "p268435717 has only bits of the mutator table",
        cite: [("Stock Mutator bit string", "p268435717 returns an int32 value:")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'p268435717\\017\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'p268435717\\032\\0\\0'" }
}
rule! {
    /// Known bugs of UT3, not of the server's operator: a reader must not interpret these variables
    /// by their names.
    pub GS4028 "known-bugs" { severity: Note, who: Server, needs: Message,
        asks: "hostname is not simply OwningPlayerName, and mapname is a map's name",
        cite: [("Packet 4: Server information response", "This is currently the OwningPlayerName. This is clearly a bug"),
               ("Packet 4: Server information response", "Seems like this is a bug. It definitely isn't a map name.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostname\\0ut3.example\\0mapname\\0DM-Deck\\0OwningPlayerName\\0Ann\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostname\\0Ann\\0mapname\\0DM-Deck\\0OwningPlayerName\\0Ann\\0\\0'" }
}

rule! {
    /// Browsers do not read these variables: with another value, they hold something that the
    /// document does not know. A negative number of players sorts before an empty server.
    pub GS4035 "always-zero" { severity: Warning, who: Server, needs: Message,
        asks: "s1, s9, s11 are 0; s12, s13, s14 are 0 or 1; no count is negative",
        cite: [("Packet 4: Server information response", "s1 0 ? (always 0)"),
               ("Packet 4: Server information response", "s12 0 ? (varies between 0/1)")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 's1\\00\\0s12\\01\\0numplayers\\00\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 's1\\00\\0s12\\02\\0numplayers\\00\\0\\0'" }
}
rule! {
    /// Browsers show one of the two, so that players choose by a value that is wrong.
    pub GS4036 "pure-or-mutated" { severity: Note, who: Server, needs: Message,
        asks: "s6 is 1 only without mutators, s32779 agrees with the game type, MinNetVersion is at most EngineVersion",
        cite: [("Packet 4: Server information response", "s6 1 Pure server (1) or 'tainted' with mutators (0)"),
               ("Packet 4: Server information response", "MinNetVersion 3467 Minimum client version required (available as of Patch 2)")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 's6\\00\\0p268435717\\017\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 's6\\01\\0p268435717\\017\\0\\0'" }
}
rule! {
    /// Browsers leave out a server without these, or show empty cells.
    pub GS4037 "variables-present" { severity: Note, who: Server, needs: Message,
        asks: "a UT3 answer has hostname, hostport, numplayers, maxplayers, gamemode and mapname",
        cite: [("Packet 4: Server information response", "What follows is server information, in the following format:")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostname\\0Ann\\0hostport\\07777\\0numplayers\\04\\0maxplayers\\024\\0gamemode\\0openplaying\\0mapname\\0DM-Deck\\0s6\\01\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0numplayers\\04\\0maxplayers\\024\\0gamemode\\0openplaying\\0mapname\\0DM-Deck\\0s6\\01\\0\\0'" }
}
rule! {
    /// Some readers keep the first value, others the last.
    pub GS4038 "keys-unique" { severity: Warning, who: Server, needs: Message,
        asks: "no variable of an answer stands twice",
        cite: [("Packet 4: Server information response", "These values can be combined as \"value n\" => \"value n+1\"")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'numplayers\\04\\0maxplayers\\024\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'numplayers\\04\\0numplayers\\05\\0\\0'" }
}

/// The values that rules about several variables need.
#[derive(Default)]
pub(in crate::gamespy4) struct Properties<'a> {
    hostname: Option<Read<&'a [u8]>>,
    map_name: Option<Read<&'a [u8]>>,
    owner: Option<Read<&'a [u8]>>,
    game_mode: Option<Read<&'a [u8]>>,
    players: Option<Read<i64>>,
    max_players: Option<Read<i64>>,
    public_connections: Option<Read<i64>>,
    /// s6: 1 for a pure server.
    pure: Option<Read<i64>>,
    /// p268435717 has mutators. The document's own example is pure with custom ones.
    is_mutated: bool,
    /// s32779.
    mode_number: Option<Read<i64>>,
    /// p1073741826.
    game_type: Option<&'a [u8]>,
    engine: Option<i64>,
    least_engine: Option<Read<i64>>,
    /// The port for players.
    pub(in crate::gamespy4) game_port: Option<u16>,
    /// A variable that only UT3 has.
    is_ut3: bool,
    /// The names of all variables.
    names: Vec<Read<&'a [u8]>>,
    /// A column of players or teams that gives a value again.
    pub(in crate::gamespy4) repeated_column: Option<Read<&'a [u8]>>,
    /// A variable shows that this is Minecraft.
    pub(in crate::gamespy4) minecraft: bool,
    /// A variable that UT3 does not have names another game.
    pub(in crate::gamespy4) other_game: bool,
}

impl<'a> Properties<'a> {
    /// Adds a variable. Its value is checked at once.
    pub(in crate::gamespy4) fn add<S: Sink>(
        &mut self,
        key: Read<&'a [u8]>,
        value: Read<&'a [u8]>,
        checks: bool,
        sink: &mut S,
    ) {
        self.is_ut3 |= is_numbered(key.value) || key.value == b"OwningPlayerName";
        match key.value {
            b"hostname" => self.hostname = Some(value),
            b"mapname" => self.map_name = Some(value),
            b"OwningPlayerName" => self.owner = Some(value),
            b"gamemode" => self.game_mode = Some(value),
            b"numplayers" => self.players = number(value),
            b"maxplayers" => self.max_players = number(value),
            b"NumPublicConnections" => self.public_connections = number(value),
            b"hostport" => {
                self.game_port = decimal(value.value).and_then(|port| port.try_into().ok());
            }
            b"game_id" => {
                self.other_game = true;
                self.minecraft = value.value.starts_with(b"MINECRAFT");
            }
            b"gamename" | b"gamever" => self.other_game = true,
            b"s6" => self.pure = number(value),
            b"s32779" => self.mode_number = number(value),
            b"p1073741826" => self.game_type = Some(value.value),
            b"p268435717" => self.is_mutated = decimal(value.value).is_some_and(|bits| bits != 0),
            b"EngineVersion" => self.engine = decimal(value.value),
            b"MinNetVersion" => self.least_engine = number(value),
            _ => {}
        }
        if checks {
            self.names.push(key);
            value_alone(key.value, value, sink);
        }
    }

    /// Checks the rules about several variables, or about the game. `is_in_pairs`: names and values
    /// alternate, so that no value is taken for a name.
    pub(in crate::gamespy4) fn check<S: Sink>(&mut self, is_in_pairs: bool, sink: &mut S) {
        self.names_unique(is_in_pairs, sink);
        if is_in_pairs && self.is_ut3 && !self.other_game {
            self.all_present(sink);
        }
        self.agree(sink);
        self.player_limits(sink);
        if let Some(mode) = self.game_mode.filter(|_| !self.other_game) {
            let ok = matches!(mode.value, b"openplaying" | b"closedplaying");
            domain("gamemode", ok, mode, sink);
        }
        self.known_bugs(sink);
    }

    /// Checks as many of the values as the response has.
    fn player_limits<S: Sink>(&self, sink: &mut S) {
        let Some(most) = self.max_players else { return };
        let players = self.players.filter(|players| players.value > most.value);
        let connections = self.public_connections.filter(|other| other.value != most.value);
        if let Some(players) = players {
            sink.checked(&GS4025, false, players.at, || {
                format!("numplayers is {}, maxplayers {}", players.value, most.value)
            });
        } else if let Some(connections) = connections {
            sink.checked(&GS4025, false, most.at, || {
                format!("maxplayers is {}, NumPublicConnections {}", most.value, connections.value)
            });
        } else if self.players.is_some() || self.public_connections.is_some() {
            sink.checked(&GS4025, true, most.at, String::new);
        }
    }

    fn names_unique<S: Sink>(&mut self, is_in_pairs: bool, sink: &mut S) {
        if !is_in_pairs {
            self.names.retain(|name| is_name(name.value));
        }
        let place = self.names.last().map(|name| name.at).filter(|_| is_in_pairs);
        let mut repeated = repeated(&mut self.names);
        repeated.extend(self.repeated_column);
        for name in &repeated {
            sink.checked(&GS4038, false, name.at, || {
                format!("{} stands twice", String::from_utf8_lossy(name.value))
            });
        }
        if let Some(place) = place.filter(|_| repeated.is_empty()) {
            sink.checked(&GS4038, true, place, String::new);
        }
    }

    fn all_present<S: Sink>(&self, sink: &mut S) {
        let has = [
            ("hostname", self.hostname.is_some()),
            ("hostport", self.has(b"hostport")),
            ("numplayers", self.has(b"numplayers")),
            ("maxplayers", self.has(b"maxplayers")),
            ("gamemode", self.game_mode.is_some()),
            ("mapname", self.map_name.is_some()),
        ];
        let missing: Vec<_> = has.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
        sink.checked(&GS4037, missing.is_empty(), Span::default(), || {
            format!("the variables lack {}", missing.join(", "))
        });
    }

    /// Whether there is a variable of this name.
    fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.value == name)
    }

    /// Checks the variables that say the same in two ways: the first disagreement is reported.
    fn agree<S: Sink>(&self, sink: &mut S) {
        let pure = self.pure.map(|pure| {
            let is_wrong = self.is_mutated && pure.value == 1;
            (pure.at, is_wrong.then(|| "s6 is 1, but p268435717 has mutators".to_owned()))
        });
        let mode = self.mode_number.zip(self.game_type).and_then(|(number, name)| {
            let (_, mode, _) = GAME_TYPES.iter().find(|(mode, ..)| *mode == number.value)?;
            let mut of_type = GAME_TYPES.iter().filter(|(.., class)| class.as_bytes() == name);
            let is_known = of_type.clone().next().is_some();
            let differs = is_known && !of_type.any(|(mode, ..)| *mode == number.value);
            let wrong = || format!("s32779 says {mode}, p1073741826 {}", Quoted(name));
            Some((number.at, differs.then(wrong)))
        });
        let version = self.least_engine.zip(self.engine).map(|(least, engine)| {
            let wrong = || format!("MinNetVersion is {}, EngineVersion {engine}", least.value);
            (least.at, (least.value > engine).then(wrong))
        });
        let all = [pure, mode, version];
        let wrong = all.iter().flatten().find(|(_, wrong)| wrong.is_some());
        if let Some((at, wrong)) = wrong.or(all.iter().flatten().next()) {
            sink.checked(&GS4036, wrong.is_none(), *at, || wrong.clone().unwrap_or_default());
        }
    }

    fn known_bugs<S: Sink>(&self, sink: &mut S) {
        let owner = self.owner.filter(|owner| !owner.value.is_empty());
        let named = self.hostname.zip(owner);
        let listed = self.map_name.filter(|map| lists_variables(map.value));
        match (named, listed) {
            (Some((hostname, owner)), _) if hostname.value == owner.value => {
                let too = if listed.is_some() { ", and mapname lists all variables" } else { "" };
                sink.checked(&GS4028, false, hostname.at, || {
                    format!("hostname is the owning player's name{too}")
                });
            }
            (_, Some(map)) => {
                sink.checked(&GS4028, false, map.at, || "mapname lists all variables".to_owned())
            }
            (Some((hostname, _)), None) => sink.checked(&GS4028, true, hostname.at, String::new),
            (None, None) => {}
        }
    }
}

/// The game types of the table whose mode has a number there: the number, its mode, and the type; and the pair of the
/// document's own example, which contradicts the table.
const GAME_TYPES: [(i64, &str, &str); 5] = [
    (1, "DM", "UTGame.UTDeathmatch"),
    (2, "WAR", "UTGameContent.UTOnslaughtGame_Content"),
    (3, "VCTF", "UTGameContent.UTVehicleCTFGame_Content"),
    (4, "TDM", "UTGame.UTTeamGame"),
    (3, "VCTF", "UTGame.UTDeathmatch"),
];

fn number(value: Read<&[u8]>) -> Option<Read<i64>> {
    decimal(value.value).map(|number| Read { value: number, at: value.at })
}

/// A decimal number of any size; one beyond 64 bits is clamped.
fn decimal(text: &[u8]) -> Option<i64> {
    if !is_decimal(text) {
        return None;
    }
    let most = if text.starts_with(b"-") { i64::MIN } else { i64::MAX };
    Some(std::str::from_utf8(text).ok()?.parse().unwrap_or(most))
}

/// Checks the rules about a single variable.
fn value_alone<S: Sink>(key: &[u8], value: Read<&[u8]>, sink: &mut S) {
    let text = value.value;
    match key {
        b"hostport"
        | b"numplayers"
        | b"maxplayers"
        | b"OwningPlayerId"
        | b"NumPublicConnections"
        | b"EngineVersion"
        | b"MinNetVersion" => {
            numeric(key, is_decimal(text), "a decimal number", value, sink);
            if matches!(key, b"numplayers" | b"maxplayers" | b"NumPublicConnections") {
                count(key, value, sink);
            }
        }
        b"AverageSkillRating" => {
            let float = text.iter().all(|byte| !byte.is_ascii_alphabetic())
                && std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok());
            numeric(key, float, "a float", value, sink);
        }
        b"bUsesStats" => domain("bUsesStats", matches!(text, b"True" | b"False"), value, sink),
        b"bIsDedicated" => domain("bIsDedicated", matches!(text, b"True" | b"False"), value, sink),
        [b's', ..] if is_numbered(key) => numbered(key, value, sink),
        // 0x1000_0000 and up are numbers, 0x4000_0000 and up texts.
        [b'p', b'2', b'6', b'8', b'4', b'3', b'5', ..] if is_numbered(key) => {
            numeric(key, is_decimal(text), "a decimal number", value, sink);
            if key == b"p268435717"
                && let Some(bits) = decimal(text)
            {
                mutator_bits(Read { value: bits, at: value.at }, sink);
            }
            if key == b"p268435703" {
                count(key, value, sink);
            }
        }
        _ => {}
    }
}

fn is_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn numbered<S: Sink>(key: &[u8], value: Read<&[u8]>, sink: &mut S) {
    let number = is_decimal(value.value);
    numeric(key, number, "a decimal number", value, sink);
    let always = match key {
        b"s1" | b"s9" | b"s11" => Some(0..=0),
        b"s12" | b"s13" | b"s14" => Some(0..=1),
        _ => None,
    };
    if let (Some(always), Some(number)) = (always, decimal(value.value)) {
        sink.checked(&GS4035, always.contains(&number), value.at, || {
            let most = if *always.end() == 0 { "0" } else { "0 or 1" };
            format!("{} is {number}, not {most}", String::from_utf8_lossy(key))
        });
    }
    let (name, domain_of) = match key {
        b"s32779" => ("s32779", 1..=5),
        b"s0" => ("s0", 1..=8),
        b"s6" => ("s6", 0..=1),
        b"s7" => ("s7", 0..=1),
        b"s8" => ("s8", 0..=4),
        b"s10" => ("s10", 0..=1),
        _ => return,
    };
    if number {
        let ok = decimal(value.value).is_some_and(|number| domain_of.contains(&number));
        domain(name, ok, value, sink);
    }
}

fn numeric<S: Sink>(key: &[u8], ok: bool, kind: &str, value: Read<&[u8]>, sink: &mut S) {
    sink.checked(&GS4024, ok, value.at, || {
        let key = String::from_utf8_lossy(key);
        format!("{key} is {}, not {kind}", Quoted(value.value))
    });
}

/// Checks that a number of players, or of bots, is not negative.
fn count<S: Sink>(key: &[u8], value: Read<&[u8]>, sink: &mut S) {
    let Some(number) = decimal(value.value) else { return };
    sink.checked(&GS4035, number >= 0, value.at, || {
        format!("{} is {number}, which is negative", String::from_utf8_lossy(key))
    });
}

fn domain<S: Sink>(name: &str, ok: bool, value: Read<&[u8]>, sink: &mut S) {
    sink.checked(&GS4026, ok, value.at, || {
        format!("{name} is {}, which the table does not have", Quoted(value.value))
    });
}

fn mutator_bits<S: Sink>(bits: Read<i64>, sink: &mut S) {
    let known = MUTATORS.iter().fold(0, |known, (bit, _)| known | bit);
    let int32 = i32::try_from(bits.value).ok();
    let unknown = int32.map(|bits| bits.cast_unsigned() & !known);
    sink.checked(&GS4027, unknown == Some(0), bits.at, || match unknown {
        Some(unknown) => {
            format!(
                "p268435717 is {}: bits {unknown:#x} are not in the table of mutators",
                bits.value
            )
        }
        None => format!("p268435717 is {}, which is not an int32", bits.value),
    });
}

/// Whether the first text is a variable's name and the text after it looks like its value: then the
/// name is in the place of another variable's value.
pub(in crate::gamespy4) fn name_in_place_of_value(bytes: &[u8]) -> bool {
    let mut texts = bytes.splitn(3, |&byte| byte == 0);
    let first = texts.next().unwrap_or_default();
    let Some(second) = texts.next().filter(|_| is_name(first)) else { return false };
    match first {
        [b's', ..] => is_decimal(second),
        _ => !second.is_empty() && !is_name(second),
    }
}
