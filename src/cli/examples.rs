//! Frequent uses of the commands, for `--help` and the manual pages.

/// A description, and the command line.
type Example = (&'static str, &'static str);

/// The examples of a command, or of gamewire itself: at least two, the most frequent ones first.
pub(crate) fn of(command: Option<&str>) -> &'static [Example] {
    match command {
        None => &[
            ("What is in a capture:", "gamewire summary evening.pcapng"),
            (
                "Check it, and explain a broken rule:",
                "gamewire check evening.pcapng; gamewire explain A2S030",
            ),
        ],
        Some("summary") => &[
            ("What is in a capture:", "gamewire summary evening.pcapng"),
            ("Live traffic, every ten seconds:", "gamewire summary -i eth0 --interval 10s"),
        ],
        Some("diagnose") => &[
            ("A line for each server:", "gamewire diagnose join.pcap"),
            (
                "Everything about one of them, for an issue:",
                "gamewire diagnose --server 192.0.2.7:27015 --format markdown join.pcap",
            ),
        ],
        Some("abuse") => &[
            ("Attacks in a capture:", "gamewire abuse flood.pcap"),
            ("A filter for nftables:", "gamewire abuse --emit nft flood.pcap"),
        ],
        Some("dissect") => &[
            ("One line for each message:", "gamewire dissect evening.pcapng"),
            ("With all fields and their bytes:", "gamewire dissect -v -x evening.pcapng"),
            (
                "The names of all servers:",
                "gamewire dissect --format json evening.pcapng | jq -r .fields.name",
            ),
            ("Live traffic of a server:", "gamewire dissect -i eth0 -f 'udp port 27015'"),
        ],
        Some("flows") => &[
            ("The ten flows with the most bytes:", "gamewire flows --top 10 evening.pcapng"),
            ("For a spreadsheet:", "gamewire flows --format csv evening.pcapng > flows.csv"),
        ],
        Some("follow") => &[
            (
                "One conversation, by its number in flows and dissect:",
                "gamewire follow --flow 3 evening.pcapng",
            ),
            (
                "The conversations of a player's computer with its master and game servers:",
                "gamewire follow --host 192.0.2.7 evening.pcapng",
            ),
            (
                "A diagram for a bug report:",
                "gamewire follow --format mermaid --flow 3 evening.pcapng",
            ),
        ],
        Some("view") => &[
            ("Browse a capture; ? shows all keys:", "gamewire view evening.pcapng"),
            ("Browse live traffic:", "gamewire view -i eth0"),
        ],
        Some("check") => &[
            (
                "In continuous integration:",
                "gamewire check --complete --fail-on warning server.pcap",
            ),
            (
                "One server, two groups of rules:",
                "gamewire check --host 192.0.2.7:27015 --select A2S04,SEC server.pcap",
            ),
            ("As JUnit XML:", "gamewire check --format junit server.pcap > report.xml"),
            (
                "What a client says to a server, recorded without the right to capture:",
                "gamewire check --relay 127.0.0.1:27016=192.0.2.7:27015 -- ./client 127.0.0.1:27016",
            ),
        ],
        Some("probe") => &[
            ("A server on this host, with each request:", "gamewire probe 127.0.0.1:27015 -v"),
            (
                "A master, and what it said:",
                "gamewire probe master.example.net:27011 --protocol valve_master --allow-remote -w list.pcapng",
            ),
        ],
        Some("record") => &[
            (
                "A client that asks the server given as its argument, without the right to capture:",
                "gamewire record -w client.pcapng --relay 127.0.0.1:27016=192.0.2.7:27015 -- ./client 127.0.0.1:27016",
            ),
            (
                "A list over TCP, at a port that is free:",
                "gamewire record -w list.pcapng --relay tcp:127.0.0.1:0=192.0.2.9:28900 -- sh -c './list $GAMEWIRE_RELAY_1'",
            ),
        ],
        Some("serve") => &[
            (
                "A server whose list of players lacks one, until a client has read it:",
                "gamewire serve A2S030 --once --record said.pcapng",
            ),
            ("A right one, which loses every tenth answer:", "gamewire serve a2s --fault loss=10%"),
        ],
        Some("report") => &[
            ("A page about a capture:", "gamewire report evening.pcapng -o report.html"),
            (
                "With the messages of one server:",
                "gamewire report --host 192.0.2.7 evening.pcapng -o report.html",
            ),
        ],
        Some("export") => &[
            (
                "Rotated files as one capture, for a spreadsheet or a database:",
                "gamewire export --merge -o tables --format csv monday-*.pcapng",
            ),
            (
                "One JSON object per line:",
                "gamewire export -o tables --format ndjson evening.pcapng",
            ),
        ],
        Some("scrub") => &[
            (
                "A copy of one flow for a bug report:",
                "gamewire scrub --flow 3 evening.pcapng -o report.pcapng",
            ),
            (
                "Several captures, with the same replacement for an address in all of them:",
                "gamewire scrub --key 'a secret' monday.pcap -o 1.pcapng",
            ),
        ],
        Some("rules") => &[
            ("Rules about split responses:", "gamewire rules A2S04"),
            ("All rules, for a program:", "gamewire rules --format json"),
        ],
        Some("explain") => &[
            ("The requirement of a rule, and its reason:", "gamewire explain A2S030 player-count"),
            ("All rules about attacks:", "gamewire explain SEC"),
        ],
        Some("fields") => &[
            ("The fields of an A2S_INFO response:", "gamewire fields a2s.info_response"),
            ("All messages with players:", "gamewire fields players"),
        ],
        Some("man") => &[
            ("Read the page of a command:", "gamewire man check | man -l -"),
            ("Write a page into a file:", "gamewire man > gamewire.1"),
        ],
        Some("completions") => &[
            ("For bash:", "source <(gamewire completions bash)"),
            ("For fish:", "gamewire completions fish | source"),
        ],
        Some(_) => &[],
    }
}

/// The first two, which end the help of a command.
pub(super) fn two(command: Option<&str>) -> String {
    let lines = of(command).iter().take(2).map(|(_, line)| *line);
    format!("Examples: {}", Vec::from_iter(lines).join("\n          "))
}
