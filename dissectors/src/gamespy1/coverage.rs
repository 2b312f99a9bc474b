//! Each statement of the specification, and what covers it.

use crate::kit::coverage::Place::{Command, Field, Item, Rule};
use crate::kit::coverage::{Coverage, Section, covered, not_in_packets};

/// See [`Coverage`].
pub(super) static COVERAGE: Coverage = Coverage {
    sentences: 97,
    crc32: 0x9df8_ac3c,
    headings: &[
        (1, 3),
        (6, 6),
        (10, 12),
        (14, 14),
        (16, 16),
        (18, 18),
        (20, 20),
        (23, 23),
        (25, 25),
        (27, 27),
        (35, 35),
        (49, 49),
        (84, 85),
        (87, 87),
    ],
    sections: &[
        Section {
            title: "MasterServer",
            statements: &[
                covered(
                    "A master keeps the list of the servers of a game that run now.",
                    &[
                        Rule("GS1027"),
                        Field("gamespy1.list_response"),
                        Command("summary", "the table of masters: heartbeats, servers listed"),
                    ],
                    &[(4, 4), (86, 86)],
                ),
                not_in_packets(
                    "A player who opens the internet games of the menu soon sees servers.",
                    "what the game shows on the screen; the packets are stated below",
                    &[(5, 5)],
                ),
            ],
        },
        Section {
            title: "Basic Operation",
            statements: &[
                not_in_packets(
                    "A player chooses a server by what it offers, such as its map and players.",
                    "a choice of the player; the packets are stated below",
                    &[(7, 7), (8, 8), (26, 26)],
                ),
                not_in_packets(
                    "For players this is easy, although much happens behind it.",
                    "a remark on what players see; nothing of it is sent",
                    &[(9, 9)],
                ),
                covered(
                    "Servers signal to the master once a minute.",
                    &[Rule("GS1024"), Field("gamespy1.heartbeat"), Item("reg.heartbeats")],
                    &[(13, 13)],
                ),
                covered(
                    "The master keeps the IP address and the query port of such servers.",
                    &[
                        Field("gamespy1.list_response.servers"),
                        Field("gamespy1.heartbeat.port"),
                        Item("list.listed"),
                    ],
                    &[(15, 15)],
                ),
                covered(
                    "The master drops a server some minutes after its latest signal.",
                    &[Rule("GS1024"), Item("reg.heartbeats")],
                    &[(15, 15)],
                ),
                covered(
                    "The player's game asks the master for the list.",
                    &[
                        Field("gamespy1.list_request"),
                        Item("master.reached"),
                        Command("summary", "the table of masters: lists asked for"),
                    ],
                    &[(17, 17)],
                ),
                covered(
                    "The master answers with the list.",
                    &[
                        Field("gamespy1.list_response"),
                        Item("master.lists"),
                        Item("master.in_time"),
                    ],
                    &[(19, 19), (86, 86)],
                ),
                covered(
                    "The game then queries each server of the list.",
                    &[Rule("GS1032"), Field("gamespy1.query"), Item("seen.asked")],
                    &[(21, 21), (22, 22), (47, 47)],
                ),
                covered(
                    "Each server answers the query.",
                    &[
                        Rule("GS1030"),
                        Rule("GS1033"),
                        Field("gamespy1.query_response"),
                        Item("seen.answered"),
                        Item("seen.from_asked"),
                        Item("seen.in_time"),
                    ],
                    &[(24, 24)],
                ),
                covered(
                    "The answer has name, map, number of players and other properties.",
                    &[
                        Rule("GS1034"),
                        Field("gamespy1.query_response.properties"),
                        Item("seen.whole"),
                        Item("seen.believable"),
                        Command("summary", "the table of servers: name, map and players"),
                    ],
                    &[(24, 24)],
                ),
            ],
        },
        Section {
            title: "Clients",
            statements: &[
                not_in_packets(
                    "In many games with the Unreal engine, a player can set the master.",
                    "settings of the game; they are not sent",
                    &[(28, 28), (29, 29)],
                ),
                not_in_packets(
                    "The settings in the file name master, port, region and game.",
                    "settings of the game; they are not sent",
                    &[(29, 29), (30, 33)],
                ),
                covered(
                    "In the example, masters listen for clients on TCP port 28900.",
                    &[Field("gamespy1"), Item("master.reached"), Item("master.greets")],
                    &[(31, 33)],
                ),
                covered(
                    "In the examples, the game has the name ut.",
                    &[
                        Field("gamespy1.validate.gamename"),
                        Field("gamespy1.list_request.gamename"),
                        Field("gamespy1.heartbeat.gamename"),
                    ],
                    &[(31, 33), (34, 34)],
                ),
                covered(
                    "On a new TCP connection, the master speaks first: it sends the challenge.",
                    &[
                        Rule("GS1010"),
                        Rule("GS1019"),
                        Field("gamespy1.secure"),
                        Item("master.greets"),
                    ],
                    &[(36, 36)],
                ),
                covered(
                    "The example of a challenge to a client: basic, then secure with 6 letters.",
                    &[
                        Rule("GS1001"),
                        Rule("GS1003"),
                        Rule("GS1010"),
                        Field("gamespy1.secure.challenge"),
                    ],
                    &[(37, 37)],
                ),
                covered(
                    "The client answers with game name, location and validation code.",
                    &[
                        Rule("GS1011"),
                        Field("gamespy1.validate.gamename"),
                        Field("gamespy1.validate.location"),
                        Field("gamespy1.validate.validate"),
                    ],
                    &[(38, 38)],
                ),
                covered(
                    "The validation code has 8 bytes.",
                    &[Rule("GS1004"), Field("gamespy1.validate.validate")],
                    &[(38, 38)],
                ),
                covered(
                    "The example of an answer of a client, which ends with final.",
                    &[Rule("GS1001"), Rule("GS1002"), Rule("GS1005"), Field("gamespy1.validate")],
                    &[(39, 39)],
                ),
                covered(
                    "After a wrong answer the master closes the connection, and sends nothing.",
                    &[Rule("GS1014"), Rule("GS1018"), Item("master.accepts")],
                    &[(40, 40)],
                ),
                covered(
                    "Real clients send the code that follows from the challenge and the game.",
                    &[Rule("GS1005"), Field("gamespy1.validate.validate")],
                    &[(41, 41)],
                ),
                covered(
                    "Clients of Deus Ex and of a few other games send no correct code.",
                    &[Rule("GS1011")],
                    &[(41, 41)],
                ),
                covered(
                    "A client asks for the list after its validation.",
                    &[Rule("GS1012"), Field("gamespy1.list_request")],
                    &[(42, 42)],
                ),
                covered(
                    "The client asks at once, without waiting for a sign of the master.",
                    &[
                        Field("gamespy1.list_request"),
                        Command("dissect", "the time of each message"),
                    ],
                    &[(42, 42)],
                ),
                covered(
                    "The example of a list request: list, then the name of the validated game.",
                    &[
                        Rule("GS1001"),
                        Rule("GS1013"),
                        Field("gamespy1.list_request"),
                        Field("gamespy1.list_request.gamename"),
                    ],
                    &[(43, 43)],
                ),
                covered(
                    "The list gives the IP address and the query port of each server.",
                    &[
                        Rule("GS1015"),
                        Rule("GS1026"),
                        Field("gamespy1.list_response.servers"),
                        Item("list.address"),
                    ],
                    &[(44, 44)],
                ),
                covered(
                    "The list is complete.",
                    &[
                        Rule("GS1016"),
                        Item("list.whole"),
                        Item("list.listed"),
                        Item("master.whole"),
                    ],
                    &[(44, 44)],
                ),
                covered(
                    "The example of a list: ip before each address and port, final at the end.",
                    &[
                        Rule("GS1001"),
                        Rule("GS1002"),
                        Rule("GS1015"),
                        Rule("GS1016"),
                        Field("gamespy1.list_response"),
                        Field("gamespy1.list_response.servers"),
                    ],
                    &[(45, 45)],
                ),
                covered(
                    "The master closes the connection behind the list.",
                    &[Rule("GS1017")],
                    &[(46, 46)],
                ),
                covered(
                    "The queries show what each listed server offers.",
                    &[
                        Command("summary", "the table of servers: name, map and players"),
                        Field("gamespy1.query_response.properties"),
                    ],
                    &[(47, 47), (48, 48)],
                ),
            ],
        },
        Section {
            title: "Servers",
            statements: &[
                covered(
                    "Servers send heartbeats to a master, so that clients find them.",
                    &[Field("gamespy1.heartbeat"), Item("reg.join"), Item("list.listed")],
                    &[(50, 50)],
                ),
                covered(
                    "Heartbeats come at most twice a minute, and at least once in a few minutes.",
                    &[Rule("GS1024"), Item("reg.heartbeats")],
                    &[(51, 51)],
                ),
                covered(
                    "A heartbeat shows that the server runs and takes players.",
                    &[
                        Field("gamespy1.heartbeat"),
                        Item("reg.heartbeats"),
                        Command("summary", "the table of masters: heartbeats, servers listed"),
                    ],
                    &[(52, 52)],
                ),
                not_in_packets(
                    "The settings of a server name its masters and their ports.",
                    "settings of the server; they are not sent",
                    &[(53, 63)],
                ),
                covered(
                    "In the example, masters listen for heartbeats on ports 27900 and 27500.",
                    &[Field("gamespy1"), Field("gamespy1.heartbeat")],
                    &[(58, 60)],
                ),
                not_in_packets(
                    "A class of the game sends heartbeats to these masters, and takes queries.",
                    "internals of the server; its packets are stated below",
                    &[(64, 64)],
                ),
                not_in_packets(
                    "Two of the masters of the example have ceased, or moved.",
                    "history; the masters of these names are gone",
                    &[(65, 65), (66, 66)],
                ),
                covered(
                    "Some queries are abuse, against which the original package does nothing.",
                    &[
                        Item("attack.none"),
                        Command("abuse", "floods of queries, and servers misused for them"),
                    ],
                    &[(67, 67)],
                ),
                not_in_packets(
                    "Other packages, such as SecureValidate, are safer.",
                    "advice to owners of servers; which package runs is not sent",
                    &[(68, 68)],
                ),
                covered(
                    "Heartbeats reach the master over UDP, and fill the list for clients.",
                    &[Field("gamespy1.heartbeat"), Item("reg.join"), Item("list.listed")],
                    &[(69, 69)],
                ),
                covered(
                    "By itself, a server sends only heartbeats to a master.",
                    &[Field("gamespy1.heartbeat"), Field("gamespy1.validate")],
                    &[(70, 70)],
                ),
                covered(
                    "The example of a heartbeat.",
                    &[Rule("GS1001"), Rule("GS1020"), Field("gamespy1.heartbeat")],
                    &[(71, 71)],
                ),
                covered(
                    "A heartbeat has the query port and the game name.",
                    &[
                        Rule("GS1020"),
                        Field("gamespy1.heartbeat.port"),
                        Field("gamespy1.heartbeat.gamename"),
                    ],
                    &[(72, 72)],
                ),
                covered(
                    "A heartbeat has no IP address, and nothing else about the server.",
                    &[Field("gamespy1.heartbeat"), Field("gamespy1.heartbeat.*")],
                    &[(73, 73)],
                ),
                covered(
                    "The IP address of the server is the source of the datagram.",
                    &[
                        Item("list.address"),
                        Command("summary", "the table of servers: address and query port"),
                    ],
                    &[(74, 74), (75, 75)],
                ),
                not_in_packets(
                    "The master reads that address from its socket.",
                    "internals of the master; only the list shows the result",
                    &[(75, 75)],
                ),
                covered(
                    "The master answers the first heartbeat with a challenge.",
                    &[Rule("GS1021"), Field("gamespy1.secure"), Item("reg.challenged")],
                    &[(76, 76)],
                ),
                covered(
                    "The challenge tests whether the sender is the game.",
                    &[Rule("GS1005"), Item("reg.echo")],
                    &[(76, 76)],
                ),
                covered(
                    "A challenge has 6 characters: letters, upper and lower case, and digits.",
                    &[Rule("GS1003"), Field("gamespy1.secure.challenge")],
                    &[(77, 77)],
                ),
                covered(
                    "The characters are random.",
                    &[Rule("GS1006"), Field("gamespy1.secure.challenge")],
                    &[(77, 77)],
                ),
                covered(
                    "The example of a challenge to a server: basic, then secure.",
                    &[Rule("GS1001"), Rule("GS1003"), Rule("GS1021"), Field("gamespy1.secure")],
                    &[(78, 78)],
                ),
                covered(
                    "The server answers with its port, game name and validation code.",
                    &[
                        Rule("GS1022"),
                        Rule("GS1023"),
                        Field("gamespy1.validate.port"),
                        Field("gamespy1.validate.gamename"),
                        Field("gamespy1.validate.validate"),
                        Item("reg.echo"),
                    ],
                    &[(79, 79)],
                ),
                covered(
                    "The validation code of a server has 8 bytes.",
                    &[Rule("GS1004"), Field("gamespy1.validate.validate")],
                    &[(79, 79)],
                ),
                covered(
                    "The example of an answer of a server: a heartbeat, validate and final.",
                    &[Rule("GS1001"), Rule("GS1002"), Rule("GS1022"), Field("gamespy1.validate")],
                    &[(80, 80)],
                ),
                covered(
                    "A server with the correct code is listed.",
                    &[
                        Rule("GS1005"),
                        Rule("GS1027"),
                        Item("reg.echo"),
                        Item("reg.accepted"),
                        Item("list.listed"),
                    ],
                    &[(81, 81)],
                ),
                covered(
                    "Further heartbeats follow, one a minute or so.",
                    &[Rule("GS1024"), Item("reg.heartbeats")],
                    &[(82, 82)],
                ),
                covered(
                    "As long as its heartbeats continue, the server is not challenged again.",
                    &[Rule("GS1025"), Item("reg.accepted")],
                    &[(83, 83)],
                ),
            ],
        },
        Section {
            title: "Different Software",
            statements: &[
                not_in_packets(
                    "There are several programs for masters.",
                    "an overview of software; the packets are the same",
                    &[(88, 88)],
                ),
                not_in_packets(
                    "Epic Games made one for local networks, and for one game only.",
                    "an overview of software; the packets are the same",
                    &[(89, 91)],
                ),
                not_in_packets(
                    "333networks made another one, open and for many games.",
                    "an overview of software; the packets are the same",
                    &[(92, 92), (94, 94), (95, 95)],
                ),
                covered(
                    "Masters of 333networks synchronize their lists with each other.",
                    &[Field("gamespy1.sync_request"), Field("gamespy1.sync_response")],
                    &[(93, 93)],
                ),
                not_in_packets(
                    "Steam has other masters; what they do is not described.",
                    "an overview of software; another protocol",
                    &[(96, 96), (97, 97)],
                ),
            ],
        },
    ],
};
