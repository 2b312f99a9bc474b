//! Each statement of the specification, and what covers it.

use crate::kit::coverage::Place::{Command, Field, Item, Rule};
use crate::kit::coverage::{Coverage, Section, covered, not_in_packets};

/// See [`Coverage`].
pub(super) static COVERAGE: Coverage = Coverage {
    sentences: 118,
    crc32: 0x98f0_3154,
    headings: &[
        (1, 2),
        (8, 9),
        (11, 11),
        (13, 13),
        (15, 15),
        (17, 18),
        (26, 26),
        (32, 32),
        (38, 38),
        (47, 47),
        (61, 61),
        (98, 98),
        (114, 118),
    ],
    sections: &[
        Section {
            title: "Introduction: the port and the protocol",
            statements: &[
                covered(
                    "A server takes queries on port 6500 unless another port is set.",
                    &[Rule("GS4032")],
                    &[(3, 3)],
                ),
                not_in_packets(
                    "In UT2003 and UT2004 the query port followed the game port.",
                    "history: other games with another protocol",
                    &[(3, 3)],
                ),
                covered(
                    "Further servers on a host take the next free port, 100 higher each time.",
                    &[Rule("GS4032")],
                    &[(4, 4)],
                ),
                not_in_packets(
                    "Since version 1.01 the configuration can set the query port.",
                    "a setting of the server; packets have only the port that results",
                    &[(5, 5)],
                ),
                covered(
                    "Queries are in version 4 of the GameSpy query protocol, in UDP datagrams.",
                    &[
                        Field("gamespy4"),
                        Item("ask.protocol"),
                        Command("flows", "the protocol and the transport of each flow"),
                    ],
                    &[(6, 6)],
                ),
                not_in_packets(
                    "The older games had proprietary query protocols instead.",
                    "history: other games with other protocols",
                    &[(7, 7)],
                ),
            ],
        },
        Section {
            title: "Introduction: the four steps",
            statements: &[
                covered(
                    "A query begins with a request of the client.",
                    &[Rule("GS4030"), Field("gamespy4.challenge_request"), Item("seen.asked")],
                    &[(10, 10)],
                ),
                covered(
                    "The server answers with a number that only this client gets.",
                    &[
                        Rule("GS4010"),
                        Rule("GS4031"),
                        Rule("GS4033"),
                        Field("gamespy4.challenge_response.challenge"),
                        Item("seen.challenged"),
                    ],
                    &[(12, 12)],
                ),
                covered(
                    "The client repeats that number in a second request.",
                    &[
                        Rule("GS4007"),
                        Rule("GS4008"),
                        Field("gamespy4.info_request.challenge"),
                        Item("ask.challenge"),
                    ],
                    &[(14, 14)],
                ),
                covered(
                    "The server answers the second request with its information.",
                    &[
                        Rule("GS4031"),
                        Rule("GS4033"),
                        Field("gamespy4.info_response"),
                        Item("seen.verified"),
                        Item("seen.answered"),
                        Item("seen.from_asked"),
                        Item("ask.answered"),
                    ],
                    &[(16, 16), (46, 46)],
                ),
            ],
        },
        Section {
            title: "Packet 1: initial request",
            statements: &[
                covered(
                    "A request opens with FE FD, which stands for version 4 of the protocol.",
                    &[Rule("GS4001"), Field("gamespy4"), Item("ask.wellformed")],
                    &[(19, 20)],
                ),
                covered(
                    "The third byte is 09: the client asks for a challenge.",
                    &[Rule("GS4002"), Field("gamespy4.challenge_request")],
                    &[(21, 21)],
                ),
                covered(
                    "Four bytes of timestamp follow, and end the request.",
                    &[Rule("GS4003"), Field("gamespy4.challenge_request.timestamp")],
                    &[(22, 22)],
                ),
                covered(
                    "The timestamp has any value; it only tells packets of one server apart.",
                    &[
                        Rule("GS4004"),
                        Rule("GS4033"),
                        Field("gamespy4.challenge_request.timestamp"),
                    ],
                    &[(23, 23)],
                ),
                covered(
                    "UT3 seems to fill the timestamp from its clock, in seconds.",
                    &[
                        Field("gamespy4.challenge_request.timestamp"),
                        Field("gamespy4.info_request.timestamp"),
                    ],
                    &[(22, 22), (24, 24)],
                ),
                not_in_packets(
                    "Programs should keep it in a signed integer of four bytes, like time_t.",
                    "advice to authors; the bytes on the wire are the same without a sign",
                    &[(25, 25)],
                ),
            ],
        },
        Section {
            title: "Packet 2: first response",
            statements: &[
                covered(
                    "The response opens with 09, the type of the request that it answers.",
                    &[Rule("GS4034"), Field("gamespy4.challenge_response"), Item("seen.readable")],
                    &[(27, 27)],
                ),
                covered(
                    "The request's timestamp comes back; the document counts a byte too many.",
                    &[Rule("GS4004"), Field("gamespy4.challenge_response.timestamp")],
                    &[(28, 28)],
                ),
                covered(
                    "The challenge is a number written in ASCII.",
                    &[Rule("GS4005"), Field("gamespy4.challenge_response.challenge")],
                    &[(29, 29)],
                ),
                covered("The challenge fills 12 bytes.", &[Rule("GS4006")], &[(29, 29)]),
                covered(
                    "The number may be negative.",
                    &[Rule("GS4005"), Field("gamespy4.challenge_response.challenge")],
                    &[(30, 30)],
                ),
                covered(
                    "Zeros fill the space after the number.",
                    &[Rule("GS4005"), Rule("GS4006")],
                    &[(30, 30)],
                ),
                covered(
                    "The client turns the text into an integer for its next request.",
                    &[
                        Rule("GS4005"),
                        Rule("GS4007"),
                        Field("gamespy4.info_request.challenge"),
                        Item("ask.wellformed"),
                    ],
                    &[(31, 31)],
                ),
            ],
        },
        Section {
            title: "Packet 3: second request",
            statements: &[
                covered(
                    "The second request has the same two bytes of identification, FE FD.",
                    &[Rule("GS4001")],
                    &[(33, 33)],
                ),
                covered(
                    "The third byte is 00: the client asks for the server's information.",
                    &[Rule("GS4002"), Field("gamespy4.info_request")],
                    &[(34, 34)],
                ),
                covered(
                    "Four bytes of timestamp follow; they may be new ones.",
                    &[Rule("GS4004"), Field("gamespy4.info_request.timestamp")],
                    &[(35, 35)],
                ),
                covered(
                    "The challenge comes next, as four bytes, signed, the highest byte first.",
                    &[Rule("GS4007"), Field("gamespy4.info_request.challenge")],
                    &[(36, 36)],
                ),
                covered(
                    "FF FF FF 01 ends the request.",
                    &[Rule("GS4009"), Item("ask.wellformed")],
                    &[(37, 37)],
                ),
                covered(
                    "The example of code shifts the challenge by 24, 16, 8 and 0 bits: big-endian.",
                    &[Rule("GS4007"), Field("gamespy4.info_request.challenge")],
                    &[(39, 39), (41, 45)],
                ),
                covered(
                    "The example of code has the timestamp 10 20 30 40.",
                    &[
                        Field("gamespy4.info_request.timestamp"),
                        Command("summary", "a client's library, qstat, which uses it"),
                    ],
                    &[(40, 40)],
                ),
            ],
        },
        Section {
            title: "Packet 4: server information response, its header",
            statements: &[
                covered(
                    "The response opens with 00, the type of the request that it answers.",
                    &[Rule("GS4034"), Field("gamespy4.info_response"), Item("seen.readable")],
                    &[(48, 48)],
                ),
                covered(
                    "The timestamp of the second request comes back in each packet.",
                    &[Rule("GS4004"), Field("gamespy4.info_response.timestamp")],
                    &[(49, 49)],
                ),
                covered(
                    "Nine bytes hold the text splitnum with a zero at its end.",
                    &[Rule("GS4020")],
                    &[(50, 50)],
                ),
                covered(
                    "Another text is possible there; splitnum is a convention.",
                    &[Rule("GS4020")],
                    &[(51, 51)],
                ),
                covered(
                    "Byte 15 numbers the packets of the response.",
                    &[
                        Rule("GS4021"),
                        Rule("GS4022"),
                        Field("gamespy4.info_fragment.index"),
                        Field("gamespy4.info_fragment.last"),
                        Item("seen.whole"),
                    ],
                    &[(52, 52)],
                ),
                covered(
                    "Its highest bit marks the last packet.",
                    &[Rule("GS4022"), Field("gamespy4.info_fragment.last")],
                    &[(53, 53)],
                ),
                covered(
                    "Its other seven bits are the index of the packet, from 0.",
                    &[Rule("GS4021"), Field("gamespy4.info_fragment.index")],
                    &[(54, 54)],
                ),
                covered(
                    "A response of one packet has 80 there.",
                    &[Rule("GS4021"), Rule("GS4022")],
                    &[(55, 55)],
                ),
                covered(
                    "The document does not know the meaning of byte 16, also a number of a packet.",
                    &[Command(
                        "dissect",
                        "byte 16 as the section that it opens, such as players (--tree)",
                    )],
                    &[(56, 56)],
                ),
            ],
        },
        Section {
            title: "Packet 4: the format of the information",
            statements: &[
                covered(
                    "The information about the server follows the header.",
                    &[Rule("GS4037"), Field("gamespy4.info_response.properties")],
                    &[(57, 57)],
                ),
                covered(
                    "The example is of a Multiplay server, without its 16 bytes of header.",
                    &[Field("gamespy4.info_response.properties")],
                    &[(58, 58)],
                ),
                covered(
                    "A zero byte separates one text from the next.",
                    &[Rule("GS4023"), Field("gamespy4.info_response.properties.*")],
                    &[(59, 59)],
                ),
                covered(
                    "The texts are names and values in turn.",
                    &[Rule("GS4023"), Rule("GS4038"), Field("gamespy4.info_response.properties.*")],
                    &[(60, 60)],
                ),
                not_in_packets(
                    "The table describes the game's release with its first patch.",
                    "the state of the document",
                    &[(60, 60)],
                ),
            ],
        },
        Section {
            title: "Packet 4: variables by name",
            statements: &[
                covered(
                    "hostname holds the name of the owning player.",
                    &[Rule("GS4028"), Rule("GS4037"), Field("gamespy4.info_response.properties.*")],
                    &[(62, 62)],
                ),
                covered(
                    "That is a fault of UT3: an address or a name of the host belongs there.",
                    &[Rule("GS4028"), Field("gamespy4.info_response.properties.*")],
                    &[(63, 63)],
                ),
                covered(
                    "hostport is the port of the game server.",
                    &[Rule("GS4024"), Rule("GS4037"), Field("gamespy4.info_response.properties.*")],
                    &[(64, 64)],
                ),
                covered(
                    "numplayers counts the players on the server.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4025"),
                        Rule("GS4035"),
                        Rule("GS4037"),
                        Field("gamespy4.info_response.properties.*"),
                        Command("summary", "the players of each server"),
                    ],
                    &[(65, 65)],
                ),
                covered(
                    "maxplayers is how many players the server admits.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4025"),
                        Rule("GS4035"),
                        Rule("GS4037"),
                        Field("gamespy4.info_response.properties.*"),
                        Command("summary", "the players of each server"),
                    ],
                    &[(66, 66)],
                ),
                covered(
                    "gamemode is openplaying or closedplaying.",
                    &[Rule("GS4026"), Rule("GS4037"), Field("gamespy4.info_response.properties.*")],
                    &[(67, 67)],
                ),
                covered(
                    "gamemode probably reflects the setting for joining a running game.",
                    &[Command("dissect", "the meaning of gamemode, with the setting (--tree)")],
                    &[(67, 67)],
                ),
                covered(
                    "mapname holds all these variables with their values, by mistake, and no map.",
                    &[Rule("GS4028"), Rule("GS4037"), Field("gamespy4.info_response.properties.*")],
                    &[(68, 69)],
                ),
                covered(
                    "OwningPlayerId is the number of the player who owns the server.",
                    &[Rule("GS4024"), Field("gamespy4.info_response.properties.*")],
                    &[(70, 70)],
                ),
                covered(
                    "NumPublicConnections is the same limit as maxplayers.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4025"),
                        Rule("GS4035"),
                        Field("gamespy4.info_response.properties.*"),
                    ],
                    &[(71, 71)],
                ),
                covered(
                    "bUsesStats is True or False: whether statistics are kept.",
                    &[Rule("GS4026"), Field("gamespy4.info_response.properties.*")],
                    &[(72, 72)],
                ),
                covered(
                    "bIsDedicated is True or False: whether the server is dedicated.",
                    &[Rule("GS4026"), Field("gamespy4.info_response.properties.*")],
                    &[(73, 73)],
                ),
                not_in_packets(
                    "OwningPlayerName is the name of the player with that number.",
                    "only the game's account service knows whose number it is",
                    &[(74, 74)],
                ),
                covered(
                    "AverageSkillRating, a fraction, helps players to find others of their skill.",
                    &[Rule("GS4024"), Field("gamespy4.info_response.properties.*")],
                    &[(75, 75)],
                ),
                covered(
                    "EngineVersion is the version of the server, sent since patch 2.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4036"),
                        Field("gamespy4.info_response.properties.*"),
                        Command("summary", "the version of each server"),
                    ],
                    &[(76, 76)],
                ),
                covered(
                    "MinNetVersion is the oldest client that may join, sent since patch 2.",
                    &[Rule("GS4024"), Rule("GS4036"), Field("gamespy4.info_response.properties.*")],
                    &[(77, 77)],
                ),
            ],
        },
        Section {
            title: "Packet 4: variables by number, settings",
            statements: &[
                covered(
                    "s32779 is the mode of the game, 1 to 5: DM, WAR, VCTF, TDM, DUEL.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4026"),
                        Rule("GS4036"),
                        Field("gamespy4.info_response.properties.*"),
                    ],
                    &[(78, 78)],
                ),
                covered(
                    "s0 is the skill of the bots, from 1 for Novice to 8 for Godlike.",
                    &[Rule("GS4024"), Rule("GS4026"), Field("gamespy4.info_response.properties.*")],
                    &[(79, 79)],
                ),
                covered(
                    "s1 is 0 in all servers; its meaning is unknown.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(80, 80)],
                ),
                covered(
                    "s6 is 1 for a pure server, 0 for one with mutators.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4026"),
                        Rule("GS4036"),
                        Field("gamespy4.info_response.properties.*"),
                    ],
                    &[(81, 81)],
                ),
                covered(
                    "s7 is 1 if players need a password, 0 if the server is public.",
                    &[Rule("GS4024"), Rule("GS4026"), Field("gamespy4.info_response.properties.*")],
                    &[(82, 82)],
                ),
                covered(
                    "s8, from 0 to 4, is the ratio of players to bots in games against bots.",
                    &[Rule("GS4024"), Rule("GS4026"), Field("gamespy4.info_response.properties.*")],
                    &[(83, 83)],
                ),
                covered(
                    "s9 is 0 in all servers; its meaning is unknown.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(84, 84)],
                ),
                covered(
                    "s10 is 1 if dead players are forced back into the game, otherwise 0.",
                    &[Rule("GS4024"), Rule("GS4026"), Field("gamespy4.info_response.properties.*")],
                    &[(85, 85)],
                ),
                covered(
                    "s11 is 0 in all servers; its meaning is unknown.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(86, 86)],
                ),
                covered(
                    "s12 is 0 or 1; its meaning is unknown.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(87, 87)],
                ),
                covered(
                    "s13 is 0 or 1; its meaning is unknown.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(88, 88)],
                ),
                covered(
                    "s14 is 0 or 1; its meaning is unknown.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(89, 89)],
                ),
            ],
        },
        Section {
            title: "Packet 4: variables by number, properties",
            statements: &[
                covered(
                    "p1073741825 is the name of the map.",
                    &[
                        Field("gamespy4.info_response.properties.*"),
                        Command("summary", "the map of each server"),
                    ],
                    &[(90, 90)],
                ),
                covered(
                    "p1073741826 is the class of the game type, such as UTGame.UTTeamGame.",
                    &[Rule("GS4036"), Field("gamespy4.info_response.properties.*")],
                    &[(91, 91)],
                ),
                covered(
                    "p1073741827 is the name that the server browser shows.",
                    &[
                        Field("gamespy4.info_response.properties.*"),
                        Command("summary", "the name of each server"),
                    ],
                    &[(92, 92)],
                ),
                covered(
                    "p1073741828 lists the custom mutators, since patch 1.",
                    &[Field("gamespy4.info_response.properties.*")],
                    &[(93, 93)],
                ),
                covered(
                    "The byte 1C separates custom mutators.",
                    &[Command("dissect", "each custom mutator on its own (--tree)")],
                    &[(93, 93)],
                ),
                covered(
                    "p268435704 is the score, or the number of frags, that ends a game.",
                    &[Rule("GS4024"), Field("gamespy4.info_response.properties.*")],
                    &[(94, 94)],
                ),
                covered(
                    "p268435705 is how many minutes a game lasts at most.",
                    &[Rule("GS4024"), Field("gamespy4.info_response.properties.*")],
                    &[(95, 95)],
                ),
                covered(
                    "p268435703 counts the bots.",
                    &[Rule("GS4024"), Rule("GS4035"), Field("gamespy4.info_response.properties.*")],
                    &[(96, 96)],
                ),
                covered(
                    "p268435717 is a set of bits, one for each stock mutator.",
                    &[
                        Rule("GS4024"),
                        Rule("GS4027"),
                        Rule("GS4036"),
                        Field("gamespy4.info_response.properties.*"),
                    ],
                    &[(97, 97)],
                ),
            ],
        },
        Section {
            title: "Stock mutators",
            statements: &[
                covered(
                    "The bits of p268435717 are a number of 32 bits, signed.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(99, 99)],
                ),
                covered(
                    "The bit 1 is the mutator BigHead.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(100, 100)],
                ),
                covered(
                    "The bit 2 is the mutator FriendlyFire.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(101, 101)],
                ),
                covered(
                    "The bit 4 is the mutator Handicap.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(102, 102)],
                ),
                covered(
                    "The bit 8 is the mutator Instagib.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(103, 103)],
                ),
                covered(
                    "The bit 16 is the mutator LowGrav.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(104, 104)],
                ),
                covered(
                    "The bit 64 is the mutator NoPowerups.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(105, 105)],
                ),
                covered(
                    "The bit 128 is the mutator NoTranslocator.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(106, 106)],
                ),
                covered(
                    "The bit 256 is the mutator Slomo.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(107, 107)],
                ),
                covered(
                    "The bit 1024 is the mutator SpeedFreak.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(108, 108)],
                ),
                covered(
                    "The bit 2048 is the mutator SuperBerserk.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(109, 109)],
                ),
                covered(
                    "The bit 8192 is the mutator WeaponReplacement.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(110, 110)],
                ),
                covered(
                    "The bit 16384 is the mutator WeaponsRespawn.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(111, 111)],
                ),
                covered(
                    "Several mutators are the sum of their bits.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(112, 112)],
                ),
                covered(
                    "The example of a sum, 17, is BigHead with LowGrav.",
                    &[Rule("GS4027"), Field("gamespy4.info_response.properties.*")],
                    &[(113, 113)],
                ),
            ],
        },
    ],
};
