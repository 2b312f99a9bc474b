//! Each statement of the specification, and what covers it.

use crate::kit::coverage::Place::{Command, Field, Item, Rule};
use crate::kit::coverage::{Coverage, Section, covered, not_in_packets};

/// See [`Coverage`].
pub(super) static COVERAGE: Coverage = Coverage {
    sentences: 100,
    crc32: 0xda26_ac2d,
    headings: &[
        (1, 4),
        (6, 7),
        (10, 10),
        (19, 19),
        (35, 35),
        (40, 40),
        (42, 42),
        (44, 44),
        (46, 46),
        (50, 50),
        (59, 59),
        (73, 73),
        (84, 84),
        (100, 100),
    ],
    sections: &[
        Section {
            title: "Introduction",
            statements: &[
                not_in_packets(
                    "No later version of the specification exists.",
                    "the state of the document",
                    &[(5, 5)],
                ),
                covered(
                    "Since version 1.3, addresses may be IPv6.",
                    &[
                        Rule("ACR007"),
                        Rule("ACR014"),
                        Field("acr_master.auth_request.a"),
                        Field("acr_master.client_response.servers.address"),
                    ],
                    &[(8, 8)],
                ),
                covered(
                    "Since version 1.3, the names of the endpoints are short.",
                    &[Rule("ACR002")],
                    &[(9, 9)],
                ),
                covered(
                    "Game clients and game servers talk to the master over HTTP.",
                    &[Rule("ACR035"), Field("acr_master"), Item("master.reached")],
                    &[(11, 11)],
                ),
                covered("All requests have the method GET.", &[Rule("ACR001")], &[(12, 12)]),
                not_in_packets(
                    "That is not what REST asks for.",
                    "a remark on the design",
                    &[(12, 12)],
                ),
                covered(
                    "An endpoint has a path and a list of parameters.",
                    &[Rule("ACR002"), Rule("ACR003")],
                    &[(13, 13)],
                ),
                covered(
                    "A line feed separates the lines of a response.",
                    &[Rule("ACR010")],
                    &[(13, 13)],
                ),
                covered(
                    "A response has each of its lines, except those that are called optional.",
                    &[
                        Rule("ACR011"),
                        Rule("ACR020"),
                        Rule("ACR021"),
                        Rule("ACR022"),
                        Rule("ACR023"),
                    ],
                    &[(14, 14)],
                ),
            ],
        },
        Section {
            title: "/c: the request of a game client",
            statements: &[
                covered(
                    "A client sends /c to get the list of servers.",
                    &[
                        Rule("ACR002"),
                        Field("acr_master.client_request"),
                        Item("master.lists"),
                        Command("summary", "the lists that clients asked a master for"),
                    ],
                    &[(15, 15)],
                ),
                covered(
                    "The response is a file of commands that the client executes.",
                    &[Rule("ACR015"), Field("acr_master.client_response")],
                    &[(15, 15)],
                ),
                covered(
                    "/c has two parameters, and needs neither of them.",
                    &[Rule("ACR003"), Field("acr_master.client_request")],
                    &[(16, 16)],
                ),
                covered(
                    "build_defs, 8 bits, describes the environment that the client was built in.",
                    &[Rule("ACR005"), Field("acr_master.client_request.build_defs")],
                    &[(17, 17)],
                ),
                covered(
                    "guid32, 32 bits, identifies the client.",
                    &[Rule("ACR005"), Field("acr_master.client_request.guid32")],
                    &[(18, 18)],
                ),
                covered(
                    "A client should no longer send guid32 with /c.",
                    &[Rule("ACR006"), Field("acr_master.client_request.guid32")],
                    &[(18, 18)],
                ),
            ],
        },
        Section {
            title: "/c: the response",
            statements: &[
                covered(
                    "The response has lines of three kinds.",
                    &[Rule("ACR015"), Field("acr_master.client_response")],
                    &[(20, 20), (29, 30)],
                ),
                covered(
                    "A line masterserver_flags holds the flags of the client.",
                    &[
                        Rule("ACR011"),
                        Field("acr_master.client_response.flags"),
                        Item("list.whole"),
                    ],
                    &[(20, 20)],
                ),
                covered(
                    "The flags are 16 bits, in two groups.",
                    &[Rule("ACR011"), Field("acr_master.client_response.flags")],
                    &[(21, 21)],
                ),
                covered(
                    "The lowest two bits are the status of the client's address.",
                    &[Field("acr_master.client_response.flags"), Item("master.accepts")],
                    &[(22, 22)],
                ),
                covered(
                    "Status 0: the address is in no list.",
                    &[Field("acr_master.client_response.flags")],
                    &[(23, 23)],
                ),
                covered(
                    "Status 1: the address is whitelisted.",
                    &[Field("acr_master.client_response.flags")],
                    &[(24, 24)],
                ),
                covered(
                    "Status 2: the address is banned.",
                    &[Field("acr_master.client_response.flags"), Item("master.accepts")],
                    &[(25, 25)],
                ),
                covered(
                    "Status 3: the address is muted.",
                    &[Field("acr_master.client_response.flags")],
                    &[(26, 26)],
                ),
                covered(
                    "Bits 2 to 7 have no meaning yet, and are all zero.",
                    &[Rule("ACR012")],
                    &[(27, 28)],
                ),
                covered(
                    "An optional line current_version has the latest versions, of 32 bits each.",
                    &[Rule("ACR013")],
                    &[(29, 29)],
                ),
                covered(
                    "Its first number is the version of the game.",
                    &[Rule("ACR013"), Field("acr_master.client_response.version")],
                    &[(29, 29)],
                ),
                covered(
                    "Its second number is the version of the network protocol.",
                    &[Rule("ACR013"), Field("acr_master.client_response.protocol")],
                    &[(29, 29)],
                ),
                covered(
                    "Each line addserver is one server.",
                    &[
                        Rule("ACR014"),
                        Field("acr_master.client_response.servers"),
                        Item("list.listed"),
                        Command("summary", "the number of servers in a master's lists"),
                    ],
                    &[(30, 30)],
                ),
                covered(
                    "A server line has an address: dotted IPv4, or IPv6 as RFC 4291 writes it.",
                    &[
                        Rule("ACR014"),
                        Field("acr_master.client_response.servers.address"),
                        Item("list.address"),
                    ],
                    &[(31, 31)],
                ),
                covered(
                    "A port may follow: 16 bits, but not 65535.",
                    &[
                        Rule("ACR014"),
                        Field("acr_master.client_response.servers.port"),
                        Item("list.address"),
                    ],
                    &[(32, 32)],
                ),
                covered(
                    "A server line without a port means port 28770.",
                    &[
                        Item("list.listed"),
                        Command("summary", "the number of servers in a master's lists"),
                    ],
                    &[(32, 32)],
                ),
                covered(
                    "A weight may follow, a signed number of 32 bits.",
                    &[Rule("ACR014"), Field("acr_master.client_response.servers.weight")],
                    &[(33, 33)],
                ),
                covered(
                    "A server line without a weight means the weight 0.",
                    &[Command("fields", "the meaning of `weight`")],
                    &[(33, 33)],
                ),
            ],
        },
        Section {
            title: "/r: the request of a game server",
            statements: &[
                covered(
                    "A game server sends /r to be listed.",
                    &[
                        Rule("ACR002"),
                        Field("acr_master.register_request"),
                        Item("reg.join"),
                        Command("summary", "the number of joins that a master got"),
                    ],
                    &[(34, 34)],
                ),
                covered(
                    "The p of /r, 32 bits, is the port of the server.",
                    &[Rule("ACR005"), Field("acr_master.register_request.p")],
                    &[(36, 36)],
                ),
                covered(
                    "Without p, the port is 28770.",
                    &[Rule("ACR030"), Rule("ACR034"), Item("reg.join")],
                    &[(36, 36)],
                ),
                covered(
                    "Its v, 32 bits, is the version of the network protocol.",
                    &[Rule("ACR004"), Rule("ACR005"), Field("acr_master.register_request.v")],
                    &[(37, 37)],
                ),
                covered(
                    "Its g, 32 bits, is the version of the game, and may be left out.",
                    &[Rule("ACR005"), Field("acr_master.register_request.g")],
                    &[(38, 38)],
                ),
                covered(
                    "Its guid32, 32 bits, identifies the server.",
                    &[Rule("ACR005"), Field("acr_master.register_request.guid32")],
                    &[(39, 39)],
                ),
                covered(
                    "A server should no longer send its guid32.",
                    &[Rule("ACR006"), Field("acr_master.register_request.guid32")],
                    &[(39, 39)],
                ),
            ],
        },
        Section {
            title: "/r: the socket check and the response",
            statements: &[
                covered(
                    "The master ought to check the socket of the server, but may do without.",
                    &[Rule("ACR034"), Item("reg.probed")],
                    &[(41, 41)],
                ),
                covered(
                    "It checks the UDP port above the one that the server registers.",
                    &[Rule("ACR034"), Item("reg.probed")],
                    &[(43, 43)],
                ),
                covered(
                    "The check is a datagram of a single byte that is not zero.",
                    &[Rule("ACR034"), Item("reg.probed")],
                    &[(45, 45)],
                ),
                covered(
                    "The server answers it with one byte or more.",
                    &[Rule("ACR034"), Item("reg.probe_back")],
                    &[(47, 47)],
                ),
                covered(
                    "The response to /r is a text for people.",
                    &[
                        Rule("ACR020"),
                        Rule("ACR035"),
                        Field("acr_master.register_response.text"),
                        Item("reg.accepted"),
                    ],
                    &[(48, 48)],
                ),
                covered(
                    "That text has no asterisk at its start.",
                    &[Rule("ACR020"), Field("acr_master.register_response.text")],
                    &[(48, 48)],
                ),
            ],
        },
        Section {
            title: "/a: the request",
            statements: &[
                covered(
                    "A game server sends /a to have a player looked up who connects to it.",
                    &[Rule("ACR002"), Field("acr_master.auth_request")],
                    &[(49, 49)],
                ),
                covered(
                    "The p of /a, 16 bits, is the port of the server.",
                    &[Rule("ACR005"), Field("acr_master.auth_request.p")],
                    &[(51, 51)],
                ),
                covered(
                    "Without p, /a comes from the server with port 28770.",
                    &[Rule("ACR030")],
                    &[(51, 51)],
                ),
                covered(
                    "The a of /a is the address of the player, as IPv6.",
                    &[Rule("ACR004"), Rule("ACR007"), Field("acr_master.auth_request.a")],
                    &[(52, 52)],
                ),
                covered(
                    "The server maps an address of IPv4 into ::ffff:0:0/96.",
                    &[Rule("ACR007"), Field("acr_master.auth_request.a")],
                    &[(53, 53)],
                ),
                covered(
                    "The example of a mapped address has hex groups, short and in full.",
                    &[Rule("ACR007"), Field("acr_master.auth_request.a")],
                    &[(54, 54)],
                ),
                covered(
                    "Its guid32, 32 bits, identifies the player's client.",
                    &[Rule("ACR005"), Field("acr_master.auth_request.guid32")],
                    &[(55, 55)],
                ),
                covered(
                    "A server should no longer send guid32 with /a.",
                    &[Rule("ACR006"), Field("acr_master.auth_request.guid32")],
                    &[(55, 55)],
                ),
                covered(
                    "i and u are optional, and one of them alone has no effect.",
                    &[Rule("ACR009"), Rule("ACR021")],
                    &[(56, 56)],
                ),
                covered(
                    "i, 32 bits, numbers the authentication.",
                    &[Rule("ACR005"), Field("acr_master.auth_request.i")],
                    &[(57, 57)],
                ),
                covered(
                    "u is the user, a text.",
                    &[Field("acr_master.auth_request.u")],
                    &[(58, 58)],
                ),
            ],
        },
        Section {
            title: "/a: the response",
            statements: &[
                covered(
                    "With i and u, the response has a line about the authentication.",
                    &[Rule("ACR021"), Field("acr_master.auth_response.auth")],
                    &[(60, 60)],
                ),
                covered(
                    "*f means that the authentication failed.",
                    &[Rule("ACR021"), Field("acr_master.auth_response.auth")],
                    &[(61, 61)],
                ),
                not_in_packets(
                    "*f may come because the master does not authenticate.",
                    "the master does not send the reason for *f",
                    &[(62, 62)],
                ),
                covered(
                    "*f comes for a server that has not registered.",
                    &[Rule("ACR030"), Field("acr_master.auth_response.auth"), Item("reg.accepted")],
                    &[(63, 63)],
                ),
                not_in_packets(
                    "*f comes for a user whom the master does not know.",
                    "the master does not send the reason for *f, nor the list of its users",
                    &[(64, 64)],
                ),
                covered(
                    "*c begins a challenge for the player.",
                    &[
                        Rule("ACR021"),
                        Field("acr_master.auth_response.auth"),
                        Field("acr_master.auth_response.challenge"),
                    ],
                    &[(65, 65)],
                ),
                covered(
                    "The challenge is 1024 bits, in 256 lowercase hex digits.",
                    &[Rule("ACR021"), Field("acr_master.auth_response.challenge")],
                    &[(66, 66)],
                ),
                covered(
                    "The challenge is random enough for cryptography.",
                    &[Rule("ACR016"), Rule("ACR031"), Field("acr_master.auth_response.challenge")],
                    &[(66, 66)],
                ),
                covered(
                    "One line has the result of looking up the address.",
                    &[Rule("ACR022"), Field("acr_master.auth_response.lookup")],
                    &[(67, 67)],
                ),
                covered(
                    "*bw: the address is whitelisted.",
                    &[Rule("ACR022"), Field("acr_master.auth_response.lookup")],
                    &[(68, 68)],
                ),
                covered(
                    "*bi: the address is blacklisted, and not whitelisted as well.",
                    &[Rule("ACR022"), Field("acr_master.auth_response.lookup")],
                    &[(69, 69)],
                ),
                covered(
                    "*bm: the player may not speak, nor kick or ban others.",
                    &[Rule("ACR022"), Field("acr_master.auth_response.lookup")],
                    &[(70, 70)],
                ),
                covered(
                    "*a: the address is in no list, as most are.",
                    &[Rule("ACR022"), Field("acr_master.auth_response.lookup")],
                    &[(71, 71)],
                ),
                covered(
                    "A line feed separates that of the authentication from the lookup after it.",
                    &[Rule("ACR010"), Rule("ACR021")],
                    &[(71, 71)],
                ),
            ],
        },
        Section {
            title: "/v: the request",
            statements: &[
                covered(
                    "A game server sends /v to have the player's proof checked.",
                    &[Rule("ACR002"), Field("acr_master.verify_request")],
                    &[(72, 72)],
                ),
                covered(
                    "The p of /v, 16 bits, is the port of the server.",
                    &[Rule("ACR005"), Field("acr_master.verify_request.p")],
                    &[(74, 74)],
                ),
                covered(
                    "Without p, /v comes from the server with port 28770.",
                    &[Rule("ACR032")],
                    &[(74, 74)],
                ),
                covered(
                    "Its i, 32 bits, is the number of the authentication.",
                    &[
                        Rule("ACR004"),
                        Rule("ACR005"),
                        Rule("ACR032"),
                        Field("acr_master.verify_request.i"),
                    ],
                    &[(75, 75)],
                ),
                covered(
                    "Its c is the nonce of the client, 96 lowercase hex digits.",
                    &[Rule("ACR004"), Rule("ACR008"), Field("acr_master.verify_request.c")],
                    &[(76, 76)],
                ),
                covered(
                    "The a of /v is the digest, 256 bits in 64 lowercase hex digits.",
                    &[Rule("ACR004"), Rule("ACR008"), Field("acr_master.verify_request.a")],
                    &[(77, 77)],
                ),
                covered(
                    "The right digest is an HMAC according to RFC 2104.",
                    &[Rule("ACR033"), Field("acr_master.verify_request.a")],
                    &[(78, 78)],
                ),
                covered(
                    "The hash function of the HMAC is SHA-256.",
                    &[Rule("ACR033")],
                    &[(79, 79)],
                ),
                covered(
                    "The HMAC is of 176 bytes: nonce and challenge as bytes, not as hex digits.",
                    &[Rule("ACR033")],
                    &[(80, 80)],
                ),
                covered(
                    "The nonce of the client comes first, 48 bytes.",
                    &[Rule("ACR008"), Rule("ACR033"), Field("acr_master.verify_request.c")],
                    &[(81, 81)],
                ),
                covered(
                    "The challenge of the master follows, 128 bytes.",
                    &[Rule("ACR021"), Rule("ACR033"), Field("acr_master.auth_response.challenge")],
                    &[(82, 82)],
                ),
                covered(
                    "The key of the HMAC is a secret that only client and master know.",
                    &[
                        Rule("ACR033"),
                        Command("check", "whether the digest fits the key that --acr-key gives"),
                    ],
                    &[(83, 83)],
                ),
            ],
        },
        Section {
            title: "/v: the response",
            statements: &[
                covered(
                    "The response is a line with the result.",
                    &[Rule("ACR023"), Rule("ACR035"), Field("acr_master.verify_response.result")],
                    &[(85, 85)],
                ),
                covered(
                    "*f means that the master could not check the digest.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.result")],
                    &[(86, 86)],
                ),
                not_in_packets(
                    "The master may answer *f to /v because it does not authenticate.",
                    "the master does not send the reason for *f",
                    &[(87, 87)],
                ),
                covered(
                    "The answer to /v is *f for a server that has not registered.",
                    &[Field("acr_master.verify_response.result")],
                    &[(88, 88)],
                ),
                covered(
                    "The answer to /v is *f for a number without a challenge.",
                    &[Rule("ACR032"), Field("acr_master.verify_response.result")],
                    &[(89, 89)],
                ),
                covered(
                    "*d means that the digest is wrong.",
                    &[Rule("ACR023"), Rule("ACR033"), Field("acr_master.verify_response.result")],
                    &[(90, 90)],
                ),
                not_in_packets(
                    "Game servers no longer drop a player after *d.",
                    "history, and a matter between the game server and its player",
                    &[(91, 91)],
                ),
                covered(
                    "*s means success, with a privilege and a name after it.",
                    &[Rule("ACR023"), Rule("ACR033"), Field("acr_master.verify_response.result")],
                    &[(92, 92)],
                ),
                covered(
                    "The privilege is one character.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.privilege")],
                    &[(93, 93)],
                ),
                covered(
                    "Privilege x: the name is verified, and nothing more.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.privilege")],
                    &[(94, 94)],
                ),
                covered(
                    "Privilege 0: deban.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.privilege")],
                    &[(95, 95)],
                ),
                covered(
                    "Privilege 1: master.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.privilege")],
                    &[(96, 96)],
                ),
                covered(
                    "Privilege 2: admin.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.privilege")],
                    &[(97, 97)],
                ),
                covered(
                    "Privilege 3: owner, the highest.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.privilege")],
                    &[(98, 98)],
                ),
                covered(
                    "The name is that of the user, in full.",
                    &[Rule("ACR023"), Field("acr_master.verify_response.name")],
                    &[(99, 99)],
                ),
            ],
        },
    ],
};
