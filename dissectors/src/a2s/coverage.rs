//! Each statement of the specification, and what covers it.

use crate::kit::coverage::Place::{Command, Field, Item, Rule};
use crate::kit::coverage::{Coverage, Section, covered, not_in_packets};

/// See [`Coverage`].
pub(super) static COVERAGE: Coverage = Coverage {
    sentences: 459,
    crc32: 0xb08c_748a,
    headings: &[
        (5, 5),
        (8, 8),
        (12, 13),
        (26, 26),
        (29, 32),
        (38, 41),
        (53, 55),
        (64, 64),
        (78, 80),
        (93, 93),
        (106, 106),
        (109, 112),
        (116, 119),
        (126, 128),
        (137, 137),
        (139, 142),
        (151, 151),
        (155, 157),
        (203, 205),
        (237, 239),
        (289, 291),
        (313, 315),
        (321, 323),
        (331, 333),
        (338, 340),
        (368, 369),
        (379, 379),
        (381, 384),
        (393, 394),
        (400, 400),
        (402, 404),
        (412, 414),
        (430, 431),
        (437, 437),
        (439, 441),
        (449, 451),
        (458, 459),
    ],
    sections: &[
        Section {
            title: "About the document",
            statements: &[
                not_in_packets(
                    "The page is under revision, and others should not change it meanwhile.",
                    "notice to editors of the page",
                    &[(1, 4)],
                ),
                covered(
                    "A game server that runs answers queries about itself, over UDP.",
                    &[Rule("A2S062"), Field("a2s"), Item("seen.answered")],
                    &[(6, 6)],
                ),
                not_in_packets(
                    "The page is about the layout of these queries and how they are used.",
                    "what the document is about",
                    &[(7, 7)],
                ),
            ],
        },
        Section {
            title: "Data types",
            statements: &[
                covered(
                    "Queries consist of values of a few basic types, one behind the other.",
                    &[Rule("A2S006"), Rule("A2S007"), Field("a2s")],
                    &[(9, 9)],
                ),
                covered(
                    "Numbers have their low byte first.",
                    &[
                        Field("a2s.info_response.app_id"),
                        Field("a2s.info_response.port"),
                        Field("a2s.rules_response.num_rules"),
                        Field("a2s.player_response.players.score"),
                    ],
                    &[(10, 10)],
                ),
                not_in_packets(
                    "Most languages on x86 use this byte order anyway.",
                    "property of processors",
                    &[(10, 10)],
                ),
                not_in_packets(
                    "In Java, ByteBuffer converts the byte order.",
                    "advice to authors of software",
                    &[(11, 11)],
                ),
                covered(
                    "A byte is an unsigned number or a character of 8 bits.",
                    &[Field("a2s.info_response.players"), Field("a2s.info_response.server_type")],
                    &[(14, 15)],
                ),
                covered(
                    "A short is a signed number of 16 bits.",
                    &[
                        Field("a2s.info_response.app_id"),
                        Field("a2s.info_response.port"),
                        Field("a2s.rules_response.num_rules"),
                    ],
                    &[(16, 17)],
                ),
                covered(
                    "A long is a signed number of 32 bits.",
                    &[
                        Field("a2s.player_response.players.score"),
                        Field("a2s.challenge_response.challenge"),
                    ],
                    &[(18, 19)],
                ),
                covered(
                    "A float is a number with a fraction, of 32 bits.",
                    &[Field("a2s.player_response.players.duration")],
                    &[(20, 21)],
                ),
                covered(
                    "A long long is an unsigned number of 64 bits.",
                    &[Field("a2s.info_response.steam_id"), Field("a2s.info_response.game_id")],
                    &[(22, 23)],
                ),
                covered(
                    "A string has any length.",
                    &[Field("a2s.info_response.name"), Field("a2s.rules_response.rules.value")],
                    &[(24, 25)],
                ),
                covered("A string is UTF-8.", &[Rule("A2S005")], &[(24, 25)]),
                covered("A string ends in a zero byte.", &[Rule("A2S004")], &[(24, 25)]),
            ],
        },
        Section {
            title: "Packets",
            statements: &[
                covered(
                    "A packet has at most 1400 bytes, not counting the headers of IP and UDP.",
                    &[Rule("A2S002")],
                    &[(27, 27)],
                ),
                covered(
                    "Data that needs several packets is split; each packet has one more header.",
                    &[
                        Rule("A2S051"),
                        Field("a2s.split_fragment"),
                        Field("a2s.rules_response.split"),
                        Item("seen.whole"),
                    ],
                    &[(28, 28)],
                ),
                covered(
                    "An unsplit packet begins with the long -1.",
                    &[Rule("A2S001")],
                    &[(33, 36)],
                ),
                covered(
                    "Behind the header is the message.",
                    &[Rule("A2S003"), Field("a2s")],
                    &[(37, 37)],
                ),
            ],
        },
        Section {
            title: "Split packets of GoldSource",
            statements: &[
                covered(
                    "A packet of a split response begins with the long -2.",
                    &[Rule("A2S001"), Field("a2s.split_fragment")],
                    &[(42, 45)],
                ),
                covered(
                    "The ID is a long that the server chooses anew for each response.",
                    &[
                        Rule("A2S052"),
                        Field("a2s.split_fragment.id"),
                        Field("a2s.rules_response.split.id"),
                    ],
                    &[(46, 48)],
                ),
                covered(
                    "Number and total share one byte.",
                    &[
                        Rule("A2S053"),
                        Field("a2s.split_fragment.layout"),
                        Field("a2s.rules_response.split.layout"),
                    ],
                    &[(49, 51)],
                ),
                covered(
                    "The high four bits are the number of the packet, counted from 0.",
                    &[Rule("A2S041"), Rule("A2S043"), Field("a2s.split_fragment.number")],
                    &[(49, 51)],
                ),
                covered(
                    "The low four bits say of how many packets the response consists: 2 to 15.",
                    &[
                        Rule("A2S040"),
                        Rule("A2S042"),
                        Field("a2s.split_fragment.total"),
                        Field("a2s.rules_response.split.total"),
                    ],
                    &[(49, 51)],
                ),
                covered(
                    "The rest of the packet is a part of the response.",
                    &[Rule("A2S043"), Rule("A2S045"), Field("a2s.split_fragment")],
                    &[(52, 52)],
                ),
            ],
        },
        Section {
            title: "Split packets of Source",
            statements: &[
                covered(
                    "A packet of a split response begins with the long -2, here too.",
                    &[Rule("A2S001"), Field("a2s.split_fragment")],
                    &[(56, 59)],
                ),
                covered(
                    "The ID is a long and means what it means for GoldSource.",
                    &[
                        Rule("A2S052"),
                        Field("a2s.split_fragment.id"),
                        Field("a2s.rules_response.split.id"),
                    ],
                    &[(60, 62)],
                ),
                covered(
                    "The top bit of the ID marks a response compressed with bzip2.",
                    &[Rule("A2S042"), Rule("A2S046"), Field("a2s.rules_response.split.compressed")],
                    &[(63, 63)],
                ),
                covered(
                    "The response was compressed as a whole, and split after that.",
                    &[Rule("A2S046"), Rule("A2S047"), Item("seen.readable")],
                    &[(63, 63)],
                ),
                covered(
                    "The total is a byte: how many packets the response has.",
                    &[
                        Rule("A2S040"),
                        Rule("A2S042"),
                        Field("a2s.split_fragment.total"),
                        Field("a2s.rules_response.split.total"),
                    ],
                    &[(65, 67)],
                ),
                covered(
                    "The number is a byte: which of the packets this is, counted from 0.",
                    &[Rule("A2S041"), Rule("A2S043"), Field("a2s.split_fragment.number")],
                    &[(68, 71)],
                ),
                covered(
                    "Size is a short that engines have from Orange Box on, and older ones lack.",
                    &[
                        Rule("A2S053"),
                        Field("a2s.split_fragment.layout"),
                        Field("a2s.rules_response.split.layout"),
                        Field("a2s.rules_response.split.chosen_by"),
                    ],
                    &[(72, 74)],
                ),
                covered(
                    "Size is the largest length of a packet, above which the server splits.",
                    &[
                        Rule("A2S042"),
                        Rule("A2S050"),
                        Rule("A2S051"),
                        Field("a2s.split_fragment.size"),
                        Field("a2s.rules_response.split.size"),
                    ],
                    &[(72, 74)],
                ),
                covered(
                    "Size is 1248 by default, and an administrator can only lower it.",
                    &[
                        Rule("A2S055"),
                        Field("a2s.split_fragment.size"),
                        Field("a2s.rules_response.split.size"),
                    ],
                    &[(75, 75)],
                ),
                covered(
                    "In older engines, the size of packets cannot be changed.",
                    &[Rule("A2S050")],
                    &[(76, 76)],
                ),
                covered(
                    "Size and checksum are in the first packet alone, of compressed responses.",
                    &[
                        Rule("A2S045"),
                        Rule("A2S046"),
                        Field("a2s.split_fragment.decompressed_size"),
                        Field("a2s.rules_response.split.decompressed_size"),
                        Field("a2s.split_fragment.crc32"),
                        Field("a2s.rules_response.split.crc32"),
                    ],
                    &[(77, 77)],
                ),
                covered(
                    "The first of the two is a long: the length of the decompressed response.",
                    &[
                        Rule("A2S047"),
                        Field("a2s.split_fragment.decompressed_size"),
                        Field("a2s.rules_response.split.decompressed_size"),
                    ],
                    &[(81, 83)],
                ),
                covered(
                    "The second is a long: the CRC32 of the decompressed response.",
                    &[
                        Rule("A2S048"),
                        Field("a2s.split_fragment.crc32"),
                        Field("a2s.rules_response.split.crc32"),
                    ],
                    &[(84, 86)],
                ),
                covered(
                    "To decompress it, a reader needs all packets of the response, joined.",
                    &[Rule("A2S043"), Rule("A2S046"), Item("seen.whole")],
                    &[(87, 87)],
                ),
                not_in_packets(
                    "C, PHP and Python have functions that decompress bzip2.",
                    "advice to authors of software",
                    &[(87, 87)],
                ),
                covered(
                    "The rest of the packet is a part of the response, or of the compressed data.",
                    &[Rule("A2S043"), Rule("A2S045"), Rule("A2S046"), Field("a2s.split_fragment")],
                    &[(88, 88)],
                ),
                covered(
                    "Packets may arrive late, or in another order.",
                    &[Rule("A2S054")],
                    &[(89, 89)],
                ),
                covered(
                    "A packet is identified by its ID and its number.",
                    &[
                        Rule("A2S041"),
                        Rule("A2S044"),
                        Rule("A2S052"),
                        Field("a2s.split_fragment.id"),
                        Field("a2s.rules_response.split.id"),
                        Field("a2s.split_fragment.number"),
                    ],
                    &[(89, 89)],
                ),
                covered(
                    "The message itself begins with -1, whether it was split or not.",
                    &[Rule("A2S001"), Rule("A2S045")],
                    &[(90, 90)],
                ),
                covered(
                    "The first long tells split packets from single ones.",
                    &[Rule("A2S001")],
                    &[(91, 91)],
                ),
                covered(
                    "Team Fortress 2 does not split lists, but ends them at about 1260 bytes.",
                    &[Rule("A2S008"), Item("seen.readable")],
                    &[(92, 92)],
                ),
            ],
        },
        Section {
            title: "Requests",
            statements: &[
                covered(
                    "A server answers five kinds of requests.",
                    &[
                        Rule("A2S003"),
                        Rule("A2S060"),
                        Rule("A2S061"),
                        Rule("A2S062"),
                        Item("seen.answered"),
                        Item("ask.answered"),
                    ],
                    &[(94, 94)],
                ),
                covered(
                    "A2A_PING asks whether the server is there.",
                    &[Field("a2s.ping_request")],
                    &[(95, 96)],
                ),
                covered(
                    "A2S_SERVERQUERY_GETCHALLENGE asks for the challenge of later list requests.",
                    &[Field("a2s.challenge_request")],
                    &[(97, 98)],
                ),
                covered(
                    "A2S_INFO asks for the main facts of the server.",
                    &[Field("a2s.info_request")],
                    &[(99, 100)],
                ),
                covered(
                    "A2S_PLAYER asks for the players, one by one.",
                    &[Field("a2s.player_request")],
                    &[(101, 102)],
                ),
                covered(
                    "A2S_RULES asks for the rules of the server.",
                    &[Field("a2s.rules_request")],
                    &[(103, 104)],
                ),
                covered(
                    "Requests go to the UDP port on which the server listens.",
                    &[Rule("A2S065"), Item("seen.from_asked"), Item("play.port")],
                    &[(105, 105)],
                ),
            ],
        },
        Section {
            title: "A2A_PING",
            statements: &[
                covered(
                    "A ping shows whether there is a server.",
                    &[Rule("A2S062"), Field("a2s.ping_request"), Field("a2s.ping_response")],
                    &[(107, 107)],
                ),
                covered(
                    "The time until the response is the latency.",
                    &[
                        Field("a2s.ping_response"),
                        Command("summary", "the response times P50, P95 and MAX of each server"),
                    ],
                    &[(107, 107)],
                ),
                covered("A2A_PING is deprecated.", &[Rule("A2S064")], &[(108, 108)]),
                covered(
                    "Servers of Team Fortress 2 and of Counter-Strike: Source no longer answer it.",
                    &[Rule("A2S062"), Rule("A2S064")],
                    &[(108, 108)],
                ),
                not_in_packets(
                    "Valve announced this on a mailing list.",
                    "source of the statement",
                    &[(108, 108)],
                ),
                covered(
                    "The request is the byte i.",
                    &[Rule("A2S006"), Field("a2s.ping_request")],
                    &[(113, 115)],
                ),
                covered(
                    "The response is the byte j, with a string behind it.",
                    &[Rule("A2S003"), Rule("A2S060"), Field("a2s.ping_response")],
                    &[(120, 122), (129, 131)],
                ),
                covered(
                    "The string is empty in one form of the response.",
                    &[Rule("A2S063"), Field("a2s.ping_response.payload")],
                    &[(123, 125)],
                ),
                covered(
                    "The string is 14 times the digit 0 in the other form.",
                    &[Rule("A2S063"), Field("a2s.ping_response.payload")],
                    &[(132, 134)],
                ),
                covered(
                    "The example of a response with 14 digits.",
                    &[Field("a2s.ping_response")],
                    &[(135, 136)],
                ),
            ],
        },
        Section {
            title: "A2S_INFO: request",
            statements: &[
                covered(
                    "The response has name, map, number of players and more.",
                    &[
                        Rule("A2S026"),
                        Rule("A2S060"),
                        Field("a2s.info_request"),
                        Field("a2s.info_response"),
                        Field("a2s.info_response.name"),
                        Field("a2s.info_response.map"),
                        Field("a2s.info_response.players"),
                    ],
                    &[(138, 138)],
                ),
                covered(
                    "The request is the byte T, with a string behind it.",
                    &[Rule("A2S010"), Field("a2s.info_request")],
                    &[(143, 145)],
                ),
                covered(
                    "The string is a fixed text of three words that name the engine and the query.",
                    &[Rule("A2S010"), Rule("A2S006"), Field("a2s.info_request")],
                    &[(146, 148)],
                ),
                covered("The example of a request.", &[Field("a2s.info_request")], &[(149, 150)]),
            ],
        },
        Section {
            title: "A2S_INFO: the obsolete response of GoldSource",
            statements: &[
                covered("This form is obsolete.", &[Rule("A2S019")], &[(152, 152)]),
                covered(
                    "Servers of GoldSource answer in the form of Source by now.",
                    &[Rule("A2S019"), Field("a2s.info_response")],
                    &[(153, 153)],
                ),
                covered(
                    "HLTV servers of GoldSource may still use the obsolete form.",
                    &[Rule("A2S019"), Field("a2s.info_response_goldsrc.server_type")],
                    &[(153, 153)],
                ),
                covered(
                    "The Steam Application ID tells apart games that have the same folder.",
                    &[
                        Field("a2s.info_response.app_id"),
                        Field("a2s.info_response.full_app_id"),
                        Field("a2s.info_response.folder"),
                    ],
                    &[(154, 154)],
                ),
                covered(
                    "The message byte is m.",
                    &[Rule("A2S019"), Field("a2s.info_response_goldsrc")],
                    &[(158, 160)],
                ),
                covered(
                    "Address is a string: what the server takes for its address and port.",
                    &[Field("a2s.info_response_goldsrc.address")],
                    &[(161, 163)],
                ),
                covered(
                    "Name is a string: how the server is called.",
                    &[Field("a2s.info_response_goldsrc.name")],
                    &[(164, 166)],
                ),
                covered(
                    "Map is a string: the map that is loaded.",
                    &[Field("a2s.info_response_goldsrc.map")],
                    &[(167, 169)],
                ),
                covered(
                    "Folder is a string: where the files of the game are.",
                    &[Field("a2s.info_response_goldsrc.folder")],
                    &[(170, 172)],
                ),
                covered(
                    "Game is a string: the long name of the game.",
                    &[Field("a2s.info_response_goldsrc.game")],
                    &[(173, 175)],
                ),
                covered(
                    "Players is a byte: how many players there are.",
                    &[Rule("A2S014"), Rule("A2S066"), Field("a2s.info_response_goldsrc.players")],
                    &[(176, 178)],
                ),
                covered(
                    "Max. players is a byte: how many the server says it has room for.",
                    &[Rule("A2S014"), Field("a2s.info_response_goldsrc.max_players")],
                    &[(179, 182)],
                ),
                covered(
                    "Protocol is a byte: the version of the protocol of the game.",
                    &[Field("a2s.info_response_goldsrc.protocol")],
                    &[(183, 185)],
                ),
                covered(
                    "Server type is a character: D dedicated, L not dedicated, P HLTV.",
                    &[Rule("A2S011"), Field("a2s.info_response_goldsrc.server_type")],
                    &[(186, 190)],
                ),
                covered(
                    "Environment is a character: L Linux, W Windows.",
                    &[Rule("A2S012"), Field("a2s.info_response_goldsrc.environment")],
                    &[(191, 194)],
                ),
                covered(
                    "Visibility is a byte: 0 for all, 1 with a password.",
                    &[Rule("A2S013"), Field("a2s.info_response_goldsrc.visibility")],
                    &[(195, 198)],
                ),
                covered(
                    "Mod is a byte that tells mods from other games.",
                    &[Rule("A2S013"), Field("a2s.info_response_goldsrc.mod")],
                    &[(199, 201)],
                ),
                covered(
                    "The fields of the mod exist only where the Mod byte is 1.",
                    &[Rule("A2S015"), Field("a2s.info_response_goldsrc.mod")],
                    &[(202, 202)],
                ),
                covered(
                    "Link is a string: the website of the mod.",
                    &[Rule("A2S015"), Field("a2s.info_response_goldsrc.link")],
                    &[(206, 208)],
                ),
                covered(
                    "Download link is a string: where to get the mod.",
                    &[Rule("A2S015"), Field("a2s.info_response_goldsrc.download_link")],
                    &[(209, 211)],
                ),
                covered("Behind it is a byte that is 0.", &[Rule("A2S015")], &[(212, 214)]),
                covered(
                    "Version is a long: the version of the mod.",
                    &[Rule("A2S015"), Field("a2s.info_response_goldsrc.mod_version")],
                    &[(215, 217)],
                ),
                covered(
                    "Size is a long: how many bytes the mod takes.",
                    &[Rule("A2S015"), Field("a2s.info_response_goldsrc.mod_size")],
                    &[(218, 220)],
                ),
                covered(
                    "Type is a byte: 0 for single and multiplayer, 1 for multiplayer alone.",
                    &[Rule("A2S013"), Rule("A2S015"), Field("a2s.info_response_goldsrc.mod_type")],
                    &[(221, 224)],
                ),
                covered(
                    "DLL is a byte: 0 for that of Half-Life, 1 for one of its own.",
                    &[Rule("A2S013"), Rule("A2S015"), Field("a2s.info_response_goldsrc.mod_dll")],
                    &[(225, 228)],
                ),
                covered(
                    "VAC is a byte: 0 unsecured, 1 secured.",
                    &[Rule("A2S013"), Field("a2s.info_response_goldsrc.vac")],
                    &[(229, 232)],
                ),
                covered(
                    "Bots is a byte: how many bots there are.",
                    &[Rule("A2S014"), Field("a2s.info_response_goldsrc.bots")],
                    &[(233, 235)],
                ),
                covered(
                    "A response of an HLTV server with 255 slots may be incomplete.",
                    &[
                        Rule("A2S007"),
                        Field("a2s.info_response.max_players"),
                        Field("a2s.info_response_goldsrc.max_players"),
                    ],
                    &[(236, 236)],
                ),
                covered("It may be late.", &[Item("seen.in_time")], &[(236, 236)]),
                covered(
                    "It may have wrong values.",
                    &[
                        Rule("A2S011"),
                        Rule("A2S012"),
                        Rule("A2S013"),
                        Rule("A2S014"),
                        Field("a2s.info_response.max_players"),
                        Field("a2s.info_response_goldsrc.max_players"),
                    ],
                    &[(236, 236)],
                ),
            ],
        },
        Section {
            title: "A2S_INFO: response",
            statements: &[
                covered(
                    "The message byte is I.",
                    &[Rule("A2S019"), Rule("A2S060"), Field("a2s.info_response")],
                    &[(240, 242)],
                ),
                covered(
                    "Protocol is a byte: the version of the protocol of the game.",
                    &[Field("a2s.info_response.protocol")],
                    &[(243, 245)],
                ),
                covered(
                    "Name is a string: how the server is called.",
                    &[Field("a2s.info_response.name")],
                    &[(246, 248)],
                ),
                covered(
                    "Map is a string: the map that is loaded.",
                    &[Field("a2s.info_response.map")],
                    &[(249, 251)],
                ),
                covered(
                    "Folder is a string: where the files of the game are.",
                    &[Field("a2s.info_response.folder")],
                    &[(252, 254)],
                ),
                covered(
                    "Game is a string: the long name of the game.",
                    &[Field("a2s.info_response.game")],
                    &[(255, 257)],
                ),
                covered(
                    "ID is a short: the Steam Application ID.",
                    &[Rule("A2S018"), Field("a2s.info_response.app_id")],
                    &[(258, 260)],
                ),
                covered(
                    "Players is a byte: how many players there are.",
                    &[
                        Rule("A2S014"),
                        Rule("A2S066"),
                        Field("a2s.info_response.players"),
                        Item("seen.believable"),
                    ],
                    &[(261, 263)],
                ),
                covered(
                    "Max. players is a byte: how many the server says it has room for.",
                    &[Rule("A2S014"), Field("a2s.info_response.max_players")],
                    &[(264, 267)],
                ),
                covered(
                    "Bots is a byte: how many bots there are.",
                    &[Rule("A2S014"), Rule("A2S066"), Field("a2s.info_response.bots")],
                    &[(268, 270)],
                ),
                covered(
                    "Server type is a character: D dedicated, L not dedicated, P SourceTV.",
                    &[Rule("A2S011"), Field("a2s.info_response.server_type")],
                    &[(271, 275)],
                ),
                covered(
                    "Environment is a character: L Linux, W Windows.",
                    &[Rule("A2S012"), Field("a2s.info_response.environment")],
                    &[(276, 279)],
                ),
                covered(
                    "Visibility is a byte: 0 for all, 1 with a password.",
                    &[Rule("A2S013"), Field("a2s.info_response.visibility")],
                    &[(280, 283)],
                ),
                covered(
                    "VAC is a byte: 0 unsecured, 1 secured.",
                    &[Rule("A2S013"), Field("a2s.info_response.vac")],
                    &[(284, 287)],
                ),
                covered(
                    "Three fields exist for the game The Ship alone.",
                    &[
                        Rule("A2S017"),
                        Field("a2s.info_response.mode"),
                        Field("a2s.info_response.witnesses"),
                        Field("a2s.info_response.duration"),
                    ],
                    &[(288, 288)],
                ),
                covered(
                    "Mode is a byte, 0 to 5: one of the six modes of the game.",
                    &[Rule("A2S017"), Field("a2s.info_response.mode")],
                    &[(292, 299)],
                ),
                covered(
                    "Witnesses is a byte: how many it takes to arrest a player.",
                    &[Rule("A2S017"), Field("a2s.info_response.witnesses")],
                    &[(300, 302)],
                ),
                covered(
                    "Duration is a byte: the seconds from being seen to being arrested.",
                    &[Rule("A2S017"), Field("a2s.info_response.duration")],
                    &[(303, 305)],
                ),
                covered(
                    "Version is a string: which version of the game the server has.",
                    &[Field("a2s.info_response.version")],
                    &[(306, 308)],
                ),
                covered(
                    "The EDF is a byte that may be absent.",
                    &[Field("a2s.info_response.edf")],
                    &[(309, 311)],
                ),
                covered(
                    "The bits of the EDF announce the fields that follow.",
                    &[Rule("A2S016"), Field("a2s.info_response.edf")],
                    &[(309, 311)],
                ),
                covered(
                    "Bit 0x80 of the EDF announces the game port.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S007"),
                        Field("a2s.info_response.edf"),
                        Field("a2s.info_response.port"),
                    ],
                    &[(312, 312)],
                ),
                covered(
                    "Port is a short: the port on which players join.",
                    &[
                        Rule("A2S067"),
                        Field("a2s.info_response.port"),
                        Item("play.open"),
                        Item("play.port"),
                    ],
                    &[(316, 318)],
                ),
                covered(
                    "Bit 0x10 of the EDF announces a field that the document leaves out.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S007"),
                        Field("a2s.info_response.edf"),
                        Field("a2s.info_response.steam_id"),
                    ],
                    &[(319, 319)],
                ),
                covered(
                    "Bit 0x40 of the EDF announces port and name of SourceTV.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S007"),
                        Field("a2s.info_response.edf"),
                        Field("a2s.info_response.sourcetv_port"),
                        Field("a2s.info_response.sourcetv_name"),
                    ],
                    &[(320, 320)],
                ),
                covered(
                    "The port of SourceTV is a short.",
                    &[Rule("A2S067"), Field("a2s.info_response.sourcetv_port")],
                    &[(324, 326)],
                ),
                covered(
                    "The name of SourceTV is a string.",
                    &[Field("a2s.info_response.sourcetv_name")],
                    &[(327, 329)],
                ),
                covered(
                    "Bit 0x20 of the EDF announces keywords.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S007"),
                        Field("a2s.info_response.edf"),
                        Field("a2s.info_response.keywords"),
                    ],
                    &[(330, 330)],
                ),
                covered(
                    "Keywords are a string: tags with which the server describes its game.",
                    &[Field("a2s.info_response.keywords")],
                    &[(334, 336)],
                ),
                not_in_packets(
                    "The keywords are for later use.",
                    "plans for the protocol",
                    &[(336, 336)],
                ),
                covered(
                    "Bit 0x01 of the EDF announces the GameID.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S007"),
                        Field("a2s.info_response.edf"),
                        Field("a2s.info_response.game_id"),
                    ],
                    &[(337, 337)],
                ),
                covered(
                    "GameID is a long long: the whole ID of the game.",
                    &[
                        Rule("A2S018"),
                        Field("a2s.info_response.game_id"),
                        Field("a2s.info_response.full_app_id"),
                    ],
                    &[(341, 343)],
                ),
                covered(
                    "The example of Counter-Strike: Source.",
                    &[Field("a2s.info_response")],
                    &[(344, 351)],
                ),
                covered(
                    "The example of The Ship, with its three fields.",
                    &[Rule("A2S017"), Field("a2s.info_response")],
                    &[(352, 356)],
                ),
                covered(
                    "The example of SiN 1 Multiplayer.",
                    &[Field("a2s.info_response")],
                    &[(357, 361)],
                ),
                covered(
                    "The example of Rag Doll Kung Fu, whose server type is 0.",
                    &[Rule("A2S011"), Field("a2s.info_response")],
                    &[(362, 367)],
                ),
            ],
        },
        Section {
            title: "A2S_SERVERQUERY_GETCHALLENGE",
            statements: &[
                covered(
                    "Player and rules requests must have a challenge.",
                    &[
                        Rule("A2S021"),
                        Rule("A2S022"),
                        Rule("A2S024"),
                        Rule("A2S026"),
                        Field("a2s.player_request.challenge"),
                        Field("a2s.rules_request.challenge"),
                    ],
                    &[(370, 372)],
                ),
                covered(
                    "This request is for getting one.",
                    &[
                        Rule("A2S025"),
                        Field("a2s.challenge_request"),
                        Field("a2s.challenge_response"),
                    ],
                    &[(370, 372)],
                ),
                covered(
                    "A player or rules request with -1 gets a challenge, too.",
                    &[
                        Rule("A2S023"),
                        Field("a2s.player_request.challenge"),
                        Field("a2s.rules_request.challenge"),
                        Item("seen.challenged"),
                    ],
                    &[(373, 376)],
                ),
                covered(
                    "That challenge is the one to use; it has the form below.",
                    &[
                        Rule("A2S020"),
                        Rule("A2S022"),
                        Rule("A2S027"),
                        Field("a2s.challenge_response"),
                        Item("seen.verified"),
                    ],
                    &[(376, 376)],
                ),
                covered(
                    "Servers of GoldSource and Left 4 Dead 2 do not answer this request.",
                    &[Rule("A2S025"), Rule("A2S062")],
                    &[(377, 377)],
                ),
                not_in_packets(
                    "This was so in September 2009.",
                    "history of the protocol",
                    &[(377, 377)],
                ),
                covered(
                    "Asking with -1 works with these servers.",
                    &[Rule("A2S023"), Rule("A2S025")],
                    &[(378, 378)],
                ),
                covered(
                    "The request is the byte W alone.",
                    &[Rule("A2S006"), Field("a2s.challenge_request")],
                    &[(380, 380)],
                ),
                covered(
                    "The message byte of the response is A.",
                    &[Rule("A2S003"), Field("a2s.challenge_response")],
                    &[(385, 387)],
                ),
                covered(
                    "Challenge is a long: the number to send with further requests.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S020"),
                        Rule("A2S022"),
                        Field("a2s.challenge_response.challenge"),
                        Item("ask.challenge"),
                    ],
                    &[(388, 390)],
                ),
                covered(
                    "The example of a challenge.",
                    &[Field("a2s.challenge_response")],
                    &[(391, 392)],
                ),
            ],
        },
        Section {
            title: "A2S_PLAYER",
            statements: &[
                covered(
                    "The request is the byte U and the four bytes of a challenge.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S021"),
                        Field("a2s.player_request"),
                        Item("ask.wellformed"),
                    ],
                    &[(395, 395)],
                ),
                covered(
                    "A challenge of -1 requests a challenge from the server.",
                    &[
                        Rule("A2S023"),
                        Rule("A2S025"),
                        Field("a2s.player_request.challenge"),
                        Field("a2s.challenge_response"),
                    ],
                    &[(396, 397)],
                ),
                covered(
                    "Any other challenge is one that the server gave before.",
                    &[
                        Rule("A2S022"),
                        Rule("A2S024"),
                        Field("a2s.player_request.challenge"),
                        Item("ask.challenge"),
                    ],
                    &[(398, 399)],
                ),
                covered(
                    "The response begins with a header.",
                    &[Field("a2s.player_response")],
                    &[(401, 401)],
                ),
                covered(
                    "The message byte is D.",
                    &[Rule("A2S060"), Field("a2s.player_response")],
                    &[(405, 407)],
                ),
                covered(
                    "Num Players is a byte: how many players follow.",
                    &[
                        Rule("A2S030"),
                        Rule("A2S066"),
                        Field("a2s.player_response.num_players"),
                        Item("seen.believable"),
                    ],
                    &[(408, 410)],
                ),
                covered(
                    "An entry for each of the players follows.",
                    &[Rule("A2S007"), Rule("A2S030"), Field("a2s.player_response.players")],
                    &[(401, 401), (411, 411)],
                ),
                covered(
                    "Index is a byte: the position in the list, counted from 0.",
                    &[Rule("A2S031"), Field("a2s.player_response.players.index")],
                    &[(415, 418)],
                ),
                covered(
                    "The name is a string.",
                    &[
                        Rule("A2S066"),
                        Field("a2s.player_response.players.name"),
                        Field("a2s.player_response.unnamed"),
                    ],
                    &[(419, 421)],
                ),
                covered(
                    "Kills is a long: the kills of the player.",
                    &[Field("a2s.player_response.players.score")],
                    &[(422, 424)],
                ),
                covered(
                    "Time connected is a float: for how many seconds the player has been there.",
                    &[Rule("A2S032"), Field("a2s.player_response.players.duration")],
                    &[(425, 427)],
                ),
                not_in_packets(
                    "Programs in Java must reverse the bytes of the score.",
                    "advice to authors of software",
                    &[(428, 428)],
                ),
                covered(
                    "Left 4 Dead 2 sends the index 0 for everybody.",
                    &[Rule("A2S031"), Field("a2s.player_response.players.index")],
                    &[(429, 429)],
                ),
                not_in_packets(
                    "This, too, was so in September 2009.",
                    "history of the protocol",
                    &[(429, 429)],
                ),
            ],
        },
        Section {
            title: "A2S_RULES",
            statements: &[
                covered(
                    "The request is the byte V and the four bytes of a challenge.",
                    &[
                        Rule("A2S006"),
                        Rule("A2S021"),
                        Field("a2s.rules_request"),
                        Item("ask.wellformed"),
                    ],
                    &[(432, 432)],
                ),
                covered(
                    "A challenge of -1 requests a challenge from the server.",
                    &[
                        Rule("A2S023"),
                        Rule("A2S025"),
                        Field("a2s.rules_request.challenge"),
                        Field("a2s.challenge_response"),
                    ],
                    &[(433, 434)],
                ),
                covered(
                    "Any other challenge is one that the server gave before.",
                    &[
                        Rule("A2S022"),
                        Rule("A2S024"),
                        Field("a2s.rules_request.challenge"),
                        Item("ask.challenge"),
                    ],
                    &[(435, 436)],
                ),
                covered(
                    "The response begins with a header.",
                    &[Field("a2s.rules_response")],
                    &[(438, 438)],
                ),
                covered(
                    "The message byte is E.",
                    &[Rule("A2S060"), Field("a2s.rules_response")],
                    &[(442, 444)],
                ),
                covered(
                    "Num Rules is a short: how many rules follow.",
                    &[Rule("A2S033"), Field("a2s.rules_response.num_rules")],
                    &[(445, 447)],
                ),
                covered(
                    "A pair of strings for each of the rules follows.",
                    &[Rule("A2S007"), Rule("A2S033"), Field("a2s.rules_response.rules")],
                    &[(438, 438), (448, 448)],
                ),
                covered(
                    "The first string is how the rule is called.",
                    &[Rule("A2S004"), Rule("A2S034"), Field("a2s.rules_response.rules.name")],
                    &[(452, 454)],
                ),
                covered(
                    "The second string is its value.",
                    &[Rule("A2S004"), Field("a2s.rules_response.rules.value")],
                    &[(455, 457)],
                ),
            ],
        },
    ],
};
