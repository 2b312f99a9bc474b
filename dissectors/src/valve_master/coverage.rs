//! Each statement of the specification, and what covers it.

use crate::kit::coverage::Place::{Command, Field, Item, Rule};
use crate::kit::coverage::{Coverage, Section, covered, not_in_packets};

/// See [`Coverage`].
pub(super) static COVERAGE: Coverage = Coverage {
    sentences: 174,
    crc32: 0xba53_a657,
    headings: &[
        (1, 5),
        (8, 8),
        (10, 11),
        (16, 16),
        (18, 18),
        (28, 28),
        (35, 35),
        (62, 62),
        (70, 72),
        (77, 77),
        (80, 80),
        (82, 82),
        (84, 84),
        (87, 87),
        (90, 90),
        (98, 98),
        (102, 104),
        (109, 109),
        (111, 111),
        (125, 125),
        (139, 139),
        (153, 153),
        (157, 157),
        (160, 161),
        (163, 163),
        (165, 165),
        (168, 168),
        (174, 174),
    ],
    sections: &[
        Section {
            title: "Introduction",
            statements: &[
                not_in_packets(
                    "The protocol is that of the old Steam master, and of old games and mods.",
                    "history of the protocol; nothing of it is sent",
                    &[(6, 6), (7, 7)],
                ),
                covered(
                    "Current games and mods reach the master through Steam itself.",
                    &[Item("reg.elsewhere")],
                    &[(7, 7)],
                ),
            ],
        },
        Section {
            title: "Client to master server",
            statements: &[
                covered(
                    "A master answers a UDP datagram of a client with a list of servers.",
                    &[
                        Rule("VM026"),
                        Field("valve_master.query"),
                        Item("master.reached"),
                        Item("master.lists"),
                        Item("master.in_time"),
                    ],
                    &[(9, 9)],
                ),
                covered(
                    "A query has four fields in this order: type, region, IP:Port, filter.",
                    &[Rule("VM001"), Field("valve_master.query")],
                    &[(12, 15)],
                ),
                covered(
                    "The type is the byte 0x31, which is the digit 1 in ASCII.",
                    &[Rule("VM001"), Field("valve_master.query")],
                    &[(12, 12)],
                ),
                covered(
                    "The region is one byte.",
                    &[Rule("VM001"), Rule("VM002"), Field("valve_master.query.region")],
                    &[(13, 13)],
                ),
                covered(
                    "IP:Port is a text that ends with a zero byte.",
                    &[Rule("VM001"), Rule("VM003"), Field("valve_master.query.seed")],
                    &[(14, 14), (32, 32)],
                ),
                covered(
                    "The filter is a text that ends with a zero byte.",
                    &[Rule("VM001"), Rule("VM004"), Field("valve_master.query.filter")],
                    &[(15, 15)],
                ),
            ],
        },
        Section {
            title: "Region codes",
            statements: &[
                covered(
                    "The region selects the part of the world whose servers are listed.",
                    &[Field("valve_master.query.region"), Item("list.listed")],
                    &[(17, 17)],
                ),
                covered(
                    "0 and 1 are the coasts of the US, east and west.",
                    &[
                        Rule("VM002"),
                        Rule("VM037"),
                        Field("valve_master.query.region"),
                        Field("valve_master.challenge_response.info"),
                    ],
                    &[(19, 19), (20, 20)],
                ),
                covered(
                    "2 is South America, 3 Europe, 4 Asia, 5 Australia, 6 Middle East, 7 Africa.",
                    &[
                        Rule("VM002"),
                        Rule("VM037"),
                        Field("valve_master.query.region"),
                        Field("valve_master.challenge_response.info"),
                    ],
                    &[(21, 26)],
                ),
                covered(
                    "255 is the whole world.",
                    &[
                        Rule("VM002"),
                        Rule("VM037"),
                        Field("valve_master.query.region"),
                        Field("valve_master.challenge_response.info"),
                    ],
                    &[(27, 27)],
                ),
            ],
        },
        Section {
            title: "IP:Port",
            statements: &[
                covered(
                    "A listing starts with a query from 0.0.0.0:0.",
                    &[Rule("VM003"), Rule("VM020"), Field("valve_master.query.seed")],
                    &[(29, 29)],
                ),
                covered(
                    "Each further query names the server that came last in the reply before.",
                    &[Rule("VM021"), Field("valve_master.query.seed")],
                    &[(30, 30)],
                ),
                covered(
                    "Such queries continue one list: each reply has servers that are new.",
                    &[Rule("VM024"), Rule("VM025"), Field("valve_master.reply.servers")],
                    &[(31, 31)],
                ),
                covered(
                    "On a new client port the master sends the first page for any address.",
                    &[Rule("VM017"), Rule("VM020")],
                    &[(33, 33)],
                ),
                covered(
                    "All queries of a listing are sent from one socket.",
                    &[Rule("VM022")],
                    &[(33, 33), (34, 34)],
                ),
            ],
        },
        Section {
            title: "Filter",
            statements: &[
                covered(
                    "The filter limits the list to servers with properties such as a map.",
                    &[Rule("VM015"), Field("valve_master.query.filter"), Item("list.listed")],
                    &[(36, 36)],
                ),
                covered(
                    "The parts of a filter, keys and values, are separated by backslashes.",
                    &[Rule("VM004"), Field("valve_master.query.filter")],
                    &[(37, 37)],
                ),
                covered(
                    "A filter is made of the conditions of this table, and of no others.",
                    &[Rule("VM005"), Field("valve_master.query.filter")],
                    &[(38, 61)],
                ),
                covered(
                    "An empty filter selects every server.",
                    &[Rule("VM004"), Field("valve_master.query.filter"), Item("list.listed")],
                    &[(39, 39)],
                ),
                covered(
                    "nor, with a number, leaves out servers that meet one of so many conditions.",
                    &[
                        Rule("VM006"),
                        Rule("VM004"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(40, 40)],
                ),
                covered(
                    "nand, with a number, leaves out servers that meet each of so many conditions.",
                    &[
                        Rule("VM006"),
                        Rule("VM004"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(41, 41)],
                ),
                covered(
                    "dedicated, always 1, selects dedicated servers.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(42, 42)],
                ),
                covered(
                    "secure, always 1, selects servers with VAC or other anti-cheat software.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(43, 43)],
                ),
                covered(
                    "gamedir selects servers of the modification with this name.",
                    &[Rule("VM015"), Field("valve_master.query.filter"), Item("list.listed")],
                    &[(44, 44)],
                ),
                covered(
                    "map selects servers that play the map with this name.",
                    &[Rule("VM015"), Field("valve_master.query.filter"), Item("list.listed")],
                    &[(45, 45)],
                ),
                covered(
                    "linux, always 1, selects servers that run under Linux.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(46, 46)],
                ),
                covered(
                    "password, always 0, selects servers that ask for no password.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(47, 47)],
                ),
                covered(
                    "empty, always 1, selects servers with players: the opposite of its name.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(48, 48)],
                ),
                covered(
                    "full, always 1, selects servers with free places: the opposite of its name.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(49, 49)],
                ),
                covered(
                    "proxy, always 1, selects proxies for spectators.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(50, 50)],
                ),
                covered(
                    "appid selects servers of the game with this number.",
                    &[Rule("VM006"), Rule("VM015"), Field("valve_master.query.filter")],
                    &[(51, 51)],
                ),
                covered(
                    "napp leaves out servers of the game with this number.",
                    &[Rule("VM006"), Rule("VM015"), Field("valve_master.query.filter")],
                    &[(52, 52)],
                ),
                not_in_packets(
                    "napp was made to keep Left 4 Dead out of the server browser of Steam.",
                    "history of the protocol; the reason for a condition is not sent",
                    &[(52, 52)],
                ),
                covered(
                    "noplayers, always 1, selects servers without players.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(53, 53)],
                ),
                covered(
                    "white, always 1, selects servers on a whitelist.",
                    &[Rule("VM006"), Field("valve_master.query.filter")],
                    &[(54, 54)],
                ),
                covered(
                    "gametype selects by sv_tags, which must have each tag between its commas.",
                    &[Rule("VM015"), Field("valve_master.query.filter")],
                    &[(55, 55)],
                ),
                covered(
                    "gamedata selects by hidden tags: each tag between its commas is needed.",
                    &[Field("valve_master.query.filter")],
                    &[(56, 56)],
                ),
                covered(
                    "gamedataor selects by hidden tags: one tag between its commas is enough.",
                    &[Field("valve_master.query.filter")],
                    &[(57, 57)],
                ),
                covered(
                    "name_match selects by the host name; an asterisk stands for any text.",
                    &[Rule("VM015"), Field("valve_master.query.filter")],
                    &[(58, 58)],
                ),
                covered(
                    "version_match selects by the version; an asterisk stands for any text.",
                    &[Rule("VM015"), Field("valve_master.query.filter"), Item("list.listed")],
                    &[(59, 59)],
                ),
                covered(
                    "collapse_addr_hash, always 1, lists one server of each IP address at most.",
                    &[Rule("VM006"), Rule("VM015"), Field("valve_master.query.filter")],
                    &[(60, 60)],
                ),
                covered(
                    "gameaddr selects by IP address, or by IP address and port.",
                    &[
                        Rule("VM006"),
                        Rule("VM015"),
                        Field("valve_master.query.filter"),
                        Item("list.listed"),
                    ],
                    &[(61, 61)],
                ),
            ],
        },
        Section {
            title: "Sample query",
            statements: &[
                covered(
                    "The example of a query without a filter, for the servers of all regions.",
                    &[Field("valve_master.query"), Field("valve_master.query.filter")],
                    &[(63, 65)],
                ),
                covered(
                    "The example of the usual query of the server browser of Steam.",
                    &[Field("valve_master.query"), Field("valve_master.query.filter")],
                    &[(66, 66), (68, 69)],
                ),
                covered(
                    "Its filter is napp with the game number 500, which leaves out Left 4 Dead.",
                    &[Rule("VM006"), Field("valve_master.query.filter")],
                    &[(67, 67), (68, 69)],
                ),
                not_in_packets(
                    "Players of Left 4 Dead find each other by matchmaking.",
                    "the way in which players of a game meet; nothing of it is sent to a master",
                    &[(67, 67)],
                ),
            ],
        },
        Section {
            title: "Master servers",
            statements: &[
                not_in_packets(
                    "Masters have these host names and IP addresses.",
                    "names and addresses of masters when the page was written",
                    &[(73, 75), (78, 78), (79, 79), (81, 81), (83, 83), (85, 85)],
                ),
                covered(
                    "Masters of GoldSrc listen on ports from 27010 to 27013.",
                    &[Field("valve_master")],
                    &[(76, 76)],
                ),
                covered(
                    "The masters of Source listen on port 27011, one of them on port 27015.",
                    &[Field("valve_master")],
                    &[(78, 78), (79, 79)],
                ),
                covered(
                    "The master of SiN listens on port 27010.",
                    &[Field("valve_master")],
                    &[(85, 85)],
                ),
                not_in_packets(
                    "A program finds masters in the file MasterServer2.vdf of Steam.",
                    "advice to authors of software; the file is not sent",
                    &[(81, 81), (86, 86)],
                ),
            ],
        },
        Section {
            title: "Reply format",
            statements: &[
                covered(
                    "A reply begins with six bytes: four times FF, then 66 and 0A.",
                    &[Rule("VM010"), Field("valve_master.reply")],
                    &[(88, 88)],
                ),
                covered(
                    "Whole blocks follow, each the address of a server, with nothing between them.",
                    &[Rule("VM011"), Rule("VM016"), Field("valve_master.reply.servers")],
                    &[(89, 89)],
                ),
                covered(
                    "A block begins with the IPv4 address: four octets in the usual order.",
                    &[
                        Rule("VM011"),
                        Rule("VM013"),
                        Rule("VM016"),
                        Field("valve_master.reply.servers"),
                    ],
                    &[(91, 94)],
                ),
                covered(
                    "The port follows, two bytes without a sign.",
                    &[Rule("VM011"), Rule("VM013"), Field("valve_master.reply.servers")],
                    &[(95, 95)],
                ),
                covered(
                    "The port is big-endian, unlike the other numbers of the protocols of Steam.",
                    &[Rule("VM014"), Field("valve_master.reply.servers")],
                    &[(95, 95)],
                ),
                covered(
                    "The port is 27015 for most servers, the bytes 69 87.",
                    &[Rule("VM014"), Field("valve_master.reply.servers")],
                    &[(95, 95)],
                ),
                covered(
                    "A listed server may not respond, which a client finds out by a query to each.",
                    &[Rule("VM028"), Item("seen.answered")],
                    &[(96, 96)],
                ),
                covered("The list need not have all servers.", &[Item("list.listed")], &[(97, 97)]),
                not_in_packets(
                    "A client that wants some servers asks with a filter, and sorts out none.",
                    "advice to authors of clients; what a client leaves out is not sent",
                    &[(97, 97)],
                ),
            ],
        },
        Section {
            title: "End of IP address list",
            statements: &[
                covered(
                    "A list may take more than one packet.",
                    &[
                        Item("list.whole"),
                        Item("master.whole"),
                        Command("summary", "the table of masters: lists asked for, and whole"),
                    ],
                    &[(99, 99)],
                ),
                covered(
                    "A client asks for each further packet, with the address that came last.",
                    &[Rule("VM021"), Rule("VM027"), Field("valve_master.query.seed")],
                    &[(100, 100)],
                ),
                covered(
                    "The address 0.0.0.0 with port 0 marks the end, and stands nowhere else.",
                    &[
                        Rule("VM012"),
                        Rule("VM013"),
                        Field("valve_master.reply.end"),
                        Item("list.whole"),
                        Item("master.whole"),
                    ],
                    &[(101, 101)],
                ),
                covered(
                    "After this mark the list is not continued.",
                    &[Rule("VM023")],
                    &[(101, 101)],
                ),
            ],
        },
        Section {
            title: "Join",
            statements: &[
                covered(
                    "A server that has started joins two masters soon after.",
                    &[
                        Rule("VM046"),
                        Item("reg.join"),
                        Command("summary", "the table of masters: joins"),
                    ],
                    &[(105, 105)],
                ),
                covered(
                    "Players see only servers in their internet lists that a master has on record.",
                    &[Item("reg.accepted"), Item("list.listed")],
                    &[(105, 105)],
                ),
                covered(
                    "A join is the letter q alone, the byte 71, sent to each of the masters.",
                    &[Rule("VM030"), Field("valve_master.join"), Item("reg.join")],
                    &[(106, 106)],
                ),
                covered(
                    "Each of the masters answers a join with a challenge.",
                    &[
                        Rule("VM047"),
                        Rule("VM041"),
                        Field("valve_master.challenge"),
                        Item("reg.challenged"),
                    ],
                    &[(107, 107)],
                ),
                covered(
                    "A challenge begins with four times FF, then 73 and 0A.",
                    &[Rule("VM031"), Field("valve_master.challenge")],
                    &[(107, 107)],
                ),
                covered(
                    "The challenge itself is a number of 4 bytes.",
                    &[Rule("VM031"), Field("valve_master.challenge.challenge")],
                    &[(107, 107)],
                ),
                covered(
                    "The number is different for different servers, as far as possible.",
                    &[Rule("VM048"), Field("valve_master.challenge.challenge")],
                    &[(107, 107)],
                ),
                covered(
                    "A server that returns a wrong challenge gets a new one.",
                    &[Rule("VM043"), Rule("VM041"), Field("valve_master.challenge")],
                    &[(108, 108)],
                ),
            ],
        },
        Section {
            title: "Challenge response",
            statements: &[
                covered(
                    "A server describes itself after it was challenged, and not before.",
                    &[Rule("VM042"), Field("valve_master.challenge_response")],
                    &[(110, 110)],
                ),
                covered(
                    "It answers each challenge with this description.",
                    &[Rule("VM049"), Field("valve_master.challenge_response"), Item("reg.echo")],
                    &[(110, 110)],
                ),
                covered(
                    "The description is the bytes 30 0A, an info string, and a last byte 0A.",
                    &[Rule("VM032"), Field("valve_master.challenge_response")],
                    &[
                        (110, 110),
                        (112, 112),
                        (123, 123),
                        (126, 126),
                        (137, 137),
                        (140, 140),
                        (151, 151),
                    ],
                ),
                covered(
                    "The info string is made of keys and values, a backslash before each.",
                    &[
                        Rule("VM033"),
                        Field("valve_master.challenge_response.info"),
                        Item("reg.info"),
                    ],
                    &[(112, 123), (126, 137), (140, 151)],
                ),
                covered(
                    "The example of a GoldSrc server.",
                    &[Rule("VM035"), Field("valve_master.challenge_response")],
                    &[(112, 123)],
                ),
                covered(
                    "The example of a Source server.",
                    &[Rule("VM035"), Field("valve_master.challenge_response")],
                    &[(126, 137)],
                ),
                covered(
                    "The example of an Orange Box server.",
                    &[Rule("VM035"), Field("valve_master.challenge_response")],
                    &[(140, 151)],
                ),
                covered(
                    "protocol is a decimal number: 47 for GoldSrc, 7 for Source and Orange Box.",
                    &[Rule("VM034"), Rule("VM037"), Field("valve_master.challenge_response.info")],
                    &[(112, 113), (126, 127), (140, 140)],
                ),
                covered(
                    "challenge is what the master sent, as a decimal integer.",
                    &[
                        Rule("VM034"),
                        Rule("VM040"),
                        Field("valve_master.challenge_response.challenge"),
                        Item("reg.echo"),
                    ],
                    &[(113, 114), (127, 128), (140, 142), (124, 124), (138, 138), (152, 152)],
                ),
                covered(
                    "players is a decimal number, at most max.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(114, 115), (128, 129), (142, 142)],
                ),
                covered(
                    "max, the places for players, is a decimal number.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(115, 115), (129, 129), (142, 143)],
                ),
                covered(
                    "bots is a decimal number.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(115, 116), (129, 130), (143, 143)],
                ),
                covered(
                    "gamedir is the modification, such as cstrike or tf.",
                    &[Rule("VM034"), Rule("VM037"), Field("valve_master.challenge_response.info")],
                    &[(116, 117), (130, 131), (143, 144)],
                ),
                covered(
                    "map is the name of the map.",
                    &[Rule("VM034"), Rule("VM037"), Field("valve_master.challenge_response.info")],
                    &[(117, 117), (131, 131), (144, 145)],
                ),
                covered(
                    "password is 0, or 1 if the server asks for one.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(118, 119), (131, 132), (145, 146)],
                ),
                covered(
                    "os is the operating system: l is Linux, w is Windows.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(119, 119), (132, 132), (146, 146)],
                ),
                covered(
                    "lan is 0, or 1 if the server is for its own network only.",
                    &[
                        Rule("VM034"),
                        Rule("VM036"),
                        Item("reg.join"),
                        Field("valve_master.challenge_response.info"),
                    ],
                    &[(120, 120), (132, 133), (146, 146)],
                ),
                covered(
                    "region is a region code; the Orange Box server sends -1 for the whole world.",
                    &[Rule("VM034"), Rule("VM037"), Field("valve_master.challenge_response.info")],
                    &[(121, 122), (133, 133), (146, 147)],
                ),
                covered(
                    "type is the kind of server: d is dedicated, l is a listen server.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(118, 118), (134, 134), (148, 148)],
                ),
                covered(
                    "secure is 0, or 1 with protection against cheats.",
                    &[Rule("VM034"), Rule("VM036"), Field("valve_master.challenge_response.info")],
                    &[(119, 119), (134, 134), (148, 149)],
                ),
                covered(
                    "version is the version of the server, such as 1.0.4.3.",
                    &[Rule("VM034"), Rule("VM037"), Field("valve_master.challenge_response.info")],
                    &[(120, 121), (135, 135), (149, 150)],
                ),
                covered(
                    "product is the name of the product, such as cstrike or tf.",
                    &[Rule("VM034"), Rule("VM037"), Field("valve_master.challenge_response.info")],
                    &[(122, 123), (136, 136), (150, 151)],
                ),
                covered(
                    "gametype, with tags of the server, is only in the Orange Box example.",
                    &[Rule("VM035"), Field("valve_master.challenge_response.info")],
                    &[(147, 148)],
                ),
            ],
        },
        Section {
            title: "Differences",
            statements: &[
                covered(
                    "GoldSrc and Source have the same fifteen keys.",
                    &[Rule("VM034"), Item("reg.info")],
                    &[(155, 155), (156, 156)],
                ),
                covered(
                    "GoldSrc and Source put their keys in different orders.",
                    &[Rule("VM035"), Field("valve_master.challenge_response")],
                    &[(154, 156)],
                ),
                covered(
                    "In the order of GoldSrc, type follows map, and region follows version.",
                    &[Rule("VM035"), Field("valve_master.challenge_response")],
                    &[(155, 155)],
                ),
                covered(
                    "In the order of Source, password follows map, and type follows region.",
                    &[Rule("VM035"), Field("valve_master.challenge_response")],
                    &[(156, 156)],
                ),
            ],
        },
        Section {
            title: "Heartbeat",
            statements: &[
                covered(
                    "A server sends a heartbeat every 5 minutes.",
                    &[
                        Rule("VM044"),
                        Item("reg.heartbeats"),
                        Command("summary", "the table of masters: joins"),
                    ],
                    &[(158, 158)],
                ),
                covered(
                    "By heartbeats a master knows which servers still run.",
                    &[Item("reg.heartbeats"), Item("reg.stays")],
                    &[(158, 158)],
                ),
                covered(
                    "A heartbeat is a whole new join: challenge and description again.",
                    &[
                        Rule("VM045"),
                        Rule("VM049"),
                        Field("valve_master.join"),
                        Field("valve_master.challenge_response"),
                    ],
                    &[(159, 159)],
                ),
            ],
        },
        Section {
            title: "Quit",
            statements: &[
                covered(
                    "A GoldSrc server that shuts down sends the bytes 62 0A.",
                    &[Rule("VM050"), Rule("VM051"), Item("reg.stays")],
                    &[(162, 162)],
                ),
                covered(
                    "A Source server that shuts down sends the bytes 62 0A 00.",
                    &[Rule("VM050"), Rule("VM051"), Item("reg.stays")],
                    &[(164, 164)],
                ),
                covered(
                    "A quit says that the server has stopped: only a new join follows.",
                    &[Rule("VM052"), Item("reg.stays")],
                    &[(162, 162), (164, 164)],
                ),
            ],
        },
        Section {
            title: "Steam web API",
            statements: &[
                not_in_packets(
                    "Two methods of the web API with the name GetServerList give lists, too.",
                    "another interface, over HTTPS, which captures do not show",
                    &[(166, 166)],
                ),
                not_in_packets(
                    "One of them needs the key of a publisher, the other one any key.",
                    "another interface, over HTTPS, which captures do not show",
                    &[(167, 167)],
                ),
                not_in_packets(
                    "Keys are private: a program asks its user, and lost keys are replaced.",
                    "advice to authors of software; keys are sent over HTTPS",
                    &[(169, 171)],
                ),
                not_in_packets(
                    "Programs use the web API rarely.",
                    "advice to authors of software; the web API is used over HTTPS",
                    &[(172, 172)],
                ),
                covered(
                    "A program can refresh what it knows of a server with A2S_INFO.",
                    &[Field("a2s.info_request")],
                    &[(173, 173)],
                ),
            ],
        },
    ],
};
